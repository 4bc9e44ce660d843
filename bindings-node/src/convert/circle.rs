//! Errors of values that are nested too deep: they name the path of the cycle, if there is one.

use napi::{Error, Result, sys::ValueType};

use super::{Js, MAX_VALUE_DEPTH, Reader, brand};

/// The reason of the error before [`Reader::explain`] adds the path.
pub(super) const TOO_DEEP: &str = "it is nested too deep";

/// The maximum number of steps of a path that an error shows.
const MAX_PATH_STEPS: usize = 8;

/// An object with its path.
type Place = (Js, String);

impl Reader {
    /// Adds the path to the error of a value that is nested too deep: of the cycle, or the begin of the deep path.
    pub(super) fn explain(&self, value: Js, error: Error) -> Error {
        if !error.reason.ends_with(TOO_DEEP) {
            return error;
        }
        let mut ancestors = vec![(value, String::new())];
        match self.find_cycle(&mut ancestors) {
            Ok(Some((path, target))) if target.is_empty() => {
                Error::from_reason(format!("{path}: the value holds itself there"))
            }
            Ok(Some((path, target))) => Error::from_reason(format!(
                "{path}: it is the same object as {target}, which so holds itself"
            )),
            _ => {
                let path = ancestors
                    .get(MAX_PATH_STEPS)
                    .map_or("", |(_, path)| path.as_str());
                Error::from_reason(format!(
                    "{path}: it is nested more than {MAX_VALUE_DEPTH} levels deep"
                ))
            }
        }
    }

    /// Finds the first member that is one of its ancestors. When the path is too long, `ancestors` keeps it.
    fn find_cycle(&self, ancestors: &mut Vec<Place>) -> Result<Option<(String, String)>> {
        let scope = self.scope();
        let Some((object, path)) = ancestors.last().cloned() else {
            return Ok(None);
        };
        for (member, path) in self.members(object, &path)? {
            if scope.kind(member)? != ValueType::napi_object {
                continue;
            }
            for (above, target) in ancestors.iter() {
                if scope.is_same(member, *above)? {
                    return Ok(Some((path, target.clone())));
                }
            }
            if ancestors.len() > MAX_VALUE_DEPTH {
                return Err(Error::from_reason(TOO_DEEP));
            }
            ancestors.push((member, path));
            if let Some(found) = self.find_cycle(ancestors)? {
                return Ok(Some(found));
            }
            ancestors.pop();
        }
        Ok(None)
    }

    fn members(&self, object: Js, path: &str) -> Result<Vec<Place>> {
        let scope = self.scope();
        if scope.is_array(object)? {
            let length = scope.length(object)?;
            return (0..length)
                .map(|index| Ok((scope.element(object, index)?, format!("{path}[{index}]"))))
                .collect();
        }
        if let Some(number) = self.brand_of(object)? {
            // The content of a secret has the secret's path. Other branded values contain no values of the host.
            let is_secret = (number - f64::from(brand::SECRET)).abs() < f64::EPSILON;
            return match is_secret {
                true => Ok(vec![(scope.get_named(object, "value")?, path.to_owned())]),
                false => Ok(Vec::new()),
            };
        }
        let mut members = Vec::new();
        self.entries(object, |name, value| {
            let dot = if path.is_empty() { "" } else { "." };
            members.push((value, format!("{path}{dot}{name}")));
            Ok(())
        })?;
        Ok(members)
    }
}

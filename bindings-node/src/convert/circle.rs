//! Values that are nested too deep to be read: where they hold themselves, if they do.

use napi::{Error, Result, sys::ValueType};

use super::{DEPTH_LIMIT, Js, Reader, brand};

/// What is said of a value that is nested too deep, before anybody knows why.
pub(super) const TOO_DEEP: &str = "it is nested too deep";

/// As many steps of a path are told, of one that is very long.
const STEPS_TOLD: usize = 8;

/// An object on the way to where a value was too deep, with its path.
type Place = (Js, String);

impl Reader {
    /// Completes the error of a value that is nested too deep: by where it holds itself, or by where it leads.
    pub(super) fn explained(&self, value: Js, error: Error) -> Error {
        if !error.reason.ends_with(TOO_DEEP) {
            return error;
        }
        let mut way = vec![(value, String::new())];
        match self.circle(&mut way) {
            Ok(Some((path, target))) if target.is_empty() => {
                Error::from_reason(format!("{path}: the value holds itself there"))
            }
            Ok(Some((path, target))) => Error::from_reason(format!(
                "{path}: it is the same object as {target}, which so holds itself"
            )),
            _ => {
                let path = way.get(STEPS_TOLD).map_or("", |(_, path)| path.as_str());
                Error::from_reason(format!(
                    "{path}: it is nested more than {DEPTH_LIMIT} levels deep"
                ))
            }
        }
    }

    /// Finds the first member that is an object on the way to it; leaves the way where it stops when it is too long.
    fn circle(&self, way: &mut Vec<Place>) -> Result<Option<(String, String)>> {
        let scope = self.scope();
        let Some((object, path)) = way.last().cloned() else {
            return Ok(None);
        };
        for (member, path) in self.members(object, &path)? {
            if scope.kind(member)? != ValueType::napi_object {
                continue;
            }
            for (above, target) in way.iter() {
                if scope.is_same(member, *above)? {
                    return Ok(Some((path, target.clone())));
                }
            }
            if way.len() > DEPTH_LIMIT {
                return Err(Error::from_reason(TOO_DEEP));
            }
            way.push((member, path));
            if let Some(found) = self.circle(way)? {
                return Ok(Some(found));
            }
            way.pop();
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
            // What a secret holds stands where the secret does; what else has a brand holds no values of the host's.
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

//! Resetting paths: `ignoreChanges` restores old values in new inputs.

use std::sync::Arc;

use super::{PathElement, PropertyPath, access::change_inside};
use crate::property::{PropertyMap, PropertyValue};

impl PropertyPath {
    /// Restores the old value of this path in `new`, and removes the path from `new` if the old side does not have it.
    /// Secrets are unwrapped on both sides; a value that was inside a secret and would not be any more is wrapped.
    ///
    /// Containers are never created and arrays never resized: if that would be needed, or the sides are of different
    /// kinds, the path is reset as far as possible, and the result is false. A path that both sides lack is no error.
    pub fn reset(&self, old: &PropertyMap, new: &mut PropertyMap) -> bool {
        if self.elements().is_empty() {
            return true;
        }
        reset_object(self.elements(), old, new, Wrapping::default())
    }
}

/// Resets `paths`, and returns those that could not be reset. Malformed paths are ignored.
pub(crate) fn reset_all<'a>(
    paths: &'a [String],
    old: &PropertyMap,
    mut new: PropertyMap,
) -> (PropertyMap, Vec<&'a str>) {
    let mut failed = Vec::new();
    for text in paths {
        let path = PropertyPath::parse(text);
        if path.is_ok_and(|path| !path.reset(old, &mut new)) {
            failed.push(text.as_str());
        }
    }
    (new, failed)
}

/// Which sides' enclosing values are secret.
#[derive(Clone, Copy, Default)]
struct Wrapping {
    old: bool,
    new: bool,
}

impl Wrapping {
    fn leaf(self, value: &PropertyValue) -> PropertyValue {
        if self.old && !self.new {
            PropertyValue::secret(value.clone())
        } else {
            value.clone()
        }
    }
}

fn reset_value(
    path: &[PathElement],
    old: &PropertyValue,
    new: &mut PropertyValue,
    wrapping: Wrapping,
) -> bool {
    if let PropertyValue::Secret(_) | PropertyValue::Output(_) = new
        && !std::ptr::eq(new.unwrapped(), new)
    {
        let wrapping = Wrapping {
            new: wrapping.new || new.is_secret(),
            ..wrapping
        };
        let mut complete = false;
        // The secret is replaced even if it could be reset only in part.
        change_inside(new, |element| {
            let before = element.clone();
            complete = reset_value(path, old, element, wrapping);
            *element != before
        });
        return complete;
    }
    if let PropertyValue::Secret(_) | PropertyValue::Output(_) = old {
        let inner = match old {
            PropertyValue::Secret(secret) => Some(&secret.element),
            PropertyValue::Output(output) => output.element.as_ref(),
            _ => None,
        };
        let Some(inner) = inner else {
            return false;
        };
        let wrapping = Wrapping {
            old: wrapping.old || old.is_secret(),
            ..wrapping
        };
        return reset_value(path, inner, new, wrapping);
    }
    match (old, &mut *new) {
        (PropertyValue::Object(old), PropertyValue::Object(new)) => reset_object(path, old, new, wrapping),
        (PropertyValue::Array(old), PropertyValue::Array(new)) => {
            reset_array(path, old, Arc::make_mut(new).as_mut_slice(), wrapping)
        }
        (old, new) => !may_hold(old, path) && !may_hold(new, path),
    }
}

/// Returns whether the first element of `path` may be in `value`; unknown values may become anything.
fn may_hold(value: &PropertyValue, path: &[PathElement]) -> bool {
    match (value, path.first()) {
        (PropertyValue::Object(map), Some(PathElement::Key(key))) => key == "*" || map.contains_key(key),
        (PropertyValue::Array(_), Some(element @ PathElement::Key(_))) => element.is_wildcard(),
        (PropertyValue::Array(values), Some(PathElement::Index(index))) => *index < values.len(),
        (PropertyValue::Unknown(_) | PropertyValue::Output(_), Some(_)) => true,
        _ => false,
    }
}

fn reset_object(path: &[PathElement], old: &PropertyMap, new: &mut PropertyMap, wrapping: Wrapping) -> bool {
    let Some((PathElement::Key(key), rest)) = path.split_first() else {
        return false;
    };
    match (key.as_str(), rest.is_empty()) {
        ("*", true) => {
            *new = old
                .iter()
                .map(|(key, value)| (key.clone(), wrapping.leaf(value)))
                .collect();
            true
        }
        ("*", false) => {
            let mut complete = old.keys().all(|key| new.contains_key(key));
            for (key, value) in new.iter_mut() {
                complete &= match old.get(key) {
                    Some(old) => reset_value(rest, old, value, wrapping),
                    None => false,
                };
            }
            complete
        }
        (key, true) => {
            match old.get(key) {
                Some(value) => drop(new.insert(key, wrapping.leaf(value))),
                None => drop(new.remove(key)),
            }
            true
        }
        (key, false) => match (old.get(key), new.get_mut(key)) {
            (Some(old), Some(new)) => reset_value(rest, old, new, wrapping),
            (None, None) => true,
            _ => false,
        },
    }
}

fn reset_array(
    path: &[PathElement],
    old: &[PropertyValue],
    new: &mut [PropertyValue],
    wrapping: Wrapping,
) -> bool {
    let Some((element, rest)) = path.split_first() else {
        return false;
    };
    let reset_one = |old: &PropertyValue, new: &mut PropertyValue| {
        if rest.is_empty() {
            *new = wrapping.leaf(old);
            true
        } else {
            reset_value(rest, old, new, wrapping)
        }
    };
    match element {
        PathElement::Index(index) => match (old.get(*index), new.get_mut(*index)) {
            (Some(old), Some(new)) => reset_one(old, new),
            (None, None) => true,
            _ => false,
        },
        PathElement::Key(_) if element.is_wildcard() => {
            let same_length = old.len() == new.len();
            old.iter().zip(new).fold(same_length, |complete, (old, new)| {
                reset_one(old, new) && complete
            })
        }
        PathElement::Key(_) => false,
    }
}

//! Following paths: get, set and delete. Secrets and output values are looked through on the way.

use std::sync::Arc;

use super::{PathElement, PropertyPath};
use crate::property::{Output, PropertyMap, PropertyValue, Secret};

impl PropertyPath {
    /// Returns the value that the path leads to. A wildcard leads nowhere; nor does the empty path of a map.
    #[must_use]
    pub fn get<'a>(&self, map: &'a PropertyMap) -> Option<&'a PropertyValue> {
        let (first, rest) = self.elements().split_first()?;
        let PathElement::Key(key) = first else {
            return None;
        };
        rest.iter().try_fold(map.get(key)?, step)
    }

    /// Puts a value where the path leads, replacing one or adding a name to an object; tells whether it could.
    /// Objects and arrays on the way must exist, and arrays do not grow.
    pub fn set(&self, map: &mut PropertyMap, value: PropertyValue) -> bool {
        let mut value = Some(value);
        edit(
            map,
            self.elements(),
            &mut |container, element| match (container, element) {
                (Container::Object(object), PathElement::Key(key)) => value.take().is_some_and(|value| {
                    object.insert(key.clone(), value);
                    true
                }),
                (Container::Array(array), PathElement::Index(index)) => match array.get_mut(*index) {
                    Some(slot) => value.take().is_some_and(|value| {
                        *slot = value;
                        true
                    }),
                    None => false,
                },
                _ => false,
            },
        )
    }

    /// Takes the value out that the path leads to; elements after one of an array move up. Tells whether there was
    /// one.
    pub fn delete(&self, map: &mut PropertyMap) -> bool {
        edit(
            map,
            self.elements(),
            &mut |container, element| match (container, element) {
                (Container::Object(object), PathElement::Key(key)) => object.remove(key).is_some(),
                (Container::Array(array), PathElement::Index(index)) if *index < array.len() => {
                    array.remove(*index);
                    true
                }
                _ => false,
            },
        )
    }
}

fn step<'a>(value: &'a PropertyValue, element: &PathElement) -> Option<&'a PropertyValue> {
    match (value.unwrapped(), element) {
        (PropertyValue::Object(map), PathElement::Key(key)) => map.get(key),
        (PropertyValue::Array(values), PathElement::Index(index)) => values.get(*index),
        _ => None,
    }
}

/// What holds the last element of a path.
enum Container<'a> {
    Object(&'a mut PropertyMap),
    Array(&'a mut Vec<PropertyValue>),
}

type Change<'a> = dyn FnMut(Container<'_>, &PathElement) -> bool + 'a;

fn edit(map: &mut PropertyMap, elements: &[PathElement], change: &mut Change<'_>) -> bool {
    match elements {
        [] => false,
        [last] => change(Container::Object(map), last),
        [PathElement::Key(key), rest @ ..] => match map.get_mut(key) {
            Some(value) => edit_value(value, rest, change),
            None => false,
        },
        _ => false,
    }
}

fn edit_value(value: &mut PropertyValue, elements: &[PathElement], change: &mut Change<'_>) -> bool {
    match value {
        PropertyValue::Object(map) => edit(map, elements, change),
        PropertyValue::Array(values) => match elements {
            [last] => change(Container::Array(Arc::make_mut(values)), last),
            [PathElement::Index(index), rest @ ..] if *index < values.len() => {
                edit_value(&mut Arc::make_mut(values)[*index], rest, change)
            }
            _ => false,
        },
        PropertyValue::Secret(_) | PropertyValue::Output(_) => {
            change_inside(value, |element| edit_value(element, elements, change))
        }
        _ => false,
    }
}

/// Changes what is inside a secret or a known output value; what was remembered of it (its ciphertext) is
/// forgotten when `change` did something.
pub(super) fn change_inside(
    value: &mut PropertyValue,
    change: impl FnOnce(&mut PropertyValue) -> bool,
) -> bool {
    match value {
        PropertyValue::Secret(secret) => {
            let mut element = secret.element.clone();
            let changed = change(&mut element);
            if changed {
                *secret = Arc::new(Secret {
                    element,
                    ..Secret::default()
                });
            }
            changed
        }
        PropertyValue::Output(output) => {
            let Some(mut element) = output.element.clone() else {
                return false;
            };
            let changed = change(&mut element);
            if changed {
                *output = Arc::new(Output {
                    element: Some(element),
                    secret: output.secret,
                    dependencies: output.dependencies.clone(),
                });
            }
            changed
        }
        _ => false,
    }
}

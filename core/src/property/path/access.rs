//! Access by path: get, set and delete, through secrets and output values.

use std::sync::Arc;

use super::{PathElement, PropertyPath};
use crate::property::{Output, PropertyMap, PropertyValue, Secret};

impl PropertyPath {
    /// Returns the value at the path; `None` for a path with wildcards, and for the empty path.
    #[must_use]
    pub fn get<'a>(&self, map: &'a PropertyMap) -> Option<&'a PropertyValue> {
        let (first, rest) = self.elements().split_first()?;
        let PathElement::Key(key) = first else {
            return None;
        };
        rest.iter().try_fold(map.get(key)?, step)
    }

    /// Returns the value at the path for a text: without output values, and as a secret when a value on the way is one.
    /// `None` as [`Self::get`].
    #[must_use]
    pub(crate) fn get_marked(&self, map: &PropertyMap) -> Option<PropertyValue> {
        let (first, rest) = self.elements().split_first()?;
        let PathElement::Key(key) = first else {
            return None;
        };
        let mut value = map.get(key)?;
        let mut is_secret = hides(value);
        for element in rest {
            value = step(value, element)?;
            is_secret |= hides(value);
        }
        let value = value.clone().collapse_outputs();
        Some(if is_secret {
            PropertyValue::secret(value)
        } else {
            value
        })
    }

    /// Sets the value at the path, or adds a name to an object; returns whether that was possible.
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

    /// Removes the value at the path; later elements of an array move up. Returns whether there was one.
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

/// Returns whether a wrapper of this level is a secret.
fn hides(value: &PropertyValue) -> bool {
    match value {
        PropertyValue::Secret(_) => true,
        PropertyValue::Output(output) => output.secret || output.element.as_ref().is_some_and(hides),
        _ => false,
    }
}

/// The container of the last element of a path.
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

/// Changes the inside of a secret or a known output value; a cached ciphertext is dropped if `change` returned true.
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

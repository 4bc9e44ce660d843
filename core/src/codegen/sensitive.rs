//! Inputs that are secret by the schema of their package: providers may return them without a mark.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::schema::{PackageSchema, PropertySchema};
use crate::property::{PropertyMap, PropertyValue};

impl PackageSchema {
    /// Returns properties of a resource of a type in which each value is a secret that the schema makes one; those of a provider
    /// for `None`.
    pub(crate) fn marked(&self, token: Option<&str>, properties: &PropertyMap) -> PropertyMap {
        Sensitive::new(self, token.is_none()).marked(properties, self.properties_of(token))
    }
}

/// Marks secrets by a schema.
#[derive(Clone, Copy)]
struct Sensitive<'a> {
    schema: &'a PackageSchema,
    /// Whether texts can be the JSON of their values, as in the configuration of a provider.
    is_encoded: bool,
}

impl<'a> Sensitive<'a> {
    const fn new(schema: &'a PackageSchema, is_encoded: bool) -> Self {
        Self { schema, is_encoded }
    }

    /// Returns inputs in which each value is a secret that one of the lists of properties makes one.
    fn marked<'b>(
        self,
        inputs: &PropertyMap,
        properties: impl IntoIterator<Item = &'b BTreeMap<String, PropertySchema>>,
    ) -> PropertyMap {
        let mut marked = inputs.clone();
        for properties in properties {
            for (name, property) in properties {
                self.mark(&mut marked, name, property);
            }
        }
        marked
    }

    fn mark(self, map: &mut PropertyMap, name: &str, property: &PropertySchema) {
        if let Some(value) = map.get(name) {
            let value = self.value(value, property);
            map.insert(name, value);
        }
    }

    fn value(self, value: &PropertyValue, property: &PropertySchema) -> PropertyValue {
        // A null has nothing to hide, and a program can leave it out.
        if property.secret && !matches!(value, PropertyValue::Null) {
            return PropertyValue::secret(value.clone());
        }
        let mut marked = match value {
            PropertyValue::String(_) if self.is_encoded && self.has_secrets(property) => {
                PropertyValue::secret(value.clone())
            }
            PropertyValue::Array(values) => match &property.items {
                Some(items) => {
                    let values = values.iter().map(|value| self.value(value, items));
                    PropertyValue::from(values.collect::<Vec<_>>())
                }
                None => value.clone(),
            },
            PropertyValue::Object(map) => PropertyValue::from(self.object(map, property)),
            _ => value.clone(),
        };
        // Which of several types a value has is not certain.
        for part in &property.one_of {
            marked = self.value(&marked, part);
        }
        marked
    }

    fn object(self, map: &PropertyMap, property: &PropertySchema) -> PropertyMap {
        let mut marked = map.clone();
        if let Some(inner) = &property.additional_properties {
            for (_, value) in marked.iter_mut() {
                *value = self.value(value, inner);
            }
        }
        for (name, member) in self.schema.members_of(property).into_iter().flatten() {
            self.mark(&mut marked, name, member);
        }
        marked
    }

    /// Returns whether the type of a property has a secret in it.
    fn has_secrets(self, property: &PropertySchema) -> bool {
        let mut seen = FxHashSet::default();
        let mut open = vec![property];
        while let Some(property) = open.pop() {
            // Types can contain themselves.
            if !seen.insert(std::ptr::from_ref(property)) {
                continue;
            }
            if property.secret {
                return true;
            }
            let inner = [&property.items, &property.additional_properties];
            open.extend(inner.into_iter().flatten().map(|inner| &**inner));
            open.extend(&property.one_of);
            open.extend(
                self.schema
                    .members_of(property)
                    .into_iter()
                    .flatten()
                    .map(|(_, member)| member),
            );
        }
        false
    }
}

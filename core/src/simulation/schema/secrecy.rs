//! Which values a schema declares as secret, at any depth.

use super::{PackageSchema, PropertySchema, Referenced, ResourceSchema};
use crate::property::{PropertyMap, PropertyValue};

impl PackageSchema {
    /// Marks the values of secret properties, those inside of lists, maps and referenced types too.
    pub(in crate::simulation) fn mark_secrets(&self, resource: &ResourceSchema, outputs: &mut PropertyMap) {
        for (name, property) in &resource.properties {
            if let Some(value) = outputs.get(name) {
                let marked = self.marked(value, property);
                outputs.insert(name.as_str(), marked);
            }
        }
    }

    /// Returns a value with the marks of its schema. What is secret already stays as it is.
    fn marked(&self, value: &PropertyValue, property: &PropertySchema) -> PropertyValue {
        if value.is_null() {
            return value.clone();
        }
        if property.secret {
            return PropertyValue::secret(value.clone());
        }
        if let Referenced::Type(referenced) = self.resolve(&property.reference)
            && let PropertyValue::Object(members) = value
        {
            let marked = members.iter().map(|(name, value)| {
                let schema = referenced.properties.get(name.as_str());
                let marked = schema.map_or_else(|| value.clone(), |schema| self.marked(value, schema));
                (name.clone(), marked)
            });
            return PropertyValue::Object(marked.collect());
        }
        let within = match value {
            PropertyValue::Array(values) => property.items.as_deref().map(|items| {
                PropertyValue::array(values.iter().map(|value| self.marked(value, items)).collect())
            }),
            PropertyValue::Object(members) => property.additional_properties.as_deref().map(|each| {
                let marked = members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.marked(value, each)));
                PropertyValue::Object(marked.collect())
            }),
            _ => None,
        };
        let alternatives = property.one_of.iter();
        alternatives.fold(within.unwrap_or_else(|| value.clone()), |value, alternative| {
            self.marked(&value, alternative)
        })
    }
}

//! Which changes of properties replace a resource.

use super::{PackageSchema, PropertySchema, Referenced, ResourceSchema};
use crate::property::{PathElement, PropertyPath};

impl PropertySchema {
    const fn replaces(&self) -> bool {
        self.replace_on_changes || self.will_replace_on_changes || self.force_new
    }
}

impl PackageSchema {
    /// Returns whether a change at a path replaces the resource: the property, or one above it, states so.
    pub(in crate::simulation) fn replaces(&self, resource: &ResourceSchema, path: &PropertyPath) -> bool {
        let Some((PathElement::Key(name), rest)) = path.elements().split_first() else {
            return false;
        };
        let places = [&resource.input_properties, &resource.properties];
        places
            .iter()
            .filter_map(|properties| properties.get(name.as_str()))
            .any(|property| self.replaces_below(property, rest))
    }

    fn replaces_below(&self, property: &PropertySchema, path: &[PathElement]) -> bool {
        if property.replaces() {
            return true;
        }
        let Some((element, rest)) = path.split_first() else {
            return false;
        };
        let of_referenced = match (self.resolve(&property.reference), element) {
            (Referenced::Type(referenced), PathElement::Key(name)) => {
                referenced.properties.get(name.as_str())
            }
            _ => None,
        };
        let inner = of_referenced
            .into_iter()
            .chain(property.items.as_deref())
            .chain(property.additional_properties.as_deref());
        inner.into_iter().any(|inner| self.replaces_below(inner, rest))
            || property.one_of.iter().any(|each| self.replaces_below(each, path))
    }
}

//! Values of outputs that a schema declares and a simulation has to invent. Equal resources get equal values.

use super::{PackageSchema, PropertySchema, Referenced, ResourceSchema, value_of};
use crate::{
    property::{PropertyMap, PropertyValue},
    simulation::world::digits,
};

/// How deep objects are filled: types can contain themselves.
const MAX_LEVELS: usize = 4;
/// How many hexadecimal digits an invented text ends with.
const DIGITS: usize = 6;
/// The number below which invented numbers are.
const MAX_NUMBER: u32 = 10_000;

impl PackageSchema {
    /// Adds the outputs that the inputs do not have: the `previous` ones, and those of a new resource. These are unknown in
    /// previews. `seed` names the resource.
    pub(in crate::simulation) fn complete_outputs(
        &self,
        resource: &ResourceSchema,
        outputs: &mut PropertyMap,
        previous: Option<&PropertyMap>,
        seed: &str,
        is_preview: bool,
    ) {
        for (name, property) in &resource.properties {
            let is_input = resource.input_properties.contains_key(name);
            if outputs.get(name).is_some_and(|value| !value.is_null()) {
                continue;
            }
            let is_required = resource.required.contains(name);
            let value = match previous.and_then(|previous| previous.get(name)) {
                // An input that the program no longer sets is gone, unless the provider always returns it.
                Some(value) if !is_input || is_required => value.clone(),
                _ if is_preview && previous.is_none() && (!is_input || is_required) => {
                    PropertyValue::unknown()
                }
                _ if is_required => self.invent(property, &[seed, name], 0),
                _ => continue,
            };
            outputs.insert(name.as_str(), value);
        }
    }

    /// Returns a value of a type.
    fn invent(&self, property: &PropertySchema, place: &[&str], level: usize) -> PropertyValue {
        if let Some(value) = property.constant.as_ref().or(property.default.as_ref()) {
            return value_of(value);
        }
        if let Some(first) = property.one_of.first() {
            return self.invent(first, place, level);
        }
        if !property.reference.is_empty() {
            return self.invent_referenced(&property.reference, place, level);
        }
        let name = place.last().copied().unwrap_or_default();
        match property.kind.as_str() {
            "boolean" => false.into(),
            "integer" | "number" => number(place).into(),
            "array" => PropertyValue::array(Vec::new()),
            "object" => PropertyMap::new().into(),
            _ => format!("{name}-{}", digits(place, DIGITS)).into(),
        }
    }

    fn invent_referenced(&self, reference: &str, place: &[&str], level: usize) -> PropertyValue {
        let Referenced::Type(referenced) = self.resolve(reference) else {
            return PropertyValue::Null;
        };
        if let Some(first) = referenced.values.first() {
            return value_of(&first.value);
        }
        if level == MAX_LEVELS {
            return PropertyMap::new().into();
        }
        let members = referenced.required.iter().filter_map(|name| {
            let property = referenced.properties.get(name)?;
            let place = [place, &[name.as_str()]].concat();
            Some((name.as_str(), self.invent(property, &place, level + 1)))
        });
        members.collect::<PropertyMap>().into()
    }
}

fn number(place: &[&str]) -> f64 {
    let digits = digits(place, DIGITS);
    let number = u32::from_str_radix(&digits, 16).unwrap_or_default();
    f64::from(number % MAX_NUMBER)
}

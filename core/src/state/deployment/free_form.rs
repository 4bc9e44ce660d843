//! The parts of the format that the engine keeps uninterpreted: any JSON of at most [`MAX_FREE_FORM_DEPTH`] levels.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// The nesting limit, in levels. Such values are read, written and dropped recursively.
const MAX_FREE_FORM_DEPTH: usize = 128;

/// Any JSON of at most [`MAX_FREE_FORM_DEPTH`] levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FreeForm(pub(super) Value);

impl<'de> Deserialize<'de> for FreeForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Levels(MAX_FREE_FORM_DEPTH).deserialize(deserializer).map(Self)
    }
}

/// Reads a value that may be missing.
pub(in crate::state) fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let value = FreeForm::deserialize(deserializer)?.0;
    Ok(Some(value).filter(|value| !value.is_null()))
}

/// Reads a list of values, or null.
pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Value>>, D::Error> {
    let list = Option::<Vec<FreeForm>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|value| value.0).collect()))
}

/// Reads values by name, or null.
pub(super) fn map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    let map = Option::<BTreeMap<String, FreeForm>>::deserialize(deserializer)?;
    Ok(map.map(|map| map.into_iter().map(|(name, value)| (name, value.0)).collect()))
}

/// Reads a value of at most so many levels.
#[derive(Clone, Copy)]
struct Levels(usize);

impl Levels {
    fn below<E: serde::de::Error>(self) -> Result<Self, E> {
        let below = self.0.checked_sub(1).map(Self);
        below.ok_or_else(|| {
            E::custom(format_args!(
                "JSON nests deeper than {MAX_FREE_FORM_DEPTH} levels"
            ))
        })
    }
}

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut values = Vec::new();
        while let Some(value) = access.next_element_seed(below)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut values = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            values.insert(name, access.next_value_seed(below)?);
        }
        Ok(values.into())
    }
}

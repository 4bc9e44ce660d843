//! Plain JSON for hosts: values in the form of the protocol, with plaintext secrets inside marked objects.
//!
//! For code that receives secrets anyway (a provider or a program of the host), never for storage.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeSeed as _};

use super::{
    MapJson, SecretForm, ValueJson, format,
    read::{MapReader, ReadForm, ValueReader},
};
use crate::{
    error::{Error, Result},
    property::{PropertyMap, PropertyValue},
};

/// A map in plain JSON form, for use as a field of a larger document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlainMap(pub PropertyMap);

/// A value in plain JSON form, for use as a field of a larger document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlainValue(pub PropertyValue);

/// A map that a host supplies for a state: secrets are in the form of the protocol or in those of state, encrypted ones
/// included, which stay sealed (see [`super::SealedSecrets`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenMap(pub PropertyMap);

impl<'de> Deserialize<'de> for GivenMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MapReader(ValueReader::new(ReadForm::Given))
            .deserialize(deserializer)
            .map(Self)
    }
}

impl Serialize for PlainMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MapJson::new(&self.0, SecretForm::Value).serialize(serializer)
    }
}

impl Serialize for PlainValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ValueJson::new(&self.0, SecretForm::Value).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PlainMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MapReader(ValueReader::new(ReadForm::Plain))
            .deserialize(deserializer)
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for PlainValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueReader::new(ReadForm::Plain)
            .deserialize(deserializer)
            .map(Self)
    }
}

/// Reads a map from plain JSON.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with line and column.
pub fn from_plain_json(text: &[u8]) -> Result<PropertyMap> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let read = |error| Error::invalid(format!("cannot read values: {error}"));
    let map = PlainMap::deserialize(&mut deserializer).map_err(read)?;
    deserializer.end().map_err(read)?;
    Ok(map.0)
}

/// Writes a map as plain JSON; its secrets are in plaintext.
///
/// # Errors
/// [`crate::ErrorKind::State`] if values nest deeper than [`crate::property::MAX_DEPTH`].
pub fn to_plain_json(map: &PropertyMap) -> Result<Vec<u8>> {
    format::to_vec(&MapJson::new(map, SecretForm::Value))
}

/// Writes a value as plain JSON; its secrets are in plaintext.
///
/// # Errors
/// [`crate::ErrorKind::State`] if values nest deeper than [`crate::property::MAX_DEPTH`].
pub fn value_to_plain_json(value: &PropertyValue) -> Result<Vec<u8>> {
    format::to_vec(&ValueJson::new(value, SecretForm::Value))
}

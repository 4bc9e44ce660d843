//! Reading values from JSON text, without an intermediate tree.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use smol_str::SmolStr;

use super::special;
use crate::property::{
    CachedCiphertext, Key, MAX_DEPTH, PropertyMap, PropertyValue, Secret, Unknown, signature::SIGNATURE,
};

/// A map in the format of state; encrypted secrets stay sealed (see [`super::SealedSecrets`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StateMap(pub PropertyMap);

/// A value in the format of state; encrypted secrets stay sealed (see [`super::SealedSecrets`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StateValue(pub PropertyValue);

impl<'de> Deserialize<'de> for StateMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MapReader(ValueReader::new(ReadForm::State))
            .deserialize(deserializer)
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for StateValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueReader::new(ReadForm::State)
            .deserialize(deserializer)
            .map(Self)
    }
}

/// The format of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadForm {
    /// State: secrets are ciphertexts, or plaintexts of a plaintext export.
    State,
    /// The decrypted text of a secret: inner secrets have their plaintext in place of the ciphertext.
    Nested,
    /// Plain JSON of hosts: the forms of the protocol.
    Plain,
    /// Values that hosts supply for a state: secrets have any of the forms above.
    Given,
}

/// Reads a value.
#[derive(Clone, Copy)]
pub(super) struct ValueReader {
    pub(super) form: ReadForm,
    pub(super) depth: usize,
}

impl ValueReader {
    pub(super) const fn new(form: ReadForm) -> Self {
        Self { form, depth: 0 }
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "values nest deeper than {MAX_DEPTH} levels"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }

    fn text(self, text: &str) -> Option<Unknown> {
        let unknown = Unknown::from_sentinel(text)?;
        // State uses only one sentinel; the others are ordinary texts there.
        (self.form == ReadForm::Plain || unknown == Unknown::String).then_some(unknown)
    }

    fn entries<'de, A: MapAccess<'de>>(self, mut access: A) -> Result<(PropertyMap, bool), A::Error> {
        let mut entries: Vec<(Key, PropertyValue)> = Vec::with_capacity(access.size_hint().unwrap_or(4));
        let mut marked = false;
        while let Some(key) = access.next_key::<SmolStr>()? {
            marked |= key == SIGNATURE;
            entries.push((key, access.next_value_seed(self)?));
        }
        Ok((entries.into_iter().collect(), marked))
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader {
    type Value = PropertyValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PropertyValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader {
    type Value = PropertyValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a property value")
    }

    fn visit_unit<E>(self) -> Result<PropertyValue, E> {
        Ok(PropertyValue::Null)
    }

    fn visit_none<E>(self) -> Result<PropertyValue, E> {
        Ok(PropertyValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<PropertyValue, E> {
        Ok(PropertyValue::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "the protocol has only doubles")]
    fn visit_i64<E>(self, value: i64) -> Result<PropertyValue, E> {
        Ok(PropertyValue::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "the protocol has only doubles")]
    fn visit_u64<E>(self, value: u64) -> Result<PropertyValue, E> {
        Ok(PropertyValue::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<PropertyValue, E> {
        Ok(PropertyValue::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<PropertyValue, E> {
        Ok(match self.text(text) {
            Some(unknown) => PropertyValue::Unknown(unknown),
            None => PropertyValue::String(text.into()),
        })
    }

    fn visit_string<E>(self, text: String) -> Result<PropertyValue, E> {
        Ok(match self.text(&text) {
            Some(unknown) => PropertyValue::Unknown(unknown),
            None => PropertyValue::String(text.into()),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<PropertyValue, A::Error> {
        let inner = self.deeper()?;
        let mut values = Vec::with_capacity(access.size_hint().unwrap_or(0));
        while let Some(value) = access.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(PropertyValue::Array(Arc::new(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<PropertyValue, A::Error> {
        let inner = self.deeper()?;
        let (map, marked) = inner.entries(access)?;
        if marked {
            special::read(map, inner).map_err(A::Error::custom)
        } else {
            Ok(PropertyValue::Object(map))
        }
    }
}

/// Reads a map whose keys have no special meaning.
#[derive(Clone, Copy)]
pub(super) struct MapReader(pub(super) ValueReader);

impl<'de> DeserializeSeed<'de> for MapReader {
    type Value = PropertyMap;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PropertyMap, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MapReader {
    type Value = PropertyMap;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of property values")
    }

    fn visit_unit<E>(self) -> Result<PropertyMap, E> {
        Ok(PropertyMap::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<PropertyMap, A::Error> {
        self.0.entries(access).map(|(map, _)| map)
    }
}

/// Reads the text of a secret. The error does not contain the content.
pub(super) fn text(plaintext: &str, form: ReadForm, depth: usize) -> Result<PropertyValue, &'static str> {
    const MALFORMED: &str = "the plaintext of a secret is not the JSON of a value";
    let mut deserializer = serde_json::Deserializer::from_str(plaintext);
    deserializer.disable_recursion_limit();
    let value = ValueReader { form, depth }
        .deserialize(&mut deserializer)
        .map_err(|_| MALFORMED)?;
    deserializer.end().map_err(|_| MALFORMED)?;
    Ok(value)
}

/// Reads a secret from its decrypted text; `None` if that is not the JSON of a value.
pub(crate) fn read_plaintext(plaintext: &str) -> Option<PropertyValue> {
    text(plaintext, ReadForm::Nested, 0)
        .ok()
        .map(PropertyValue::secret)
}

/// Creates a secret with its ciphertext only.
pub(super) fn sealed(ciphertext: &str) -> PropertyValue {
    PropertyValue::Secret(Arc::new(Secret {
        element: PropertyValue::Null,
        ciphertext: OnceLock::from(CachedCiphertext {
            manager: Arc::from(Secret::SEALED),
            text: ciphertext.into(),
        }),
    }))
}

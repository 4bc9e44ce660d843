//! The members of a JSON object that a type knows; the others are set aside as text.

use std::borrow::Cow;

use serde::{
    Deserialize,
    de::{DeserializeSeed, IntoDeserializer as _, MapAccess},
};
use serde_json::value::RawValue;

use crate::resource::UnknownMembers;

/// Passes on the known members of an object. Only objects of `serde_json` can be read, whose values have a text.
pub(super) struct KnownMembers<'u, A> {
    access: A,
    is_known: fn(&str) -> bool,
    unknown: &'u mut UnknownMembers,
}

impl<'u, A> KnownMembers<'u, A> {
    /// Wraps `access`. The members that `is_known` rejects are added to `unknown`.
    pub(super) const fn new(access: A, is_known: fn(&str) -> bool, unknown: &'u mut UnknownMembers) -> Self {
        Self {
            access,
            is_known,
            unknown,
        }
    }
}

/// A name, borrowed from the document where possible.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for &mut KnownMembers<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Name(name)) = self.access.next_key()? {
            if (self.is_known)(&name) {
                return seed.deserialize((&*name).into_deserializer()).map(Some);
            }
            let value: Box<RawValue> = self.access.next_value()?;
            self.unknown.insert(&name, value.get());
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.access.next_value_seed(seed)
    }
}

//! Texts of a record, borrowed from the document where possible, and members that may be null.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use smol_str::SmolStr;

use crate::urn::Urn;

pub(super) fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A URN that may be missing, null or empty.
pub(super) fn maybe_urn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Urn>, D::Error> {
    match <Option<Cow<'de, str>>>::deserialize(deserializer)? {
        Some(text) if !text.is_empty() => Urn::parse(&text).map(Some).map_err(serde::de::Error::custom),
        _ => Ok(None),
    }
}

/// Texts, borrowed from the document where possible.
#[derive(Default)]
pub(super) struct Texts<'a>(pub(super) Vec<Cow<'a, str>>);

/// A text, borrowed from the document where possible. Inside of a list, `Cow` alone would always copy it.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<Text<'a>>::deserialize(deserializer)?;
        Ok(Self(texts.into_iter().map(|text| text.0).collect()))
    }
}

/// Lists of texts by name, in the order of the document.
#[derive(Default)]
pub(super) struct TextsByName<'a>(pub(super) Vec<(SmolStr, Texts<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for TextsByName<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = TextsByName<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("lists of texts by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<TextsByName<'a>, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, texts)) = access.next_entry::<SmolStr, Option<Texts<'a>>>()? {
                    entries.push((name, texts.unwrap_or_default()));
                }
                Ok(TextsByName(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

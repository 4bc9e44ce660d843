//! Writing values as JSON, without an intermediate tree.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap as _, SerializeSeq as _},
};

use super::{Ciphertexts, format};
use crate::property::{
    Archive, ArchiveSource, Asset, AssetSource, MAX_DEPTH, Output, PropertyMap, PropertyValue,
    ResourceReference, Unknown,
    signature::{ARCHIVE, ASSET, BYTES, OUTPUT, RESOURCE, SECRET, SIGNATURE, SPECIAL_NUMBER},
};

/// How secrets are written; other values are written the same way unless noted.
#[derive(Clone, Copy)]
pub enum SecretForm<'a> {
    /// As ciphertexts, the format of stored state. A secret without one is an error.
    Encrypted(&'a Ciphertexts),
    /// As JSON text in plaintext: a plaintext export.
    Plaintext,
    /// As JSON text in place of a ciphertext: the inside of a secret, which is encrypted as a whole.
    Nested,
    /// As the base64 of JSON text in place of a ciphertext, like the `b64` secrets manager: for hosts that need the
    /// values, never for logs.
    Base64,
    /// As `[secret]`, and without the contents of text assets: the format of events.
    Blinded(&'a Blinding<'a>),
    /// In plaintext in the form of the protocol, with output values and typed unknowns: plain JSON of hosts.
    Value,
}

/// Returns the replacement of a text; `None` leaves it unchanged.
pub type Scrub<'a> = dyn Fn(&str) -> Option<String> + Sync + 'a;

/// The additional redaction of events.
#[derive(Default)]
pub struct Blinding<'a> {
    /// Applied to every text value, for secrets of the configuration for instance.
    pub scrub: Option<&'a Scrub<'a>>,
}

/// The text of a secret in events.
const BLINDED_SECRET: &str = "[secret]";
/// The contents of a text asset in events.
const ELIDED_CONTENTS: &str = "<contents elided>";

/// A value with a form, serializable as JSON.
#[derive(Clone, Copy)]
pub struct ValueJson<'a> {
    value: &'a PropertyValue,
    form: SecretForm<'a>,
    depth: usize,
}

/// A map with a form, serializable as JSON.
#[derive(Clone, Copy)]
pub struct MapJson<'a> {
    map: &'a PropertyMap,
    form: SecretForm<'a>,
    depth: usize,
}

impl<'a> ValueJson<'a> {
    /// Combines a value with the form in which it is written.
    #[must_use]
    pub const fn new(value: &'a PropertyValue, form: SecretForm<'a>) -> Self {
        Self {
            value,
            form,
            depth: 0,
        }
    }

    const fn inner(&self, value: &'a PropertyValue) -> Self {
        Self {
            value,
            form: self.form,
            depth: self.depth + 1,
        }
    }
}

impl<'a> MapJson<'a> {
    /// Combines a map with the form in which it is written.
    #[must_use]
    pub const fn new(map: &'a PropertyMap, form: SecretForm<'a>) -> Self {
        Self { map, form, depth: 0 }
    }
}

impl Serialize for MapJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.map.len()))?;
        for (key, value) in self.map.iter() {
            object.serialize_entry(
                key.as_str(),
                &ValueJson {
                    value,
                    form: self.form,
                    depth: self.depth,
                },
            )?;
        }
        object.end()
    }
}

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.depth > MAX_DEPTH {
            return Err(S::Error::custom(format_args!(
                "values nest deeper than {MAX_DEPTH} levels"
            )));
        }
        match self.value {
            PropertyValue::Null => serializer.serialize_unit(),
            PropertyValue::Bool(value) => serializer.serialize_bool(*value),
            PropertyValue::Number(value) => number(*value, serializer),
            PropertyValue::String(text) => self.text(text, serializer),
            PropertyValue::Bytes(bytes) => special(serializer, BYTES, [("value", STANDARD.encode(bytes))]),
            PropertyValue::Array(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values.iter() {
                    list.serialize_element(&self.inner(value))?;
                }
                list.end()
            }
            // It would be read as a special value, or cause an error.
            PropertyValue::Object(map) if map.is_forged() => Err(S::Error::custom(format_args!(
                "a plain object has the key '{SIGNATURE}', which marks special values"
            ))),
            PropertyValue::Object(map) => MapJson {
                map,
                form: self.form,
                depth: self.depth + 1,
            }
            .serialize(serializer),
            PropertyValue::Asset(asset) => self.asset(asset, serializer),
            PropertyValue::Archive(archive) => self.archive(archive, serializer),
            PropertyValue::ResourceReference(reference) => resource(reference, serializer),
            PropertyValue::Secret(secret) => {
                let known = match self.form {
                    SecretForm::Encrypted(ciphertexts) => ciphertexts.of_secret(secret),
                    _ if secret.is_sealed() && !matches!(self.form, SecretForm::Blinded(_)) => {
                        return Err(S::Error::custom("a secret of the state was never decrypted"));
                    }
                    _ => None,
                };
                self.secret(known, &secret.element, serializer)
            }
            PropertyValue::Output(output) => self.output(output, serializer),
            PropertyValue::Unknown(unknown) => serializer.serialize_str(match self.form {
                SecretForm::Value => unknown.sentinel(),
                _ => Unknown::String.sentinel(),
            }),
        }
    }
}

impl<'a> ValueJson<'a> {
    fn text<S: Serializer>(&self, text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        if let SecretForm::Blinded(Blinding { scrub: Some(scrub) }) = self.form
            && let Some(scrubbed) = scrub(text)
        {
            return serializer.serialize_str(&scrubbed);
        }
        serializer.serialize_str(text)
    }

    fn secret<S: Serializer>(
        &self,
        ciphertext: Option<&str>,
        element: &PropertyValue,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let in_clear = |form| {
            let inner = ValueJson {
                value: element,
                form,
                depth: self.depth + 1,
            };
            let text = format::to_vec(&inner).map_err(|error| S::Error::custom(error.message()))?;
            String::from_utf8(text).map_err(S::Error::custom)
        };
        match self.form {
            SecretForm::Encrypted(_) => match ciphertext {
                Some(text) => special(serializer, SECRET, [("ciphertext", text)]),
                None => Err(S::Error::custom("a secret has not been encrypted")),
            },
            SecretForm::Blinded(_) => special(serializer, SECRET, [("ciphertext", BLINDED_SECRET)]),
            SecretForm::Nested => special(serializer, SECRET, [("ciphertext", in_clear(self.form)?)]),
            SecretForm::Base64 => {
                let text = STANDARD.encode(in_clear(SecretForm::Nested)?);
                special(serializer, SECRET, [("ciphertext", text)])
            }
            SecretForm::Plaintext => special(serializer, SECRET, [("plaintext", in_clear(self.form)?)]),
            SecretForm::Value => {
                let inner = ValueJson {
                    value: element,
                    form: self.form,
                    depth: self.depth + 1,
                };
                special(serializer, SECRET, [("value", inner)])
            }
        }
    }

    fn output<S: Serializer>(&self, output: &'a Output, serializer: S) -> Result<S::Ok, S::Error> {
        static UNKNOWN: PropertyValue = PropertyValue::unknown();
        if !matches!(self.form, SecretForm::Value) {
            let element = output.element.as_ref().unwrap_or(&UNKNOWN);
            if !output.secret {
                return self.inner(element).serialize(serializer);
            }
            let known = match self.form {
                SecretForm::Encrypted(ciphertexts) => ciphertexts.of_output(output),
                _ => None,
            };
            return self.secret(known, element, serializer);
        }
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry(SIGNATURE, OUTPUT)?;
        if !output.dependencies.is_empty() {
            object.serialize_entry("dependencies", &output.dependencies)?;
        }
        if output.secret {
            object.serialize_entry("secret", &true)?;
        }
        if let Some(element) = &output.element {
            object.serialize_entry("value", &self.inner(element))?;
        }
        object.end()
    }

    fn asset<S: Serializer>(&self, asset: &Asset, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry(SIGNATURE, ASSET)?;
        if !asset.hash.is_empty() {
            object.serialize_entry("hash", asset.hash.as_str())?;
        }
        match &asset.source {
            AssetSource::Text(text) if text.is_empty() => {}
            AssetSource::Text(text)
                if matches!(self.form, SecretForm::Blinded(_) | SecretForm::Base64)
                    && !is_program_code(text) =>
            {
                object.serialize_entry("text", ELIDED_CONTENTS)?;
            }
            AssetSource::Text(text) => object.serialize_entry("text", text)?,
            AssetSource::Path(path) => object.serialize_entry("path", path)?,
            AssetSource::Uri(uri) => object.serialize_entry("uri", uri)?,
        }
        object.end()
    }

    fn archive<S: Serializer>(&self, archive: &'a Archive, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry(SIGNATURE, ARCHIVE)?;
        match &archive.source {
            // Written even if empty, as the reference engine writes archives of which a refresh has kept only the hash.
            ArchiveSource::Assets(assets) if assets.contains_key(SIGNATURE) => {
                return Err(S::Error::custom(format_args!(
                    "an archive has an entry of the name '{SIGNATURE}', which marks special values"
                )));
            }
            ArchiveSource::Assets(assets) => {
                let assets: BTreeMap<&str, Self> = assets
                    .iter()
                    .map(|(name, value)| (name.as_str(), self.inner(value)))
                    .collect();
                object.serialize_entry("assets", &assets)?;
            }
            ArchiveSource::Path(_) | ArchiveSource::Uri(_) => {}
        }
        if !archive.hash.is_empty() {
            object.serialize_entry("hash", archive.hash.as_str())?;
        }
        match &archive.source {
            ArchiveSource::Assets(_) => {}
            ArchiveSource::Path(path) => object.serialize_entry("path", path)?,
            ArchiveSource::Uri(uri) => object.serialize_entry("uri", uri)?,
        }
        object.end()
    }
}

/// Returns whether a text is a function that the JavaScript SDK serialized; its changes are displayed.
fn is_program_code(text: &str) -> bool {
    let any = |start: &str, part: &str| {
        text.lines()
            .any(|line| line.starts_with(start) && line.contains(part))
    };
    text.contains("function __")
        && any("    with({ ", " }) {")
        && any("  }).apply(", ").apply(this, arguments);")
}

fn resource<S: Serializer>(reference: &ResourceReference, serializer: S) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry(SIGNATURE, RESOURCE)?;
    match &reference.id {
        None => {}
        Some(Ok(id)) => object.serialize_entry("id", id)?,
        Some(Err(_)) => object.serialize_entry("id", "")?,
    }
    object.serialize_entry("packageVersion", reference.package_version.as_str())?;
    object.serialize_entry("urn", &reference.urn)?;
    object.end()
}

fn number<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Integers below this limit are exact, and are written as integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !value.is_finite() {
        let bits = format!("{:016x}", value.to_bits());
        return special(serializer, SPECIAL_NUMBER, [("value", bits)]);
    }
    if value.trunc() == value && value.abs() < EXACT && (value != 0.0 || value.is_sign_positive()) {
        #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53")]
        return serializer.serialize_i64(value as i64);
    }
    serializer.serialize_f64(value)
}

fn special<S: Serializer, V: Serialize>(
    serializer: S,
    signature: &'static str,
    fields: impl IntoIterator<Item = (&'static str, V)>,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry(SIGNATURE, signature)?;
    for (name, value) in fields {
        object.serialize_entry(name, &value)?;
    }
    object.end()
}

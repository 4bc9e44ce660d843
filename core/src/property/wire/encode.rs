//! Encoding: from property values to the protocol's messages.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use stackwright_proto::values::{ListValue, Struct, Value, value::Kind};

use super::fault::{Fault, Result};
use crate::property::{
    Archive, ArchiveSource, Asset, AssetSource, MAX_DEPTH, Output, PropertyMap, PropertyValue,
    ResourceReference, Unknown,
    signature::{ARCHIVE, ASSET, BYTES, OUTPUT, RESOURCE, SECRET, SIGNATURE},
};

/// Which special values the receiver of a message accepts. The default is plain values only.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeOptions {
    /// The name of the root in error messages: `inputs`, `outputs`…
    pub label: &'static str,
    /// Unknowns are sent as sentinels; otherwise they are removed, from nested objects and arrays too.
    pub keep_unknowns: bool,
    /// Null properties of objects are omitted; nulls in arrays are kept.
    pub skip_nulls: bool,
    /// Secrets are sent wrapped; otherwise as their elements.
    pub keep_secrets: bool,
    /// References are sent as such; otherwise as the resource's id, or its URN for a component.
    pub keep_resources: bool,
    /// Output values are sent as such; otherwise as their value, a secret or an unknown.
    pub keep_outputs: bool,
    /// Output values have all of their fields, also empty ones, and unknown ones are sent as plain unknowns, whose dependencies must
    /// then be listed beside the properties. The component hosts of the Python SDK read no others.
    pub whole_outputs: bool,
    /// Byte strings are sent as such; otherwise they are an error.
    pub keep_bytes: bool,
    /// Assets and archives are sent as their hash only.
    pub elide_assets: bool,
}

impl EncodeOptions {
    /// Sends all special values.
    #[must_use]
    pub const fn all(label: &'static str) -> Self {
        Self {
            label,
            keep_unknowns: true,
            skip_nulls: false,
            keep_secrets: true,
            keep_resources: true,
            keep_outputs: true,
            whole_outputs: false,
            keep_bytes: true,
            elide_assets: false,
        }
    }
}

/// Encodes a map.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the path of a byte string for a receiver that does not accept them, or of a
/// value that nests deeper than [`MAX_DEPTH`].
pub fn to_struct(map: &PropertyMap, options: &EncodeOptions) -> crate::Result<Struct> {
    Encoder(options)
        .map(map, 0)
        .map_err(|fault| (*fault).into_error(options.label))
}

/// Encodes one value; `None` for an unknown that was removed.
///
/// # Errors
/// Those of [`to_struct`].
pub(crate) fn to_value(value: &PropertyValue, options: &EncodeOptions) -> crate::Result<Option<Value>> {
    Encoder(options)
        .value(value, 0)
        .map_err(|fault| (*fault).into_error(options.label))
}

struct Encoder<'a>(&'a EncodeOptions);

impl Encoder<'_> {
    fn map(&self, map: &PropertyMap, depth: usize) -> Result<Struct> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        let mut message = Struct::default();
        for (key, value) in map.iter() {
            if self.0.skip_nulls && value.is_null() {
                continue;
            }
            match self.value(value, depth) {
                Ok(Some(value)) => {
                    message.fields.insert(key.to_string(), value);
                }
                Ok(None) => {}
                Err(fault) => return Err(fault.below(key.clone())),
            }
        }
        Ok(message)
    }

    fn value(&self, value: &PropertyValue, depth: usize) -> Result<Option<Value>> {
        let kind = match value {
            PropertyValue::Null => Kind::NullValue(0),
            PropertyValue::Bool(value) => Kind::BoolValue(*value),
            PropertyValue::Number(value) => Kind::NumberValue(*value),
            PropertyValue::String(text) => Kind::StringValue(text.to_string()),
            PropertyValue::Bytes(bytes) if self.0.keep_bytes => {
                return Ok(Some(special(BYTES, [("value", string(STANDARD.encode(bytes)))])));
            }
            PropertyValue::Bytes(_) => return Err(Fault::new("the receiver does not take byte strings")),
            PropertyValue::Array(values) => self.list(values, depth + 1)?,
            PropertyValue::Object(map) => Kind::StructValue(self.map(map, depth + 1)?),
            PropertyValue::Asset(asset) => return Ok(Some(self.asset(asset))),
            PropertyValue::Archive(archive) => return self.archive(archive, depth + 1).map(Some),
            PropertyValue::ResourceReference(reference) => return Ok(self.resource(reference)),
            PropertyValue::Secret(secret) => {
                let element = self.value(&secret.element, self.deeper(depth)?)?;
                return Ok(element.map(|element| self.wrap_secret(element)));
            }
            PropertyValue::Output(output) => return self.output(output, self.deeper(depth)?),
            PropertyValue::Unknown(unknown) => return Ok(self.unknown(*unknown)),
        };
        Ok(Some(Value { kind: Some(kind) }))
    }

    fn deeper(&self, depth: usize) -> Result<usize> {
        if depth >= MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        Ok(depth + 1)
    }

    fn list(&self, values: &[PropertyValue], depth: usize) -> Result<Kind> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        let mut elements = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            match self.value(value, depth) {
                Ok(Some(value)) => elements.push(value),
                Ok(None) => {}
                Err(fault) => return Err(fault.below(index)),
            }
        }
        Ok(Kind::ListValue(ListValue { values: elements }))
    }

    fn unknown(&self, unknown: Unknown) -> Option<Value> {
        self.0.keep_unknowns.then(|| string(unknown.sentinel()))
    }

    fn wrap_secret(&self, element: Value) -> Value {
        if self.0.keep_secrets {
            special(SECRET, [("value", element)])
        } else {
            element
        }
    }

    fn output(&self, output: &Output, depth: usize) -> Result<Option<Value>> {
        let element = match &output.element {
            Some(element) => self.value(element, depth)?,
            None => None,
        };
        if !self.0.keep_outputs {
            let element = match (&output.element, element) {
                (_, Some(element)) => Some(element),
                (None, None) => self.unknown(Unknown::String),
                (Some(_), None) => None,
            };
            return Ok(element.map(|element| {
                if output.secret {
                    self.wrap_secret(element)
                } else {
                    element
                }
            }));
        }
        let values: Vec<_> = output
            .dependencies
            .iter()
            .map(|urn| string(urn.as_str()))
            .collect();
        let whole = self.0.whole_outputs;
        let mut fields = Vec::with_capacity(3);
        if let Some(element) = element {
            fields.push(("value", element));
        } else if let (None, true) = (&output.element, whole) {
            let unknown = self.unknown(Unknown::String);
            return Ok(unknown.map(|unknown| {
                if output.secret {
                    self.wrap_secret(unknown)
                } else {
                    unknown
                }
            }));
        }
        if output.secret || whole {
            let kind = Some(Kind::BoolValue(output.secret));
            fields.push(("secret", Value { kind }));
        }
        if !values.is_empty() || whole {
            let kind = Some(Kind::ListValue(ListValue { values }));
            fields.push(("dependencies", Value { kind }));
        }
        Ok(Some(special(OUTPUT, fields)))
    }

    fn resource(&self, reference: &ResourceReference) -> Option<Value> {
        if !self.0.keep_resources {
            return match &reference.id {
                None => Some(string(reference.urn.as_str())),
                Some(Ok(id)) => Some(string(id.as_str())),
                Some(Err(unknown)) => self.unknown(*unknown),
            };
        }
        let mut fields = vec![("urn", string(reference.urn.as_str()))];
        match &reference.id {
            None => {}
            Some(Ok(id)) => fields.push(("id", string(id.as_str()))),
            // A receiver without sentinels treats an empty id as unknown.
            Some(Err(unknown)) => fields.push(("id", self.unknown(*unknown).unwrap_or_else(|| string("")))),
        }
        if !reference.package_version.is_empty() {
            fields.push(("packageVersion", string(reference.package_version.as_str())));
        }
        Some(special(RESOURCE, fields))
    }

    fn asset(&self, asset: &Asset) -> Value {
        let mut fields = Vec::with_capacity(2);
        if !asset.hash.is_empty() {
            fields.push(("hash", string(asset.hash.as_str())));
        }
        if !self.0.elide_assets {
            match &asset.source {
                // Also sent if empty: the SDKs refuse an asset without text, path and URI.
                AssetSource::Text(text) => fields.push(("text", string(text.as_str()))),
                AssetSource::Path(path) => fields.push(("path", string(path.as_str()))),
                AssetSource::Uri(uri) => fields.push(("uri", string(uri.as_str()))),
            }
        }
        special(ASSET, fields)
    }

    fn archive(&self, archive: &Archive, depth: usize) -> Result<Value> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        let mut fields = Vec::with_capacity(2);
        if !archive.hash.is_empty() {
            fields.push(("hash", string(archive.hash.as_str())));
        }
        if !self.0.elide_assets {
            match &archive.source {
                // Also sent if empty: the SDKs refuse an archive without assets, path and URI.
                ArchiveSource::Assets(assets) => {
                    let mut message = Struct::default();
                    for (name, value) in assets {
                        let value = self
                            .value(value, depth)
                            .map_err(|fault| fault.below(name.as_str()).below("assets"))?;
                        if let Some(value) = value {
                            message.fields.insert(name.clone(), value);
                        }
                    }
                    fields.push((
                        "assets",
                        Value {
                            kind: Some(Kind::StructValue(message)),
                        },
                    ));
                }
                ArchiveSource::Path(path) => fields.push(("path", string(path.as_str()))),
                ArchiveSource::Uri(uri) => fields.push(("uri", string(uri.as_str()))),
            }
        }
        Ok(special(ARCHIVE, fields))
    }
}

fn string(text: impl Into<String>) -> Value {
    Value {
        kind: Some(Kind::StringValue(text.into())),
    }
}

fn special(signature: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .chain([(SIGNATURE.to_owned(), string(signature))])
        .collect();
    Value {
        kind: Some(Kind::StructValue(Struct { fields })),
    }
}

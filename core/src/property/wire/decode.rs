//! Decoding: from the protocol's messages to property values.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use smol_str::SmolStr;
use stackwright_proto::values::{Struct, Value, value::Kind};

use super::fault::{Fault, Result};
use crate::{
    property::{
        Archive, ArchiveSource, Asset, AssetSource, Key, MAX_DEPTH, Output, PropertyMap, PropertyValue,
        ResourceReference, Unknown,
        signature::{ARCHIVE, ASSET, BYTES, OUTPUT, RESOURCE, SECRET, SIGNATURE},
    },
    token::ResourceId,
    urn::Urn,
};

/// Which special values a decoded message keeps. The default keeps none.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeOptions {
    /// The name of the root in error messages: `inputs`, `outputs`…
    pub label: &'static str,
    /// Unknowns are kept; otherwise they are removed, from nested objects and arrays too.
    pub keep_unknowns: bool,
    /// An unknown is an error with its path; takes precedence over `keep_unknowns`.
    pub reject_unknowns: bool,
    /// Secrets stay wrapped; otherwise they become their elements.
    pub keep_secrets: bool,
    /// References are kept; otherwise they become the resource's id, or its URN for a component.
    pub keep_resources: bool,
    /// Output values are kept; otherwise they collapse to their value, to a secret or to an unknown.
    pub keep_outputs: bool,
    /// Plain unknowns and secrets become output values, as registrations need them; requires `keep_outputs`.
    pub upgrade_to_outputs: bool,
}

impl DecodeOptions {
    /// Keeps all special values.
    #[must_use]
    pub const fn all(label: &'static str) -> Self {
        Self {
            label,
            keep_unknowns: true,
            reject_unknowns: false,
            keep_secrets: true,
            keep_resources: true,
            keep_outputs: true,
            upgrade_to_outputs: false,
        }
    }
}

/// Decodes a map.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the path of a malformed special value, of a rejected unknown, or of a value
/// that nests deeper than [`MAX_DEPTH`].
pub fn from_struct(message: Struct, options: &DecodeOptions) -> crate::Result<PropertyMap> {
    let decoder = Decoder(options);
    decoder
        .map(message, 0)
        .map_err(|fault| (*fault).into_error(options.label))
}

/// Decodes one value; `None` for an unknown that was removed.
///
/// # Errors
/// Those of [`from_struct`].
pub(crate) fn from_value(message: Value, options: &DecodeOptions) -> crate::Result<Option<PropertyValue>> {
    let decoder = Decoder(options);
    decoder
        .value(message, 0)
        .map_err(|fault| (*fault).into_error(options.label))
}

type Fields = BTreeMap<String, Value>;

struct Decoder<'a>(&'a DecodeOptions);

impl Decoder<'_> {
    fn map(&self, message: Struct, depth: usize) -> Result<PropertyMap> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        let mut entries = Vec::with_capacity(message.fields.len());
        for (name, value) in message.fields {
            let key = Key::from(name);
            match self.value(value, depth) {
                Ok(Some(value)) => entries.push((key, value)),
                Ok(None) => {}
                Err(fault) => return Err(fault.below(key)),
            }
        }
        Ok(PropertyMap::from_ascending(entries))
    }

    fn value(&self, message: Value, depth: usize) -> Result<Option<PropertyValue>> {
        match message.kind {
            None | Some(Kind::NullValue(_)) => Ok(Some(PropertyValue::Null)),
            Some(Kind::BoolValue(value)) => Ok(Some(PropertyValue::Bool(value))),
            Some(Kind::NumberValue(value)) => Ok(Some(PropertyValue::Number(value))),
            Some(Kind::StringValue(text)) => match Unknown::from_sentinel(&text) {
                Some(unknown) => self.unknown(unknown),
                None => Ok(Some(PropertyValue::String(text.into()))),
            },
            Some(Kind::ListValue(list)) => self.list(list.values, depth + 1).map(Some),
            Some(Kind::StructValue(message)) if message.fields.contains_key(SIGNATURE) => {
                self.special(message.fields, depth + 1)
            }
            Some(Kind::StructValue(message)) => {
                Ok(Some(PropertyValue::Object(self.map(message, depth + 1)?)))
            }
        }
    }

    fn list(&self, values: Vec<Value>, depth: usize) -> Result<PropertyValue> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        let mut elements = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            match self.value(value, depth) {
                Ok(Some(value)) => elements.push(value),
                Ok(None) => {}
                Err(fault) => return Err(fault.below(index)),
            }
        }
        Ok(PropertyValue::Array(Arc::new(elements)))
    }

    fn unknown(&self, unknown: Unknown) -> Result<Option<PropertyValue>> {
        let options = self.0;
        if options.reject_unknowns {
            return Err(Fault::new("the value is unknown, which is not allowed here"));
        }
        if !options.keep_unknowns {
            return Ok(None);
        }
        if options.upgrade_to_outputs && options.keep_outputs {
            return Ok(Some(PropertyValue::Output(Arc::new(Output {
                element: None,
                secret: false,
                dependencies: Vec::new(),
            }))));
        }
        Ok(Some(PropertyValue::Unknown(unknown)))
    }

    fn special(&self, mut fields: Fields, depth: usize) -> Result<Option<PropertyValue>> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        let Some(Kind::StringValue(signature)) = fields.remove(SIGNATURE).and_then(|value| value.kind) else {
            return Err(Fault::new("the signature of a special value is not a text"));
        };
        match signature.as_str() {
            SECRET => self.secret(fields, depth),
            ASSET => Ok(Some(PropertyValue::Asset(Arc::new(asset(fields)?)))),
            ARCHIVE => Ok(Some(PropertyValue::Archive(Arc::new(
                self.archive(fields, depth)?,
            )))),
            RESOURCE => self.resource(fields),
            OUTPUT => self.output(fields, depth),
            BYTES => {
                let encoded = text(&mut fields, "value")?.unwrap_or_default();
                let bytes = STANDARD
                    .decode(encoded)
                    .map_err(|_| Fault::new("the value of a byte string is not base64"))?;
                Ok(Some(PropertyValue::Bytes(bytes.into())))
            }
            _ => Err(Fault::quoting(format!(
                "unrecognized signature '{signature}' in property map"
            ))),
        }
    }

    fn secret(&self, mut fields: Fields, depth: usize) -> Result<Option<PropertyValue>> {
        let Some(value) = fields.remove("value") else {
            return Err(Fault::new("a secret has no value"));
        };
        let element = self.value(value, depth);
        let Some(element) = element.map_err(|fault| fault.hidden().below("value"))? else {
            return Ok(None);
        };
        let options = self.0;
        if !options.keep_secrets {
            return Ok(Some(element));
        }
        if !(options.upgrade_to_outputs && options.keep_outputs) {
            return Ok(Some(PropertyValue::secret(element)));
        }
        let output = match element {
            PropertyValue::Output(inner) => Output {
                secret: true,
                ..Arc::unwrap_or_clone(inner)
            },
            element => Output {
                element: Some(element),
                secret: true,
                dependencies: Vec::new(),
            },
        };
        Ok(Some(PropertyValue::Output(Arc::new(output))))
    }

    fn output(&self, mut fields: Fields, depth: usize) -> Result<Option<PropertyValue>> {
        let options = self.0;
        let secret = match fields.remove("secret").and_then(|value| value.kind) {
            None | Some(Kind::NullValue(_)) => false,
            Some(Kind::BoolValue(secret)) => secret,
            Some(_) => return Err(Fault::new("`secret` is not a truth value").below("secret")),
        };
        let element = match fields.remove("value") {
            Some(value) => self.value(value, depth).map_err(|fault| {
                let fault = if secret { fault.hidden() } else { fault };
                fault.below("value")
            })?,
            None => None,
        };
        if element.is_none() && options.reject_unknowns {
            return Err(Fault::new("the value is unknown, which is not allowed here"));
        }
        if options.keep_outputs {
            let mut output = Output {
                element,
                secret,
                dependencies: urns(&mut fields, "dependencies")?,
            };
            if let Some(PropertyValue::Unknown(_)) = output.element {
                output.element = None;
            }
            if let Some(PropertyValue::Output(inner)) = output.element {
                // Nested outputs are merged.
                let mut merged = Arc::unwrap_or_clone(inner);
                merged.secret |= secret;
                for urn in output.dependencies {
                    if !merged.dependencies.contains(&urn) {
                        merged.dependencies.push(urn);
                    }
                }
                output = merged;
            }
            return Ok(Some(PropertyValue::Output(Arc::new(output))));
        }
        let element = match element {
            Some(element) => element,
            None if options.keep_unknowns => PropertyValue::unknown(),
            None => return Ok(None),
        };
        Ok(Some(if secret && options.keep_secrets {
            PropertyValue::secret(element)
        } else {
            element
        }))
    }

    fn resource(&self, mut fields: Fields) -> Result<Option<PropertyValue>> {
        let Some(urn) = text(&mut fields, "urn")? else {
            return Err(Fault::new("a resource reference has no URN"));
        };
        let urn = Urn::parse(&urn).map_err(|error| Fault::quoting(error.to_string()).below("urn"))?;
        let id = match fields.remove("id").map(|value| value.kind) {
            None | Some(None | Some(Kind::NullValue(_))) => None,
            Some(Some(Kind::StringValue(id))) => Some(match Unknown::from_sentinel(&id) {
                Some(unknown) => Err(unknown),
                None if id.is_empty() => Err(Unknown::String),
                None => Ok(ResourceId::from(id)),
            }),
            Some(Some(_)) => return Err(Fault::new("the id of a resource is not a text").below("id")),
        };
        if self.0.keep_resources {
            return Ok(Some(PropertyValue::ResourceReference(Arc::new(
                ResourceReference {
                    urn,
                    id,
                    package_version: text(&mut fields, "packageVersion")?.unwrap_or_default().into(),
                },
            ))));
        }
        match id {
            None => Ok(Some(PropertyValue::string(urn.as_str()))),
            Some(Ok(id)) => Ok(Some(PropertyValue::string(id.as_str()))),
            Some(Err(unknown)) => self.unknown(unknown),
        }
    }

    fn archive(&self, mut fields: Fields, depth: usize) -> Result<Archive> {
        let hash = SmolStr::from(text(&mut fields, "hash")?.unwrap_or_default());
        let source = match fields.remove("assets").and_then(|value| value.kind) {
            Some(Kind::StructValue(assets)) => ArchiveSource::Assets(self.assets(assets, depth)?),
            None | Some(Kind::NullValue(_)) => {
                match (text(&mut fields, "path")?, text(&mut fields, "uri")?) {
                    (Some(path), _) if !path.is_empty() => ArchiveSource::Path(path),
                    (_, Some(uri)) if !uri.is_empty() => ArchiveSource::Uri(uri),
                    _ => ArchiveSource::default(),
                }
            }
            Some(_) => return Err(Fault::new("the assets of an archive are not an object").below("assets")),
        };
        Ok(Archive { hash, source })
    }

    fn assets(&self, message: Struct, depth: usize) -> Result<BTreeMap<String, PropertyValue>> {
        let mut assets = BTreeMap::new();
        for (name, value) in message.fields {
            let entry = self
                .value(value, depth)
                .map_err(|fault| fault.below(name.as_str()).below("assets"))?;
            match entry {
                Some(entry @ (PropertyValue::Asset(_) | PropertyValue::Archive(_))) => {
                    assets.insert(name, entry);
                }
                None => {}
                Some(_) => {
                    let fault =
                        Fault::new("an archive holds something that is neither an asset nor an archive");
                    return Err(fault.below(name.as_str()).below("assets"));
                }
            }
        }
        Ok(assets)
    }
}

fn asset(mut fields: Fields) -> Result<Asset> {
    let hash = SmolStr::from(text(&mut fields, "hash")?.unwrap_or_default());
    let source = match (text(&mut fields, "path")?, text(&mut fields, "uri")?) {
        (Some(path), _) if !path.is_empty() => AssetSource::Path(path),
        (_, Some(uri)) if !uri.is_empty() => AssetSource::Uri(uri),
        _ => AssetSource::Text(text(&mut fields, "text")?.unwrap_or_default()),
    };
    Ok(Asset { hash, source })
}

fn text(fields: &mut Fields, name: &'static str) -> Result<Option<String>> {
    match fields.remove(name).and_then(|value| value.kind) {
        None | Some(Kind::NullValue(_)) => Ok(None),
        Some(Kind::StringValue(text)) => Ok(Some(text)),
        Some(_) => Err(Fault::new(format!("`{name}` is not a text")).below(name)),
    }
}

fn urns(fields: &mut Fields, name: &'static str) -> Result<Vec<Urn>> {
    match fields.remove(name).and_then(|value| value.kind) {
        None | Some(Kind::NullValue(_)) => Ok(Vec::new()),
        Some(Kind::ListValue(list)) => list
            .values
            .into_iter()
            .enumerate()
            .map(|(index, value)| match value.kind {
                Some(Kind::StringValue(urn)) => Urn::parse(&urn)
                    .map_err(|error| Fault::quoting(error.to_string()).below(index).below(name)),
                _ => Err(Fault::new("a dependency is not a text").below(index).below(name)),
            })
            .collect(),
        Some(_) => Err(Fault::new(format!("`{name}` is not a list")).below(name)),
    }
}

//! Special values in JSON: objects with a signature.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use smol_str::SmolStr;

use super::read::{self, ReadForm, ValueReader};
use crate::{
    property::{
        Archive, ArchiveSource, Asset, AssetSource, Output, PropertyMap, PropertyValue, ResourceReference,
        Unknown,
        signature::{ARCHIVE, ASSET, BYTES, OUTPUT, RESOURCE, SECRET, SIGNATURE, SPECIAL_NUMBER},
    },
    token::ResourceId,
    urn::Urn,
};

/// Without the text, which may be part of a secret.
const MALFORMED_URN: &str = "a URN is malformed";

type Result<T> = std::result::Result<T, String>;

pub(super) fn read(mut map: PropertyMap, reader: ValueReader) -> Result<PropertyValue> {
    let Some(PropertyValue::String(signature)) = map.remove(SIGNATURE) else {
        return Err("the signature of a special value is not a text".into());
    };
    match signature.as_str() {
        SECRET => secret(&mut map, reader),
        ASSET => Ok(PropertyValue::Asset(Arc::new(asset(&mut map)?))),
        ARCHIVE => Ok(PropertyValue::Archive(Arc::new(archive(&mut map)?))),
        RESOURCE => Ok(PropertyValue::ResourceReference(Arc::new(resource(&mut map)?))),
        OUTPUT if reader.form == ReadForm::Plain => output(&mut map),
        BYTES => {
            let encoded = text(&mut map, "value")?.unwrap_or_default();
            let bytes = STANDARD
                .decode(encoded.as_bytes())
                .map_err(|_| "the value of a byte string is not base64".to_owned())?;
            Ok(PropertyValue::Bytes(bytes.into()))
        }
        SPECIAL_NUMBER => {
            let bits = text(&mut map, "value")?.unwrap_or_default();
            if bits.len() != 16 {
                return Err("a special number is not 16 hexadecimal digits".into());
            }
            let bits = u64::from_str_radix(&bits, 16)
                .map_err(|_| "a special number is not 16 hexadecimal digits".to_owned())?;
            Ok(PropertyValue::Number(f64::from_bits(bits)))
        }
        _ => Err(format!("unrecognized signature '{signature}' in property map")),
    }
}

/// Removes a text. A text that equals the sentinel of an unknown has been read as an unknown.
fn text(map: &mut PropertyMap, name: &str) -> Result<Option<SmolStr>> {
    match map.remove(name) {
        None | Some(PropertyValue::Null) => Ok(None),
        Some(PropertyValue::String(text)) => Ok(Some(text)),
        Some(PropertyValue::Unknown(unknown)) => Ok(Some(unknown.sentinel().into())),
        Some(_) => Err(format!("`{name}` of a special value is not a text")),
    }
}

fn secret(map: &mut PropertyMap, reader: ValueReader) -> Result<PropertyValue> {
    if reader.form == ReadForm::Plain {
        return match map.remove("value") {
            Some(value) => Ok(PropertyValue::secret(value)),
            None => Err("a secret has no value".into()),
        };
    }
    if reader.form == ReadForm::Given
        && let Some(value) = map.remove("value")
    {
        return Ok(PropertyValue::secret(value));
    }
    match (text(map, "ciphertext")?, text(map, "plaintext")?) {
        (Some(text), None) if matches!(reader.form, ReadForm::State | ReadForm::Given) => {
            Ok(read::sealed(&text))
        }
        (Some(text), None) => Ok(PropertyValue::secret(read::text(
            &text,
            reader.form,
            reader.depth,
        )?)),
        // The inside of a plaintext of an export is in plaintext as well, independent of the key.
        (None, Some(text)) => Ok(PropertyValue::secret(read::text(
            &text,
            ReadForm::Nested,
            reader.depth,
        )?)),
        _ => Err("a secret needs either a ciphertext or a plaintext".into()),
    }
}

fn asset(map: &mut PropertyMap) -> Result<Asset> {
    let hash = text(map, "hash")?.unwrap_or_default();
    let source = match (text(map, "path")?, text(map, "uri")?) {
        (Some(path), _) if !path.is_empty() => AssetSource::Path(path.into()),
        (_, Some(uri)) if !uri.is_empty() => AssetSource::Uri(uri.into()),
        _ => AssetSource::Text(text(map, "text")?.unwrap_or_default().into()),
    };
    Ok(Asset { hash, source })
}

fn archive(map: &mut PropertyMap) -> Result<Archive> {
    let hash = text(map, "hash")?.unwrap_or_default();
    let source = match map.remove("assets") {
        Some(PropertyValue::Object(assets)) => {
            let only_assets =
                |value: &PropertyValue| matches!(value, PropertyValue::Asset(_) | PropertyValue::Archive(_));
            if !assets.values().all(only_assets) {
                return Err("an archive holds something that is neither an asset nor an archive".into());
            }
            ArchiveSource::Assets(
                assets
                    .into_iter()
                    .map(|(name, value)| (name.to_string(), value))
                    .collect(),
            )
        }
        None | Some(PropertyValue::Null) => match (text(map, "path")?, text(map, "uri")?) {
            (Some(path), _) if !path.is_empty() => ArchiveSource::Path(path.into()),
            (_, Some(uri)) if !uri.is_empty() => ArchiveSource::Uri(uri.into()),
            _ => ArchiveSource::default(),
        },
        Some(_) => return Err("the assets of an archive are not an object".into()),
    };
    Ok(Archive { hash, source })
}

fn resource(map: &mut PropertyMap) -> Result<ResourceReference> {
    let Some(urn) = text(map, "urn")? else {
        return Err("a resource reference has no URN".into());
    };
    let urn = Urn::parse(&urn).map_err(|_| MALFORMED_URN.to_owned())?;
    let id = match map.remove("id") {
        // Old states wrap the id: a text is the id, null a component, an object an unknown.
        Some(PropertyValue::Object(mut wrapped)) => match wrapped.remove("V") {
            None | Some(PropertyValue::Null) => None,
            Some(PropertyValue::String(id)) => Some(known_id(&id)),
            Some(_) => Some(Err(Unknown::String)),
        },
        None | Some(PropertyValue::Null) => None,
        Some(PropertyValue::String(id)) => Some(known_id(&id)),
        Some(PropertyValue::Unknown(unknown)) => Some(Err(unknown)),
        Some(_) => return Err("the id of a resource is not a text".into()),
    };
    Ok(ResourceReference {
        urn,
        id,
        package_version: text(map, "packageVersion")?.unwrap_or_default(),
    })
}

fn known_id(id: &SmolStr) -> std::result::Result<ResourceId, Unknown> {
    if id.is_empty() {
        Err(Unknown::String)
    } else {
        Ok(ResourceId::new(id.clone()))
    }
}

fn output(map: &mut PropertyMap) -> Result<PropertyValue> {
    let secret = match map.remove("secret") {
        None | Some(PropertyValue::Null) => false,
        Some(PropertyValue::Bool(secret)) => secret,
        Some(_) => return Err("`secret` of an output value is not a truth value".into()),
    };
    let dependencies = match map.remove("dependencies") {
        None | Some(PropertyValue::Null) => Vec::new(),
        Some(PropertyValue::Array(urns)) => urns
            .iter()
            .map(|urn| match urn {
                PropertyValue::String(urn) => Urn::parse(urn).map_err(|_| MALFORMED_URN.to_owned()),
                _ => Err("a dependency of an output value is not a text".to_owned()),
            })
            .collect::<Result<_>>()?,
        Some(_) => return Err("`dependencies` of an output value are not a list".into()),
    };
    let element = map
        .remove("value")
        .filter(|value| !matches!(value, PropertyValue::Unknown(_)));
    Ok(PropertyValue::Output(Arc::new(Output {
        element,
        secret,
        dependencies,
    })))
}

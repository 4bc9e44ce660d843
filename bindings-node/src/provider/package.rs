//! Responses about a package: its schema, and mappings from other ecosystems.

use napi::{Error, Result, sys::ValueType};
use stackwright::provider::Mapping;

use crate::{
    convert::{Js, Reader},
    registration,
};

/// Reads a schema: a JSON text, or an object that is serialized.
pub(super) fn schema(reader: &Reader, value: Js) -> Result<String> {
    match reader.scope().kind(value)? {
        ValueType::napi_object => registration::value_to_json(reader.value(value)?)
            .map_err(|error| Error::from_reason(error.message())),
        ValueType::napi_string => reader.scope().as_text(value),
        _ => Err(Error::from_reason("expected a JSON text or an object")),
    }
}

/// Reads `{ provider, data }`; `undefined` and `null` mean that there is no mapping.
pub(super) fn mapping(reader: &Reader, value: Js) -> Result<Mapping> {
    let wrong = || Error::from_reason("expected an object with provider and data, a Buffer or Uint8Array");
    match reader.scope().kind(value)? {
        ValueType::napi_undefined | ValueType::napi_null => Ok(Mapping::default()),
        ValueType::napi_object => {
            let data = reader.field(value, "data")?.ok_or_else(wrong)?;
            Ok(Mapping {
                provider: reader.text_field(value, "provider")?.ok_or_else(wrong)?,
                data: reader.scope().as_bytes(data)?.ok_or_else(wrong)?.into(),
            })
        }
        _ => Err(wrong()),
    }
}

/// Reads a list of names; `undefined` and `null` are an empty one.
pub(super) fn mappings(reader: &Reader, value: Js) -> Result<Vec<String>> {
    match reader.scope().kind(value)? {
        ValueType::napi_undefined | ValueType::napi_null => Ok(Vec::new()),
        _ => reader.texts(value, "the answer"),
    }
}

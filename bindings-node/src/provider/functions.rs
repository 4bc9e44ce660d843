//! Calls of a program's functions: transforms and hooks.

use napi::Result;
use stackwright::property::PropertyMap;

use super::bodies;
use crate::convert::{Js, Reader, Writer};

/// A call of a function.
pub(crate) struct FunctionCall {
    /// The facts of the call, without values, as JSON.
    document: String,
    /// The values, by the names of their members.
    values: Vec<(&'static str, PropertyMap)>,
}

impl FunctionCall {
    /// Creates a call.
    pub(crate) fn new(document: &[u8], values: Vec<(&'static str, PropertyMap)>) -> Self {
        Self {
            document: String::from_utf8_lossy(document).into_owned(),
            values,
        }
    }

    /// Makes the object of the call.
    pub(super) fn write(&self, writer: &Writer) -> Result<Js> {
        let object = writer.scope().object()?;
        writer.set_text(object, "document", &self.document)?;
        for (name, values) in &self.values {
            writer.set_map(object, name, values)?;
        }
        Ok(object)
    }
}

/// What a function has returned.
pub(crate) struct FunctionResult {
    /// The changed inputs or arguments, with their dependencies.
    pub(crate) values: Option<PropertyMap>,
    /// The changed options, as JSON.
    pub(crate) options: Option<String>,
    /// Whether a failed step is tried again.
    pub(crate) retry: bool,
}

/// Reads the package's form of a result: `{ inputs?, arguments?, dependencies?, options?, retry? }`.
pub(super) fn result(reader: &Reader, value: Js) -> Result<FunctionResult> {
    let dependencies = bodies::dependencies(reader, value)?;
    let inputs = reader.map_field(value, "inputs")?;
    let values = match inputs {
        Some(inputs) => Some(inputs),
        None => reader.map_field(value, "arguments")?,
    };
    Ok(FunctionResult {
        values: values.map(|values| dependencies.attach(values)),
        options: reader.text_field(value, "options")?,
        retry: reader.bool_field(value, "retry")?.unwrap_or_default(),
    })
}

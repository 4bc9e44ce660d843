//! Registrations, reads and invokes from the façade: common members as arguments, all others in one JSON document.

use stackwright::{
    Error, Result,
    monitor::{Invoke, Read, Registration},
    property::{PropertyMap, PropertyValue, json::PlainValue},
    token::TypeToken,
};

/// Makes a registration; `document` contains the options, if any, without the inputs.
pub(crate) fn registration(
    resource_type: String,
    name: String,
    custom: bool,
    inputs: PropertyMap,
    document: Option<&str>,
) -> Result<Registration> {
    let mut registration = match document {
        Some(document) => Registration::from_json(document.as_bytes())?,
        None => Registration::default(),
    };
    registration.resource_type = TypeToken::from(resource_type);
    registration.name = name;
    registration.custom = custom;
    registration.inputs = inputs;
    // The façade tracks the origin of each value: a missing list means no dependency.
    registration.property_dependencies.get_or_insert_default();
    Ok(registration)
}

/// Makes a read; `document` contains it without its inputs.
pub(crate) fn read(document: &str, inputs: PropertyMap) -> Result<Read> {
    let mut read = Read::from_json(document.as_bytes())?;
    read.inputs = inputs;
    Ok(read)
}

/// Makes a function's call; `document` contains it without its arguments.
pub(crate) fn invoke(document: &str, arguments: PropertyMap) -> Result<Invoke> {
    let mut invoke = Invoke::from_json(document.as_bytes())?;
    invoke.arguments = arguments;
    Ok(invoke)
}

/// Writes a value in the engine's plain JSON form; secrets are in plain text.
pub(crate) fn value_to_json(value: PropertyValue) -> Result<String> {
    serde_json::to_string(&PlainValue(value))
        .map_err(|error| Error::invalid(format!("the value can not be written: {error}")))
}

/// Reads a value from the engine's plain JSON form.
pub(crate) fn value_from_json(text: &str) -> Result<PropertyValue> {
    serde_json::from_str::<PlainValue>(text)
        .map(|value| value.0)
        .map_err(|error| Error::invalid(format!("the text is not a value: {error}")))
}

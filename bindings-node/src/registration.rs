//! Registrations, reads and calls from the package: common members as arguments, all others in one JSON document.

use stackwright::{
    Error, Language, Result,
    binding::{self, OptionsOf},
    monitor::{Exists, Invoke, MethodCall, Read, Registration},
    property::{PropertyMap, PropertyValue, json::PlainValue},
    token::TypeToken,
    urn::Urn,
};

use crate::errors;

/// Makes a registration; `document` holds it without its inputs when it has options.
pub(crate) fn registration(
    resource_type: String,
    name: String,
    custom: bool,
    inputs: PropertyMap,
    document: Option<&str>,
) -> Result<Registration> {
    let mut registration = match document {
        Some(document) => binding::registration(document.as_bytes(), Language::Node)?,
        None => Registration::default(),
    };
    registration.resource_type = TypeToken::from(resource_type);
    registration.name = name;
    registration.custom = custom;
    registration.inputs = inputs;
    // The package tracks the origin of each value: a missing list means no dependency.
    registration.property_dependencies.get_or_insert_default();
    Ok(registration)
}

/// Makes a read; `document` contains it without its inputs.
pub(crate) fn read(document: &str, inputs: PropertyMap) -> Result<Read> {
    let mut read = binding::read_request(document.as_bytes(), Language::Node)?;
    read.inputs = inputs;
    Ok(read)
}

/// Makes a function's call; `document` contains it without its arguments.
pub(crate) fn invoke(document: &str, arguments: PropertyMap) -> Result<Invoke> {
    let mut invoke = binding::invoke(document.as_bytes(), Language::Node)?;
    invoke.arguments = arguments;
    Ok(invoke)
}

/// Makes a query whether a resource exists; `document` contains it without its inputs.
pub(crate) fn exists(document: &str, inputs: PropertyMap) -> Result<Exists> {
    let mut exists = binding::exists(document.as_bytes(), Language::Node)?;
    exists.inputs = inputs;
    Ok(exists)
}

/// Makes a method's call; `document` contains it without its arguments.
pub(crate) fn method(document: &str, arguments: PropertyMap) -> Result<MethodCall> {
    let mut call = binding::method_call(document.as_bytes(), Language::Node)?;
    call.arguments = arguments;
    Ok(call)
}

/// Writes a value in the engine's plain JSON form; secrets are in plain text.
pub(crate) fn value_to_json(value: PropertyValue) -> Result<String> {
    serde_json::to_string(&PlainValue(value))
        .map_err(|error| Error::invalid(format!("the value cannot be written: {error}")))
}

/// Reads a value from the engine's plain JSON form.
pub(crate) fn value_from_json(text: &str) -> Result<PropertyValue> {
    serde_json::from_str::<PlainValue>(text)
        .map(|value| value.0)
        .map_err(|error| Error::invalid(format!("the text is not a value: {error}")))
}

/// Checks options where a program writes them, as JSON with stand-ins; `of` is `resource`, `read`, `invoke`, `exists` or `call`, and
/// `owner` names their owner in errors.
#[napi_derive::napi(catch_unwind)]
pub fn check_options(of: String, options: String, owner: String) -> napi::Result<()> {
    let checked = OptionsOf::named(&of).and_then(|of| {
        let options = serde_json::from_str(&options)
            .map_err(|error| Error::invalid(format!("the options of {owner} are not JSON: {error}")))?;
        binding::check_options(of, options, Language::Node, &owner)
    });
    checked.map_err(|error| errors::to_napi(&error))
}

/// Returns whether a text is a URN.
#[napi_derive::napi(catch_unwind)]
#[must_use]
pub fn is_urn(text: String) -> bool {
    Urn::parse(&text).is_ok()
}

/// Returns the error of a name that does not exist; `part` is the noun of a name, and `owner` has them.
#[napi_derive::napi(catch_unwind)]
#[must_use]
pub fn unknown_name(part: String, name: String, owner: String, known: Vec<String>) -> String {
    errors::to_json(&binding::unknown_name(
        Language::Node,
        &part,
        &name,
        &owner,
        &known,
    ))
}

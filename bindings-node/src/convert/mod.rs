//! Converts property values to JavaScript values and back, without a serialized form in between.
//!
//! Plain values become plain values. Kinds that JavaScript lacks become instances of the package's classes, which are
//! identified by a number under a shared symbol on their prototypes: several copies of the package are compatible.

mod circle;
mod raw;
mod read;
mod write;

use napi::{Env, JsValue as _, Result, bindgen_prelude::Unknown};
use stackwright::property::{PropertyMap, PropertyValue};

use crate::errors;

pub(crate) use raw::{Js, Scope};
pub(crate) use read::Reader;
pub(crate) use write::Writer;

/// The symbol of the property with a value class's number.
const BRAND: &str = "stackwright.value";

/// The numbers of the package's value classes.
mod brand {
    pub(super) const SECRET: u32 = 1;
    pub(super) const UNKNOWN: u32 = 2;
    pub(super) const ASSET: u32 = 3;
    pub(super) const ARCHIVE: u32 = 4;
    pub(super) const RESOURCE_REFERENCE: u32 = 5;
    pub(super) const OUTPUT: u32 = 6;
}

/// The maximum nesting of values; the recursion fits the stack.
const MAX_VALUE_DEPTH: usize = 200;

/// The names of unknowns; the package has the same.
const UNKNOWNS: [(stackwright::property::Unknown, &str); 7] = {
    use stackwright::property::Unknown;
    [
        (Unknown::Bool, "bool"),
        (Unknown::Number, "number"),
        (Unknown::String, "string"),
        (Unknown::Array, "array"),
        (Unknown::Asset, "asset"),
        (Unknown::Archive, "archive"),
        (Unknown::Object, "object"),
    ]
};

/// Reads an object from JavaScript; errors name `place`.
pub(crate) fn map_of(env: &Env, object: &Unknown<'_>, place: &str) -> Result<PropertyMap> {
    Reader::new(Scope::new(env.raw()))?
        .map(object.raw())
        .map_err(|error| errors::invalid(place, &error))
}

/// Reads a value from JavaScript; errors name `place`.
pub(crate) fn value_of(env: &Env, value: &Unknown<'_>, place: &str) -> Result<PropertyValue> {
    Reader::new(Scope::new(env.raw()))?
        .value(value.raw())
        .map_err(|error| errors::invalid(place, &error))
}

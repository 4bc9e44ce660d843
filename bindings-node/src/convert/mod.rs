//! Property values to JavaScript values and back, without any text in between.
//!
//! Plain values become plain values. What JavaScript has no kind for is an instance of one of the façade's classes,
//! told by a number under a shared symbol on their prototypes: several copies of the façade understand each other.

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

/// The symbol under which the façade's value classes carry their number.
const BRAND: &str = "stackwright.value";

/// The numbers of the façade's value classes.
mod brand {
    pub(super) const SECRET: u32 = 1;
    pub(super) const UNKNOWN: u32 = 2;
    pub(super) const ASSET: u32 = 3;
    pub(super) const ARCHIVE: u32 = 4;
    pub(super) const RESOURCE_REFERENCE: u32 = 5;
    pub(super) const OUTPUT: u32 = 6;
}

/// How deep values may be nested: enough for any document, and far from the end of the stack.
const DEPTH_LIMIT: usize = 200;

/// The names of unknowns, as the façade has them.
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

/// Reads an object that JavaScript gave for `place`.
pub(crate) fn map_of(env: &Env, object: &Unknown<'_>, place: &str) -> Result<PropertyMap> {
    Reader::new(Scope::new(env.raw()))?
        .map(object.raw())
        .map_err(|error| errors::invalid(place, &error))
}

/// Reads a value that JavaScript gave for `place`.
pub(crate) fn value_of(env: &Env, value: &Unknown<'_>, place: &str) -> Result<PropertyValue> {
    Reader::new(Scope::new(env.raw()))?
        .value(value.raw())
        .map_err(|error| errors::invalid(place, &error))
}

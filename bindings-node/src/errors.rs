//! Errors on their way to JavaScript: all their facts as JSON in the message, from which the package makes its classes.

use stackwright::{Error, ErrorKind, Language, binding};

/// The facts of an error, as JSON.
pub(crate) fn to_json(error: &Error) -> String {
    binding::error_document(error, Language::Node).to_string()
}

/// Wraps an error for a rejection or a throw.
pub(crate) fn to_napi(error: &Error) -> napi::Error {
    napi::Error::from_reason(to_json(error))
}

/// Wraps the error of a conversion, as a caller's mistake at `place`.
pub(crate) fn invalid(place: &str, error: &napi::Error) -> napi::Error {
    to_napi(&Error::invalid(format!("{place}: {}", error.reason)))
}

/// A kind of error: the name that its class of the package carries as `kind`, and what it carries as `errorClass`.
#[napi_derive::napi(object)]
pub struct ErrorKindName {
    /// The kind's name.
    pub kind: String,
    /// The name of the kind's class.
    pub error_class: String,
}

/// Every kind of error: the table that the classes of the package are checked against.
#[napi_derive::napi(catch_unwind)]
#[must_use]
pub fn error_kinds() -> Vec<ErrorKindName> {
    let described = ErrorKind::ALL.iter().map(|kind| ErrorKindName {
        kind: kind.name().to_owned(),
        error_class: kind.class().name().to_owned(),
    });
    described.collect()
}

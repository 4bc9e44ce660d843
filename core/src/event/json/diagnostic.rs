//! The JSON of diagnostics: prefix, message with its newline, colour, severity.

use super::text::Object;
use crate::{
    diagnostic::{Diagnostic, Severity},
    secrets::Redactor,
};

/// Messages contain no colour codes.
pub(super) const COLOR: &str = "never";

pub(super) fn write(payload: &mut Object<'_>, diagnostic: &Diagnostic, redactor: &Redactor) {
    if let Some(urn) = &diagnostic.urn {
        payload.string("urn", urn.as_str());
    }
    if let Some(prefix) = prefix(diagnostic.severity) {
        payload.string("prefix", prefix);
    }
    let mut message = redactor.scrub(diagnostic.message.reference()).into_owned();
    message.push('\n');
    payload.string("message", &message);
    payload.string("color", COLOR);
    payload.string("severity", diagnostic.severity.name());
    payload.flag("ephemeral", diagnostic.ephemeral);
}

const fn prefix(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Debug => Some("debug: "),
        Severity::Warning => Some("warning: "),
        Severity::Error => Some("error: "),
        Severity::Info | Severity::InfoError => None,
    }
}

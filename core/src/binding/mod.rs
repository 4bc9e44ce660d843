//! The common part of the bindings: documents, their schema, and a reader with precise errors.
//!
//! A type of this interface is a [`Document`]: a serde type whose doc comments are its documentation in every language.
//! The types of Python and TypeScript and the lists in the C header are generated from [`schemas`]; [`read`] refuses
//! unknown names and values of a wrong type in the terms of the caller's language.

mod document;
mod members;
mod read;
mod result;
mod settings;

pub use document::{Document, schemas};
pub use read::read;
pub use result::{error_document, result_document};
pub use settings::{EngineDocument, PluginCommandDocument, PluginDocument, SecretsDocument};

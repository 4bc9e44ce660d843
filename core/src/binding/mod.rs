//! What all bindings share: the documents that cross them, their schema, and the reader that explains what is wrong with one.
//!
//! A type of this interface is a [`Document`]: a serde type whose doc comments are its documentation in every language. The
//! types of Python and TypeScript and the lists in the C header are generated from [`schemas`]; [`read`] refuses unknown
//! names and values of a wrong type in the terms of the caller's language.

mod document;
mod event;
mod members;
mod outputs;
mod read;
mod result;
mod run;
mod settings;

pub use document::{Document, schemas};
pub use outputs::{output_values, outputs_document};
pub use read::read;
pub use result::{error_document, result_document};
pub use run::run_document;
pub use settings::{EngineDocument, PluginCommandDocument, PluginDocument, SecretsDocument};

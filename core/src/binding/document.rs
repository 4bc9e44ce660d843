//! Documents: serde types with a JSON schema, which is built once per process.

use std::sync::LazyLock;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::{
    result::{DiagnosticDocument, ErrorDocument, PropertyChangeDocument, StepDocument},
    settings::{EngineDocument, PluginDocument},
};
use crate::{operation::OperationOptions, policy::PolicyPackOption};

/// A type that bindings exchange as JSON, with its JSON Schema (draft 2020-12).
///
/// Beside the standard keywords a property can have `x-takes` (the description of its values in errors) and `x-python`
/// and `x-typescript` (its type in that language, where the schema cannot express it).
pub trait Document: JsonSchema {
    /// Returns the schema.
    fn schema() -> &'static Value;
}

macro_rules! documents {
    ($($name:ty),* $(,)?) => {
        $(impl Document for $name {
            fn schema() -> &'static Value {
                static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<$name>);
                &SCHEMA
            }
        })*

        /// Returns the schemas of all documents, each after those that it names.
        #[must_use]
        pub fn schemas() -> Vec<&'static Value> {
            vec![$(<$name>::schema()),*]
        }
    };
}

documents![
    PolicyPackOption,
    OperationOptions,
    PluginDocument,
    EngineDocument,
    ErrorDocument<'static>,
    PropertyChangeDocument,
    StepDocument<'static>,
    DiagnosticDocument<'static>,
];

fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .into()
}

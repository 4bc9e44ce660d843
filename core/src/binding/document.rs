//! Documents: serde types with a schema, which is made once per process.

use std::sync::LazyLock;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::{
    event::EventDocument,
    outputs::OutputDocument,
    result::{DiagnosticDocument, ErrorDocument, PropertyChangeDocument, StepDocument},
    run::RunDocument,
    settings::{EngineDocument, PluginDocument},
};
use crate::{operation::OperationOptions, policy::PolicyPackOption};

/// A type that crosses a binding as JSON, with its JSON Schema (draft 2020-12).
///
/// Beside the standard keywords a property can have `x-takes` (the description of its values in errors) and `x-python` and
/// `x-typescript` (its type in that language, where the schema cannot express it).
pub trait Document: JsonSchema {
    /// Returns the schema.
    fn schema() -> &'static Value;
}

macro_rules! documents {
    (read: $($read:ty),*; written: $($written:ty),*;) => {
        documents!(@schema SchemaSettings::draft2020_12(); $($read),*);
        documents!(@schema SchemaSettings::draft2020_12().for_serialize(); $($written),*);

        /// Returns the schemas of all documents, each after those that it names.
        #[must_use]
        pub fn schemas() -> Vec<&'static Value> {
            vec![$(<$read>::schema(),)* $(<$written>::schema(),)*]
        }
    };
    (@schema $settings:expr; $($name:ty),*) => {
        $(impl Document for $name {
            fn schema() -> &'static Value {
                static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of::<$name>($settings));
                &SCHEMA
            }
        })*
    };
}

documents! {
    read: PolicyPackOption, OperationOptions, PluginDocument, EngineDocument;
    written: RunDocument<'static>, OutputDocument, ErrorDocument<'static>, PropertyChangeDocument, StepDocument<'static>,
        DiagnosticDocument<'static>, EventDocument;
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().into()
}

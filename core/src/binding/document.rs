//! Documents: serde types with a JSON schema, which is built once per process.

use std::sync::LazyLock;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::{
    analysis::{PolicyAnalysisDocument, PolicyViolationDocument},
    credentials::CredentialDocument,
    edit::{EditDocument, EditReportDocument, EditedRecordDocument, RemovedReferenceDocument},
    event::EventDocument,
    import::{ImportReportDocument, ImportedResourceDocument},
    log::LogRecordDocument,
    metrics::{
        CallMetricsDocument, JournalMetricsDocument, LockMetricsDocument, MetricsDocument,
        OperationMetricsDocument, PluginProcessMetricsDocument, StoreMetricsDocument,
    },
    move_edit::{MoveEditDocument, MoveReportDocument},
    outputs::OutputDocument,
    pending::{DroppedDocument, PendingDocument},
    plugins::{InstalledPluginDocument, PluginRequestDocument, ProgressDocument},
    project::{ConfigDeclarationDocument, ConfigEntryDocument, ProjectDocument, StackFileDocument},
    records::{EdgeDocument, GraphDocument, NodeDocument, RecordDocument},
    result::{DiagnosticDocument, ErrorDocument, PropertyChangeDocument, StepDocument},
    run::RunDocument,
    settings::{EngineDocument, PluginDocument, TelemetryDocument},
    stack::StackDocument,
    stacks::{LockDocument, SummaryDocument, UpdateDocument},
};
use crate::{
    error::Result,
    event::{MovedResource, SuggestedMove},
    fleet::FleetOptions,
    monitor::{ExistsDocument, InvokeDocument, MethodDocument, ReadDocument, RegistrationDocument},
    operation::{AnalysisOptions, ImportRequest, OperationOptions},
    policy::PolicyPackOption,
};

/// A type that bindings exchange as JSON, with its JSON Schema (draft 2020-12).
///
/// Beside the standard keywords a schema can have:
///
/// - `x-takes`: the description of its values in errors.
/// - `x-python`, `x-typescript`: its type in that language, where the schema cannot express it.
/// - `x-in`: the languages that know a property; without it, all do.
/// - `x-argument`: the property is an argument of its own in Python, beside the options.
/// - `x-beside`: names by language that callers write among the options, and that the binding hands over beside the document.
/// - `x-reference`: which values of the language can be in the place of a text, see [`super::stand_in`].
/// - `x-raw`: the property is read as the text of its JSON.
pub trait Document: JsonSchema {
    /// Returns the schema.
    fn schema() -> &'static Value;

    /// Refuses what a schema cannot express.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] that names what is wrong.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

macro_rules! documents {
    (read { $($read:ty $(, checked by $check:ident)?;)* } written { $($written:ty;)* }) => {
        $(documents!(@document $read, SchemaSettings::draft2020_12() $(, $check)?);)*
        $(documents!(@document $written, SchemaSettings::draft2020_12().for_serialize());)*

        /// Returns the schemas of all documents, each after those that it names.
        #[must_use]
        pub fn schemas() -> Vec<&'static Value> {
            vec![$(<$read>::schema(),)* $(<$written>::schema(),)*]
        }
    };
    (@document $name:ty, $settings:expr $(, $check:ident)?) => {
        impl Document for $name {
            $(fn check(&self) -> Result<()> {
                self.$check()
            })?

            fn schema() -> &'static Value {
                static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of::<$name>($settings));
                &SCHEMA
            }
        }
    };
}

documents! {
    read {
        PolicyPackOption;
        OperationOptions, checked by check_policy_packs;
        AnalysisOptions;
        FleetOptions;
        ImportRequest;
        EditDocument;
        MoveEditDocument;
        PluginDocument;
        PluginRequestDocument;
        TelemetryDocument;
        CredentialDocument;
        EngineDocument;
        StackDocument;
        RegistrationDocument;
        ReadDocument;
        InvokeDocument;
        ExistsDocument;
        MethodDocument;
    }
    written {
        RunDocument<'static>;
        OutputDocument;
        ErrorDocument<'static>;
        PropertyChangeDocument;
        StepDocument<'static>;
        DiagnosticDocument<'static>;
        MovedResource;
        SuggestedMove;
        PolicyViolationDocument<'static>;
        PolicyAnalysisDocument<'static>;
        ImportedResourceDocument<'static>;
        ImportReportDocument<'static>;
        RecordDocument<'static>;
        NodeDocument<'static>;
        EdgeDocument<'static>;
        GraphDocument<'static>;
        PendingDocument<'static>;
        DroppedDocument<'static>;
        RemovedReferenceDocument<'static>;
        EditedRecordDocument<'static>;
        EditReportDocument<'static>;
        MoveReportDocument<'static>;
        UpdateDocument<'static>;
        LockDocument<'static>;
        SummaryDocument<'static>;
        OperationMetricsDocument<'static>;
        CallMetricsDocument;
        PluginProcessMetricsDocument<'static>;
        JournalMetricsDocument;
        StoreMetricsDocument<'static>;
        LockMetricsDocument;
        MetricsDocument<'static>;
        LogRecordDocument<'static>;
        InstalledPluginDocument<'static>;
        ProgressDocument;
        ConfigDeclarationDocument;
        ProjectDocument;
        ConfigEntryDocument;
        StackFileDocument;
        EventDocument;
    }
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().into()
}

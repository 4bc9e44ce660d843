//! The common part of the bindings: documents, their schema, and a reader with precise errors.
//!
//! A type of this interface is a [`Document`]: a serde type whose doc comments are its documentation in every language.
//! The types of Python and TypeScript and the lists in the C header are generated from [`schemas`]; [`read`] refuses
//! unknown names and values of a wrong type in the terms of the caller's language.

mod analysis;
mod credentials;
mod document;
mod edit;
mod event;
mod import;
mod log;
mod members;
mod metrics;
mod move_edit;
mod options;
mod outputs;
mod pending;
mod plugins;
mod project;
mod read;
mod records;
mod refusal;
mod result;
mod run;
mod secrets;
mod settings;
mod simulation;
mod stack;
mod stacks;
#[cfg(test)]
mod close_tests;
mod store;

#[doc(hidden)]
pub use crate::message::nearest_names;
pub use analysis::analysis_document;
pub use credentials::{CredentialDocument, CredentialHost};
pub use document::{Document, schemas};
pub use edit::{EditDocument, edit, edit_report_document, waiting};
pub use import::{import_document, import_request, import_values};
pub use log::{log_document, log_level};
pub use metrics::metrics_document;
pub use move_edit::{MoveEditDocument, move_report_document, move_resources};
pub use options::{
    OptionsOf, check_options, exists, invoke, method_call, read_request, registration,
    registration_of_options, registration_with,
};
pub use outputs::{output_values, outputs_document};
pub use pending::{dropped_document, pending_document, pending_entry_document, pending_facts, pending_value};
pub use plugins::{PluginRequestDocument, ProgressTextSink, plugins};
pub use project::{ConfigDeclarationDocument, ConfigEntryDocument, ProjectDocument, StackFileDocument};
pub use read::{read, stand_in};
pub use records::{graph_document, record_document, record_facts, record_value, records_document};
pub use refusal::unknown_name;
pub use result::{
    diagnostic_document, error_document, fleet_document, move_document, result_document, step_document,
};
pub use run::run_document;
pub use secrets::{HostSecrets, SecretsDocument};
pub use settings::{EngineDocument, PluginCommandDocument, PluginDocument, StoreHost, TelemetryDocument};
pub use simulation::{
    adopt as adopt_into_simulation, discrepancies, existing_of, faults, find_resources, matches_type,
    recorded, simulated_calls_document, simulation, unmatched_patterns_document, unmet, unused_faults,
};
pub use stack::{ProjectFolder, StackDocument, config_value};
pub use stacks::stacks_document;
pub use store::{HostCalls, ObjectAnswer, ObjectCall, ObjectHost, condition_parts};

//! Edits of the state in scenarios.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ErrorExpectation;

/// An edit of the state before an operation, and its expectation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Edit {
    /// Whether it is an edit of the stack beside. A move goes to the other one of both stacks.
    pub beside: bool,
    /// The members of the edit's document (`rename`, `delete`, `dryRun`…). URNs are written `@name`.
    #[serde(flatten)]
    pub edit: Map<String, Value>,
    /// The expectation.
    pub expect: EditExpectation,
}

/// The expectation of an edit. Absent members are not checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EditExpectation {
    /// The error; without it, the edit succeeds.
    pub error: Option<ErrorExpectation>,
    /// The records of the report, all of them, as `<kind> <name>`, in any order; without the stack and the default providers.
    pub records: Option<Vec<String>>,
    /// Members of records of the report, by name after the edit.
    pub members: Map<String, Value>,
    /// A part of each warning, all of them.
    pub warnings: Option<Vec<String>>,
    /// The report about the destination of a move; the other members are about its source.
    pub destination: Option<Box<Self>>,
}

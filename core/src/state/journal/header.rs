//! The first line of a journal: the checkpoint that it extends, the operation, and its secrets manager.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{runtime::Timestamp, secrets::SecretsManager};

/// The version of the journal format that this engine writes.
pub(super) const FORMAT: u32 = 4;

/// The content of the first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JournalHeader {
    /// The version of the format.
    pub format: u32,
    /// Hex SHA-256 of the bytes of the checkpoint that the entries extend; empty when there is none yet.
    pub checkpoint: String,
    /// The operation: `update`, `refresh`, `destroy`…
    pub operation: String,
    /// The start time, in RFC 3339.
    pub started: String,
    /// The version of the engine that writes.
    pub engine: String,
    /// The manager that encrypts the secrets in the entries; `None` when there is none, or a later line names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<JournalSecrets>,
}

/// A secrets manager as a journal names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalSecrets {
    /// The manager's kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The state from which the manager is opened; never key material.
    #[serde(
        default,
        deserialize_with = "crate::state::deployment::maybe_free_form",
        skip_serializing_if = "Option::is_none"
    )]
    pub state: Option<Value>,
}

impl JournalSecrets {
    /// Names `manager`, whose state is known.
    pub(crate) fn new(manager: &dyn SecretsManager) -> Self {
        Self {
            kind: manager.kind().to_owned(),
            state: manager.state(),
        }
    }
}

impl JournalHeader {
    /// Creates the header for the journal of an operation on the checkpoint with that hash (see
    /// [`crate::state::deployment::content_hash`]). The journal names its secrets manager when it writes the header.
    #[must_use]
    pub(crate) fn new(
        checkpoint: String,
        operation: impl Into<String>,
        started: Timestamp,
        engine: impl Into<String>,
    ) -> Self {
        Self {
            format: FORMAT,
            checkpoint,
            operation: operation.into(),
            started: started.to_string(),
            engine: engine.into(),
            secrets: None,
        }
    }
}

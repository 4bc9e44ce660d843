//! Rebase: the data with which a journal continues from a checkpoint that was written during the operation.

use serde::{Deserialize, Serialize};

use super::{OperationId, StateId};

/// A checkpoint that contains part of a journal's entries. The others are applied to its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rebase {
    /// Hex SHA-256 of the checkpoint's bytes.
    pub checkpoint: String,
    /// The number of the first entry that the checkpoint does not contain.
    pub sequence: u64,
    /// The number of the first entry that the checkpoint before it, which is known to be written, does not contain.
    #[serde(default)]
    pub written: u64,
    /// The identities of the checkpoint's records, in their order.
    pub records: Vec<StateId>,
    /// The steps in flight, in the order of the checkpoint's first pending operations, to which they belong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<OperationId>,
    /// Whether a refresh has removed records to which later entries may still refer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangling: bool,
}

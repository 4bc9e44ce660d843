//! What it takes to go on from a checkpoint that was written in the middle of an operation.

use serde::{Deserialize, Serialize};

use super::{OperationId, StateId};

/// A checkpoint that holds part of a journal's entries: the others are applied to its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rebase {
    /// Hex SHA-256 of its bytes.
    pub checkpoint: String,
    /// The number of the first entry that it does not hold.
    pub sequence: u64,
    /// The number of the first entry that the checkpoint before it does not hold, which is known to have been written.
    #[serde(default)]
    pub written: u64,
    /// The identities of its records, in their order.
    pub records: Vec<StateId>,
    /// The steps in flight, in the order of the pending operations, of which they are the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<OperationId>,
    /// Whether a refresh has removed records to which later entries may still refer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangling: bool,
}

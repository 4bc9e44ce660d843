//! Journal entries: one typed record for the begin and one for the end of each step.

use std::sync::Arc;

use crate::{
    event::DetailedDiff,
    resource::{Extension, PendingOperation, PendingOperationKind, ResourceState},
    step::StepOp,
};

/// The stable identity of one record. Those of the base count from 0 in its order; new ones follow.
///
/// A record keeps its identity when its content changes (outputs, marks). Records of the same URN have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct StateId(pub u64);

/// The identity of a step, which its begin and its end share; counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub u64);

/// A record with its identity.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRef {
    /// The identity.
    pub id: StateId,
    /// The current content.
    pub state: Arc<ResourceState>,
}

/// A mark that a step sets on a record that it does not change otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateMark {
    /// The record is an old copy, to be deleted.
    Delete,
    /// The resource was deleted for a replacement that has not been created yet.
    PendingReplacement,
}

/// One entry: its sequence number, the step that it belongs to, and its content.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// Counts from 0 without gaps in each operation.
    pub sequence: u64,
    /// The step; entries of one step share it. 0 for entries that belong to none.
    pub operation: OperationId,
    /// The content.
    pub record: JournalRecord,
}

/// The content of an entry. Every prefix of a journal yields a valid snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalRecord {
    /// A step begins; its provider has not been called yet. Steps that call no provider have no begin.
    Begin {
        /// The step's operation.
        op: StepOp,
        /// The kind of the pending operation that a crash from here on leaves; `None` for steps that leave none.
        pending: Option<PendingOperationKind>,
        /// The record before the step.
        old: Option<StateRef>,
        /// The record after the step, as far as it is known.
        new: Option<Arc<ResourceState>>,
        /// Properties that force a replacement.
        keys: Vec<String>,
        /// Properties that differ.
        diffs: Vec<String>,
        /// The kind of each difference.
        detailed_diff: Option<DetailedDiff>,
    },
    /// A step has succeeded, or has failed after the resource was created.
    Success {
        /// The step's operation.
        op: StepOp,
        /// The result of a refresh: same, update or delete.
        result_op: StepOp,
        /// The removed records.
        removed: Vec<StateId>,
        /// The records that were marked.
        marked: Vec<(StateId, StateMark)>,
        /// The record after the step.
        new: Option<StateRef>,
        /// True when `new` takes the position of the removed record instead of the end of the new ones.
        in_place: bool,
        /// True when nothing worth a write changed: stores may skip the entry. The record then keeps its identity
        /// (`removed` contains that of `new`, and no other), so that later entries are valid without this one.
        elide_write: bool,
        /// True when the resource was not selected by targets or excludes, and its record is unchanged.
        untargeted: bool,
        /// The state that a skipped creation returns to the program: a resource that this run does not create, and of
        /// which nothing is recorded. `new` is `None` then, and the write is elided.
        skipped_create: Option<Arc<ResourceState>>,
        /// True for a step on a view, which only the provider of its owner executes.
        view: bool,
    },
    /// A step has failed and changed nothing.
    Failure {
        /// The step's operation.
        op: StepOp,
    },
    /// A component or the stack has published outputs.
    Outputs {
        /// The record with its new outputs.
        new: StateRef,
        /// True when the outputs are unchanged.
        elide_write: bool,
    },
    /// The complete new list of records: the base was completed before any step of an operation (providers added, fields
    /// completed), or an edit has replaced the state. An edit is this entry alone, passed to the host's journal.
    BaseWritten {
        /// The records.
        resources: Vec<StateRef>,
        /// The complete new list of pending operations; `None` when the base's are unchanged.
        pending: Option<Vec<PendingOperation>>,
    },
    /// The records were rebuilt after a refresh: deleted ones are removed, dangling references are removed.
    BaseRebuilt {
        /// The identities of all remaining records, new ones included, in order: the new base.
        order: Vec<StateId>,
        /// The records that the rebuild changed.
        repaired: Vec<StateRef>,
        /// True when pending operations other than creations are removed.
        clear_pending: bool,
    },
    /// A provider has been given an extension that the base does not have. It becomes part of the state with the first
    /// record that refers to it.
    ExtensionAdded {
        /// The extension.
        extension: Arc<Extension>,
    },
}

impl JournalRecord {
    /// Returns whether the entry changes nothing worth a write, so that stores may skip it.
    #[must_use]
    pub const fn elides_write(&self) -> bool {
        matches!(
            self,
            Self::Success {
                elide_write: true,
                ..
            } | Self::Outputs {
                elide_write: true,
                ..
            } | Self::Begin { pending: None, .. }
        )
    }

    /// Returns whether the entry is the end of a refresh that the program's registration requested: the record then
    /// stands at the end of the new ones.
    #[must_use]
    pub const fn is_persisted_refresh(&self) -> bool {
        matches!(
            self,
            Self::Success {
                op: StepOp::Refresh,
                in_place: false,
                ..
            }
        )
    }

    /// Returns whether the entry is the end of a refresh that found no resource: the record is removed.
    #[must_use]
    pub const fn is_deleted_by_refresh(&self) -> bool {
        matches!(
            self,
            Self::Success {
                op: StepOp::Refresh,
                new: None,
                ..
            }
        )
    }
}

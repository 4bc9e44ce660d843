//! Journal entries: one typed record for each beginning and each end of a step.

use std::sync::Arc;

use crate::{
    event::DetailedDiff,
    resource::{PendingOperationKind, ResourceState},
    step::StepOp,
};

/// The stable identity of one record: those of the base count from 0 in its order, new ones go on from there.
///
/// A record keeps its identity while its content changes (outputs, marks); another record of the same URN has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct StateId(pub u64);

/// Ties the end of a step to its beginning; counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub u64);

/// A record with its identity.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRef {
    /// The identity.
    pub id: StateId,
    /// The content, as it is now.
    pub state: Arc<ResourceState>,
}

/// A mark that a step leaves on a record that it does not otherwise change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateMark {
    /// It is an old copy that waits for its deletion.
    Delete,
    /// It was deleted for a replacement that has not been created yet.
    PendingReplacement,
}

/// One entry: its number, the step that it belongs to, and what it records.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// Counts from 0 without gaps in each operation.
    pub sequence: u64,
    /// The step; entries of one step share it. 0 for entries that belong to none.
    pub operation: OperationId,
    /// What it records.
    pub record: JournalRecord,
}

/// What an entry records. Every prefix of a journal yields a valid snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalRecord {
    /// A step begins; its provider has not been called yet. Steps that call none do not say when they begin.
    Begin {
        /// What the step does.
        op: StepOp,
        /// What a crash from here on leaves in `pending_operations`; `None` for steps that leave nothing.
        pending: Option<PendingOperationKind>,
        /// The record as it was.
        old: Option<StateRef>,
        /// The record as it is to become, as far as that is known.
        new: Option<Arc<ResourceState>>,
        /// Properties that force a replacement.
        keys: Vec<String>,
        /// Properties that differ.
        diffs: Vec<String>,
        /// How each differs.
        detailed_diff: Option<DetailedDiff>,
    },
    /// A step has succeeded, or failed after the real thing came to exist.
    Success {
        /// What the step did.
        op: StepOp,
        /// What a refresh came to: same, update or delete.
        result_op: StepOp,
        /// Records that are no more.
        removed: Vec<StateId>,
        /// Records that got a mark.
        marked: Vec<(StateId, StateMark)>,
        /// The record that there is now.
        new: Option<StateRef>,
        /// True when `new` takes the place of the removed record instead of standing at the end of the new ones.
        in_place: bool,
        /// True when nothing worth a write changed: stores may skip the entry. The record then keeps its identity
        /// (`removed` holds that of `new`, and nothing else), so that later entries make sense without this one.
        elided: bool,
        /// True when the record was left out by targets or excludes, and was taken over as it is.
        untargeted: bool,
        /// What the program asked for and this run does not make, as the program sees it: a skipped creation, of which
        /// nothing is recorded. `new` is `None` then, and the entry elided.
        skipped_create: Option<Arc<ResourceState>>,
        /// True for a step on a view: nobody but the provider of its owner has worked on it.
        view: bool,
    },
    /// A step has failed and changed nothing.
    Failure {
        /// What the step was to do.
        op: StepOp,
    },
    /// A component or the stack has published outputs.
    Outputs {
        /// The record with its new outputs.
        new: StateRef,
        /// True when the outputs are as they were.
        elided: bool,
    },
    /// The base was brought up to date before any step (providers added, fields completed): the whole new list.
    BaseWritten {
        /// The records.
        resources: Vec<StateRef>,
    },
    /// Everything was rebuilt after a refresh: what was deleted is gone, dangling dependencies are cut.
    BaseRebuilt {
        /// The identities of all records that remain, new ones included, in order; together they are the new base.
        order: Vec<StateId>,
        /// The records whose content the rebuild changed.
        repaired: Vec<StateRef>,
        /// Clears pending operations other than creations.
        clear_pending: bool,
    },
}

impl JournalRecord {
    /// Tells whether the entry changes nothing worth a write, so that stores may skip it.
    #[must_use]
    pub const fn is_elided(&self) -> bool {
        matches!(
            self,
            Self::Success { elided: true, .. }
                | Self::Outputs { elided: true, .. }
                | Self::Begin { pending: None, .. }
        )
    }

    /// Tells whether the entry is the end of a refresh that its program's registration asked for: the record stands at
    /// the end of the new ones from then on.
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

    /// Tells whether the entry is the end of a refresh that found nothing: the record is no more.
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

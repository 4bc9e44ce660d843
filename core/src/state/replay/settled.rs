//! Settling: which interrupted operations of an earlier run stay recorded.

use std::collections::BTreeSet;

use super::JournalReplay;
use crate::{
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    state::{StateId, StateRef},
    step::StepOp,
};

/// The settled ones of the base's pending operations. The set only grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    scope: Scope,
    /// The indexes of the base's pending operations whose resources a step of this run has processed.
    worked_on: BTreeSet<usize>,
    /// The indexes of those that this run has resolved.
    resolved: BTreeSet<usize>,
    /// The indexes of those that stay, because their resources are known to exist without a record.
    kept: BTreeSet<usize>,
}

/// The kinds of pending operations that are settled together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// None of them.
    #[default]
    None,
    /// All but creations: an interrupted creation may have created a resource without a record. One whose id is known
    /// is settled when a step has processed that id.
    ExceptCreations,
    /// All of them.
    All,
}

impl Settled {
    pub(super) fn extend(&mut self, scope: Scope) {
        self.scope = self.scope.max(scope);
    }

    fn covers(&self, place: usize, pending: &PendingOperation) -> bool {
        let is_creation = pending.kind == PendingOperationKind::Creating;
        match self.scope {
            _ if self.resolved.contains(&place) => true,
            Scope::All if is_creation => true,
            _ if self.kept.contains(&place) => false,
            Scope::All => true,
            // Its result, if any, is unknown.
            _ if is_creation && pending.resource.id.is_empty() => false,
            Scope::ExceptCreations if !is_creation => true,
            _ => self.worked_on.contains(&place),
        }
    }
}

impl JournalReplay {
    /// Settles one of the base's pending operations, which this run has resolved.
    pub(crate) fn resolve_pending(&mut self, place: usize) {
        self.settled.resolved.insert(place);
    }

    /// Keeps one of the base's pending operations; only a request to drop creations ends it.
    pub(crate) fn keep_pending(&mut self, place: usize) {
        self.settled.kept.insert(place);
    }

    /// Returns the base's pending operations that are settled although this run has neither resolved them nor processed
    /// their resources.
    pub(crate) fn dropped_pending(&self) -> impl Iterator<Item = &PendingOperation> {
        let pending = self.base.pending_operations.iter().enumerate();
        let is_dropped = |place: &usize, pending: &PendingOperation| {
            // A step with the URN of an interrupted creation does not show what became of that one.
            let is_unknown = pending.kind == PendingOperationKind::Creating && pending.resource.id.is_empty();
            self.settled.covers(*place, pending)
                && !self.settled.resolved.contains(place)
                && (is_unknown || !self.settled.worked_on.contains(place))
        };
        pending
            .filter(move |(place, pending)| is_dropped(place, pending))
            .map(|(_, pending)| pending)
    }

    /// Returns the base's pending operations that are not settled.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &PendingOperation> {
        let pending = self.base.pending_operations.iter().enumerate();
        pending
            .filter(|(place, pending)| !self.settled.covers(*place, pending))
            .map(|(_, pending)| pending)
    }

    /// Returns the base's pending operations to be written: the unsettled ones, except where an operation of the same
    /// kind on the same resource has begun since.
    pub(super) fn pending_of_base(&self) -> impl Iterator<Item = &PendingOperation> {
        self.unsettled().filter(|pending| {
            let mut begun = self.begun.values();
            pending.kind == PendingOperationKind::Creating
                || !begun
                    .any(|begun| begun.kind == pending.kind && is_same(&begun.resource, &pending.resource))
        })
    }

    /// Settles the pending operations on the resources of an ended step: the resource of its own pending operation, and
    /// the records that a successful step removes or replaces after a provider call.
    pub(super) fn settle_worked_on(
        &mut self,
        op: StepOp,
        ended: Option<&PendingOperation>,
        removed: &[StateId],
        new: Option<&StateRef>,
    ) {
        if self.base.pending_operations.is_empty() || (ended.is_none() && op != StepOp::Refresh) {
            return;
        }
        let ids = removed.iter().copied().chain(new.map(|new| new.id));
        let records = ids.filter_map(|id| self.get(id)).map(|state| &**state);
        let resources: Vec<&ResourceState> = ended
            .map(|ended| &*ended.resource)
            .into_iter()
            .chain(records)
            .collect();
        let pending = self.base.pending_operations.iter().enumerate();
        let worked_on: Vec<usize> = pending
            .filter(|(_, pending)| resources.iter().any(|resource| concerns(pending, resource)))
            .map(|(place, _)| place)
            .collect();
        self.settled.worked_on.extend(worked_on);
    }

    /// Returns whether a finished refresh leaves no pending operation other than creations: the unsettled ones are on
    /// resources without a record.
    pub(super) fn refresh_settles_pending(&self) -> bool {
        self.unsettled()
            .filter(|pending| pending.kind != PendingOperationKind::Creating)
            .all(|pending| !self.records().any(|record| concerns(pending, &record.state)))
    }
}

/// Returns whether a pending operation changes the resource of a record or a goal. An interrupted update has no id: it
/// changes the resource in use.
fn concerns(pending: &PendingOperation, resource: &ResourceState) -> bool {
    let goal = &pending.resource;
    let is_update = pending.kind == PendingOperationKind::Updating && goal.id.is_empty();
    is_same(goal, resource) || is_update && goal.urn == resource.urn && !resource.delete
}

/// Returns whether both describe the same real resource. A copy that is marked for deletion has another id.
fn is_same(left: &ResourceState, right: &ResourceState) -> bool {
    left.urn == right.urn && left.id == right.id
}

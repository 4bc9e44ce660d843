//! What the journal is to hold of a step: its beginning, and its end.

use std::sync::Arc;

use crate::{
    error::Error,
    executor::{Executor, Failure, Step, StepFailure},
    resource::{PendingOperationKind, ResourceState},
    state::{JournalRecord, OperationId, StateId, StateMark, StateRef, may_elide},
    step::StepOp,
};

impl Executor {
    pub(super) async fn begin(&self, step: &Step) -> Result<OperationId, StepFailure> {
        let Some(journal) = &self.journal else {
            return Ok(OperationId(0));
        };
        let operation = journal.next_operation_id();
        let pending = pending_kind(step);
        let recorded = pending.is_some() || step.op == StepOp::Replace || self.works(step);
        if recorded && !step.detail.goes_along {
            let record = JournalRecord::Begin {
                op: step.op,
                pending,
                old: step.old.clone(),
                new: step.new.clone(),
                keys: step.keys.clone(),
                diffs: step.diffs.clone(),
                detailed_diff: step.detailed_diff.clone(),
            };
            self.record(operation, record).await?;
        }
        Ok(operation)
    }

    /// Makes an entry durable. A store that refuses ends the run: nothing may happen that is not recorded.
    ///
    /// The entry, if there is one, is on its way when this is called; the future only tells when it is durable.
    pub(crate) fn record(
        &self,
        operation: OperationId,
        record: impl Into<Option<JournalRecord>>,
    ) -> impl Future<Output = Result<(), StepFailure>> + Send {
        let journaled = self.journal.as_ref().zip(record.into());
        let appended = journaled.map(|(journal, record)| journal.append(operation, record));
        async move {
            match appended {
                Some(appended) => appended.await.map_err(|error| self.fatal(error)),
                None => Ok(()),
            }
        }
    }

    pub(crate) fn fatal(&self, error: Error) -> StepFailure {
        let failure = StepFailure {
            cancelled: true,
            ..StepFailure::new(error.message())
        };
        self.control.fail(Failure::Fatal(error), true);
        failure
    }

    pub(super) fn identify(&self, step: &Step, state: Arc<ResourceState>) -> StateRef {
        // A refreshed record stays the record that it is, and so does one in which nothing worth a write changed.
        let stays = |old: &&StateRef| match step.op {
            StepOp::Refresh => true,
            // Where nothing is recorded, what goes on from a record is that one.
            StepOp::Same | StepOp::Update if self.journal.is_none() => true,
            _ => is_elided(step, old, &state),
        };
        let kept = step.old.as_ref().filter(stays);
        let kept = kept.map(|old| old.id);
        let id = kept.unwrap_or_else(|| match &self.journal {
            Some(journal) => journal.next_state_id(),
            None => StateId(u64::MAX),
        });
        StateRef { id, state }
    }

    /// Returns what the journal is to hold of the end of a step that brought something about.
    pub(super) fn end(
        &self,
        step: &Step,
        result_op: StepOp,
        new: Option<&StateRef>,
    ) -> Option<JournalRecord> {
        if self.journal.is_none() || step.detail.goes_along {
            return None;
        }
        // Neither changes a record: what a replacement does to them is done by its other steps.
        if step.detail.skipped_create || step.op == StepOp::Replace {
            return Some(JournalRecord::Success {
                op: step.op,
                result_op,
                removed: Vec::new(),
                marked: Vec::new(),
                new: None,
                in_place: false,
                elided: true,
                untargeted: false,
                skipped_create: new
                    .filter(|_| step.detail.skipped_create)
                    .map(|new| Arc::clone(&new.state)),
                view: step.op == StepOp::Replace && step.is_view(),
            });
        }
        let old = step.old.as_ref();
        let mut removed = Vec::new();
        let mut marked = Vec::new();
        let mut recorded = new.cloned();
        match step.op {
            StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement => {
                // Nobody deletes an old copy of a view later on.
                let has_copy = step.op != StepOp::CreateReplacement && !step.is_view();
                let was_deleted = old.is_some_and(|old| old.state.pending_replacement);
                if (step.detail.pending_delete || has_copy) && !was_deleted {
                    let views = self.views_of_old(step);
                    let old = old.map(|old| old.id).into_iter().chain(views);
                    marked.extend(old.map(|id| (id, StateMark::Delete)));
                } else {
                    // Deleted before: the record stayed only to say that a replacement was pending.
                    removed.extend(old.map(|old| old.id));
                    removed.extend(self.views_of_old(step));
                }
            }
            StepOp::DeleteReplaced if step.detail.replacing => {
                marked.extend(old.map(|old| (old.id, StateMark::PendingReplacement)));
                recorded = None;
            }
            StepOp::Delete
            | StepOp::DeleteReplaced
            | StepOp::Discard
            | StepOp::DiscardReplaced
            | StepOp::RemovePendingReplace => {
                removed.extend(old.map(|old| old.id));
                recorded = None;
            }
            _ => removed.extend(old.map(|old| old.id)),
        }
        let along = step.along.iter().filter_map(|guest| guest.old.as_ref());
        marked.extend(along.map(|old| (old.id, StateMark::PendingReplacement)));
        let elided = matches!((old, &recorded), (Some(old), Some(new)) if is_elided(step, old, &new.state));
        Some(JournalRecord::Success {
            op: step.op,
            result_op,
            removed,
            marked,
            in_place: step.detail.in_place || step.op == StepOp::Refresh && !step.detail.persisted,
            new: recorded,
            elided,
            untargeted: step.detail.untargeted,
            skipped_create: None,
            view: step.is_view(),
        })
    }
}

/// Tells whether the step's end may wait to be written until the operation's.
fn is_elided(step: &Step, old: &StateRef, new: &Arc<ResourceState>) -> bool {
    match step.op {
        StepOp::Same => may_elide(&old.state, new),
        StepOp::Refresh => Arc::ptr_eq(&old.state, new),
        StepOp::Read => *old.state == **new,
        _ => false,
    }
}

/// Returns what a crash in the middle of the step leaves behind.
fn pending_kind(step: &Step) -> Option<PendingOperationKind> {
    match step.op {
        StepOp::Create | StepOp::CreateReplacement => Some(PendingOperationKind::Creating),
        StepOp::Update => Some(PendingOperationKind::Updating),
        StepOp::Delete | StepOp::DeleteReplaced | StepOp::Discard | StepOp::DiscardReplaced => {
            Some(PendingOperationKind::Deleting)
        }
        StepOp::Read | StepOp::ReadReplacement => {
            // Reading again what is recorded leaves nothing to ask about after a crash.
            step.old.is_none().then_some(PendingOperationKind::Reading)
        }
        StepOp::Import | StepOp::ImportReplacement => Some(PendingOperationKind::Importing),
        StepOp::Same | StepOp::Replace | StepOp::Refresh | StepOp::RemovePendingReplace => None,
    }
}

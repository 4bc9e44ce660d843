//! The recorder of steps: the journal entries of their beginning and end, and the current records.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::{
    error::Error,
    executor::{Control, Failure, Step, StepFailure, views::ViewBook},
    resource::{Extension, PendingOperationKind, ResourceState},
    state::{Journal, JournalRecord, OperationId, StateId, StateMark, StateRef, may_elide_write},
    step::StepOp,
    urn::Urn,
};

/// Records steps: durably in the journal, and in memory for later steps.
pub(super) struct Recorder {
    /// `None` during previews, which record nothing.
    pub(super) journal: Option<Journal>,
    /// The views of the records.
    pub(super) views: ViewBook,
    control: Control,
    /// The resources that this run has registered or read, for `getResource`.
    published: Mutex<FxHashMap<Urn, StateRef>>,
    /// The references of the extensions that the journal or its base is known to have.
    extensions: Mutex<FxHashSet<SmolStr>>,
}

impl Recorder {
    pub(super) fn new(journal: Option<Journal>, control: Control) -> Self {
        Self {
            journal,
            views: ViewBook::default(),
            control,
            published: Mutex::default(),
            extensions: Mutex::default(),
        }
    }

    /// Adds a resource that this run has registered or read. An old copy is not added: its URN is that of the record in
    /// use.
    pub(super) fn publish(&self, record: &StateRef) {
        if record.state.delete {
            return;
        }
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        published.insert(record.state.urn.clone(), record.clone());
    }

    /// Returns a resource that this run has registered or read.
    pub(super) fn published(&self, urn: &Urn) -> Option<StateRef> {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        published.get(urn).cloned()
    }

    /// Returns all resources that this run has registered or read, in the order of their URNs.
    pub(super) fn all_published(&self) -> Vec<Arc<ResourceState>> {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let states = published.values().map(|record| Arc::clone(&record.state));
        let mut states: Vec<_> = states.collect();
        drop(published);
        states.sort_unstable_by(|left, right| left.urn.as_str().cmp(right.urn.as_str()));
        states
    }

    /// Returns the next operation id of the journal; a preview has none.
    pub(super) fn next_operation(&self) -> OperationId {
        let journal = self.journal.as_ref();
        journal.map_or(OperationId(0), Journal::next_operation_id)
    }

    /// Makes the beginning of a step durable, if a crash during the step would leave a pending operation.
    pub(super) async fn begin(&self, step: &Step) -> Result<OperationId, StepFailure> {
        let operation = self.next_operation();
        if self.journal.is_none() {
            return Ok(operation);
        }
        let pending = pending_kind(step);
        let recorded = pending.is_some() || step.op == StepOp::Replace || step.calls_provider();
        if recorded && !step.detail.is_cascaded {
            let record = JournalRecord::Begin {
                op: step.op,
                pending,
                old: step.old.clone(),
                new: identified(step),
                keys: step.keys.clone(),
                diffs: step.diffs.clone(),
                detailed_diff: step.detailed_diff.clone(),
            };
            self.record(operation, record).await?;
        }
        Ok(operation)
    }

    /// Makes an entry durable. A journal that cannot be written ends the run: every effect must be recorded.
    ///
    /// The entry, if there is one, is appended when this is called; the future resolves when it is durable.
    pub(super) fn record(
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

    /// Makes an extension durable before any record refers to it, unless the state has it.
    pub(super) async fn add_extension(&self, extension: &Arc<Extension>) -> Result<(), StepFailure> {
        let extensions = || self.extensions.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        if extensions().contains(extension.reference()) {
            return Ok(());
        }
        let has_it = journal.with_replay(|replay| replay.has_extension(extension));
        if has_it == Some(false) {
            let extension = Arc::clone(extension);
            let added = JournalRecord::ExtensionAdded { extension };
            self.record(OperationId(0), added).await?;
        }
        // Records that refer to it are appended after it, also where another request is still writing it.
        extensions().insert(extension.reference().clone());
        Ok(())
    }

    fn fatal(&self, error: Error) -> StepFailure {
        let failure = StepFailure {
            cancelled: true,
            ..StepFailure::new(error.message())
        };
        self.control.fail(Failure::Fatal(error), true);
        failure
    }

    /// Assigns the identity of a record in the journal: that of the old record when no change needs to be written.
    pub(super) fn identify(&self, step: &Step, state: Arc<ResourceState>) -> StateRef {
        let stays = |old: &&StateRef| match step.op {
            StepOp::Refresh => true,
            // A preview records nothing: the identity stays.
            StepOp::Same | StepOp::Update if self.journal.is_none() => true,
            _ => elides_write(step, old, &state),
        };
        let kept = step.old.as_ref().filter(stays);
        let kept = kept.map(|old| old.id);
        let id = kept.unwrap_or_else(|| match &self.journal {
            Some(journal) => journal.next_state_id(),
            None => StateId(u64::MAX),
        });
        StateRef { id, state }
    }

    /// Returns the entry of the end of a step that succeeded; `None` where there is none.
    pub(super) fn end(
        &self,
        step: &Step,
        result_op: StepOp,
        new: Option<&StateRef>,
    ) -> Option<JournalRecord> {
        if self.journal.is_none() || step.detail.is_cascaded {
            return None;
        }
        // These steps change no record: the other steps of a replacement do.
        if step.detail.skipped_create || step.op == StepOp::Replace {
            return Some(JournalRecord::Success {
                op: step.op,
                result_op,
                removed: Vec::new(),
                marked: Vec::new(),
                new: None,
                in_place: false,
                elide_write: true,
                untargeted: false,
                skipped_create: new
                    .filter(|_| step.detail.skipped_create)
                    .map(|new| Arc::clone(&new.state)),
                view: step.op == StepOp::Replace && step.is_view(),
            });
        }
        let Changes {
            removed,
            marked,
            recorded,
        } = self.changes(step, new);
        let old = step.old.as_ref();
        let elide_write =
            matches!((old, &recorded), (Some(old), Some(new)) if elides_write(step, old, &new.state));
        Some(JournalRecord::Success {
            op: step.op,
            result_op,
            removed,
            marked,
            in_place: step.detail.in_place || step.op == StepOp::Refresh && !step.detail.persisted,
            new: recorded,
            elide_write,
            untargeted: step.detail.untargeted,
            skipped_create: None,
            view: step.is_view(),
        })
    }

    /// Returns the changes of the records by a step that succeeded.
    fn changes(&self, step: &Step, new: Option<&StateRef>) -> Changes {
        let old = step.old.as_ref();
        let mut removed = Vec::new();
        let mut marked = Vec::new();
        let mut recorded = new.cloned();
        match step.op {
            StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement => {
                // An old copy of a view is never deleted by a step of its own.
                let has_copy = step.op != StepOp::CreateReplacement && !step.is_view();
                let was_deleted = old.is_some_and(|old| old.state.pending_replacement);
                if (step.detail.pending_delete || has_copy) && !was_deleted {
                    let views = self.views.ids_of_old(step);
                    let old = old.map(|old| old.id).into_iter().chain(views);
                    marked.extend(old.map(|id| (id, StateMark::Delete)));
                } else {
                    // Deleted before: the record stayed only to mark a pending replacement.
                    removed.extend(old.map(|old| old.id));
                    removed.extend(self.views.ids_of_old(step));
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
        for deletion in &step.cascaded {
            let id = deletion.old.as_ref().map(|old| old.id);
            match deletion.detail.replacing {
                true => marked.extend(id.map(|id| (id, StateMark::PendingReplacement))),
                false => removed.extend(id),
            }
        }
        Changes {
            removed,
            marked,
            recorded,
        }
    }
}

/// The changes of the records by a step.
struct Changes {
    removed: Vec<StateId>,
    marked: Vec<(StateId, StateMark)>,
    /// The new record.
    recorded: Option<StateRef>,
}

/// Returns whether the end of the step may be written at the end of the operation.
fn elides_write(step: &Step, old: &StateRef, new: &Arc<ResourceState>) -> bool {
    match step.op {
        StepOp::Same => may_elide_write(&old.state, new),
        StepOp::Refresh => Arc::ptr_eq(&old.state, new),
        StepOp::Read => *old.state == **new,
        _ => false,
    }
}

/// Returns the new state of a step for its begin. That of an update has the id of the resource, by which a pending update is
/// resolved.
fn identified(step: &Step) -> Option<Arc<ResourceState>> {
    let mut new = step.new.clone()?;
    if let (StepOp::Update, Some(old)) = (step.op, &step.old)
        && new.id.is_empty()
    {
        Arc::make_mut(&mut new).id = old.state.id.clone();
    }
    Some(new)
}

/// Returns the pending operation that a crash during the step leaves.
fn pending_kind(step: &Step) -> Option<PendingOperationKind> {
    match step.op {
        StepOp::Create | StepOp::CreateReplacement => Some(PendingOperationKind::Creating),
        StepOp::Update => Some(PendingOperationKind::Updating),
        StepOp::Delete | StepOp::DeleteReplaced | StepOp::Discard | StepOp::DiscardReplaced => {
            Some(PendingOperationKind::Deleting)
        }
        StepOp::Read | StepOp::ReadReplacement => {
            // A repeated read leaves no pending operation.
            step.old.is_none().then_some(PendingOperationKind::Reading)
        }
        StepOp::Import | StepOp::ImportReplacement => Some(PendingOperationKind::Importing),
        StepOp::Same | StepOp::Replace | StepOp::Refresh | StepOp::RemovePendingReplace => None,
    }
}

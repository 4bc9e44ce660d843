//! The replay: the base snapshot with every journal entry so far applied to it, which yields the current snapshot.

mod check;
mod to_snapshot;
mod places;
mod settled;

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    resource::{Extension, PendingOperation, PendingOperationKind, ResourceState},
    state::{
        Extensions, JournalEntry, JournalRecord, OperationId, Snapshot, StateId, StateMark, StateRef,
        ciphertext, rebase::Rebase, rebuild,
    },
    step::StepOp,
    urn::Urn,
};

use places::Place;
use settled::{Scope, Settled};

/// The extent of the changes by the entries so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Changes {
    /// No changes: the base is current.
    #[default]
    None,
    /// Only changes of elide_write entries; one write at the end of the operation suffices.
    OnlyElidedWrites,
    /// Other changes.
    Some,
}

/// The base snapshot with entries applied. Applying an entry costs time proportional to its size.
#[derive(Clone, Debug)]
pub struct JournalReplay {
    base: Snapshot,
    /// The base's records at their positions; `None` where one was removed or has moved to `new`.
    old: Vec<Option<StateRef>>,
    /// New and changed records in the order of their completion.
    new: Vec<Option<StateRef>>,
    /// The position of each record. Those of the base that never moved have no entry.
    places: FxHashMap<StateId, Place>,
    begun: BTreeMap<OperationId, PendingOperation>,
    /// By record, the URN of the one that it has replaced, where that is none of its aliases: a checkpoint in the middle of an operation
    /// names children of moved parents by other URNs than the engine does.
    replaced: FxHashMap<StateId, Urn>,
    /// The extensions that are not in the base.
    extensions: Extensions,
    /// True once a refresh has removed a record to which dependents may still refer.
    has_dangling: bool,
    settled: Settled,
    changes: Changes,
    next_state: u64,
}

impl JournalReplay {
    /// Starts from a base, whose records get the identities 0, 1, 2…
    #[must_use]
    pub fn new(base: Snapshot) -> Self {
        let old: Vec<_> = (0..)
            .zip(&base.resources)
            .map(|(id, state)| {
                Some(StateRef {
                    id: StateId(id),
                    state: Arc::clone(state),
                })
            })
            .collect();
        let next_state = old.len() as u64;
        Self {
            base,
            old,
            new: Vec::new(),
            places: FxHashMap::default(),
            begun: BTreeMap::new(),
            replaced: FxHashMap::default(),
            extensions: Extensions::default(),
            has_dangling: false,
            settled: Settled::default(),
            changes: Changes::None,
            next_state,
        }
    }

    /// Continues from a checkpoint that contains part of a journal's entries.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when it does not have the records and pending operations that `rebase` names.
    pub fn resume(mut base: Snapshot, rebase: &Rebase) -> Result<Self> {
        let (records, begun) = (base.resources.len(), base.pending_operations.len());
        if rebase.records.len() != records || rebase.begun.len() > begun {
            let message = format!(
                "the journal expects a checkpoint of {} records and at least {} pending operations; it has {records} and {begun}",
                rebase.records.len(),
                rebase.begun.len()
            );
            return Err(Error::new(ErrorKind::State, message));
        }
        let begun = base.pending_operations.drain(..rebase.begun.len());
        let begun = rebase.begun.iter().copied().zip(begun).collect();
        let mut replay = Self::new(base);
        let records = rebase.records.iter().zip(&replay.base.resources);
        let records = records.map(|(id, state)| {
            Some(StateRef {
                id: *id,
                state: Arc::clone(state),
            })
        });
        replay.rebase(records.collect());
        replay.begun = begun;
        replay.has_dangling = rebase.dangling;
        replay.changes = Changes::Some;
        Ok(replay)
    }

    /// Returns the snapshot that the entries started from.
    #[must_use]
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// Returns the current content of a record; `None` once it is removed.
    #[must_use]
    pub fn get(&self, id: StateId) -> Option<&Arc<ResourceState>> {
        self.slot(id)?.as_ref().map(|record| &record.state)
    }

    /// Returns the existing records: new ones in the order of completion, then those left of the base.
    pub fn records(&self) -> impl Iterator<Item = &StateRef> {
        self.new.iter().chain(&self.old).flatten()
    }

    /// Returns the steps in flight, in the order of their begins.
    pub fn pending(&self) -> impl Iterator<Item = (OperationId, &PendingOperation)> {
        self.begun.iter().map(|(id, pending)| (*id, pending))
    }

    /// Returns the lowest unused record identity.
    #[must_use]
    pub fn next_state_id(&self) -> StateId {
        StateId(self.next_state)
    }

    /// Returns the extent of the changes so far. Steps in flight count as a change.
    #[must_use]
    pub(crate) fn changes(&self) -> Changes {
        let settles = self.unsettled().count() < self.base.pending_operations.len();
        if settles || !self.begun.is_empty() {
            Changes::Some
        } else {
            self.changes
        }
    }

    /// Returns whether anything changed since the base.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.changes() != Changes::None
    }

    /// Replaces the base's secrets manager: later snapshots name `secrets`.
    pub fn set_secrets(&mut self, secrets: Option<Arc<dyn crate::secrets::SecretsManager>>) {
        self.base.secrets = secrets;
    }

    /// Applies one entry. Entries must come in their order.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the entry refers to a record that does not exist. The replay is then unchanged.
    pub fn apply(&mut self, entry: &JournalEntry) -> Result<()> {
        self.check(entry)?;
        match &entry.record {
            JournalRecord::Begin {
                pending, old, new, ..
            } => {
                let resource = match pending {
                    Some(PendingOperationKind::Deleting) => {
                        old.as_ref().map(|old| &old.state).or(new.as_ref())
                    }
                    Some(_) => new.as_ref().or(old.as_ref().map(|old| &old.state)),
                    None => None,
                };
                if let (Some(kind), Some(resource)) = (*pending, resource) {
                    let pending = PendingOperation {
                        resource: Arc::clone(resource),
                        kind,
                    };
                    self.begun.insert(entry.operation, pending);
                }
            }
            JournalRecord::Success {
                op,
                removed,
                marked,
                new,
                in_place,
                elide_write,
                ..
            } => {
                let ended = self.begun.remove(&entry.operation);
                self.settle_worked_on(*op, ended.as_ref(), removed, new.as_ref());
                self.succeed(removed, marked, new.as_ref(), *in_place, *elide_write);
                self.has_dangling |= *op == StepOp::Refresh && new.is_none() && !removed.is_empty();
            }
            JournalRecord::Failure { op } => {
                if let Some(ended) = self.begun.remove(&entry.operation) {
                    self.settle_worked_on(*op, Some(&ended), &[], None);
                }
            }
            JournalRecord::Outputs { new, elide_write } => {
                let changed = self.get(new.id).is_none_or(|old| !same_record(old, &new.state));
                self.replace(new.clone());
                self.note(changed, *elide_write);
            }
            JournalRecord::BaseWritten { resources, pending } => {
                self.rebase(resources.iter().cloned().map(Some).collect());
                if let Some(pending) = pending {
                    self.base.pending_operations.clone_from(pending);
                    self.settled = Settled::default();
                }
                self.changes = Changes::Some;
            }
            JournalRecord::BaseRebuilt {
                order,
                repaired,
                clear_pending,
            } => {
                for record in repaired {
                    self.replace(record.clone());
                }
                let records: Vec<_> = order.iter().filter_map(|id| self.slot_mut(*id)?.take()).collect();
                let removes = self.records().next().is_some();
                self.rebase(records.into_iter().map(Some).collect());
                self.note(removes || !repaired.is_empty(), false);
                if *clear_pending {
                    self.settled.extend(Scope::ExceptCreations);
                }
                self.has_dangling = false;
            }
            // No record refers to it yet: nothing has changed that a state would show.
            JournalRecord::ExtensionAdded { extension } => self.extensions.insert(extension),
        }
        Ok(())
    }

    /// Returns whether the current snapshot can hold records that refer to an extension.
    #[must_use]
    pub(crate) fn has_extension(&self, extension: &Extension) -> bool {
        self.extensions.contains(extension) || self.base.has_extension(extension)
    }

    /// Removes the begin of a step: it did not become durable, so that the step was not executed.
    pub fn forget(&mut self, operation: OperationId) {
        self.begun.remove(&operation);
    }

    /// Drops the base's interrupted operations other than creations, at the end of a successful run. Interrupted
    /// creations stay: one may have created a resource that has no record.
    pub fn settle_pending(&mut self) {
        self.settled.extend(Scope::ExceptCreations);
    }

    /// Drops the base's interrupted creations, too, as the user requested.
    pub fn settle_creations(&mut self) {
        self.settled.extend(Scope::All);
    }

    /// Returns the entry content for a rebuild of all existing records (see `rebuild`).
    #[must_use]
    pub fn rebuild_base(&self) -> JournalRecord {
        let rebuilt = rebuild(&self.ordered_records());
        JournalRecord::BaseRebuilt {
            order: rebuilt.order,
            repaired: rebuilt.repaired,
            clear_pending: self.refresh_settles_pending(),
        }
    }

    fn succeed(
        &mut self,
        removed: &[StateId],
        marked: &[(StateId, StateMark)],
        new: Option<&StateRef>,
        in_place: bool,
        elide_write: bool,
    ) {
        let old = removed.first().and_then(|id| self.get(*id)).cloned();
        let changed = !marked.is_empty()
            || match (&old, new) {
                (Some(old), Some(new)) => removed.len() > 1 || !same_record(old, &new.state),
                (None, None) => false,
                _ => true,
            };
        self.note(changed, elide_write);
        let mut place = None;
        for id in removed {
            place = place.or(self.place(*id));
            self.remove(*id);
        }
        for (id, mark) in marked {
            self.mark(*id, *mark);
        }
        let Some(new) = new else { return };
        let replaced = old.as_ref().or_else(|| self.get(marked.first()?.0));
        if let Some(urn) = replaced.map(|state| state.urn.clone())
            && urn != new.state.urn
            && !new.state.aliases.contains(&urn)
        {
            self.replaced.insert(new.id, urn);
        }
        if let Some(old) = &old {
            ciphertext::adopt(old, &new.state);
        }
        match place {
            Some(place) if in_place => self.put(place, new.clone()),
            _ if in_place => self.replace(new.clone()),
            _ => {
                self.put(Place::New(self.new.len()), new.clone());
            }
        }
    }

    fn note(&mut self, changed: bool, elide_write: bool) {
        let change = match (changed, elide_write) {
            (false, _) => Changes::None,
            (true, true) => Changes::OnlyElidedWrites,
            (true, false) => Changes::Some,
        };
        self.changes = self.changes.max(change);
    }
}

/// Returns whether both records are equal. Usually they share one allocation.
fn same_record(left: &Arc<ResourceState>, right: &Arc<ResourceState>) -> bool {
    Arc::ptr_eq(left, right) || left == right
}

#[cfg(test)]
mod tests;

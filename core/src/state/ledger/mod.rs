//! The ledger: the base snapshot with every journal entry so far applied to it, from which the current one is composed.

mod check;
mod compose;
mod places;
mod settled;

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    state::{
        JournalEntry, JournalRecord, OperationId, Snapshot, StateId, StateMark, StateRef, ciphertext,
        rebase::Rebase, rebuild,
    },
    step::StepOp,
};

use places::Place;
use settled::{Scope, Settled};

/// What the entries so far have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Changes {
    /// Nothing: the base is still the truth.
    #[default]
    None,
    /// Only what entries marked as elided hold; one write at the end of the operation is enough.
    OnlyElided,
    /// More than that.
    Some,
}

/// The base snapshot with entries applied. Applying costs no more than the entry's own size.
#[derive(Clone, Debug)]
pub struct Ledger {
    base: Snapshot,
    /// The base's records at their places; `None` where one was removed or has moved on to `new`.
    old: Vec<Option<StateRef>>,
    /// New and changed records in the order of their completion.
    new: Vec<Option<StateRef>>,
    /// Where records are; those of the base that never moved have no entry.
    places: FxHashMap<StateId, Place>,
    begun: BTreeMap<OperationId, PendingOperation>,
    /// True once a refresh has removed a record whose dependents may still point to it.
    has_dangling: bool,
    settled: Settled,
    changes: Changes,
    next_state: u64,
}

impl Ledger {
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
            has_dangling: false,
            settled: Settled::default(),
            changes: Changes::None,
            next_state,
        }
    }

    /// Goes on from a checkpoint that holds part of a journal's entries.
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
        let mut ledger = Self::new(base);
        let records = rebase.records.iter().zip(&ledger.base.resources);
        let records = records.map(|(id, state)| {
            Some(StateRef {
                id: *id,
                state: Arc::clone(state),
            })
        });
        ledger.rebase(records.collect());
        ledger.begun = begun;
        ledger.has_dangling = rebase.dangling;
        ledger.changes = Changes::Some;
        Ok(ledger)
    }

    /// Returns the snapshot that the entries started from.
    #[must_use]
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// Returns a record as it is now; `None` once it is removed.
    #[must_use]
    pub fn get(&self, id: StateId) -> Option<&Arc<ResourceState>> {
        self.slot(id)?.as_ref().map(|record| &record.state)
    }

    /// Returns the records that there are: new ones in the order of completion, then what is left of the base.
    pub fn records(&self) -> impl Iterator<Item = &StateRef> {
        self.new.iter().chain(&self.old).flatten()
    }

    /// Returns what has begun and not ended, in the order of beginning.
    pub fn pending(&self) -> impl Iterator<Item = (OperationId, &PendingOperation)> {
        self.begun.iter().map(|(id, pending)| (*id, pending))
    }

    /// Returns the lowest identity that no record has had yet.
    #[must_use]
    pub fn next_state_id(&self) -> StateId {
        StateId(self.next_state)
    }

    /// Tells what the entries so far have changed; operations that are still pending count as a change.
    #[must_use]
    pub(crate) fn changes(&self) -> Changes {
        let settles = self.unsettled().count() < self.base.pending_operations.len();
        if settles || !self.begun.is_empty() {
            Changes::Some
        } else {
            self.changes
        }
    }

    /// Tells whether anything changed since the base.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.changes() != Changes::None
    }

    /// Takes the base's manager out of play: later compositions name `secrets` instead.
    pub fn set_secrets(&mut self, secrets: Option<Arc<dyn crate::secrets::SecretsManager>>) {
        self.base.secrets = secrets;
    }

    /// Applies one entry; those of one operation must come in the order in which they happened.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the entry speaks of a record that there is not. The ledger is then unchanged.
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
                elided,
                ..
            } => {
                let ended = self.begun.remove(&entry.operation);
                self.settle_worked_on(*op, ended.as_ref(), removed, new.as_ref());
                self.succeed(removed, marked, new.as_ref(), *in_place, *elided);
                self.has_dangling |= *op == StepOp::Refresh && new.is_none() && !removed.is_empty();
            }
            JournalRecord::Failure { op } => {
                if let Some(ended) = self.begun.remove(&entry.operation) {
                    self.settle_worked_on(*op, Some(&ended), &[], None);
                }
            }
            JournalRecord::Outputs { new, elided } => {
                let changed = self.get(new.id).is_none_or(|old| !same_record(old, &new.state));
                self.replace(new.clone());
                self.note(changed, *elided);
            }
            JournalRecord::BaseWritten { resources } => {
                self.rebase(resources.iter().cloned().map(Some).collect());
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
        }
        Ok(())
    }

    /// Takes back that a step has begun: its begin did not become durable, so that the step never went on.
    pub fn forget(&mut self, operation: OperationId) {
        self.begun.remove(&operation);
    }

    /// Drops the base's interrupted operations other than creations, at the end of a run that succeeded. Interrupted
    /// creations stay: one may have made something that has no record.
    pub fn settle_pending(&mut self) {
        self.settled.extend(Scope::ExceptCreations);
    }

    /// Drops the base's interrupted creations, too, as the user asked.
    pub fn settle_creations(&mut self) {
        self.settled.extend(Scope::All);
    }

    /// Returns the entry content for a rebuild of everything that there is now (see `rebuild`).
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
        elided: bool,
    ) {
        let old = removed.first().and_then(|id| self.get(*id)).cloned();
        let changed = !marked.is_empty()
            || match (&old, new) {
                (Some(old), Some(new)) => removed.len() > 1 || !same_record(old, &new.state),
                (None, None) => false,
                _ => true,
            };
        self.note(changed, elided);
        let mut place = None;
        for id in removed {
            place = place.or(self.place(*id));
            self.remove(*id);
        }
        for (id, mark) in marked {
            self.mark(*id, *mark);
        }
        let Some(new) = new else { return };
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

    fn note(&mut self, changed: bool, elided: bool) {
        let change = match (changed, elided) {
            (false, _) => Changes::None,
            (true, true) => Changes::OnlyElided,
            (true, false) => Changes::Some,
        };
        self.changes = self.changes.max(change);
    }
}

/// Tells whether both are the same record in every respect; mostly they share one allocation.
fn same_record(left: &Arc<ResourceState>, right: &Arc<ResourceState>) -> bool {
    Arc::ptr_eq(left, right) || left == right
}

#[cfg(test)]
mod tests;

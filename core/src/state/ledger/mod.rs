//! The ledger: the base snapshot with every journal entry so far applied to it, from which the current one is composed.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    executor::StepOp,
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    state::{
        JournalEntry, JournalRecord, OperationId, Snapshot, StateId, StateMark, StateRef, ciphertext, graph,
        integrity, normalise::normalise, rebuild,
    },
};

/// What the entries so far have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changes {
    /// Nothing: the base is still the truth.
    #[default]
    None,
    /// Only what entries marked as elided hold; one write at the end of the operation is enough.
    OnlyElided,
    /// More than that.
    Some,
}

/// The base snapshot with entries applied. Applying costs no more than the entry's own size.
#[derive(Debug)]
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
    keeps_pending: bool,
    changes: Changes,
    next_state: u64,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Old(usize),
    New(usize),
    Gone,
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
            keeps_pending: true,
            changes: Changes::None,
            next_state,
        }
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
    pub fn changes(&self) -> Changes {
        let clears_pending = !self.keeps_pending
            && self
                .base
                .pending_operations
                .iter()
                .any(|pending| pending.kind != PendingOperationKind::Creating);
        if clears_pending || !self.begun.is_empty() {
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
                self.keeps_pending = false;
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
                self.begun.remove(&entry.operation);
                self.succeed(removed, marked, new.as_ref(), *in_place, *elided);
                self.has_dangling |= *op == StepOp::Refresh && new.is_none() && !removed.is_empty();
            }
            JournalRecord::Failure { .. } => {
                self.begun.remove(&entry.operation);
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
                self.keeps_pending &= !*clear_pending;
                self.has_dangling = false;
            }
        }
        Ok(())
    }

    /// Takes back that a step has begun: its begin did not become durable, so that the step never went on.
    pub fn forget(&mut self, operation: OperationId) {
        self.begun.remove(&operation);
    }

    /// Drops the base's interrupted updates and deletions: whoever worked through the whole stack has dealt with them.
    /// Interrupted creations stay, because nothing tells whether they made something.
    pub fn settle_pending(&mut self) {
        self.keeps_pending = false;
    }

    /// Returns the entry content for a rebuild of everything that there is now (see [`rebuild`]).
    #[must_use]
    pub fn rebuild_base(&self) -> JournalRecord {
        let records: Vec<_> = self.records().cloned().collect();
        let rebuilt = rebuild(&records, &self.base.resources);
        JournalRecord::BaseRebuilt {
            order: rebuilt.order,
            repaired: rebuilt.repaired,
            clear_pending: true,
        }
    }

    /// Composes the current snapshot.
    ///
    /// New records stand in the order of their completion, before what is left of the base. When that order puts a
    /// record before something that it depends on (journals in files lack elided entries, so that a record may still
    /// stand in the base although it was done first), the records are sorted, stably.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when two resources claim one former URN, or dependencies form a cycle.
    pub fn compose(&self) -> Result<Snapshot> {
        self.compose_ordered().map(|(snapshot, _)| snapshot)
    }

    /// Composes the current snapshot and checks that it is valid (see [`integrity::verify`]).
    ///
    /// # Errors
    /// As [`Self::compose`], and [`ErrorKind::State`] when it is not valid.
    pub fn compose_valid(&self) -> Result<Snapshot> {
        let (snapshot, was_sorted) = self.compose_ordered()?;
        if was_sorted {
            integrity::verify(&snapshot)?;
        } else {
            // Its records were looked at to find out whether they had to be sorted.
            integrity::verify_snippets(&snapshot)?;
        }
        Ok(snapshot)
    }

    /// Composes the current snapshot; tells whether its records had to be sorted, after which nobody has checked them.
    fn compose_ordered(&self) -> Result<(Snapshot, bool)> {
        let mut snapshot = Snapshot {
            resources: self.resources(),
            pending_operations: self.pending_operations(),
            ..self.base_without_records()
        };
        normalise(&mut snapshot)?;
        let sort = integrity::verify_resources(&snapshot.resources).is_err();
        if sort {
            let order = graph::stable_order(&snapshot.resources)?;
            snapshot.resources = order
                .into_iter()
                .map(|index| Arc::clone(&snapshot.resources[index]))
                .collect();
        }
        Ok((snapshot, sort))
    }

    fn base_without_records(&self) -> Snapshot {
        Snapshot {
            manifest: self.base.manifest.clone(),
            secrets: self.base.secrets.clone(),
            resources: Vec::new(),
            pending_operations: Vec::new(),
            metadata: self.base.metadata.clone(),
            extra: self.base.extra.clone(),
        }
    }

    fn resources(&self) -> Vec<Arc<ResourceState>> {
        if !self.has_dangling {
            return self.records().map(|record| Arc::clone(&record.state)).collect();
        }
        // In the middle of a refresh: what it has removed so far may leave references that its end will cut.
        let mut records: Vec<_> = self.records().cloned().collect();
        let repaired = rebuild(&records, &self.base.resources).repaired;
        let mut repaired = repaired.into_iter().peekable();
        for record in &mut records {
            if let Some(new) = repaired.next_if(|new| new.id == record.id) {
                *record = new;
            }
        }
        records.into_iter().map(|record| record.state).collect()
    }

    fn pending_operations(&self) -> Vec<PendingOperation> {
        let keeps_pending = self.keeps_pending;
        // Only the user can tell what became of an interrupted creation, so these stay until somebody does.
        let base = self
            .base
            .pending_operations
            .iter()
            .filter(|pending| keeps_pending || pending.kind == PendingOperationKind::Creating);
        self.begun.values().chain(base).cloned().collect()
    }

    fn check(&self, entry: &JournalEntry) -> Result<()> {
        let unknown = |id: &StateId| {
            let message = format!(
                "journal entry {} speaks of record {}, which there is not",
                entry.sequence, id.0
            );
            Err(Error::new(ErrorKind::State, message))
        };
        let twice = |new: &StateRef| {
            let message = format!(
                "journal entry {} adds record {} a second time",
                entry.sequence, new.id.0
            );
            Err(Error::new(ErrorKind::State, message).with_urn(new.state.urn.clone()))
        };
        let is_unknown = |id: &&StateId| self.get(**id).is_none();
        match &entry.record {
            // A journal without the entry must still know the record that later entries speak of.
            JournalRecord::Success {
                removed,
                marked,
                new,
                elided: true,
                ..
            } if !marked.is_empty() || removed.iter().ne(new.iter().map(|new| &new.id)) => {
                Err(Error::internal(format!(
                    "journal entry {} is elided, but changes identities",
                    entry.sequence
                )))
            }
            JournalRecord::Success {
                removed,
                marked,
                new,
                in_place,
                ..
            } => {
                let marked = marked.iter().map(|(id, _)| id);
                if let Some(id) = removed.iter().chain(marked).find(is_unknown) {
                    return unknown(id);
                }
                match new {
                    Some(new) if *in_place && removed.is_empty() && self.get(new.id).is_none() => {
                        unknown(&new.id)
                    }
                    Some(new) if !*in_place && !removed.contains(&new.id) && self.get(new.id).is_some() => {
                        twice(new)
                    }
                    _ => Ok(()),
                }
            }
            JournalRecord::Outputs { new, .. } if self.get(new.id).is_none() => unknown(&new.id),
            JournalRecord::BaseRebuilt { order, repaired, .. } => {
                let repaired = repaired.iter().map(|record| &record.id);
                order
                    .iter()
                    .chain(repaired)
                    .find(is_unknown)
                    .map_or(Ok(()), unknown)
            }
            _ => Ok(()),
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

    fn place(&self, id: StateId) -> Option<Place> {
        match self.places.get(&id) {
            Some(Place::Gone) => None,
            Some(place) => Some(*place),
            None => usize::try_from(id.0)
                .ok()
                .filter(|index| *index < self.old.len())
                .map(Place::Old),
        }
    }

    fn slot(&self, id: StateId) -> Option<&Option<StateRef>> {
        match self.place(id)? {
            Place::Old(index) => self.old.get(index),
            Place::New(index) => self.new.get(index),
            Place::Gone => None,
        }
    }

    fn slot_mut(&mut self, id: StateId) -> Option<&mut Option<StateRef>> {
        match self.place(id)? {
            Place::Old(index) => self.old.get_mut(index),
            Place::New(index) => self.new.get_mut(index),
            Place::Gone => None,
        }
    }

    fn remove(&mut self, id: StateId) {
        if let Some(slot) = self.slot_mut(id) {
            *slot = None;
            self.places.insert(id, Place::Gone);
        }
    }

    fn put(&mut self, place: Place, record: StateRef) {
        self.next_state = self.next_state.max(record.id.0.saturating_add(1));
        self.places.insert(record.id, place);
        match place {
            Place::Old(index) => self.old[index] = Some(record),
            Place::New(index) if index == self.new.len() => self.new.push(Some(record)),
            Place::New(index) => self.new[index] = Some(record),
            Place::Gone => {}
        }
    }

    fn replace(&mut self, record: StateRef) {
        if let Some(slot) = self.slot_mut(record.id) {
            if let Some(old) = slot {
                ciphertext::adopt(&old.state, &record.state);
            }
            *slot = Some(record);
        }
    }

    fn mark(&mut self, id: StateId, mark: StateMark) {
        if let Some(Some(record)) = self.slot_mut(id) {
            let state = Arc::make_mut(&mut record.state);
            match mark {
                StateMark::Delete => state.delete = true,
                StateMark::PendingReplacement => state.pending_replacement = true,
            }
        }
    }

    fn rebase(&mut self, records: Vec<Option<StateRef>>) {
        for id in self.new.iter().chain(&self.old).flatten().map(|record| record.id) {
            self.places.insert(id, Place::Gone);
        }
        for (index, record) in records.iter().enumerate() {
            if let Some(record) = record {
                self.places.insert(record.id, Place::Old(index));
                self.next_state = self.next_state.max(record.id.0.saturating_add(1));
            }
        }
        // Identities below the new length that no record has any more must not be taken for places in the new list.
        for id in 0..records.len() as u64 {
            self.places.entry(StateId(id)).or_insert(Place::Gone);
        }
        self.old = records;
        self.new = Vec::new();
    }
}

/// Tells whether both are the same record in every respect; mostly they share one allocation.
fn same_record(left: &Arc<ResourceState>, right: &Arc<ResourceState>) -> bool {
    Arc::ptr_eq(left, right) || left == right
}

#[cfg(test)]
mod tests;

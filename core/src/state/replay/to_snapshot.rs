//! The current snapshot: the base with the entries so far.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::JournalReplay;
use crate::{
    error::Result,
    resource::{PendingOperation, ResourceState},
    state::{Rebase, Snapshot, StateId, StateRef, graph, integrity, normalise::normalise, rebuild},
    urn::Urn,
};

/// The metadata key of a snapshot that was written although it was invalid.
const INTEGRITY_ERROR: &str = "integrity_error";

/// A snapshot with the identities of its records.
struct OrderedSnapshot {
    snapshot: Snapshot,
    identities: Vec<StateId>,
    /// Whether the records were sorted, and have not been verified since.
    is_sorted: bool,
}

impl JournalReplay {
    /// Returns the current snapshot.
    ///
    /// New records stand in the order of their completion, before those left of the base. When that order puts a
    /// record before one that it depends on (journals in files lack elided entries, so that a record may still
    /// stand in the base although its step completed first), the records are sorted, stably.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when two resources claim one former URN, or dependencies form a cycle.
    pub fn to_snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = self.ordered_snapshot(self.pending_operations())?.snapshot;
        snapshot.drop_unused_extensions();
        Ok(snapshot)
    }

    /// Returns the current snapshot after checking that it is valid (see [`integrity::verify`]). The metadata of an
    /// earlier integrity error is removed.
    ///
    /// # Errors
    /// Those of [`Self::to_snapshot`], and [`crate::ErrorKind::State`] when it is not valid.
    pub fn to_valid_snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = self.checked_snapshot(self.pending_operations())?.snapshot;
        snapshot.drop_unused_extensions();
        Ok(snapshot)
    }

    /// Returns the current snapshot as [`Self::to_valid_snapshot`] does, with the line that lets the journal continue
    /// from it: extensions that no record refers to yet are part of it. `sequence` is the number of the next entry; the
    /// hash of the checkpoint is left empty.
    ///
    /// # Errors
    /// Those of [`Self::to_valid_snapshot`].
    pub fn to_rebase(&self, sequence: u64) -> Result<(Snapshot, Rebase)> {
        // Includes those of the base that a step in flight repeats: it may fail and leave them recorded.
        let pending = self.begun.values().chain(self.unsettled()).cloned();
        let ordered = self.checked_snapshot(pending.collect())?;
        let rebase = Rebase {
            checkpoint: String::new(),
            sequence,
            written: 0,
            records: ordered.identities,
            begun: self.begun.keys().copied().collect(),
            dangling: self.has_dangling,
        };
        Ok((ordered.snapshot, rebase))
    }

    fn checked_snapshot(&self, pending: Vec<PendingOperation>) -> Result<OrderedSnapshot> {
        let mut ordered = self.ordered_snapshot(pending)?;
        if ordered.is_sorted {
            integrity::verify(&ordered.snapshot)?;
        } else {
            // Its records were verified to decide whether they had to be sorted.
            integrity::verify_snippets(&ordered.snapshot)?;
        }
        ordered.snapshot.metadata.remove(INTEGRITY_ERROR);
        Ok(ordered)
    }

    fn ordered_snapshot(&self, pending: Vec<PendingOperation>) -> Result<OrderedSnapshot> {
        let mut records = self.repaired_records();
        self.add_replaced(&mut records);
        let mut identities: Vec<_> = records.iter().map(|record| record.id).collect();
        let mut snapshot = Snapshot {
            resources: records.into_iter().map(|record| record.state).collect(),
            pending_operations: pending,
            ..self.base_without_records()
        };
        normalise(&mut snapshot)?;
        let order = if integrity::verify_resources(&snapshot.resources).is_err() {
            Some(graph::valid_order(&snapshot.resources)?)
        } else {
            order_past_copies(&snapshot.resources)
        };
        let is_sorted = order.is_some();
        if let Some(order) = order {
            let resources = order.iter().map(|index| Arc::clone(&snapshot.resources[*index]));
            snapshot.resources = resources.collect();
            identities = order.into_iter().map(|index| identities[index]).collect();
        }
        Ok(OrderedSnapshot {
            snapshot,
            identities,
            is_sorted,
        })
    }

    fn base_without_records(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            manifest: self.base.manifest.clone(),
            secrets: self.base.secrets.clone(),
            resources: Vec::new(),
            pending_operations: Vec::new(),
            metadata: self.base.metadata.clone(),
            extra: self.base.extra.clone(),
        };
        self.extensions.add_to(&mut snapshot);
        snapshot
    }

    /// Makes the URNs of replaced records aliases of their successors, so that references to these follow.
    fn add_replaced(&self, records: &mut [StateRef]) {
        if self.replaced.is_empty() {
            return;
        }
        let live = records.iter().filter(|record| !record.state.delete);
        let taken: FxHashSet<Urn> = live.map(|record| record.state.urn.clone()).collect();
        for record in records {
            if let Some(former) = self.replaced.get(&record.id)
                && !taken.contains(former)
            {
                Arc::make_mut(&mut record.state).aliases.push(former.clone());
            }
        }
    }

    fn repaired_records(&self) -> Vec<StateRef> {
        if !self.has_dangling {
            return self.records().cloned().collect();
        }
        // During a refresh, removed records may leave dangling references, which its end removes.
        let mut records = self.ordered_records();
        let repaired = rebuild(&records).repaired;
        let mut repaired = repaired.into_iter().peekable();
        for record in &mut records {
            if let Some(new) = repaired.next_if(|new| new.id == record.id) {
                *record = new;
            }
        }
        records
    }

    /// Returns the existing records, each after all existing records that it refers to.
    ///
    /// Records that were refreshed at their registration stand in the order of registration, and may still refer to
    /// others that the program has not registered yet.
    pub(super) fn ordered_records(&self) -> Vec<StateRef> {
        let records: Vec<_> = self.records().cloned().collect();
        if self.new.is_empty() {
            return records;
        }
        let states: Vec<_> = records.iter().map(|record| Arc::clone(&record.state)).collect();
        match graph::valid_order(&states) {
            Ok(order) => order.into_iter().map(|index| records[index].clone()).collect(),
            // The snapshot built from them reports the cycle.
            Err(_) => records,
        }
    }

    fn pending_operations(&self) -> Vec<PendingOperation> {
        self.begun
            .values()
            .chain(self.pending_of_base())
            .cloned()
            .collect()
    }
}

/// Returns the order in which each record in use stands after the records in use that it refers to; `None` when they
/// stand so. An old copy before it makes the snapshot valid, but will be deleted.
fn order_past_copies(records: &[Arc<ResourceState>]) -> Option<Vec<usize>> {
    if !records.iter().any(|record| record.delete) {
        return None;
    }
    let order = graph::stable_order(records).ok()?;
    (!order.is_sorted()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resource::Extension,
        state::{JournalEntry, JournalRecord, OperationId},
        token::TypeToken,
        urn::Urn,
    };

    #[test]
    fn a_record_stands_after_the_live_record_that_it_refers_to_not_only_after_its_old_copy() {
        let urn = |name: &str| Urn::new("dev", "shop", "", "pkg:index:Type", name);
        let state = |name: &str| ResourceState::new(urn(name), TypeToken::from("pkg:index:Type"), true);
        let mut copy = state("a");
        copy.delete = true;
        let mut user = state("b");
        user.dependencies = vec![urn("a")];
        let base = Snapshot {
            resources: vec![copy.into(), user.into(), state("a").into()],
            ..Snapshot::default()
        };
        let snapshot = JournalReplay::new(base).to_valid_snapshot().unwrap();
        let names = snapshot
            .resources
            .iter()
            .map(|state| (state.urn.name(), state.delete));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [("a", true), ("a", false), ("b", false)]
        );
    }

    #[test]
    fn an_extension_is_kept_for_the_rest_of_the_journal_before_a_record_refers_to_it() {
        let extension = Arc::new(Extension::new("more", "1.0.0", vec![1]));
        let mut replay = JournalReplay::new(Snapshot::default());
        assert!(!replay.has_extension(&extension));
        let added = JournalEntry {
            sequence: 0,
            operation: OperationId(0),
            record: JournalRecord::ExtensionAdded {
                extension: Arc::clone(&extension),
            },
        };
        replay.apply(&added).unwrap();
        assert!(replay.has_extension(&extension) && !replay.is_dirty());
        // A checkpoint in the middle of the operation has what later entries refer to.
        let (rebased, rebase) = replay.to_rebase(1).unwrap();
        assert!(rebased.has_extension(&extension));
        let resumed = JournalReplay::resume(rebased, &rebase).unwrap();
        assert!(resumed.has_extension(&extension));
        for unused in [replay.to_valid_snapshot(), resumed.to_snapshot()] {
            assert!(unused.unwrap().extra.is_empty());
        }
        let urn = Urn::new("dev", "shop", "", "more:index:Thing", "a");
        let mut user = ResourceState::new(urn, TypeToken::from("more:index:Thing"), true);
        user.extension_ref = extension.reference().clone();
        let record = JournalRecord::BaseWritten {
            resources: vec![StateRef {
                id: StateId(0),
                state: Arc::new(user),
            }],
            pending: None,
        };
        let entry = JournalEntry {
            sequence: 1,
            operation: OperationId(0),
            record,
        };
        replay.apply(&entry).unwrap();
        assert!(replay.to_valid_snapshot().unwrap().has_extension(&extension));
    }

    #[test]
    fn a_valid_snapshot_is_not_noted_as_invalid() {
        let note = serde_json::json!({"version": "3.0.0", "command": "up", "error": "a parent was missing"});
        let mut base = Snapshot::default();
        base.metadata.insert(INTEGRITY_ERROR.to_owned(), note);
        base.metadata.insert("future".to_owned(), 1.into());
        let snapshot = JournalReplay::new(base).to_valid_snapshot().unwrap();
        assert_eq!(snapshot.metadata.keys().collect::<Vec<_>>(), ["future"]);
    }
}

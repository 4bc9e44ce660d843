//! Composing the snapshot that the base and the entries so far make together.

use std::sync::Arc;

use super::Ledger;
use crate::{
    error::Result,
    resource::{PendingOperation, ResourceState},
    state::{Rebase, Snapshot, StateId, StateRef, graph, integrity, normalise::normalise, rebuild},
};

/// What the format notes of a snapshot that was written although it was not valid.
const INTEGRITY_ERROR: &str = "integrity_error";

/// A snapshot with the identities of its records.
struct Composed {
    snapshot: Snapshot,
    identities: Vec<StateId>,
    /// Whether the records had to be sorted, after which they have not been verified.
    is_sorted: bool,
}

impl Ledger {
    /// Composes the current snapshot.
    ///
    /// New records stand in the order of their completion, before what is left of the base. When that order puts a
    /// record before something that it depends on (journals in files lack elided entries, so that a record may still
    /// stand in the base although it was done first), the records are sorted, stably.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when two resources claim one former URN, or dependencies form a cycle.
    pub fn compose(&self) -> Result<Snapshot> {
        self.compose_ordered(self.pending_operations())
            .map(|composed| composed.snapshot)
    }

    /// Composes the current snapshot and checks that it is valid (see [`integrity::verify`]). A note that an earlier one
    /// was not does not outlive it.
    ///
    /// # Errors
    /// As [`Self::compose`], and [`crate::ErrorKind::State`] when it is not valid.
    pub fn compose_valid(&self) -> Result<Snapshot> {
        self.compose_checked(self.pending_operations())
            .map(|composed| composed.snapshot)
    }

    /// Composes the current snapshot as [`Self::compose_valid`] does, with what it takes to go on from it. `sequence` is the
    /// number of the next entry; the hash of the checkpoint is left empty.
    ///
    /// # Errors
    /// As [`Self::compose_valid`].
    pub fn compose_base(&self, sequence: u64) -> Result<(Snapshot, Rebase)> {
        // Also those of the base that a step in flight stands for: it may fail and leave them on record.
        let pending = self.begun.values().chain(self.unsettled()).cloned();
        let composed = self.compose_checked(pending.collect())?;
        let rebase = Rebase {
            checkpoint: String::new(),
            sequence,
            written: 0,
            records: composed.identities,
            begun: self.begun.keys().copied().collect(),
            dangling: self.has_dangling,
        };
        Ok((composed.snapshot, rebase))
    }

    fn compose_checked(&self, pending: Vec<PendingOperation>) -> Result<Composed> {
        let mut composed = self.compose_ordered(pending)?;
        if composed.is_sorted {
            integrity::verify(&composed.snapshot)?;
        } else {
            // Its records were looked at to find out whether they had to be sorted.
            integrity::verify_snippets(&composed.snapshot)?;
        }
        composed.snapshot.metadata.remove(INTEGRITY_ERROR);
        Ok(composed)
    }

    fn compose_ordered(&self, pending: Vec<PendingOperation>) -> Result<Composed> {
        let records = self.composed_records();
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
        Ok(Composed {
            snapshot,
            identities,
            is_sorted,
        })
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

    fn composed_records(&self) -> Vec<StateRef> {
        if !self.has_dangling {
            return self.records().cloned().collect();
        }
        // In the middle of a refresh: what it has removed so far may leave references that its end will cut.
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

    /// Returns the records that there are, each after all that it refers to, as far as that is there.
    ///
    /// Records that were read when their program registered them stand in the order of that, and may still refer to
    /// others that the program has not come to.
    pub(super) fn ordered_records(&self) -> Vec<StateRef> {
        let records: Vec<_> = self.records().cloned().collect();
        if self.new.is_empty() {
            return records;
        }
        let states: Vec<_> = records.iter().map(|record| Arc::clone(&record.state)).collect();
        match graph::valid_order(&states) {
            Ok(order) => order.into_iter().map(|index| records[index].clone()).collect(),
            // Whoever composes them is told of the cycle.
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

/// Returns the order in which each record in use stands after the records in use that it refers to, where they stand
/// otherwise: an old copy before it makes the snapshot valid, and will be deleted.
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
    use crate::{token::TypeToken, urn::Urn};

    #[test]
    fn a_record_stands_after_the_one_in_use_that_it_refers_to_and_not_only_after_its_old_copy() {
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
        let composed = Ledger::new(base).compose_valid().unwrap();
        let names = composed
            .resources
            .iter()
            .map(|state| (state.urn.name(), state.delete));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [("a", true), ("a", false), ("b", false)]
        );
    }

    #[test]
    fn a_valid_snapshot_is_not_noted_as_invalid() {
        let note = serde_json::json!({"version": "3.0.0", "command": "up", "error": "a parent was missing"});
        let mut base = Snapshot::default();
        base.metadata.insert(INTEGRITY_ERROR.to_owned(), note);
        base.metadata.insert("future".to_owned(), 1.into());
        let composed = Ledger::new(base).compose_valid().unwrap();
        assert_eq!(composed.metadata.keys().collect::<Vec<_>>(), ["future"]);
    }
}

//! Change counts: the number of resources that each operation was applied to, for summaries.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{event::StepMetadata, step::StepOp};

/// Counts successful steps. Shared by all tasks of one operation.
///
/// Only changes of one resource as the user sees them count: no internal steps, and only the marker of a replacement.
/// A read counts when its outputs differ from the recorded ones.
#[derive(Debug, Default)]
pub struct ChangeCounts([AtomicU64; StepOp::ALL.len()]);

impl ChangeCounts {
    /// Creates counts of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a successful step, if it counts.
    pub fn succeeded(&self, step: &StepMetadata, internal: bool) {
        if !internal && counts(step) {
            self.add(step.op);
        }
    }

    /// Adds one to the count of `op`. The result of a refresh is [`StepOp::Same`], `Update` or `Delete`, and counts so.
    pub fn add(&self, op: StepOp) {
        self.0[op as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the counts of another part of the same operation.
    pub fn merge(&self, other: &Self) {
        for (count, more) in self.0.iter().zip(&other.0) {
            count.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Returns the counts that are not zero, by the operations' names.
    #[must_use]
    pub fn to_map(&self) -> BTreeMap<&'static str, u64> {
        StepOp::ALL
            .iter()
            .map(|op| (op.name(), self.0[*op as usize].load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

fn counts(step: &StepMetadata) -> bool {
    if step.op != StepOp::Read {
        return step.logical;
    }
    match (&step.old, &step.new) {
        (Some(old), Some(new)) => old.0.outputs != new.0.outputs,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{event::StateMetadata, resource::ResourceState, urn::Urn};

    fn step(op: StepOp, logical: bool) -> StepMetadata {
        StepMetadata {
            op,
            urn: Urn::new("dev", "shop", "", "pkg:index:Type", "name"),
            resource_type: "pkg:index:Type".into(),
            old: None,
            new: None,
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
            logical,
            provider: "".into(),
        }
    }

    fn state(path: &str) -> StateMetadata {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "name");
        let mut state = ResourceState::new(urn, "pkg:index:Type".into(), true);
        state.outputs.insert("path", path.into());
        StateMetadata(Arc::new(state))
    }

    #[test]
    fn a_replacement_counts_once_through_its_marker() {
        let counts = ChangeCounts::new();
        counts.succeeded(&step(StepOp::CreateReplacement, false), false);
        counts.succeeded(&step(StepOp::Replace, true), false);
        counts.succeeded(&step(StepOp::DeleteReplaced, false), false);
        assert_eq!(counts.to_map(), BTreeMap::from([("replace", 1)]));
    }

    #[test]
    fn internal_steps_do_not_count() {
        let counts = ChangeCounts::new();
        counts.succeeded(&step(StepOp::Create, true), true);
        assert!(counts.to_map().is_empty());
    }

    #[test]
    fn a_read_counts_only_when_it_found_other_outputs() {
        let counts = ChangeCounts::new();
        let mut read = step(StepOp::Read, true);
        read.new = Some(state("a"));
        counts.succeeded(&read, false);
        read.old = Some(state("a"));
        counts.succeeded(&read, false);
        assert!(counts.to_map().is_empty());
        read.old = Some(state("b"));
        counts.succeeded(&read, false);
        assert_eq!(counts.to_map(), BTreeMap::from([("read", 1)]));
    }

    #[test]
    fn a_refresh_counts_what_it_found() {
        let counts = ChangeCounts::new();
        counts.succeeded(&step(StepOp::Refresh, false), false);
        counts.add(StepOp::Same);
        counts.add(StepOp::Same);
        counts.add(StepOp::Delete);
        assert_eq!(counts.to_map(), BTreeMap::from([("delete", 1), ("same", 2)]));
    }

    #[test]
    fn every_operation_has_a_place_of_its_own() {
        for (index, op) in StepOp::ALL.iter().enumerate() {
            assert_eq!(*op as usize, index);
        }
    }
}

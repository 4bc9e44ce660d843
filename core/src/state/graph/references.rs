//! References: resolves the record that a reference names.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::for_each_reference;
use crate::{resource::ResourceState, urn::Urn};

/// Resolves references of records to records.
pub(super) struct References<'a> {
    by_urn: FxHashMap<&'a Urn, Vec<usize>>,
    providers: FxHashMap<(&'a str, &'a str), usize>,
}

impl<'a> References<'a> {
    pub(super) fn of(records: &'a [Arc<ResourceState>]) -> Self {
        let mut by_urn: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        let mut providers = FxHashMap::default();
        for (index, record) in records.iter().enumerate() {
            by_urn.entry(&record.urn).or_default().push(index);
            for alias in &record.aliases {
                by_urn.entry(alias).or_default().push(index);
            }
            if record.is_provider() {
                providers
                    .entry((record.urn.as_str(), record.id.as_str()))
                    .or_insert(index);
            }
        }
        Self { by_urn, providers }
    }

    pub(super) fn needs(&self, records: &[Arc<ResourceState>], index: usize) -> Vec<usize> {
        let record = &records[index];
        let mut needs = Vec::new();
        needs.extend(
            record
                .provider
                .rsplit_once("::")
                .and_then(|reference| self.providers.get(&reference)),
        );
        for_each_reference(record, &mut |urn, _| needs.extend(self.find(records, index, urn)));
        needs
    }

    pub(super) fn find(&self, records: &[Arc<ResourceState>], from: usize, urn: &Urn) -> Option<usize> {
        let candidates = self.by_urn.get(urn)?;
        let wants_deleted = records[from].delete;
        let others = || candidates.iter().copied().filter(|index| *index != from);
        let same = || others().filter(|index| records[*index].delete == wants_deleted);
        // The nearest one before it keeps the order; otherwise it is the first one after it, which then moves.
        let nearest = |index: &usize| *index < from;
        same()
            .rfind(nearest)
            .or_else(|| same().next())
            .or_else(|| others().next())
    }
}

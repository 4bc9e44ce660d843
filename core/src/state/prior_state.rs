//! The prior state: the records of the last operation, indexed by URN and by dependency.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    resource::ResourceState,
    state::{DependencyGraph, Extensions, StateRef},
    token::ResourceId,
    urn::Urn,
};

/// The records of the last operation, in order, and the index of each URN's live record.
#[derive(Debug, Default)]
pub(crate) struct PriorState {
    records: Vec<StateRef>,
    live: FxHashMap<Urn, usize>,
    old_copies: Vec<usize>,
    graph: OnceLock<DependencyGraph>,
    plugins: Vec<serde_json::Value>,
    extensions: Arc<Extensions>,
}

impl PriorState {
    /// Indexes `records`.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when two records that are not about to be deleted share a URN.
    pub(crate) fn new(records: Vec<StateRef>) -> Result<Self> {
        let mut live = FxHashMap::with_capacity_and_hasher(records.len(), rustc_hash::FxBuildHasher);
        let mut old_copies = Vec::new();
        for (index, record) in records.iter().enumerate() {
            if record.state.delete {
                old_copies.push(index);
            } else if live.insert(record.state.urn.clone(), index).is_some() {
                let urn = &record.state.urn;
                return Err(
                    Error::new(ErrorKind::State, format!("unexpected duplicate resource '{urn}'"))
                        .with_urn(urn.clone()),
                );
            }
        }
        Ok(Self {
            records,
            live,
            old_copies,
            graph: OnceLock::new(),
            plugins: Vec::new(),
            extensions: Arc::default(),
        })
    }

    /// Adds the plugins that the manifest names, as older engines wrote them: `{"name", "type", "version", "path"}`.
    #[must_use]
    pub(crate) fn with_plugins(self, plugins: &[serde_json::Value]) -> Self {
        Self {
            plugins: plugins.to_vec(),
            ..self
        }
    }

    /// Returns the plugins that the manifest names.
    #[must_use]
    pub(crate) fn plugins(&self) -> &[serde_json::Value] {
        &self.plugins
    }

    /// Adds the extensions that the records refer to.
    #[must_use]
    pub(crate) fn with_extensions(self, extensions: Arc<Extensions>) -> Self {
        Self { extensions, ..self }
    }

    /// Returns the extensions that the records refer to.
    #[must_use]
    pub(crate) const fn extensions(&self) -> &Arc<Extensions> {
        &self.extensions
    }

    /// Returns all records in order.
    #[must_use]
    pub(crate) fn records(&self) -> &[StateRef] {
        &self.records
    }

    /// Returns the record of `urn` that is not about to be deleted.
    #[must_use]
    pub(crate) fn live(&self, urn: &Urn) -> Option<&StateRef> {
        self.live.get(urn).map(|&index| &self.records[index])
    }

    /// Returns the record of a resource, with this id, that is pending deletion.
    #[must_use]
    pub(crate) fn old_copy(&self, resource: &ResourceState, id: &ResourceId) -> Option<&ResourceState> {
        let mut copies = self.old_copies.iter().map(|&index| &*self.records[index].state);
        copies.find(|record| manages(record, resource, id))
    }

    /// Returns the live record, with another URN, of a resource with this id.
    #[must_use]
    pub(crate) fn owner(&self, resource: &ResourceState, id: &ResourceId) -> Option<&ResourceState> {
        let mut records = self.records.iter().map(|record| &*record.state);
        records.find(|record| !record.delete && record.urn != resource.urn && manages(record, resource, id))
    }

    /// Returns the position of `urn`'s live record.
    #[must_use]
    pub(crate) fn position(&self, urn: &Urn) -> Option<usize> {
        self.live.get(urn).copied()
    }

    /// Returns the provider record that a reference names, by URN and id.
    #[must_use]
    pub(crate) fn provider(
        &self,
        reference: &crate::resource::ProviderReference,
    ) -> Option<&Arc<ResourceState>> {
        let matches =
            |record: &&StateRef| record.state.urn == reference.urn && record.state.id == reference.id;
        match self.live(&reference.urn).filter(matches) {
            Some(record) => Some(&record.state),
            // A copy that is marked for deletion may still be the provider of resources that are deleted with it.
            None => self.records.iter().find(matches).map(|record| &record.state),
        }
    }

    /// Returns the dependency graph of the records; built at the first call.
    pub(crate) fn graph(&self) -> &DependencyGraph {
        self.graph.get_or_init(|| {
            let states: Vec<_> = self
                .records
                .iter()
                .map(|record| Arc::clone(&record.state))
                .collect();
            DependencyGraph::new(&states)
        })
    }
}

/// Returns whether a record is that of a resource with this id. A provider stays the same when it is replaced, and all default
/// providers of a package count as one. A resource whose provider is not known yet can be that of any provider.
fn manages(record: &ResourceState, resource: &ResourceState, id: &ResourceId) -> bool {
    let is_of_provider = || match (record.provider_urn(), resource.provider_urn()) {
        (Some(old), Some(new)) => {
            let is_default = old.is_default_provider() && new.is_default_provider();
            old == new || (is_default && old.resource_type() == new.resource_type())
        }
        _ => true,
    };
    record.custom
        && !record.external
        && record.id == *id
        && record.resource_type == resource.resource_type
        && is_of_provider()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{state::StateId, token::TypeToken};

    #[test]
    fn two_records_share_a_urn_only_when_one_is_about_to_be_deleted() {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let record = |id: u64, delete: bool| {
            let mut state = ResourceState::new(urn.clone(), TypeToken::from("pkg:index:Type"), true);
            state.delete = delete;
            StateRef {
                id: StateId(id),
                state: Arc::new(state),
            }
        };
        let prior = PriorState::new(vec![record(0, true), record(1, false)]).unwrap();
        assert_eq!((prior.records().len(), prior.position(&urn)), (2, Some(1)));
        let error = PriorState::new(vec![record(0, false), record(1, false)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
        assert_eq!(error.message(), format!("unexpected duplicate resource '{urn}'"));
        assert_eq!(error.urn(), Some(&urn));
    }
}

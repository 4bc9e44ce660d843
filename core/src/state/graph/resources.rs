//! The graph of a state for users: its records, and one edge for each reference between them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;

use crate::{
    resource::{ProviderReference, ResourceState},
    urn::Urn,
};

/// The reason for which a record refers to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReferenceKind {
    /// The other is its parent.
    Parent,
    /// It depends on the other as a whole.
    Dependency,
    /// One of its inputs depends on the other.
    Property,
    /// Its deletion is unnecessary once the other is deleted.
    DeletedWith,
    /// It is replaced when the other is replaced.
    ReplaceWith,
    /// The other is its provider.
    Provider,
    /// It is a view of the other.
    ViewOf,
}

/// A reference from one record to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceEdge {
    /// The position of the record that refers.
    pub source: usize,
    /// The position of the record that it refers to, which is lower.
    pub target: usize,
    /// The kind of the reference.
    pub kind: ReferenceKind,
    /// The name of the input, for [`ReferenceKind::Property`].
    pub property: Option<String>,
}

/// The records of a state in the order of their dependencies, and the references between them.
#[derive(Clone, Debug, Default)]
pub struct ResourceGraph {
    /// The records: each stands after all that it refers to.
    pub nodes: Vec<Arc<ResourceState>>,
    /// The references, in the order of their sources.
    pub edges: Vec<ResourceEdge>,
}

impl ResourceGraph {
    /// Returns the graph of the records of a valid state.
    ///
    /// Where several records share a URN, a record in use refers to the one in use, and an old copy to an old copy, as far
    /// as these stand before it.
    #[must_use]
    pub fn new(records: Vec<Arc<ResourceState>>) -> Self {
        let mut by_urn: FxHashMap<&Urn, Vec<usize>> = FxHashMap::default();
        let mut edges = Vec::new();
        for (source, record) in records.iter().enumerate() {
            for (urn, kind, property) in references(record) {
                if let Some(target) = find(&records, &by_urn, record, &urn, kind) {
                    edges.push(ResourceEdge {
                        source,
                        target,
                        kind,
                        property,
                    });
                }
            }
            by_urn.entry(&record.urn).or_default().push(source);
        }
        Self {
            edges,
            nodes: records,
        }
    }
}

/// Returns the references of a record.
fn references(record: &ResourceState) -> Vec<(Urn, ReferenceKind, Option<String>)> {
    let all = |urns: &[Urn], kind: ReferenceKind| -> Vec<_> {
        urns.iter().map(|urn| (urn.clone(), kind, None)).collect()
    };
    let mut found = all(record.parent.as_slice(), ReferenceKind::Parent);
    found.extend(all(&record.dependencies, ReferenceKind::Dependency));
    for (name, urns) in record.property_dependencies.iter() {
        let of_property = urns
            .iter()
            .map(|urn| (urn.clone(), ReferenceKind::Property, Some(name.to_string())));
        found.extend(of_property);
    }
    found.extend(all(
        record.options.deleted_with.as_slice(),
        ReferenceKind::DeletedWith,
    ));
    found.extend(all(&record.options.replace_with, ReferenceKind::ReplaceWith));
    found.extend(all(record.view_of.as_slice(), ReferenceKind::ViewOf));
    if let Ok(reference) = ProviderReference::parse(&record.provider) {
        found.push((reference.urn, ReferenceKind::Provider, None));
    }
    found
}

/// Returns the position of the record that a reference means; `None` when none with its URN stands before.
fn find(
    records: &[Arc<ResourceState>],
    by_urn: &FxHashMap<&Urn, Vec<usize>>,
    from: &ResourceState,
    urn: &Urn,
    kind: ReferenceKind,
) -> Option<usize> {
    let candidates = by_urn.get(urn)?;
    let is_meant = |index: &&usize| {
        let record = &records[**index];
        match kind {
            ReferenceKind::Provider => from
                .provider
                .rsplit_once("::")
                .is_some_and(|(_, id)| record.id.as_str() == id),
            _ => record.delete == from.delete,
        }
    };
    let meant = candidates.iter().rev().find(is_meant);
    meant.or_else(|| candidates.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn record(name: &str) -> ResourceState {
        ResourceState::new(urn(name), TypeToken::from("pkg:index:Type"), true)
    }

    fn edges(records: Vec<ResourceState>) -> Vec<(usize, usize, ReferenceKind, Option<String>)> {
        let graph = ResourceGraph::new(records.into_iter().map(Arc::new).collect());
        let edges = graph.edges.into_iter();
        edges
            .map(|edge| (edge.source, edge.target, edge.kind, edge.property))
            .collect()
    }

    #[test]
    fn each_reference_of_a_record_is_an_edge_with_its_kind() {
        let serving = Urn::new("dev", "shop", "", "pulumi:providers:pkg", "provider");
        let mut provider = ResourceState::new(serving.clone(), "pulumi:providers:pkg".into(), true);
        provider.id = "one".into();
        let mut user = record("user");
        user.parent = Some(urn("a"));
        user.dependencies = vec![urn("a"), urn("b")];
        user.property_dependencies.insert("size", vec![urn("b")]);
        user.options.deleted_with = Some(urn("a"));
        user.options.replace_with = vec![urn("b")];
        user.view_of = Some(urn("b"));
        user.provider = format!("{serving}::one").into();
        let found = edges(vec![provider, record("a"), record("b"), user]);
        assert_eq!(
            found,
            [
                (3, 1, ReferenceKind::Parent, None),
                (3, 1, ReferenceKind::Dependency, None),
                (3, 2, ReferenceKind::Dependency, None),
                (3, 2, ReferenceKind::Property, Some("size".to_owned())),
                (3, 1, ReferenceKind::DeletedWith, None),
                (3, 2, ReferenceKind::ReplaceWith, None),
                (3, 2, ReferenceKind::ViewOf, None),
                (3, 0, ReferenceKind::Provider, None),
            ]
        );
    }

    #[test]
    fn a_record_in_use_refers_to_records_in_use_and_an_old_copy_to_old_copies() {
        let old = |name: &str| ResourceState {
            delete: true,
            ..record(name)
        };
        let user = |name: &str, delete: bool| ResourceState {
            dependencies: vec![urn("a")],
            delete,
            ..record(name)
        };
        let found = edges(vec![record("a"), old("a"), user("b", false), user("b", true)]);
        let targets: Vec<_> = found
            .iter()
            .map(|(source, target, ..)| (*source, *target))
            .collect();
        assert_eq!(targets, [(2, 0), (3, 1)]);
    }
}

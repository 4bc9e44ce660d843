//! The dependency graph of a list of records, deletion order, and sorting.

mod cycles;
mod dependents;
mod order;
mod references;
mod resources;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{resource::ResourceState, urn::Urn};

pub(crate) use cycles::Cycles;
pub(crate) use dependents::dependents_of;
pub(crate) use order::{stable_order, valid_order};
pub use resources::{ReferenceKind, ResourceEdge, ResourceGraph};

/// The reason for which one record needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// A dependency, of the whole or of a property, or `deletedWith`, or `replaceWith`.
    Dependency,
    /// The other is its provider.
    Provider,
    /// The other is its parent.
    Parent,
}

/// The needs of each record, by positions in the list. Edges go to earlier records only, so there is no cycle.
///
/// A reference to a URN of several records (copies that are marked for deletion) means all earlier ones.
#[derive(Debug)]
pub struct DependencyGraph {
    dependencies: Edges,
    dependents: Edges,
    /// The positions of all descendants of each component with dependents, in order.
    descendants: FxHashMap<u32, Vec<u32>>,
}

/// Adjacency lists, concatenated in one allocation.
#[derive(Debug, Default)]
struct Edges {
    starts: Vec<u32>,
    targets: Vec<(u32, EdgeKind)>,
}

impl Edges {
    fn of(&self, index: usize) -> &[(u32, EdgeKind)] {
        &self.targets[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    fn reversed(&self) -> Self {
        let count = self.starts.len().saturating_sub(1);
        let mut starts = vec![0_u32; count + 1];
        for (target, _) in &self.targets {
            starts[*target as usize + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut targets = vec![(0, EdgeKind::Dependency); self.targets.len()];
        for (index, source) in (0..count).zip(0_u32..) {
            for (target, kind) in self.of(index) {
                let slot = &mut next[*target as usize];
                targets[*slot as usize] = (source, *kind);
                *slot += 1;
            }
        }
        Self { starts, targets }
    }
}

impl DependencyGraph {
    /// Builds the graph of at most 2³² − 1 records, with as many edges.
    #[must_use]
    pub fn new(records: &[Arc<ResourceState>]) -> Self {
        let mut by_urn: FxHashMap<&Urn, Vec<u32>> = FxHashMap::default();
        by_urn.reserve(records.len());
        let mut dependencies = Edges {
            starts: vec![0],
            targets: Vec::new(),
        };
        let mut components = rustc_hash::FxHashSet::default();
        let mut found = Vec::new();
        for (record, index) in records.iter().zip(0_u32..) {
            let mut add = |urn: &Urn, kind: EdgeKind| {
                for target in by_urn.get(urn).into_iter().flatten() {
                    found.push((*target, kind));
                    if kind == EdgeKind::Dependency && !records[*target as usize].custom {
                        components.insert(*target);
                    }
                }
            };
            for_each_reference(record, &mut add);
            if let Some(provider) = record.provider_urn() {
                add(&provider, EdgeKind::Provider);
            }
            found.sort_unstable_by_key(|(target, kind)| (*target, *kind as u8));
            found.dedup();
            dependencies.targets.append(&mut found);
            dependencies
                .starts
                .push(u32::try_from(dependencies.targets.len()).unwrap_or(u32::MAX));
            by_urn.entry(&record.urn).or_default().push(index);
        }
        let dependents = dependencies.reversed();
        let mut graph = Self {
            dependencies,
            dependents,
            descendants: FxHashMap::default(),
        };
        graph.descendants = components
            .into_iter()
            .map(|index| (index, graph.descendants_of(index)))
            .collect();
        graph
    }

    /// Returns the number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dependencies.starts.len() - 1
    }

    /// Returns whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the records that the one at `index` needs, in the order of positions; one pair for each reason.
    pub fn dependencies(&self, index: usize) -> impl Iterator<Item = (usize, EdgeKind)> {
        self.dependencies
            .of(index)
            .iter()
            .map(|(target, kind)| (*target as usize, *kind))
    }

    /// Returns the records below the components on which the one at `index` depends, as far as they are before it, in the order of
    /// positions.
    pub(crate) fn needs_inside(&self, index: usize) -> Vec<usize> {
        let dependencies = self.dependencies.of(index).iter();
        let components = dependencies.filter(|(_, kind)| *kind == EdgeKind::Dependency);
        let inside = components.filter_map(|(target, _)| self.descendants.get(target));
        let inside = inside.flatten().map(|inside| *inside as usize);
        let mut found: Vec<usize> = inside.filter(|inside| *inside < index).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the records that need the one at `index`, in the order of positions; one pair for each reason.
    pub fn dependents(&self, index: usize) -> impl Iterator<Item = (usize, EdgeKind)> {
        self.dependents
            .of(index)
            .iter()
            .map(|(target, kind)| (*target as usize, *kind))
    }

    /// Returns all records that need one of `roots`, directly or not, without the roots, in the order of positions.
    ///
    /// With `children`, a child needs its parent.
    #[must_use]
    pub fn transitive_dependents(&self, roots: &[usize], children: bool) -> Vec<usize> {
        self.reach(roots, &self.dependents, |kind| {
            children || kind != EdgeKind::Parent
        })
    }

    /// Returns all records that one of `roots` needs, parents and providers included, without the roots, in the order
    /// of positions.
    #[must_use]
    pub fn transitive_dependencies(&self, roots: &[usize]) -> Vec<usize> {
        self.reach(roots, &self.dependencies, |_| true)
    }

    fn reach(&self, roots: &[usize], edges: &Edges, follow: impl Fn(EdgeKind) -> bool) -> Vec<usize> {
        let mut seen = vec![false; self.len()];
        let mut stack = roots.to_vec();
        for root in roots {
            seen[*root] = true;
        }
        let mut reached = Vec::new();
        while let Some(index) = stack.pop() {
            for (target, kind) in edges.of(index) {
                let target = *target as usize;
                if follow(*kind) && !std::mem::replace(&mut seen[target], true) {
                    reached.push(target);
                    stack.push(target);
                }
            }
        }
        reached.sort_unstable();
        reached
    }

    fn descendants_of(&self, component: u32) -> Vec<u32> {
        let mut descendants = Vec::new();
        let mut stack = vec![component];
        while let Some(index) = stack.pop() {
            for (target, kind) in self.dependents.of(index as usize) {
                if *kind == EdgeKind::Parent {
                    descendants.push(*target);
                    stack.push(*target);
                }
            }
        }
        descendants.sort_unstable();
        descendants.dedup();
        descendants
    }

    /// Returns the records to be deleted in layers, in the order of execution: dependents before their dependencies.
    ///
    /// Records of one layer do not need each other. Every record is in the latest layer possible, as in the reference
    /// engine: records without needs come last, with providers and the root stack. Only direct needs count; a
    /// dependency on a component is one on all its descendants before the dependent.
    #[must_use]
    pub fn antichains(&self, deleted: &[usize]) -> Vec<Vec<usize>> {
        let deleted = self.sorted_set(deleted);
        // The height is the number of layers below. Edges go backwards, so one pass in order suffices.
        let mut heights: Vec<u32> = vec![0; self.len()];
        // For each component: how many of its descendants are in `highest`, and the maximum of their heights.
        let mut runs: FxHashMap<u32, DescendantRun> = FxHashMap::default();
        let mut layers: Vec<Vec<usize>> = Vec::new();
        for index in deleted.positions.iter().copied() {
            let mut height = 0;
            for (target, kind) in self.dependencies.of(index) {
                if deleted.members[*target as usize] {
                    height = height.max(heights[*target as usize] + 1);
                }
                if *kind == EdgeKind::Dependency
                    && let Some(descendants) = self.descendants.get(target)
                {
                    let run = runs.entry(*target).or_default();
                    height = height.max(run.advance(descendants, index, &deleted.members, &heights));
                }
            }
            heights[index] = height;
            if layers.len() <= height as usize {
                layers.push(Vec::new());
            }
            layers[height as usize].push(index);
        }
        layers.reverse();
        layers
    }

    /// Returns for each of `deleted`, at the same index, the others of the list that must be deleted before it.
    ///
    /// Respects the same needs as [`Self::antichains`], without the barriers between layers.
    #[must_use]
    pub fn deletion_order(&self, deleted: &[usize]) -> Vec<Vec<usize>> {
        let members = self.sorted_set(deleted).members;
        let mut first: Vec<Vec<usize>> = vec![Vec::new(); deleted.len()];
        let mut places = vec![usize::MAX; self.len()];
        for (place, index) in deleted.iter().enumerate() {
            places[*index] = place;
        }
        for index in deleted.iter().copied() {
            let mut targets: Vec<u32> = Vec::new();
            for (target, kind) in self.dependencies.of(index) {
                targets.push(*target);
                if *kind == EdgeKind::Dependency {
                    let inside = self.descendants.get(target).into_iter().flatten();
                    targets.extend(inside.take_while(|inside| (**inside as usize) < index));
                }
            }
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                if members[target as usize] {
                    first[places[target as usize]].push(index);
                }
            }
        }
        first
    }

    fn sorted_set(&self, positions: &[usize]) -> PositionSet {
        let mut members = vec![false; self.len()];
        for index in positions {
            members[*index] = true;
        }
        let positions = (0..self.len()).filter(|index| members[*index]).collect();
        PositionSet { positions, members }
    }
}

struct PositionSet {
    positions: Vec<usize>,
    members: Vec<bool>,
}

/// The scan position in the descendants of a component. Dependents come in order, so that each is scanned once.
#[derive(Default)]
struct DescendantRun {
    next: usize,
    height: u32,
}

impl DescendantRun {
    fn advance(&mut self, descendants: &[u32], before: usize, members: &[bool], heights: &[u32]) -> u32 {
        while let Some(inside) = descendants.get(self.next).map(|inside| *inside as usize)
            && inside < before
        {
            if members[inside] {
                self.height = self.height.max(heights[inside] + 1);
            }
            self.next += 1;
        }
        self.height
    }
}

fn for_each_reference<'a>(record: &'a ResourceState, add: &mut impl FnMut(&'a Urn, EdgeKind)) {
    record.parent.iter().for_each(|urn| add(urn, EdgeKind::Parent));
    let dependencies = record.dependencies.iter();
    let dependencies = dependencies.chain(record.property_dependencies.lists().flatten());
    let dependencies = dependencies
        .chain(&record.options.deleted_with)
        .chain(&record.options.replace_with);
    dependencies.for_each(|urn| add(urn, EdgeKind::Dependency));
}

#[cfg(test)]
mod tests;

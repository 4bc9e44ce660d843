//! The forest of deleted or created records: each below its parent, where that is one of them.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::inputs;
use crate::{resource::ResourceState, urn::Urn};

/// Records with the edges among them. The root stack is none of them.
pub(super) struct Forest<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    places: FxHashMap<&'a Urn, usize>,
}

/// A record with its place in the forest.
pub(super) struct Node<'a> {
    pub(super) state: &'a ResourceState,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    /// The number of ancestors in the forest.
    pub(super) depth: usize,
    /// Equal for records with equal inputs and children, regardless of their names; `None` where nothing is known of them.
    pub(super) fingerprint: Option<u64>,
}

impl Node<'_> {
    pub(super) fn name(&self) -> &str {
        self.state.urn.name()
    }
}

impl<'a> Forest<'a> {
    pub(super) fn new(records: impl Iterator<Item = &'a ResourceState>) -> Self {
        let mut places = FxHashMap::default();
        let mut nodes = Vec::new();
        for state in records.filter(|state| !state.urn.is_root_stack()) {
            places.insert(&state.urn, nodes.len());
            nodes.push(Node {
                state,
                parent: None,
                children: Vec::new(),
                depth: 0,
                fingerprint: inputs::fingerprint(&state.inputs),
            });
        }
        let mut forest = Self { nodes, places };
        forest.connect();
        forest
    }

    /// Sets parents, children and depths, and adds the children to the fingerprints.
    fn connect(&mut self) {
        for index in 0..self.nodes.len() {
            let parent = self.nodes[index].state.parent.as_ref();
            let parent = parent.and_then(|urn| self.places.get(urn)).copied();
            if let Some(parent) = parent.filter(|parent| *parent != index) {
                self.nodes[index].parent = Some(parent);
                self.nodes[parent].children.push(index);
            }
        }
        // Parents before their children; iterative, because chains of parents can be long.
        let mut order: Vec<usize> = Vec::with_capacity(self.nodes.len());
        order.extend((0..self.nodes.len()).filter(|index| self.nodes[*index].parent.is_none()));
        let mut next = 0;
        while let Some(index) = order.get(next).copied() {
            next += 1;
            let depth = self.nodes[index].depth + 1;
            for child in self.nodes[index].children.clone() {
                self.nodes[child].depth = depth;
                order.push(child);
            }
        }
        for index in order.into_iter().rev() {
            let node = &self.nodes[index];
            if node.children.is_empty() {
                continue;
            }
            let children = node.children.iter().map(|child| {
                let child = &self.nodes[*child];
                let relative = relative_name(child.name(), node.name());
                inputs::hash_of(&(child.state.resource_type.as_str(), relative, child.fingerprint))
            });
            let sum = children.fold(0_u64, u64::wrapping_add);
            self.nodes[index].fingerprint = Some(inputs::hash_of(&(self.nodes[index].fingerprint, sum)));
        }
    }

    /// Returns the place of a record.
    pub(super) fn place(&self, urn: &Urn) -> Option<usize> {
        self.places.get(urn).copied()
    }
}

/// The length from which the name of a parent is looked for within those of its children.
const MIN_CONTAINED_NAME: usize = 3;

/// Returns the part of a child's name that is its own: without the name of its parent, which can precede it or be within it.
pub(super) fn relative_name<'a>(name: &'a str, parent: &str) -> Cow<'a, str> {
    match name.strip_prefix(parent) {
        Some(rest) => rest.into(),
        None if parent.len() >= MIN_CONTAINED_NAME && name.contains(parent) => {
            name.replace(parent, "\0").into()
        }
        None => name.into(),
    }
}

/// Returns whether the name of a child is that of another one with the new name of their parent.
pub(super) fn is_derived((old, former): (&str, &str), (new, present): (&str, &str)) -> bool {
    old == new || relative_name(old, former) == relative_name(new, present)
}

//! The likeness of a deletion and a creation, as a number from 0 to 1 with what it is made of.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{
    forest::{Forest, Node, is_derived, relative_name},
    inputs::{self, Equal},
    names::name_similarity,
};

/// What two records that are compared have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Likeness {
    /// From 0 to 1.
    pub(super) score: f64,
    pub(super) inputs: Equal,
    /// How many children there are on the larger side, and how many have a counterpart.
    pub(super) children: Equal,
}

/// What the pairs so far say about two records.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// Their parents are the same one, or a pair.
    pub(super) same_parent: bool,
    /// The names of their parents, where these are a pair.
    pub(super) parents: Option<(&'a str, &'a str)>,
    /// Their providers are the same one, or a pair.
    pub(super) same_provider: bool,
}

/// The score from which a pair is a suggestion.
pub(super) const MIN_SCORE: f64 = 0.6;

pub(super) const CONTENT_WEIGHT: f64 = 0.45;
pub(super) const NAME_WEIGHT: f64 = 0.25;
pub(super) const PARENT_WEIGHT: f64 = 0.15;
pub(super) const TYPE_WEIGHT: f64 = 0.15;
/// What a record of another provider loses.
const OTHER_PROVIDER_COST: f64 = 0.05;
/// The content of records of which nothing is known.
const NO_EVIDENCE: f64 = 0.5;
/// How many children of a record are compared.
const MAX_COMPARED_CHILDREN: usize = 256;

/// Compares two records; `None` when one can never stand for the other.
pub(super) fn likeness(
    (olds, old): (&Forest<'_>, &Node<'_>),
    (news, new): (&Forest<'_>, &Node<'_>),
    surroundings: Surroundings<'_>,
) -> Option<Likeness> {
    let (before, after) = (old.state, new.state);
    let (old_type, new_type) = (&before.resource_type, &after.resource_type);
    let same_type = old_type == new_type;
    let is_provider = before.is_provider() || after.is_provider();
    if before.custom != after.custom
        || old_type.package() != new_type.package()
        || (!same_type && is_provider)
    {
        return None;
    }
    let has_same_name = match surroundings.parents {
        Some((former, present)) => is_derived((old.name(), former), (new.name(), present)),
        None => old.name() == new.name(),
    };
    // Two things of a package that share nothing but some settings are usual.
    if !same_type && !has_same_name {
        return None;
    }
    let own_names = (old.name(), new.name());
    let inputs = match surroundings.parents {
        Some(parents) => inputs::compare(&before.inputs, &after.inputs, &[own_names, parents]),
        None => inputs::compare(&before.inputs, &after.inputs, &[own_names]),
    };
    let (children, of_children) = children(olds, old, news, new);
    let content = match (inputs.compared, of_children.compared) {
        (0, 0) => NO_EVIDENCE,
        (_, 0) => evidence(inputs),
        (0, _) => evidence(of_children),
        _ => evidence(of_children).mul_add(2.0, evidence(inputs)) / 3.0,
    };
    let of_type = match same_type {
        true => 1.0,
        false if module(old_type.as_str()) == module(new_type.as_str()) => 0.5,
        false => 0.3,
    };
    let parent = f64::from(u8::from(surroundings.same_parent));
    let cost = if surroundings.same_provider {
        0.0
    } else {
        OTHER_PROVIDER_COST
    };
    let of_name = match has_same_name {
        true => 1.0,
        false => name_similarity(old.name(), new.name()),
    };
    let score = [
        CONTENT_WEIGHT * content,
        NAME_WEIGHT * of_name,
        PARENT_WEIGHT * parent,
        TYPE_WEIGHT * of_type,
        -cost,
    ];
    Some(Likeness {
        score: score.into_iter().sum(),
        inputs,
        children,
    })
}

/// Returns the share of what is equal. Few things that are equal, or that differ, prove little.
pub(super) fn evidence(found: Equal) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of properties are small")]
    let (equal, compared) = (found.equal as f64, found.compared as f64);
    let weight = 1.0 - 0.25 / compared;
    (equal / compared).mul_add(weight, NO_EVIDENCE * (1.0 - weight))
}

/// Returns the module of a type token: the text before the last colon.
fn module(token: &str) -> &str {
    token.rsplit_once(':').map_or("", |(module, _)| module)
}

/// The points of a child as evidence: for a counterpart of the same type and relative name, or of the relative name and the
/// package alone, and for equal inputs.
const COUNTERPART_POINTS: usize = 2;
const OTHER_TYPE_POINTS: usize = 1;
const INPUT_POINTS: usize = 2;

/// Counts the children that have a counterpart of the same type and relative name; and, as evidence, the points of all children.
fn children(olds: &Forest<'_>, old: &Node<'_>, news: &Forest<'_>, new: &Node<'_>) -> (Equal, Equal) {
    let compared = old
        .children
        .len()
        .max(new.children.len())
        .min(MAX_COMPARED_CHILDREN);
    let of = |node: &Node<'_>| {
        node.children
            .iter()
            .copied()
            .take(MAX_COMPARED_CHILDREN)
            .collect::<Vec<_>>()
    };
    let mut by_type: FxHashMap<(&str, Cow<'_, str>), &Node<'_>> = FxHashMap::default();
    let mut by_package: FxHashMap<(&str, Cow<'_, str>), &Node<'_>> = FxHashMap::default();
    for child in of(new) {
        let child = &news.nodes[child];
        let relative = relative_name(child.name(), new.name());
        let of_type = &child.state.resource_type;
        by_type
            .entry((of_type.as_str(), child.name().into()))
            .or_insert(child);
        by_type.insert((of_type.as_str(), relative.clone()), child);
        by_package.insert((of_type.package(), relative), child);
    }
    let (mut counterparts, mut points) = (0, 0);
    for child in of(old) {
        let child = &olds.nodes[child];
        let of_type = &child.state.resource_type;
        let relative = relative_name(child.name(), old.name());
        let of_same_type = by_type
            .get(&(of_type.as_str(), relative.clone()))
            .or_else(|| by_type.get(&(of_type.as_str(), child.name().into())));
        let other = match of_same_type {
            Some(other) => {
                counterparts += 1;
                points += COUNTERPART_POINTS;
                other
            }
            None => match by_package.get(&(of_type.package(), relative)) {
                Some(other) => {
                    points += OTHER_TYPE_POINTS;
                    other
                }
                None => continue,
            },
        };
        let names = [(child.name(), other.name()), (old.name(), new.name())];
        let inputs = inputs::compare(&child.state.inputs, &other.state.inputs, &names);
        points += (INPUT_POINTS * inputs.equal)
            .checked_div(inputs.compared)
            .unwrap_or(INPUT_POINTS);
    }
    let counted = |equal, compared| Equal { equal, compared };
    (
        counted(counterparts, compared),
        counted(points, (COUNTERPART_POINTS + INPUT_POINTS) * compared),
    )
}

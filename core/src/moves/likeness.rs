//! The likeness of a deletion and a creation, as a number from 0 to 1 with what it is made of.

use rustc_hash::FxHashMap;

use super::{
    forest::{Forest, Node, relative_name},
    inputs::{self, Equal},
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
pub(super) struct Surroundings {
    /// Their parents are the same one, or a pair.
    pub(super) same_parent: bool,
    /// Their providers are the same one, or a pair.
    pub(super) same_provider: bool,
}

/// The score from which a pair is a suggestion.
pub(super) const MIN_SCORE: f64 = 0.6;

const CONTENT_WEIGHT: f64 = 0.45;
const NAME_WEIGHT: f64 = 0.25;
const PARENT_WEIGHT: f64 = 0.15;
const TYPE_WEIGHT: f64 = 0.15;
/// What a record of another provider loses.
const OTHER_PROVIDER_COST: f64 = 0.05;
/// The content of records of which nothing is known.
const NO_EVIDENCE: f64 = 0.5;
/// Distances of longer names are not computed.
const MAX_NAME_BYTES: usize = 256;
/// Names that are less similar have nothing in common.
const MIN_NAME_SIMILARITY: f64 = 0.5;
/// The similarity of a name to one that contains it.
const CONTAINED_NAME_SIMILARITY: f64 = 0.7;
/// How many children of a record are compared.
const MAX_COMPARED_CHILDREN: usize = 256;

/// Compares two records; `None` when one can never stand for the other.
pub(super) fn likeness(
    (olds, old): (&Forest<'_>, &Node<'_>),
    (news, new): (&Forest<'_>, &Node<'_>),
    surroundings: Surroundings,
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
    // Two things of a package that share nothing but some settings are usual.
    if !same_type && old.name() != new.name() {
        return None;
    }
    let inputs = inputs::compare((&before.inputs, old.name()), (&after.inputs, new.name()));
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
    let score = [
        CONTENT_WEIGHT * content,
        NAME_WEIGHT * name_similarity(old.name(), new.name()),
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
fn evidence(found: Equal) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of properties are small")]
    let (equal, compared) = (found.equal as f64, found.compared as f64);
    let weight = 1.0 - 0.25 / compared;
    (equal / compared).mul_add(weight, NO_EVIDENCE * (1.0 - weight))
}

/// Returns the module of a type token: the text before the last colon.
fn module(token: &str) -> &str {
    token.rsplit_once(':').map_or("", |(module, _)| module)
}

/// Returns how similar two names are, from 0 to 1.
fn name_similarity(old: &str, new: &str) -> f64 {
    if old == new {
        return 1.0;
    }
    if old.is_empty() || new.is_empty() || old.len().max(new.len()) > MAX_NAME_BYTES {
        return 0.0;
    }
    let (old, new) = (old.to_lowercase(), new.to_lowercase());
    let similarity = strsim::normalized_levenshtein(&old, &new);
    let contained = if old.contains(&new) || new.contains(&old) {
        CONTAINED_NAME_SIMILARITY
    } else {
        0.0
    };
    match similarity.max(contained) {
        similarity if similarity >= MIN_NAME_SIMILARITY => similarity,
        _ => 0.0,
    }
}

/// Counts the children that have a counterpart of the same type and relative name; and, as evidence, each child twice:
/// whether there is a counterpart, and whether that has the same inputs.
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
    let mut places: FxHashMap<(&str, &str), &Node<'_>> = FxHashMap::default();
    for child in of(new) {
        let child = &news.nodes[child];
        let relative = relative_name(child.name(), new.name());
        places.insert((child.state.resource_type.as_str(), relative), child);
    }
    let (mut counterparts, mut evidence) = (0, 0);
    for child in of(old) {
        let child = &olds.nodes[child];
        let relative = relative_name(child.name(), old.name());
        let Some(other) = places.get(&(child.state.resource_type.as_str(), relative)) else {
            continue;
        };
        let inputs = inputs::compare(
            (&child.state.inputs, child.name()),
            (&other.state.inputs, other.name()),
        );
        counterparts += 1;
        evidence += 1 + usize::from(inputs.equal == inputs.compared);
    }
    let counted = |equal, compared| Equal { equal, compared };
    (counted(counterparts, compared), counted(evidence, 2 * compared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_similar_when_they_share_most_letters_or_one_contains_the_other() {
        assert_eq!(name_similarity("a", "a"), 1.0);
        assert!(name_similarity("logs", "log") > 0.7);
        assert_eq!(name_similarity("data", "database"), CONTAINED_NAME_SIMILARITY);
        assert_eq!(name_similarity("alpha", "beta"), 0.0);
        assert_eq!(name_similarity("", "beta"), 0.0);
        assert_eq!(name_similarity(&"a".repeat(300), &"a".repeat(299)), 0.0);
    }
}

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

/// What the children of two records say about these.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// How many children there are on the larger side, and how many have a counterpart of the same type and relative name.
    counted: Equal,
    /// The points of the children of both sides.
    points: Equal,
    /// How many children have a counterpart with inputs of which at least half are equal.
    matched: usize,
    /// How many inputs of these are equal.
    equal_inputs: usize,
}

/// What the pairs so far say about two records.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// Their parents are the same one, or a pair.
    pub(super) same_parent: bool,
    /// The names of their parents, where these are a pair.
    pub(super) parents: Option<(&'a str, &'a str)>,
    /// The names of their highest ancestors that are a pair, where their parents are one.
    pub(super) topmost: Option<(&'a str, &'a str)>,
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
    let above = [surroundings.parents, surroundings.topmost];
    let mut above = above.into_iter().flatten();
    let has_same_name = old.name() == new.name()
        || above.any(|(former, present)| is_derived((old.name(), former), (new.name(), present)));
    let below = below(olds, old, news, new);
    let of_names_below = below.name_evidence();
    // Two things of a package that share nothing but some settings are usual; components of which most children agree are not.
    if !same_type && !has_same_name && (before.custom || of_names_below < MIN_NAMES_BELOW) {
        return None;
    }
    let own_names = (old.name(), new.name());
    let inputs = match (surroundings.parents, surroundings.topmost) {
        (Some(parents), Some(topmost)) => {
            inputs::compare(&before.inputs, &after.inputs, &[own_names, parents, topmost])
        }
        (Some(parents), None) => inputs::compare(&before.inputs, &after.inputs, &[own_names, parents]),
        _ => inputs::compare(&before.inputs, &after.inputs, &[own_names]),
    };
    let content = match (inputs.compared, below.points.compared) {
        (0, 0) => NO_EVIDENCE,
        (_, 0) => evidence(inputs),
        (0, _) => evidence(below.points),
        _ => evidence(below.points).mul_add(2.0, evidence(inputs)) / 3.0,
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
        false => name_similarity(old.name(), new.name()).max(of_names_below),
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
        children: below.counted,
    })
}

impl Below {
    /// Returns what the children say about the names of two records, as a similarity of these: children that keep their names, apart
    /// from that of their parent, and have equal inputs are rarely those of another one.
    #[expect(clippy::cast_precision_loss, reason = "numbers of children are limited")]
    fn name_evidence(self) -> f64 {
        if self.matched == 0 || self.points.compared == 0 {
            return 0.0;
        }
        let share = (self.matched * POINTS_OF_CHILD) as f64 / self.points.compared as f64;
        let weight = 1.0 - 1.0 / self.equal_inputs.max(1) as f64;
        MAX_NAMES_BELOW * share.min(1.0) * weight
    }
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
const POINTS_OF_CHILD: usize = COUNTERPART_POINTS + INPUT_POINTS;
/// As how many equal inputs a child counts that has kept its URN and has another parent: the engine has found it.
const INPUTS_OF_KEPT_CHILD: usize = 4;
/// As which similarity of names those of children count at most.
pub(super) const MAX_NAMES_BELOW: f64 = 0.7;
/// The least evidence of children for components of another type and another name.
const MIN_NAMES_BELOW: f64 = 0.4;

/// Compares the children of two records. Those that only one side has weigh half as much as in a share of the larger side, so that one
/// child that is added or removed does not hide a renamed component.
fn below(olds: &Forest<'_>, old: &Node<'_>, news: &Forest<'_>, new: &Node<'_>) -> Below {
    let compared = |node: &Node<'_>| node.children.len().min(MAX_COMPARED_CHILDREN);
    let (of_old, of_new) = (compared(old), compared(new));
    if of_old == 0 && of_new == 0 {
        return Below::default();
    }
    let counterparts = Counterparts::of(news, new);
    let mut found = Below::default();
    for child in old.children.iter().take(MAX_COMPARED_CHILDREN) {
        let child = &olds.nodes[*child];
        let Some((other, is_of_same_type)) = counterparts.find(child, old.name()) else {
            continue;
        };
        found.counted.equal += usize::from(is_of_same_type);
        found.points.equal += match is_of_same_type {
            true => COUNTERPART_POINTS,
            false => OTHER_TYPE_POINTS,
        };
        let names = [(child.name(), other.name()), (old.name(), new.name())];
        let inputs = inputs::compare(&child.state.inputs, &other.state.inputs, &names);
        let points = (INPUT_POINTS * inputs.equal)
            .checked_div(inputs.compared)
            .unwrap_or(INPUT_POINTS);
        found.points.equal += points;
        let is_kept = child.state.urn == other.state.urn;
        if is_of_same_type && (points > 0 || is_kept) {
            found.matched += 1;
            found.equal_inputs += inputs.equal + if is_kept { INPUTS_OF_KEPT_CHILD } else { 0 };
        }
    }
    found.counted.compared = of_old.max(of_new);
    found.points.compared = (POINTS_OF_CHILD * (of_old + of_new)).div_ceil(2);
    found
}

/// The children of a creation, by type and name, and by package and name.
struct Counterparts<'n, 'a> {
    by_type: FxHashMap<(&'n str, Cow<'n, str>), &'n Node<'a>>,
    by_package: FxHashMap<(&'n str, Cow<'n, str>), &'n Node<'a>>,
}

impl<'n, 'a> Counterparts<'n, 'a> {
    fn of(news: &'n Forest<'a>, new: &'n Node<'a>) -> Self {
        let mut found = Self {
            by_type: FxHashMap::default(),
            by_package: FxHashMap::default(),
        };
        for child in new.children.iter().take(MAX_COMPARED_CHILDREN) {
            let child = &news.nodes[*child];
            let relative = relative_name(child.name(), new.name());
            let of_type = &child.state.resource_type;
            let named = (of_type.as_str(), child.name().into());
            found.by_type.entry(named).or_insert(child);
            found.by_type.insert((of_type.as_str(), relative.clone()), child);
            found.by_package.insert((of_type.package(), relative), child);
        }
        found
    }

    /// Returns the counterpart of a child of a deletion, and whether it has the same type.
    fn find(&self, child: &Node<'_>, parent: &str) -> Option<(&'n Node<'a>, bool)> {
        let of_type = &child.state.resource_type;
        let relative = relative_name(child.name(), parent);
        let of_same_type = self
            .by_type
            .get(&(of_type.as_str(), relative.clone()))
            .or_else(|| self.by_type.get(&(of_type.as_str(), child.name().into())));
        match of_same_type {
            Some(other) => Some((*other, true)),
            None => {
                let other = self.by_package.get(&(of_type.package(), relative));
                other.map(|other| (*other, false))
            }
        }
    }
}

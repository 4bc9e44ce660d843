//! The rivals of a pair among the records of a type that has too many for all of them to be compared. Upper bounds of the scores,
//! which cost little, leave few to compare.

use rustc_hash::FxHashMap;

use super::{
    candidates::{MAX_PAIRS_OF_KEY, MAX_PAIRS_OF_TYPE, Open},
    choose::{EQUAL_SCORES, Pair, Taken},
    inputs::{self, ANY, Equal},
    likeness::{
        CONTENT_WEIGHT, MAX_NAMES_BELOW, MIN_SCORE, NAME_WEIGHT, PARENT_WEIGHT, TYPE_WEIGHT, evidence,
    },
    names::{ComparedName, NameProfile},
};

/// How many rivals are compared for each record, on average.
const MAX_COMPARED_PER_RECORD: usize = 24;
/// How many upper bounds are computed at most.
const MAX_BOUNDS: usize = 200_000_000;
/// After how many pairs the records that are taken are left out.
const PAIRS_BETWEEN_PURGES: usize = 256;

/// Compares two records, and returns their score.
pub(super) type Compare<'f> = &'f mut dyn FnMut(usize, usize) -> Option<f64>;

/// Where a record is: of two that are at the same place, one is old and the other one new.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Below a pair.
    Below(usize),
    /// Below a record without a partner.
    Alone,
    /// Below a record that stays, of this hash.
    Outside(u64),
}

/// The open records of both sides that cannot all be compared.
pub(super) struct Rivals<'n> {
    olds: Side<'n>,
    news: Side<'n>,
    compared_left: usize,
    bounds_left: usize,
    pairs: usize,
}

/// A type, with whether it is that of resources and not of components.
type TypeKey<'n> = (bool, &'n str);

/// Whether it is a resource and no component, its package, and its name.
type NameKey<'n> = (bool, &'n str, &'n str);

#[derive(Default)]
struct Side<'n> {
    by_type: FxHashMap<TypeKey<'n>, Vec<Member>>,
    /// The records by package and name, each with its type.
    by_name: FxHashMap<NameKey<'n>, Vec<(usize, &'n str)>>,
    keys: FxHashMap<usize, (bool, &'n str, &'n str, &'n str)>,
}

struct Member {
    record: usize,
    place: Place,
    name: NameProfile,
    inputs: Vec<(u64, u64)>,
    has_children: bool,
}

impl<'n> Rivals<'n> {
    pub(super) fn new(
        olds: &[Open<'n, '_>],
        news: &[Open<'n, '_>],
        place: &dyn Fn(&Open<'_, '_>) -> Place,
    ) -> Self {
        let mut rivals = Self {
            olds: Side::default(),
            news: Side::default(),
            compared_left: MAX_COMPARED_PER_RECORD * (olds.len() + news.len()),
            bounds_left: MAX_BOUNDS,
            pairs: 0,
        };
        let mut counts: FxHashMap<TypeKey<'_>, [usize; 2]> = FxHashMap::default();
        for (side, open) in [olds, news].into_iter().enumerate() {
            for open in open {
                counts.entry(type_of(open)).or_default()[side] += 1;
            }
        }
        let is_crowded =
            |open: &Open<'n, '_>| counts[&type_of(open)].iter().product::<usize>() > MAX_PAIRS_OF_TYPE;
        for (side, open) in [(&mut rivals.olds, olds), (&mut rivals.news, news)] {
            for open in open {
                side.add(open, is_crowded(open).then(|| place(open)));
            }
        }
        rivals
    }

    /// Returns the pairs of one of the records of `pair` that are about as good as it; `None` where there are too many to tell.
    pub(super) fn of(&mut self, pair: Pair, taken: &Taken, compare: Compare<'_>) -> Option<Vec<Pair>> {
        self.pairs += 1;
        if self.pairs.is_multiple_of(PAIRS_BETWEEN_PURGES) {
            let purge = |side: &mut Side<'_>, is_taken: &dyn Fn(usize) -> bool| {
                let members = side.by_type.values_mut();
                members.for_each(|members| members.retain(|member| !is_taken(member.record)));
            };
            purge(&mut self.olds, &|record| taken.olds.contains(&record));
            purge(&mut self.news, &|record| taken.news.contains(&record));
        }
        let mut found = Vec::new();
        let news = self.close(pair, true)?;
        let olds = self.close(pair, false)?;
        let news = news.into_iter().map(|new| (pair.old, new));
        let rivals = news.chain(olds.into_iter().map(|old| (old, pair.new)));
        for (old, new) in rivals {
            if (old, new) == (pair.old, pair.new) || taken.olds.contains(&old) || taken.news.contains(&new) {
                continue;
            }
            self.compared_left = self.compared_left.checked_sub(1)?;
            if let Some(score) = compare(old, new)
                && score >= MIN_SCORE
                && pair.score - score < EQUAL_SCORES
            {
                found.push(Pair { old, new, score });
            }
        }
        Some(found)
    }

    /// Returns the records of the other side that can be as close to one of the pair as its partner is.
    fn close(&mut self, pair: Pair, of_old: bool) -> Option<Vec<usize>> {
        let (own, others, record) = match of_old {
            true => (&self.olds, &self.news, pair.old),
            false => (&self.news, &self.olds, pair.new),
        };
        let mut close = Vec::new();
        let (custom, of_type, package, name) = *own.keys.get(&record)?;
        let named = |side: &Side<'n>| side.by_name.get(&(custom, package, name)).map_or(0, Vec::len);
        if named(own) * named(others) > MAX_PAIRS_OF_KEY
            && let Some(same) = others.by_name.get(&(custom, package, name))
        {
            let of_other_type = same.iter().filter(|(_, other)| *other != of_type);
            close.extend(of_other_type.map(|(record, _)| *record));
        }
        let (Some(members), Some(others)) = (
            own.by_type.get(&(custom, of_type)),
            others.by_type.get(&(custom, of_type)),
        ) else {
            return Some(close);
        };
        // The records are added, and left out, in order.
        let Ok(member) = members.binary_search_by_key(&record, |member| member.record) else {
            return Some(close);
        };
        let member = &members[member];
        self.bounds_left = self.bounds_left.checked_sub(others.len())?;
        let needed = pair.score - EQUAL_SCORES;
        let name = ComparedName::of(&member.name);
        let can_be_close = |other: &&Member| match of_old {
            true => Member::can_reach((member, other), needed, &|needed| {
                name.exceeds(&other.name, needed)
            }),
            false => Member::can_reach((other, member), needed, &|needed| {
                name.exceeds(&other.name, needed)
            }),
        };
        close.extend(others.iter().filter(can_be_close).map(|other| other.record));
        Some(close)
    }
}

fn type_of<'n>(open: &Open<'n, '_>) -> TypeKey<'n> {
    (open.node.state.custom, open.node.state.resource_type.as_str())
}

impl<'n> Side<'n> {
    /// Adds a record, with its place where its type is that of too many.
    fn add(&mut self, open: &Open<'n, '_>, place: Option<Place>) {
        let state = open.node.state;
        let (custom, of_type) = type_of(open);
        let (package, name) = (state.resource_type.package(), open.node.name());
        self.keys.insert(open.place, (custom, of_type, package, name));
        let named = self.by_name.entry((custom, package, name)).or_default();
        named.push((open.place, of_type));
        let Some(place) = place else {
            return;
        };
        let parent = open.below.map(|(_, name)| name);
        let names: Vec<&str> = parent.into_iter().chain(open.topmost).chain([name]).collect();
        self.by_type.entry((custom, of_type)).or_default().push(Member {
            record: open.place,
            place,
            name: NameProfile::of(name),
            inputs: inputs::hashes(&state.inputs, &names),
            has_children: !open.node.children.is_empty(),
        });
    }
}

impl Member {
    /// Returns whether the score of an old record with a new one of the same type can be greater than `needed`. `are_alike`
    /// returns whether the similarity of their names, which differ, exceeds a value.
    fn can_reach((old, new): (&Self, &Self), needed: f64, are_alike: &dyn Fn(f64) -> bool) -> bool {
        let is_below = matches!(old.place, Place::Below(_));
        let is_at_same_place = old.place == new.place && old.place != Place::Alone;
        let of_parent = if is_at_same_place { PARENT_WEIGHT } else { 0.0 };
        let rest = needed - TYPE_WEIGHT - of_parent - CONTENT_WEIGHT * old.content_bound(new);
        // Below a pair, a name that is derived from that of the parent counts as the same one.
        let of_name = rest / NAME_WEIGHT;
        let of_children = old.has_children && new.has_children && of_name < MAX_NAMES_BELOW;
        rest < 0.0
            || rest < NAME_WEIGHT && (is_below && is_at_same_place || of_children || are_alike(of_name))
    }

    /// Returns a bound that the likeness of inputs and children does not exceed.
    fn content_bound(&self, new: &Self) -> f64 {
        if self.has_children || new.has_children {
            return 1.0;
        }
        let mut found = Equal::default();
        let (mut olds, mut news) = (self.inputs.iter().peekable(), new.inputs.iter().peekable());
        loop {
            let is_equal = match (olds.peek(), news.peek()) {
                (None, None) => break,
                (Some((old, before)), Some((new, after))) if old == new => {
                    let is_equal = before == after || *before == ANY || *after == ANY;
                    olds.next();
                    news.next();
                    is_equal
                }
                (Some((old, before)), new) if new.is_none_or(|(new, _)| old < new) => {
                    let is_any = *before == ANY;
                    olds.next();
                    is_any
                }
                (_, Some((_, after))) => {
                    let is_any = *after == ANY;
                    news.next();
                    is_any
                }
                (Some(_), None) => break,
            };
            found.compared += 1;
            found.equal += usize::from(is_equal);
        }
        match found.compared {
            0 => 1.0,
            _ => evidence(found),
        }
    }
}

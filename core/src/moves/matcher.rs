//! The matcher: pairs deleted and created records, parents before what is below them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    ProgramLanguage,
    candidates::{Open, candidates},
    choose::{Pair, choose},
    code,
    forest::{Forest, Node},
    former::Former,
    inputs::hash_of,
    likeness::{Likeness, MIN_SCORE, Surroundings, likeness},
    reason::{of_pair, of_project, of_provider},
    renamed_project::RenamedProject,
    rivals::{Place, Rivals},
};
use crate::{
    event::{MovedResource, SuggestedMove},
    resource::ResourceState,
    urn::Urn,
};

/// The pairs of deleted and created records that have been found so far.
pub(super) struct Matcher<'a> {
    olds: Forest<'a>,
    news: Forest<'a>,
    /// The partner of each deletion and of each creation.
    new_of: FxHashMap<usize, usize>,
    old_of: FxHashMap<usize, usize>,
    /// The pairs in the order in which they were found, each before those that follow it.
    found: Vec<Found>,
    /// The records that have several equal counterparts.
    ambiguous_olds: FxHashSet<usize>,
    ambiguous_news: FxHashSet<usize>,
    comparisons: usize,
}

/// A pair of a deletion and a creation.
struct Found {
    old: usize,
    new: usize,
    why: Why,
}

/// Why two records are a pair.
enum Why {
    /// They are alike.
    Alike(Likeness),
    /// They are at the same place below the pair at this position.
    Follows(usize),
    /// They are at the same place of another project or stack.
    OtherProject,
}

/// Which records a pass looks at.
type Selection<'p> = &'p dyn Fn(&Node<'_>) -> bool;

impl<'a> Matcher<'a> {
    pub(super) fn new(olds: Forest<'a>, news: Forest<'a>) -> Self {
        Self {
            olds,
            news,
            new_of: FxHashMap::default(),
            old_of: FxHashMap::default(),
            found: Vec::new(),
            ambiguous_olds: FxHashSet::default(),
            ambiguous_news: FxHashSet::default(),
            comparisons: 0,
        }
    }

    /// Returns how many pairs were compared.
    pub(super) const fn comparisons(&self) -> usize {
        self.comparisons
    }

    /// Pairs records that are kept below another parent or with another URN. They are no suggestions.
    pub(super) fn keep(&mut self, kept: &[(&'a ResourceState, &'a ResourceState)]) {
        for (old, new) in kept {
            if let (Some(old), Some(new)) = (self.olds.place(&old.urn), self.news.place(&new.urn)) {
                self.new_of.insert(old, new);
                self.old_of.insert(new, old);
            }
        }
    }

    /// Pairs the records of a renamed project or stack, which differ in that alone.
    pub(super) fn match_projects(
        &mut self,
        deleted: &[&'a ResourceState],
        created: &[&'a ResourceState],
    ) -> Option<RenamedProject<'a>> {
        let mut places: FxHashMap<(&str, &str), usize> = FxHashMap::default();
        for (place, node) in self.olds.nodes.iter().enumerate() {
            let urn = &node.state.urn;
            places.insert((urn.qualified_type(), urn.name()), place);
        }
        for new in 0..self.news.nodes.len() {
            let state = self.news.nodes[new].state;
            let old = places.get(&(state.urn.qualified_type(), state.urn.name()));
            // Where the URNs agree, the deletion is of an old copy.
            let fits = |old: &&usize| {
                let before = self.olds.nodes[**old].state;
                let is_other =
                    before.urn.project() != state.urn.project() || before.urn.stack() != state.urn.stack();
                is_other && before.custom == state.custom && !self.new_of.contains_key(*old)
            };
            if let Some(old) = old.filter(fits).copied()
                && !self.old_of.contains_key(&new)
            {
                self.pair(old, new, Why::OtherProject);
            }
        }
        RenamedProject::of(deleted, created)
    }

    /// Pairs what is alike: providers, parents from the top, and then the rest.
    pub(super) fn match_all(&mut self) {
        self.pass(&|node| node.state.is_provider());
        let depths = |forest: &Forest<'_>| {
            let parents = forest.nodes.iter().filter(|node| !node.children.is_empty());
            parents.map(|node| node.depth).collect::<FxHashSet<_>>()
        };
        let common = depths(&self.olds);
        let news = depths(&self.news);
        let mut common: Vec<usize> = common.into_iter().filter(|depth| news.contains(depth)).collect();
        common.sort_unstable();
        let mut by_depth: FxHashMap<usize, [Vec<usize>; 2]> = FxHashMap::default();
        for (side, forest) in [&self.olds, &self.news].into_iter().enumerate() {
            for (place, node) in forest.nodes.iter().enumerate() {
                if !node.children.is_empty() {
                    by_depth.entry(node.depth).or_default()[side].push(place);
                }
            }
        }
        for depth in common {
            if let Some([olds, news]) = by_depth.remove(&depth) {
                self.pass_over(&olds, &news, &|_| true);
            }
        }
        self.pass(&|node| !node.children.is_empty());
        self.pass(&|_| true);
    }

    fn pass(&mut self, selects: Selection<'_>) {
        let all = |forest: &Forest<'_>| (0..forest.nodes.len()).collect::<Vec<_>>();
        let (olds, news) = (all(&self.olds), all(&self.news));
        self.pass_over(&olds, &news, selects);
    }

    /// Pairs what is alike among the selected records that have no partner yet, and what follows these pairs.
    fn pass_over(&mut self, olds: &[usize], news: &[usize], selects: Selection<'_>) {
        let open_olds = self.open_olds(olds, selects);
        let open_news = self.open_news(news, selects);
        let mut likenesses = FxHashMap::default();
        let mut pairs = Vec::new();
        let mut comparisons = 0;
        for (old, new) in candidates(&open_olds, &open_news) {
            comparisons += 1;
            let found = self.likeness(old, new);
            if let Some(found) = found.filter(|found| found.score >= MIN_SCORE) {
                let score = found.score;
                likenesses.insert((old, new), found);
                pairs.push(Pair { old, new, score });
            }
        }
        let mut rivals = Rivals::new(&open_olds, &open_news, &|open| self.place(open));
        let mut compare = |old: usize, new: usize| {
            comparisons += 1;
            self.likeness(old, new).map(|found| found.score)
        };
        let choice = choose(pairs, &mut |pair, taken| rivals.of(pair, taken, &mut compare));
        self.comparisons += comparisons;
        self.ambiguous_olds.extend(choice.ambiguous_olds);
        self.ambiguous_news.extend(choice.ambiguous_news);
        for Pair { old, new, .. } in choice.pairs {
            let is_open = !self.new_of.contains_key(&old) && !self.old_of.contains_key(&new);
            // A pair before this one can have taken them as what follows it.
            if let Some(likeness) = likenesses.remove(&(old, new)).filter(|_| is_open) {
                let position = self.pair(old, new, Why::Alike(likeness));
                self.follow(position);
            }
        }
    }

    fn pair(&mut self, old: usize, new: usize, why: Why) -> usize {
        self.new_of.insert(old, new);
        self.old_of.insert(new, old);
        self.found.push(Found { old, new, why });
        self.found.len() - 1
    }

    /// Pairs what an alias of a parent finds below it: children of the same type and name. A child named after its
    /// parent has been named after the former one.
    fn follow(&mut self, leader: usize) {
        let mut next = vec![leader];
        while let Some(position) = next.pop() {
            let Found { old, new, .. } = self.found[position];
            let (parent, former) = (self.news.nodes[new].name(), self.olds.nodes[old].name());
            let mut places: FxHashMap<(&str, String), usize> = FxHashMap::default();
            for child in &self.olds.nodes[old].children {
                let node = &self.olds.nodes[*child];
                places.insert(
                    (node.state.resource_type.as_str(), node.name().to_owned()),
                    *child,
                );
            }
            let mut following = Vec::new();
            for child in &self.news.nodes[new].children {
                let node = &self.news.nodes[*child];
                let name = match node.name().strip_prefix(parent) {
                    Some(rest) => format!("{former}{rest}"),
                    None => node.name().to_owned(),
                };
                let found = places.get(&(node.state.resource_type.as_str(), name)).copied();
                let fits = |old: &usize| {
                    let before = &self.olds.nodes[*old];
                    before.state.custom == node.state.custom
                        && !self.new_of.contains_key(old)
                        && !self.old_of.contains_key(child)
                };
                following.extend(found.filter(fits).map(|old| (old, *child)));
            }
            for (old, new) in following {
                if !self.new_of.contains_key(&old) {
                    next.push(self.pair(old, new, Why::Follows(leader)));
                }
            }
        }
    }

    fn open_olds(&self, places: &[usize], selects: Selection<'_>) -> Vec<Open<'_, 'a>> {
        let open = |place: &&usize| !self.new_of.contains_key(place) && !self.ambiguous_olds.contains(place);
        let places = places.iter().filter(open);
        let open = places.map(|place| {
            let node = &self.olds.nodes[*place];
            let pair = node.parent.and_then(|old| Some((old, *self.new_of.get(&old)?)));
            Open {
                place: *place,
                node,
                below: pair.map(|(old, _)| (old, self.olds.nodes[old].name())),
                topmost: pair.map(|pair| self.topmost(pair).0),
            }
        });
        open.filter(|open| selects(open.node)).collect()
    }

    fn open_news(&self, places: &[usize], selects: Selection<'_>) -> Vec<Open<'_, 'a>> {
        let open = |place: &&usize| !self.old_of.contains_key(place) && !self.ambiguous_news.contains(place);
        let places = places.iter().filter(open);
        let open = places.map(|place| {
            let node = &self.news.nodes[*place];
            let pair = node.parent.and_then(|new| Some((*self.old_of.get(&new)?, new)));
            Open {
                place: *place,
                node,
                below: pair.map(|(old, new)| (old, self.news.nodes[new].name())),
                topmost: pair.map(|pair| self.topmost(pair).1),
            }
        });
        open.filter(|open| selects(open.node)).collect()
    }

    fn place(&self, open: &Open<'_, '_>) -> Place {
        match (open.below, open.node.parent) {
            (Some((pair, _)), _) => Place::Below(pair),
            (None, Some(_)) => Place::Alone,
            (None, None) => {
                let parent = open.node.state.parent.as_ref();
                Place::Outside(hash_of(&parent.filter(|urn| !urn.is_root_stack())))
            }
        }
    }

    fn likeness(&self, old: usize, new: usize) -> Option<Likeness> {
        let (old, new) = (&self.olds.nodes[old], &self.news.nodes[new]);
        likeness((&self.olds, old), (&self.news, new), self.surroundings(old, new))
    }

    fn surroundings<'n>(&'n self, old: &Node<'_>, new: &Node<'_>) -> Surroundings<'n> {
        let pair = match (old.parent, new.parent) {
            (Some(old), Some(new)) => Some((old, new)).filter(|_| self.new_of.get(&old) == Some(&new)),
            _ => None,
        };
        let same_parent = match (old.parent, new.parent) {
            (None, None) => is_same_place(old.state.parent.as_ref(), new.state.parent.as_ref()),
            _ => pair.is_some(),
        };
        Surroundings {
            same_parent,
            parents: pair.map(|(old, new)| (self.olds.nodes[old].name(), self.news.nodes[new].name())),
            topmost: pair.map(|pair| self.topmost(pair)),
            same_provider: self.is_same_provider(old.state, new.state),
        }
    }

    /// Returns the names of the highest ancestors of a pair that are one, as all between are; of itself, where its parents are none.
    fn topmost(&self, (mut old, mut new): (usize, usize)) -> (&str, &str) {
        while let (Some(older), Some(newer)) = (self.olds.nodes[old].parent, self.news.nodes[new].parent)
            && self.new_of.get(&older) == Some(&newer)
        {
            (old, new) = (older, newer);
        }
        (self.olds.nodes[old].name(), self.news.nodes[new].name())
    }

    /// Returns whether two records have the same provider, or providers that are a pair.
    fn is_same_provider(&self, old: &ResourceState, new: &ResourceState) -> bool {
        match (old.provider_urn(), new.provider_urn()) {
            (Some(old), Some(new)) => {
                let partner = self.olds.place(&old).and_then(|old| self.new_of.get(&old));
                // Of another project or stack, the rest of the URN decides.
                old == new
                    || (old.qualified_type(), old.name()) == (new.qualified_type(), new.name())
                    || partner.is_some_and(|partner| self.news.nodes[*partner].state.urn == new)
            }
            (old, new) => old.is_none() == new.is_none(),
        }
    }

    /// Returns the pairs as suggestions; what follows a pair is part of that one's.
    pub(super) fn suggestions(
        &self,
        language: ProgramLanguage,
        project: Option<RenamedProject<'_>>,
    ) -> Vec<SuggestedMove> {
        let mut suggestions: Vec<SuggestedMove> = Vec::new();
        let mut of_leader: FxHashMap<usize, usize> = FxHashMap::default();
        let mut other_providers: FxHashMap<Option<usize>, OtherProviders> = FxHashMap::default();
        let mut of_project = project.map(|project| {
            let former = Former {
                stack: Some(project.old.stack()).filter(|stack| *stack != project.new.stack()),
                project: Some(project.old.project()).filter(|name| *name != project.new.project()),
                ..Former::default()
            };
            SuggestedMove {
                old_urn: project.old.clone(),
                new_urn: project.new.clone(),
                reason: of_project(project.old, project.new),
                confidence: Some(PROJECT_CONFIDENCE),
                alias: code::alias(&former, language),
                following: Vec::new(),
                accepted: false,
            }
        });
        for (position, found) in self.found.iter().enumerate() {
            let (old, new) = (&self.olds.nodes[found.old], &self.news.nodes[found.new]);
            let (before, after) = (old.state, new.state);
            let moved = MovedResource {
                old_urn: before.urn.clone(),
                new_urn: after.urn.clone(),
            };
            let likeness = match &found.why {
                Why::Follows(leader) => {
                    if let Some(place) = of_leader.get(leader) {
                        suggestions[*place].following.push(moved);
                        if !self.is_same_provider(before, after) {
                            other_providers
                                .entry(Some(*place))
                                .or_default()
                                .add(before, after);
                        }
                    }
                    continue;
                }
                Why::OtherProject => match &mut of_project {
                    Some(suggestion) => {
                        suggestion.following.push(moved);
                        if !self.is_same_provider(before, after) {
                            other_providers.entry(None).or_default().add(before, after);
                        }
                        continue;
                    }
                    None => None,
                },
                Why::Alike(likeness) => Some(likeness),
            };
            let parents = (old.parent, new.parent);
            let follows_parent =
                matches!(parents, (Some(old), Some(new)) if self.new_of.get(&old) == Some(&new));
            let former = Former::between(before, after, follows_parent);
            of_leader.insert(position, suggestions.len());
            suggestions.push(SuggestedMove {
                old_urn: moved.old_urn,
                new_urn: moved.new_urn,
                reason: of_pair(before, after, self.is_same_provider(before, after), likeness),
                confidence: Some(likeness.map_or(PROJECT_CONFIDENCE, |likeness| rounded(likeness.score))),
                alias: code::alias(&former, language),
                following: Vec::new(),
                accepted: false,
            });
        }
        for (place, others) in other_providers {
            let suggestion = match place {
                Some(place) => suggestions.get_mut(place),
                None => of_project.as_mut(),
            };
            if let Some(suggestion) = suggestion {
                suggestion.reason.push_str(&others.reason());
            }
        }
        suggestions.extend(of_project);
        suggestions
    }
}

/// The records that follow a move and have another provider after it.
#[derive(Default)]
struct OtherProviders {
    count: usize,
    /// The change of the first one.
    first: String,
}

impl OtherProviders {
    fn add(&mut self, old: &ResourceState, new: &ResourceState) {
        if self.count == 0 {
            self.first = of_provider(old, new);
        }
        self.count += 1;
    }

    /// Returns the addition to the reason of the move.
    fn reason(self) -> String {
        let Self { count, first } = self;
        match count {
            1 => format!("; {first}, which decides whether it can be kept"),
            _ => format!(
                "; {count} resources that move with it have another provider, which decides whether they can be kept: {first}, for instance"
            ),
        }
    }
}

/// The confidence of a move that changes nothing but the project or the stack.
const PROJECT_CONFIDENCE: f64 = 0.99;

/// Returns a score as a confidence: two decimals, and never certain.
fn rounded(score: f64) -> f64 {
    ((score * 100.0).round() / 100.0).clamp(0.0, PROJECT_CONFIDENCE)
}

/// Returns whether two parents are the same one, the root stack and none being equal.
fn is_same_place(old: Option<&Urn>, new: Option<&Urn>) -> bool {
    let below = |urn: Option<&'_ Urn>| urn.filter(|urn| !urn.is_root_stack()).cloned();
    below(old) == below(new)
}

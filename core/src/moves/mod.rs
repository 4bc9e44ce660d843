//! Suggested moves: which deletions and creations of a preview look like one resource under another URN.
//!
//! [`suggest`] is a function of plain data. Its cost grows with the number of deletions and creations: these are indexed
//! by type, inputs and name, and only those with an equal key that few others have are compared.

mod accept;
mod candidates;
mod choose;
mod code;
mod forest;
mod former;
mod inputs;
mod likeness;
mod matcher;
mod names;
mod reason;
mod renamed_project;
mod rivals;

#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{event::SuggestedMove, resource::ResourceState, urn::Urn};

pub use accept::{AcceptMoves, AcceptedMove, MIN_ACCEPTED_CONFIDENCE};
pub use code::ProgramLanguage;

pub(crate) use accept::{AppliedMoves, same_kind};

use forest::Forest;
use former::Former;
use matcher::Matcher;

/// The suggestions, and the number of comparisons that they took.
#[derive(Debug, Default)]
pub(crate) struct Suggestions {
    /// The suggestions, the most probable ones first.
    pub(crate) moves: Vec<SuggestedMove>,
    /// How many pairs of a deletion and a creation were compared.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests limit it"))]
    pub(crate) comparisons: usize,
}

/// What a preview would delete and create.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) deleted: Vec<&'a ResourceState>,
    pub(crate) created: Vec<&'a ResourceState>,
    /// The records that are kept below another parent or with another URN, each before and after: evidence of a renamed component, and
    /// the parents and providers of records that move with them.
    pub(crate) kept: Vec<(&'a ResourceState, &'a ResourceState)>,
}

/// Suggests moves of deleted records to created ones, with aliases in the language of the program.
pub(crate) fn suggest(changes: &Changes<'_>, language: ProgramLanguage) -> Suggestions {
    let Changes {
        deleted,
        created,
        kept,
    } = changes;
    if deleted.is_empty() || created.is_empty() {
        return Suggestions::default();
    }
    let (former, present) = (urns_of(deleted), urns_of(created));
    let is_below = |parent: &Option<Urn>, urns: &FxHashSet<&Urn>| {
        parent.as_ref().is_some_and(|parent| urns.contains(parent))
    };
    // A record that comes from elsewhere, or goes there, is no evidence of a renamed component.
    let between = |(old, new): &&(&ResourceState, &ResourceState)| {
        is_below(&old.parent, &former) && is_below(&new.parent, &present)
    };
    let (evidence, others): (Vec<_>, Vec<_>) = kept.iter().partition(between);
    let kept = [evidence, renamed_above(deleted, &others)].concat();
    let olds = Forest::new(deleted.iter().copied().chain(kept.iter().map(|(old, _)| *old)));
    let news = Forest::new(created.iter().copied().chain(kept.iter().map(|(_, new)| *new)));
    let mut matcher = Matcher::new(olds, news);
    matcher.keep(&kept);
    let project = matcher.match_projects(deleted, created);
    matcher.match_all();
    let mut moves = matcher.suggestions(language, project);
    moves.sort_by(|left, right| {
        let confidence = |it: &SuggestedMove| it.confidence.unwrap_or_default();
        let by_confidence = confidence(right).total_cmp(&confidence(left));
        by_confidence.then_with(|| left.new_urn.cmp(&right.new_urn))
    });
    Suggestions {
        moves,
        comparisons: matcher.comparisons(),
    }
}

/// Returns the kept records with other URNs above the deleted ones, and those that are their providers: an alias names these already.
fn renamed_above<'a>(
    deleted: &[&ResourceState],
    kept: &[(&'a ResourceState, &'a ResourceState)],
) -> Vec<(&'a ResourceState, &'a ResourceState)> {
    let renamed = kept.iter().filter(|(old, new)| old.urn != new.urn);
    let mut renamed: FxHashMap<&Urn, _> = renamed.map(|pair| (&pair.0.urn, *pair)).collect();
    let mut found = Vec::new();
    if renamed.is_empty() {
        return found;
    }
    let providers = deleted.iter().filter_map(|state| state.provider_urn());
    let parents = deleted.iter().filter_map(|state| state.parent.clone());
    let mut open: Vec<Urn> = parents.chain(providers).collect();
    while let Some(urn) = open.pop() {
        if let Some(pair) = renamed.remove(&urn) {
            open.extend(pair.0.parent.clone());
            found.push(pair);
        }
    }
    found
}

fn urns_of<'a>(records: &[&'a ResourceState]) -> FxHashSet<&'a Urn> {
    records.iter().map(|record| &record.urn).collect()
}

/// Describes a move that the options list although it is not suggested. `follows_parent` is true where a move of the parents is
/// accepted, too.
pub(crate) fn listed(
    old: &ResourceState,
    new: &ResourceState,
    follows_parent: bool,
    language: ProgramLanguage,
) -> SuggestedMove {
    let provider = |state: &ResourceState| state.provider_urn();
    let same_provider = provider(old) == provider(new);
    SuggestedMove {
        old_urn: old.urn.clone(),
        new_urn: new.urn.clone(),
        reason: format!(
            "the options list it: {}",
            reason::of_pair(old, new, same_provider, None)
        ),
        confidence: None,
        alias: code::alias(&Former::between(old, new, follows_parent), language),
        following: Vec::new(),
        accepted: true,
    }
}

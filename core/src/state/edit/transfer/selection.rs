//! Which records move with the named ones, and the URNs that they have in the other stack.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Move, Names};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    resource::ResourceState,
    state::{Snapshot, edit::find::Positions},
    urn::Urn,
};

/// All records of a snapshot, those of pending operations included.
fn records(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<ResourceState>> {
    let pending = snapshot.pending_operations.iter();
    snapshot
        .resources
        .iter()
        .chain(pending.map(|pending| &pending.resource))
}

/// Returns the URNs of the records that move: the named ones, and all below them. A view moves with its owner.
///
/// # Errors
/// [`ErrorKind::NotFound`] for an unknown URN, and when nothing moves; [`ErrorKind::InvalidInput`] for a provider;
/// [`ErrorKind::Conflict`] for a view whose owner stays.
pub(super) fn select(source: &Snapshot, edit: &Move) -> Result<FxHashSet<Urn>> {
    if edit.urns.is_empty() {
        return Err(Error::invalid("move_resources() is given no resource")
            .with_hint("the URN of the stack itself selects all resources below it"));
    }
    let positions = Positions::of(&source.resources);
    positions.require(&edit.urns)?;
    let is_provider = |urn: &Urn| {
        let mut copies = positions.all(urn).iter();
        copies.any(|index| source.resources[*index].is_provider())
    };
    if let Some(provider) = edit.urns.iter().find(|urn| is_provider(urn)) {
        let reference = "cannot move providers. Only resources can be moved, and providers will be included automatically";
        let library =
            format!("the provider '{provider}' cannot be moved: those of the resources that move are copied");
        let error = Error::new(ErrorKind::InvalidInput, Text::pair(reference, library));
        return Err(error.with_urn(provider.clone()));
    }
    let mut open: Vec<Urn> = edit.urns.clone();
    if edit.include_parents {
        for urn in &edit.urns {
            let mut above = parent_of(&positions, source, urn);
            // A chain of parents is no longer than the state.
            for _ in 0..source.resources.len() {
                let Some(parent) = above.filter(|parent| !parent.is_root_stack() && !is_provider(parent))
                else {
                    break;
                };
                open.push(parent.clone());
                above = parent_of(&positions, source, parent);
            }
        }
    }
    let below = below(source);
    let mut chosen: FxHashSet<Urn> = open.iter().cloned().collect();
    while let Some(urn) = open.pop() {
        for child in below.get(&urn).into_iter().flatten() {
            if !child.is_provider() && chosen.insert(child.urn.clone()) {
                open.push(child.urn.clone());
            }
        }
    }
    chosen.retain(|urn| !urn.is_root_stack());
    if !source.resources.iter().any(|record| chosen.contains(&record.urn)) {
        let text = Text::pair(
            "no resources found to move",
            "there is nothing below the stack that could move",
        );
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    refuse_lone_views(source, &chosen)?;
    Ok(chosen)
}

fn parent_of<'a>(positions: &Positions<'_>, source: &'a Snapshot, urn: &Urn) -> Option<&'a Urn> {
    let live = positions
        .live(urn)
        .or_else(|| positions.all(urn).first().copied());
    source.resources[live?].parent.as_ref()
}

/// Returns the children and views of each URN.
fn below(source: &Snapshot) -> FxHashMap<&Urn, Vec<&ResourceState>> {
    let mut below: FxHashMap<&Urn, Vec<&ResourceState>> = FxHashMap::default();
    for record in records(source) {
        for above in record.parent.iter().chain(&record.view_of) {
            below.entry(above).or_default().push(record);
        }
    }
    below
}

/// Refuses views without their owners: without it, the next update would treat a view as a resource of its provider.
fn refuse_lone_views(source: &Snapshot, chosen: &FxHashSet<Urn>) -> Result<()> {
    for record in records(source).filter(|record| chosen.contains(&record.urn)) {
        if let Some(owner) = record.view_of.as_ref().filter(|owner| !chosen.contains(*owner)) {
            let text = format!("'{}' is a view of '{owner}', and moves with it alone", record.urn);
            return Err(Error::new(ErrorKind::Conflict, text)
                .with_urn(record.urn.clone())
                .with_hint(format!("move '{owner}'")));
        }
    }
    Ok(())
}

/// Returns the URNs in the stack `to`, by the present ones: a resource whose parent does not move is below the stack itself, and
/// the types in the URNs of its descendants follow.
pub(super) fn new_urns(source: &Snapshot, chosen: &FxHashSet<Urn>, to: Names<'_>) -> FxHashMap<Urn, Urn> {
    let mut parents: FxHashMap<&Urn, Option<&Urn>> = FxHashMap::default();
    // Of several copies, the parent of the live one counts.
    for record in records(source).filter(|record| chosen.contains(&record.urn)) {
        let parent = record.parent.as_ref().filter(|parent| chosen.contains(*parent));
        if !record.delete || !parents.contains_key(&record.urn) {
            parents.insert(&record.urn, parent);
        }
    }
    let mut renames: FxHashMap<Urn, Urn> = FxHashMap::default();
    renames.reserve(parents.len());
    for urn in parents.keys() {
        let mut chain = vec![*urn];
        while let Some(Some(parent)) = chain.last().and_then(|last| parents.get(last)) {
            if renames.contains_key(*parent) || chain.len() > parents.len() {
                break;
            }
            chain.push(parent);
        }
        for urn in chain.into_iter().rev() {
            if !renames.contains_key(urn) {
                let parent = parents.get(urn).copied().flatten();
                let above = parent.and_then(|parent| Some((parent, renames.get(parent)?)));
                let renamed = in_stack(urn, above, to);
                renames.insert(urn.clone(), renamed);
            }
        }
    }
    renames
}

/// Returns a URN in another stack, below a parent that moves (with its new URN), or at the top.
fn in_stack(urn: &Urn, above: Option<(&Urn, &Urn)>, (project, stack): Names<'_>) -> Urn {
    let Some((parent, new_parent)) = above else {
        return at_top(urn, (project, stack));
    };
    let derived = Urn::new(
        urn.stack(),
        urn.project(),
        parent.qualified_type(),
        urn.resource_type(),
        urn.name(),
    );
    match derived == *urn {
        true => Urn::new(
            stack,
            project,
            new_parent.qualified_type(),
            urn.resource_type(),
            urn.name(),
        ),
        // Its types are not those of its parents, and stay.
        false => Urn::new(stack, project, "", urn.qualified_type(), urn.name()),
    }
}

/// Returns a URN in another stack, directly below the stack itself.
pub(super) fn at_top(urn: &Urn, (project, stack): Names<'_>) -> Urn {
    Urn::new(stack, project, "", urn.resource_type(), urn.name())
}

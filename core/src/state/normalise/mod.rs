//! Alias normalisation: references to former URNs are replaced by the current ones, and aliases are dropped.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    error::{Error, ErrorKind, Result},
    resource::ResourceState,
    state::{
        Snapshot,
        edit::{rewrite_references, rewrite_snippets},
    },
    urn::Urn,
};

/// Rewrites every reference to a former URN and drops the aliases. Nothing is copied when no record has an alias.
///
/// # Errors
/// [`ErrorKind::State`] when two resources claim the same former URN.
pub fn normalise(snapshot: &mut Snapshot) -> Result<()> {
    let mut renames = Renames::of(&snapshot.resources)?;
    if renames.0.is_empty() {
        drop_aliases(snapshot);
        return Ok(());
    }
    renames.add_children(&snapshot.resources);
    let map = |urn: &Urn| renames.0.get(urn).cloned();
    for record in &mut snapshot.resources {
        if let Some(renamed) = rewrite_references(record, &map) {
            *record = Arc::new(renamed);
        }
    }
    rewrite_snippets(snapshot, &map);
    drop_aliases(snapshot);
    Ok(())
}

/// Drops all aliases. They are only used while an operation runs; a saved record has none.
fn drop_aliases(snapshot: &mut Snapshot) {
    let pending = snapshot
        .pending_operations
        .iter_mut()
        .map(|pending| &mut pending.resource);
    for record in snapshot.resources.iter_mut().chain(pending) {
        if !record.aliases.is_empty() {
            Arc::make_mut(record).aliases = Vec::new();
        }
    }
}

/// Current URNs by former ones.
struct Renames(FxHashMap<Urn, Urn>);

impl Renames {
    fn of(records: &[Arc<ResourceState>]) -> Result<Self> {
        let mut renames = FxHashMap::default();
        for record in records {
            for alias in record.aliases.iter().filter(|alias| **alias != record.urn) {
                let previous = renames.insert(alias.clone(), record.urn.clone());
                if let Some(other) = previous.filter(|other| *other != record.urn) {
                    let message = format!(
                        "two resources ('{other}' and '{}') aliased to the same: '{alias}'",
                        record.urn
                    );
                    return Err(Error::new(ErrorKind::State, message).with_urn(record.urn.clone()));
                }
            }
        }
        Ok(Self(renames))
    }

    /// Adds the children of parents whose type changed: a URN contains the types of its parents.
    ///
    /// One level only, as in the reference engine, and never to a URN that exists. An old copy has the URN of its successor, and the
    /// successor's parent decides.
    fn add_children(&mut self, records: &[Arc<ResourceState>]) {
        let mut children = Vec::new();
        let mut taken = None;
        let mut live = None;
        for record in records {
            let Some(parent) = record.parent.as_ref().and_then(|parent| self.0.get(parent)) else {
                continue;
            };
            let own = &record.urn;
            let implied = Urn::new(
                own.stack(),
                own.project(),
                parent.qualified_type(),
                own.resource_type(),
                own.name(),
            );
            if implied == *own || self.0.contains_key(own) {
                continue;
            }
            let mut is_succeeded = || {
                let live = live.get_or_insert_with(|| urns(records.iter().filter(|record| !record.delete)));
                live.contains(own)
            };
            if record.delete && is_succeeded() {
                continue;
            }
            let taken = taken.get_or_insert_with(|| urns(records.iter()));
            if !taken.contains(&implied) {
                children.push((own.clone(), implied));
            }
        }
        self.0.extend(children);
    }
}

fn urns<'a>(records: impl Iterator<Item = &'a Arc<ResourceState>>) -> FxHashSet<&'a Urn> {
    records.map(|record| &record.urn).collect()
}

#[cfg(test)]
mod tests;

//! Alias normalisation: references to former URNs are replaced by the current ones, and aliases are dropped.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    error::{Error, ErrorKind, Result},
    resource::ResourceState,
    state::Snapshot,
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
    for record in &mut snapshot.resources {
        if let Some(renamed) = renames.apply(record) {
            *record = Arc::new(renamed);
        }
    }
    for snippet in snapshot
        .extra
        .get_mut("snippets")
        .and_then(serde_json::Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(references) = snippet.get_mut("references") {
            renames.apply_to_json(references);
        }
    }
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
    /// One level only, as in the reference engine, and never to a URN that exists.
    fn add_children(&mut self, records: &[Arc<ResourceState>]) {
        let mut children = Vec::new();
        let mut taken = None;
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
            let taken = taken
                .get_or_insert_with(|| records.iter().map(|record| &record.urn).collect::<FxHashSet<_>>());
            if !taken.contains(&implied) {
                children.push((own.clone(), implied));
            }
        }
        self.0.extend(children);
    }

    fn fix(&self, urn: &mut Urn) -> bool {
        match self.0.get(urn) {
            Some(present) => {
                *urn = present.clone();
                true
            }
            None => false,
        }
    }

    /// Returns the record with its references rewritten, or `None` when it has none to rewrite.
    fn apply(&self, record: &ResourceState) -> Option<ResourceState> {
        let known = |urn: &Urn| self.0.contains_key(urn);
        let provider = record.provider_urn().and_then(|urn| self.0.get(&urn));
        let mut touched =
            known(&record.urn) || provider.is_some() || record.view_of.as_ref().is_some_and(known);
        record.for_each_dependency(|urn| touched |= known(urn));
        if !touched {
            return None;
        }
        let mut renamed = record.clone();
        self.fix(&mut renamed.urn);
        if let (Some(urn), Some((_, id))) = (provider, record.provider.rsplit_once("::")) {
            renamed.provider = smol_str::format_smolstr!("{urn}::{id}");
        }
        let single = [
            &mut renamed.parent,
            &mut renamed.options.deleted_with,
            &mut renamed.view_of,
        ];
        for urn in single.into_iter().flatten() {
            self.fix(urn);
        }
        let lists = [&mut renamed.dependencies, &mut renamed.options.replace_with];
        for urn in lists.into_iter().flatten() {
            self.fix(urn);
        }
        renamed.property_dependencies.for_each_mut(|urns| {
            for urn in urns {
                self.fix(urn);
            }
        });
        Some(renamed)
    }

    fn apply_to_json(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => {
                if let Some(present) = Urn::parse(text).ok().and_then(|urn| self.0.get(&urn)) {
                    *text = present.to_string();
                }
            }
            serde_json::Value::Array(values) => values.iter_mut().for_each(|value| self.apply_to_json(value)),
            serde_json::Value::Object(values) => {
                values.values_mut().for_each(|value| self.apply_to_json(value));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;

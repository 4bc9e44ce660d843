//! The views of each record, by the record's identity.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    executor::Step,
    resource::ResourceState,
    state::{StateId, StateRef},
    step::StepOp,
    urn::Urn,
};

/// The current views of all records that have some. Cloning is cheap; all clones share the book.
#[derive(Clone, Default)]
pub(crate) struct ViewBook(Arc<Mutex<FxHashMap<StateId, Vec<StateRef>>>>);

impl ViewBook {
    fn views(&self) -> MutexGuard<'_, FxHashMap<StateId, Vec<StateRef>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the contents by the views among `records`.
    pub(crate) fn fill(&self, records: &[StateRef]) {
        *self.views() = by_owner(records);
    }

    /// Returns the views of a record, each after its parent.
    pub(crate) fn of(&self, owner: StateId) -> Vec<StateRef> {
        self.views().get(&owner).cloned().unwrap_or_default()
    }

    /// Removes and returns the views of a record.
    pub(crate) fn take(&self, owner: StateId) -> Vec<StateRef> {
        self.views().remove(&owner).unwrap_or_default()
    }

    /// Sets the views of a record.
    pub(crate) fn put(&self, owner: StateId, views: Vec<StateRef>) {
        if views.is_empty() {
            self.views().remove(&owner);
        } else {
            self.views().insert(owner, views);
        }
    }

    /// Returns whether the old record of a step has views.
    pub(crate) fn has_of_old(&self, step: &Step) -> bool {
        step.old
            .as_ref()
            .is_some_and(|old| self.views().contains_key(&old.id))
    }

    /// Returns the identities of the views that are removed, or marked, together with the old record of a step.
    pub(crate) fn ids_of_old(&self, step: &Step) -> Vec<StateId> {
        let old = step.old.as_ref().map(|old| self.of(old.id));
        old.into_iter().flatten().map(|view| view.id).collect()
    }

    /// Removes and returns the views of the old record for the new one. An old copy keeps its views.
    pub(super) fn take_for_new(&self, step: &Step) -> Vec<StateRef> {
        let Some(old) = &step.old else {
            return Vec::new();
        };
        match (step.op, step.detail.pending_delete) {
            (StepOp::Replace, _) => Vec::new(),
            (StepOp::CreateReplacement, false) => {
                self.take(old.id);
                Vec::new()
            }
            (StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement, _) => {
                let mut views = self.take(old.id);
                for view in &mut views {
                    Arc::make_mut(&mut view.state).delete = true;
                }
                self.put(old.id, views);
                Vec::new()
            }
            _ if step.detail.skipped_create => Vec::new(),
            _ => self.take(old.id),
        }
    }
}

/// Groups views by the record of their owner. When old copies of the owner exist, views belong to the last of its
/// records before them.
fn by_owner(records: &[StateRef]) -> FxHashMap<StateId, Vec<StateRef>> {
    let mut views: FxHashMap<StateId, Vec<StateRef>> = FxHashMap::default();
    let owners: FxHashSet<&Urn> = records
        .iter()
        .filter_map(|record| record.state.view_of.as_ref())
        .collect();
    if owners.is_empty() {
        return views;
    }
    let mut last: FxHashMap<&Urn, StateId> = FxHashMap::default();
    for record in records {
        let state = &record.state;
        if let Some(owner) = state.view_of.as_ref().and_then(|owner| last.get(owner)) {
            views.entry(*owner).or_default().push(record.clone());
        }
        if owners.contains(&state.urn) && state.view_of.is_none() {
            last.insert(&state.urn, record.id);
        }
    }
    views
}

/// Returns the views with URNs for the owner `new` instead of `old`.
pub(super) fn adopted(views: Vec<StateRef>, old: &Urn, new: &Urn) -> Vec<StateRef> {
    if old == new {
        return views;
    }
    let mut renamed = FxHashMap::from_iter([(old.clone(), new.clone())]);
    let adopt = |mut record: StateRef| {
        let state = Arc::make_mut(&mut record.state);
        state.view_of = Some(new.clone());
        if let Some(parent) = state.parent.as_ref().and_then(|parent| renamed.get(parent)) {
            state.parent = Some(parent.clone());
        }
        rename(state);
        if let [former] = &*state.aliases {
            renamed.insert(former.clone(), state.urn.clone());
        }
        record
    };
    views.into_iter().map(adopt).collect()
}

/// Sets the URN of a view by its parent; the former URN becomes an alias.
fn rename(state: &mut ResourceState) {
    let Some(parent) = &state.parent else { return };
    let own = &state.urn;
    let urn = Urn::new(
        own.stack(),
        own.project(),
        parent.qualified_type(),
        own.resource_type(),
        own.name(),
    );
    if urn != *own {
        state.aliases = vec![std::mem::replace(&mut state.urn, urn)];
    }
}

/// Returns the URNs of the views inside the view `urn`, at any depth.
pub(super) fn inside(views: &[StateRef], urn: &Urn) -> FxHashSet<Urn> {
    let mut found = FxHashSet::default();
    for view in views {
        let parent = view.state.parent.as_ref();
        if parent.is_some_and(|parent| parent == urn || found.contains(parent)) {
            found.insert(view.state.urn.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(kind: &str, name: &str) -> Urn {
        Urn::new("dev", "shop", "", kind, name)
    }

    fn record(id: u64, urn: &Urn, parent: Option<&Urn>, owner: Option<&Urn>) -> StateRef {
        let mut state = ResourceState::new(urn.clone(), urn.resource_type().into(), owner.is_none());
        state.parent = parent.cloned();
        state.view_of = owner.cloned();
        StateRef {
            id: StateId(id),
            state: Arc::new(state),
        }
    }

    fn ids(views: &[StateRef]) -> Vec<u64> {
        views.iter().map(|view| view.id.0).collect()
    }

    #[test]
    fn a_view_belongs_to_the_last_copy_of_its_owner_that_stands_before_it() {
        let (owner, part) = (urn("a:b:Owner", "o"), urn("a:b:Owner$a:b:Part", "p"));
        let book = ViewBook::default();
        book.fill(&[
            record(0, &owner, None, None),
            record(1, &urn("a:b:Thing", "t"), Some(&owner), None),
            record(2, &part, Some(&owner), Some(&owner)),
            record(3, &owner, None, None),
            record(4, &part, Some(&owner), Some(&owner)),
        ]);
        assert_eq!(ids(&book.of(StateId(0))), [2]);
        assert_eq!(ids(&book.of(StateId(3))), [4]);
        assert!(book.of(StateId(1)).is_empty());
        book.fill(&[]);
        assert!(book.of(StateId(0)).is_empty());
    }

    #[test]
    fn views_of_a_renamed_owner_are_renamed_with_those_inside_them() {
        let (old, new) = (urn("a:b:Old", "o"), urn("a:b:New", "o"));
        let outer = urn("a:b:Old$a:b:Part", "p");
        let inner = urn("a:b:Old$a:b:Part$a:b:Part", "q");
        let views = vec![
            record(1, &outer, Some(&old), Some(&old)),
            record(2, &inner, Some(&outer), Some(&old)),
        ];
        let adopted = adopted(views, &old, &new);
        let (first, second) = (&adopted[0].state, &adopted[1].state);
        assert_eq!(
            (first.view_of.as_ref(), first.parent.as_ref()),
            (Some(&new), Some(&new))
        );
        assert_eq!(first.urn, urn("a:b:New$a:b:Part", "p"));
        assert_eq!(first.aliases, [outer]);
        assert_eq!(second.parent.as_ref(), Some(&first.urn));
        assert_eq!(second.urn, urn("a:b:New$a:b:Part$a:b:Part", "q"));
    }

    #[test]
    fn an_owner_of_another_name_leaves_the_urns_of_its_views_as_they_are() {
        let (old, new) = (urn("a:b:Owner", "o"), urn("a:b:Owner", "n"));
        let part = urn("a:b:Owner$a:b:Part", "p");
        let adopted = adopted(vec![record(1, &part, Some(&old), Some(&old))], &old, &new);
        assert_eq!(adopted[0].state.urn, part);
        assert_eq!(adopted[0].state.parent, Some(new));
        assert!(adopted[0].state.aliases.is_empty());
    }

    #[test]
    fn what_lies_in_a_view_is_found_however_deep() {
        let (owner, a, b, c) = (
            urn("a:b:Owner", "o"),
            urn("a:b:Owner$x:y:A", "a"),
            urn("a:b:Owner$x:y:A$x:y:B", "b"),
            urn("a:b:Owner$x:y:C", "c"),
        );
        let views = [
            record(1, &a, Some(&owner), Some(&owner)),
            record(2, &b, Some(&a), Some(&owner)),
            record(3, &c, Some(&owner), Some(&owner)),
            record(4, &urn("a:b:D", "d"), Some(&b), Some(&owner)),
        ];
        assert_eq!(inside(&views, &a), FxHashSet::from_iter([b, urn("a:b:D", "d")]));
        assert_eq!(inside(&views, &c), FxHashSet::default());
    }
}

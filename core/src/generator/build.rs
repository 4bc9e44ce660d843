//! The record of a goal before Check, and its dependencies.

use rustc_hash::FxHashSet;

use crate::{
    resource::{Goal, ResourceState},
    urn::Urn,
};

/// Builds the new record of a registration; the engine's own fields are copied from the old one.
pub(super) fn new_state(goal: &Goal, urn: Urn, old: Option<&ResourceState>) -> ResourceState {
    ResourceState {
        inputs: goal.inputs.clone(),
        parent: goal.parent.clone(),
        protect: goal.protect.unwrap_or(false),
        dependencies: goal.dependencies.clone(),
        provider: goal.provider.clone(),
        property_dependencies: goal.property_dependencies.clone(),
        aliases: old
            .filter(|old| old.urn != urn)
            .map(|old| old.urn.clone())
            .into_iter()
            .collect(),
        retain_on_delete: goal.retain_on_delete.unwrap_or(false),
        options: goal.options.clone(),
        created: old.and_then(|old| old.created),
        modified: old.and_then(|old| old.modified),
        source_position: goal.source_position.clone(),
        stack_trace: goal.stack_trace.clone(),
        refresh_before_update: old.is_some_and(|old| old.refresh_before_update),
        extension_ref: goal
            .extension
            .as_ref()
            .map(|extension| extension.reference().clone())
            .unwrap_or_default(),
        ..ResourceState::new(urn, goal.resource_type.clone(), goal.custom)
    }
}

/// Returns the resources whose records must precede that of the goal.
pub(super) fn dependencies_of(goal: &Goal) -> Vec<Urn> {
    let listed = goal
        .parent
        .iter()
        .chain(&goal.dependencies)
        .chain(goal.property_dependencies.lists().flatten())
        .chain(&goal.options.deleted_with)
        .chain(&goal.options.replace_with);
    let mut seen = FxHashSet::default();
    let mut needs: Vec<Urn> = listed.filter(|urn| seen.insert(*urn)).cloned().collect();
    let provider = goal.provider.rsplit_once("::").map(|(urn, _)| urn);
    needs.extend(provider.and_then(|urn| Urn::parse(urn).ok()));
    needs
}

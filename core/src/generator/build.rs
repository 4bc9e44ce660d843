//! The record that a goal asks for, before the provider has seen it.

use crate::{
    resource::{Goal, ResourceState},
    urn::Urn,
};

/// Builds the new record of a registration; what only the engine knows is taken over from the old one.
pub(crate) fn new_state(goal: &Goal, urn: Urn, old: Option<&ResourceState>) -> ResourceState {
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
        ..ResourceState::new(urn, goal.resource_type.clone(), goal.custom)
    }
}

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
        additional_secret_outputs: goal.additional_secret_outputs.clone(),
        aliases: old
            .filter(|old| old.urn != urn)
            .map(|old| old.urn.clone())
            .into_iter()
            .collect(),
        custom_timeouts: goal.custom_timeouts,
        import_id: goal.import_id.clone(),
        retain_on_delete: goal.retain_on_delete.unwrap_or(false),
        deleted_with: goal.deleted_with.clone(),
        replace_with: goal.replace_with.clone(),
        created: old.and_then(|old| old.created),
        modified: old.and_then(|old| old.modified),
        source_position: goal.source_position.clone(),
        stack_trace: goal.stack_trace.clone(),
        ignore_changes: goal.ignore_changes.clone(),
        hide_diffs: goal.hide_diffs.clone(),
        replace_on_changes: goal.replace_on_changes.clone(),
        replacement_trigger: goal.replacement_trigger.clone(),
        refresh_before_update: old.is_some_and(|old| old.refresh_before_update),
        resource_hooks: goal.resource_hooks.clone(),
        ..ResourceState::new(urn, goal.resource_type.clone(), goal.custom)
    }
}

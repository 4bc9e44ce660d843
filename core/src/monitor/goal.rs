//! The goal of a registration.

use smol_str::SmolStr;

use crate::{
    monitor::Registration,
    resource::{Goal, PropertyDependencies},
};

/// Builds the goal; large values are moved out of the registration, which keeps the inheritable options.
pub(super) fn goal_of(registration: &mut Registration) -> Goal {
    let inputs = std::mem::take(&mut registration.inputs);
    let dependencies = std::mem::take(&mut registration.dependencies);
    let property_dependencies = match registration.property_dependencies.take() {
        // One list for each input, empty for inputs without dependencies; entries of other names are kept as well.
        Some(mut known) => {
            known.complete(inputs.keys());
            known
        }
        None => PropertyDependencies::sharing(inputs.keys().cloned(), dependencies.clone()),
    };
    let mut options = std::mem::take(&mut registration.options);
    if !options.hide_diffs.is_empty() {
        options.normalize_paths();
    }
    Goal {
        resource_type: registration.resource_type.clone(),
        name: registration.name.clone(),
        custom: registration.custom,
        inputs,
        parent: registration.parent.clone(),
        protect: registration.protect,
        dependencies,
        provider: SmolStr::default(),
        extension: None,
        property_dependencies,
        delete_before_replace: registration.delete_before_replace,
        aliases: std::mem::take(&mut registration.aliases),
        retain_on_delete: registration.retain_on_delete,
        options,
        source_position: registration.source_position.take(),
        stack_trace: std::mem::take(&mut registration.stack_trace),
    }
}

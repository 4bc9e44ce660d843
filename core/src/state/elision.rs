//! Elision: whether a `same` step, or published outputs, changed anything that is worth a write.

use rustc_hash::FxHashSet;

use crate::{resource::ResourceState, urn::Urn};

/// Tells whether the change from `old` to `new` may wait for the end of the operation.
///
/// These are the reference engine's rules, and of its two lists of them the stricter: a change of anything that
/// decides over the order of records, their identity or their values is written at once; source positions,
/// timestamps, `ignoreChanges` and the like are not.
#[must_use]
pub fn may_elide(old: &ResourceState, new: &ResourceState) -> bool {
    old.urn == new.urn
        && old.resource_type == new.resource_type
        && old.custom == new.custom
        && old.id == new.id
        && old.delete == new.delete
        && old.pending_replacement == new.pending_replacement
        && old.custom_timeouts == new.custom_timeouts
        && old.retain_on_delete == new.retain_on_delete
        && old.provider == new.provider
        && old.parent == new.parent
        && old.deleted_with == new.deleted_with
        && old.replace_with == new.replace_with
        && old.protect == new.protect
        && old.external == new.external
        && old.taint == new.taint
        && old.resource_hooks == new.resource_hooks
        && old.replacement_trigger == new.replacement_trigger
        && same_set(&old.dependencies, &new.dependencies)
        && old.property_dependencies == new.property_dependencies
        && old.inputs == new.inputs
        && old.outputs == new.outputs
}

fn same_set(left: &[Urn], right: &[Urn]) -> bool {
    if left == right {
        return true;
    }
    left.iter().collect::<FxHashSet<_>>() == right.iter().collect::<FxHashSet<_>>()
}

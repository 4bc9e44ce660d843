//! Elision: whether the write of a `same` step, or of published outputs, may be skipped.

use rustc_hash::FxHashSet;

use crate::{resource::ResourceState, urn::Urn};

/// Returns whether the change from `old` to `new` may be written at the end of the operation only.
///
/// The rules are the stricter one of the reference engine's two lists: a change of the order, identity or values of
/// records is written at once. Source positions, timestamps, `ignoreChanges` and similar fields are not.
#[must_use]
pub(crate) fn may_elide_write(old: &ResourceState, new: &ResourceState) -> bool {
    old.urn == new.urn
        && old.resource_type == new.resource_type
        && old.custom == new.custom
        && old.id == new.id
        && old.delete == new.delete
        && old.pending_replacement == new.pending_replacement
        && old.options.custom_timeouts == new.options.custom_timeouts
        && old.retain_on_delete == new.retain_on_delete
        && old.provider == new.provider
        && old.parent == new.parent
        && old.view_of == new.view_of
        && old.options.deleted_with == new.options.deleted_with
        && old.options.replace_with == new.options.replace_with
        && old.protect == new.protect
        && old.external == new.external
        && old.taint == new.taint
        && old.options.resource_hooks == new.options.resource_hooks
        && old.options.replacement_trigger == new.options.replacement_trigger
        && same_set(&old.dependencies, &new.dependencies)
        && old.property_dependencies == new.property_dependencies
        && old.inputs == new.inputs
        && old.outputs == new.outputs
}

/// Keeps the recorded order of dependencies where only the order differs: it depends on the timing of the program's
/// resources, and is not worth a write.
pub(crate) fn keep_order(old: &ResourceState, new: &mut ResourceState) {
    if same_set(&old.dependencies, &new.dependencies) {
        new.dependencies.clone_from(&old.dependencies);
    }
    if old
        .property_dependencies
        .is_like(&new.property_dependencies, same_set)
    {
        new.property_dependencies = old.property_dependencies.clone();
    }
}

fn same_set(left: &[Urn], right: &[Urn]) -> bool {
    if left == right {
        return true;
    }
    left.iter().collect::<FxHashSet<_>>() == right.iter().collect::<FxHashSet<_>>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resource::PropertyDependencies, token::TypeToken};

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn depending_on(names: &[&str]) -> ResourceState {
        let urns: Vec<Urn> = names.iter().map(|name| urn(name)).collect();
        let mut state = ResourceState::new(urn("it"), TypeToken::from("pkg:index:Type"), true);
        state.property_dependencies = PropertyDependencies::sharing(["p".into(), "q".into()], urns.clone());
        state.dependencies = urns;
        state
    }

    #[test]
    fn dependencies_in_another_order_are_no_change() {
        let old = depending_on(&["a", "b", "c"]);
        let mut new = depending_on(&["c", "a", "b"]);
        keep_order(&old, &mut new);
        assert_eq!(new, old);
    }

    #[test]
    fn other_dependencies_stay_as_registered() {
        let old = depending_on(&["a", "b"]);
        let mut new = depending_on(&["b", "c"]);
        new.property_dependencies.insert("q", vec![urn("b"), urn("a")]);
        let registered = new.clone();
        keep_order(&old, &mut new);
        assert_eq!(new, registered);
    }
}

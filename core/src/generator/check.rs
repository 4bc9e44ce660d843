//! The inputs of Check.

use crate::{
    property::{PropertyMap, path::reset_all},
    resource::{Goal, ResourceState},
};

/// Returns whether Check gets no old inputs: because there are none, or because the resource is created in any case.
pub(super) fn starts_fresh(old: Option<&ResourceState>, is_recreated: bool, is_targeted: bool) -> bool {
    is_recreated || is_targeted || old.is_none_or(|old| old.external)
}

/// Returns the goal's inputs with the old values of `ignoreChanges`, and a message if some could not be restored.
pub(super) fn ignore_changes(goal: &Goal, old: Option<&PropertyMap>) -> (PropertyMap, Option<String>) {
    let (Some(old), false) = (old, goal.options.ignore_changes.is_empty()) else {
        return (goal.inputs.clone(), None);
    };
    let (inputs, failed) = reset_all(&goal.options.ignore_changes, old, goal.inputs.clone());
    let text = (!failed.is_empty()).then(|| {
        format!(
            "cannot ignore changes in added or removed elements of the path: \"{}\"",
            failed.join(", ")
        )
    });
    (inputs, text)
}

/// Returns a warning for each input with a reserved name. Dynamic and bridged providers use some of these on purpose,
/// and the engine's own fields of providers have that form.
pub(super) fn reserved_names(goal: &Goal) -> impl Iterator<Item = String> {
    const IN_USE: [&str; 3] = ["__provider", "__defaults", "__internal"];
    let keys = goal.inputs.keys().map(|key| key.as_str());
    let reserved = keys.filter(|key| key.starts_with("__") && !IN_USE.contains(key));
    reserved
        .map(|key| format!("internal key {key:?}: names of properties that begin with \"__\" are reserved"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{property::PropertyValue, token::TypeToken, urn::Urn};

    fn state(external: bool) -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        ResourceState {
            external,
            ..ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true)
        }
    }

    #[test]
    fn only_a_record_that_goes_on_gives_check_its_old_inputs() {
        let (managed, external) = (state(false), state(true));
        let table = [
            (None, false, false, true),
            (Some(&managed), false, false, false),
            (Some(&managed), true, false, true),
            (Some(&managed), false, true, true),
            (Some(&external), false, false, true),
        ];
        for (row, (old, is_recreated, is_targeted, expected)) in table.into_iter().enumerate() {
            assert_eq!(
                starts_fresh(old, is_recreated, is_targeted),
                expected,
                "row {row}"
            );
        }
    }

    #[test]
    fn names_that_the_engine_uses_are_not_reported_as_reserved() {
        let inputs = ["__provider", "__mine", "plain", "__internal"];
        let goal = Goal {
            inputs: inputs
                .into_iter()
                .map(|key| (key, PropertyValue::from("x")))
                .collect(),
            ..Goal::default()
        };
        let found: Vec<_> = reserved_names(&goal).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("__mine"));
    }
}

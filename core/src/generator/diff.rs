//! The difference between a record and a goal: none, an update, or a replacement.

use crate::{
    event::{DetailedDiff, DiffKind},
    executor::Step,
    property::{PropertyMap, PropertyPath, PropertyValue},
    provider::{DiffChanges, DiffResponse},
    resource::ResourceState,
    urn::Urn,
};

/// The difference, and the resulting action.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Difference {
    /// The action.
    pub(crate) change: Change,
    /// Properties that force a replacement.
    pub(crate) keys: Vec<String>,
    /// Properties that differ.
    pub(crate) diffs: Vec<String>,
    /// How each differs.
    pub(crate) detailed: Option<DetailedDiff>,
    /// The provider requires the deletion of the old resource first.
    pub(crate) delete_before_replace: bool,
}

/// The action for a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Change {
    #[default]
    Same,
    Update,
    Replace,
}

impl Difference {
    /// Returns a replacement that is decided without a comparison, for the property `key`.
    pub(crate) fn replacement(key: Option<&str>) -> Self {
        Self {
            change: Change::Replace,
            keys: key.map(ToOwned::to_owned).into_iter().collect(),
            ..Self::default()
        }
    }

    /// Copies the difference to a step.
    pub(crate) fn describe(&self, step: Step) -> Step {
        step.with_diff(self.keys.clone(), self.diffs.clone(), self.detailed.clone())
    }

    /// Returns whether any property forces a replacement, changed or not.
    pub(crate) fn asks_for_replacement(&self) -> bool {
        let mut detailed = self.detailed.iter().flat_map(DetailedDiff::values);
        !self.keys.is_empty() || detailed.any(|property| is_replacement(property.kind))
    }

    /// Returns a component's difference: an update if its inputs differ.
    pub(crate) fn of_component(old: &PropertyMap, new: &PropertyMap) -> Self {
        let change = if old.is_equivalent(new) {
            Change::Same
        } else {
            Change::Update
        };
        Self {
            change,
            ..Self::default()
        }
    }
}

/// A replacement without a comparison, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forced {
    /// The comparison decides.
    No,
    /// The replacement trigger has fired.
    ByTrigger,
    /// This property of the resource forces it.
    By(&'static str),
    /// The replacement trigger is unknown, which only a preview accepts.
    UnknownTrigger,
}

/// Decides whether a resource is replaced without a comparison. `is_targeted`: the user demands a replacement, or the
/// record is tainted. `is_replaced` returns whether this run has replaced a resource so far.
pub(super) fn forced(
    old: &ResourceState,
    new: &ResourceState,
    is_targeted: bool,
    preview: bool,
    is_replaced: impl Fn(&Urn) -> bool,
) -> Forced {
    let trigger = new.options.replacement_trigger.as_ref();
    if !preview && trigger.is_some_and(PropertyValue::contains_unknowns) {
        Forced::UnknownTrigger
    } else if trigger_fires(old.options.replacement_trigger.as_ref(), trigger) {
        Forced::ByTrigger
    } else if is_targeted {
        Forced::By("id")
    } else if new.options.replace_with.iter().any(&is_replaced) {
        Forced::By("replaceWith")
    } else if new.options.deleted_with.as_ref().is_some_and(is_replaced) {
        Forced::By("deletedWith")
    } else {
        Forced::No
    }
}

/// Interprets the response of Diff; a comparison of the inputs has completed an unknown response.
///
/// `has_init_errors` is true when the last creation or update did not complete: it is retried as an update.
pub(crate) fn interpret(
    response: DiffResponse,
    replace_on_changes: &[PropertyPath],
    has_init_errors: bool,
    pending_replacement: bool,
) -> Difference {
    let mut changes = response.changes;
    let mut difference = Difference {
        keys: response.replaces,
        diffs: response.diffs,
        detailed: response.detailed_diff,
        delete_before_replace: response.delete_before_replace,
        ..Difference::default()
    };
    if changes == DiffChanges::Some || has_init_errors {
        apply_replace_on_changes(&mut difference, replace_on_changes, has_init_errors, &mut changes);
    }
    let replaces = difference.asks_for_replacement();
    let changed = changes == DiffChanges::Some;
    difference.change = if pending_replacement || (changed && replaces) {
        Change::Replace
    } else if changed || has_init_errors {
        Change::Update
    } else {
        Change::Same
    };
    difference
}

fn is_replacement(kind: DiffKind) -> bool {
    matches!(
        kind,
        DiffKind::AddReplace | DiffKind::DeleteReplace | DiffKind::UpdateReplace
    )
}

fn apply_replace_on_changes(
    difference: &mut Difference,
    paths: &[PropertyPath],
    has_init_errors: bool,
    changes: &mut DiffChanges,
) {
    if paths.is_empty() {
        return;
    }
    let covers = |text: &str| {
        PropertyPath::parse(text).is_ok_and(|path| paths.iter().any(|wanted| wanted.contains(&path)))
    };
    for (path, property) in difference.detailed.iter_mut().flatten() {
        if covers(path) {
            property.kind = match property.kind {
                DiffKind::Add => DiffKind::AddReplace,
                DiffKind::Delete => DiffKind::DeleteReplace,
                DiffKind::Update => DiffKind::UpdateReplace,
                kind => kind,
            };
        }
    }
    for key in &difference.diffs {
        if covers(key) && !difference.keys.contains(key) {
            difference.keys.push(key.clone());
        }
    }
    if has_init_errors && covers("[\"#initerror\"]") {
        difference.keys.push("#initerror".to_owned());
        *changes = DiffChanges::Some;
    }
}

/// Returns whether a replacement trigger fires: both sides are set, and they differ or one is unknown.
fn trigger_fires(old: Option<&PropertyValue>, new: Option<&PropertyValue>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let (old, new) = (old.without_wrappers(), new.without_wrappers());
    if old.is_null() || new.is_null() {
        return false;
    }
    old.contains_unknowns() || new.contains_unknowns() || !old.is_equivalent(&new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn state(edit: impl FnOnce(&mut ResourceState)) -> ResourceState {
        let mut state = ResourceState::new(urn("a"), TypeToken::from("pkg:index:Type"), true);
        edit(&mut state);
        state
    }

    #[test]
    fn what_forces_a_replacement_is_decided_in_the_order_of_the_specification() {
        let trigger = |value: PropertyValue| {
            state(|state| {
                state.options.replacement_trigger = Some(value);
                state.options.replace_with = vec![urn("b")];
            })
        };
        let (one, two) = (trigger(1.0.into()), trigger(2.0.into()));
        let unknown = trigger(PropertyValue::unknown());
        let replace_with = state(|state| {
            state.options.replace_with = vec![urn("b")];
            state.options.deleted_with = Some(urn("b"));
        });
        let deleted_with = state(|state| state.options.deleted_with = Some(urn("b")));
        let plain = state(|_| {});
        // The record, the goal, whether the user demands a replacement, whether nothing is changed, and the decision.
        let table = [
            (&one, &unknown, true, false, Forced::UnknownTrigger),
            (&one, &unknown, true, true, Forced::ByTrigger),
            (&one, &two, true, false, Forced::ByTrigger),
            (&one, &one, true, false, Forced::By("id")),
            (&one, &one, false, false, Forced::By("replaceWith")),
            (&plain, &unknown, false, true, Forced::By("replaceWith")),
            (&plain, &replace_with, false, false, Forced::By("replaceWith")),
            (&plain, &deleted_with, false, false, Forced::By("deletedWith")),
            (&plain, &plain, true, false, Forced::By("id")),
            (&plain, &plain, false, false, Forced::No),
        ];
        for (row, (old, new, is_targeted, preview, expected)) in table.into_iter().enumerate() {
            let found = forced(old, new, is_targeted, preview, |urn| urn.name() == "b");
            assert_eq!(found, expected, "row {row}");
        }
        let found = forced(&plain, &replace_with, false, false, |_| false);
        assert_eq!(found, Forced::No);
    }

    fn map(text: &str) -> PropertyMap {
        [("a", PropertyValue::from(text))].into_iter().collect()
    }

    #[test]
    fn a_provider_that_cannot_tell_leaves_it_to_the_inputs() {
        let completed = |new: &str| DiffResponse::default().completed(&map("x"), &map(new));
        let same = interpret(completed("x"), &[], false, false);
        assert_eq!(same.change, Change::Same);
        let update = interpret(completed("y"), &[], false, false);
        assert_eq!(
            (update.change, update.diffs.as_slice()),
            (Change::Update, ["a".to_owned()].as_slice())
        );
    }

    #[test]
    fn a_failed_initialization_is_retried_although_nothing_differs() {
        let response = DiffResponse {
            changes: DiffChanges::None,
            ..DiffResponse::default()
        };
        assert_eq!(interpret(response, &[], true, false).change, Change::Update);
    }

    #[test]
    fn a_changed_property_named_by_replace_on_changes_replaces() {
        let response = DiffResponse {
            changes: DiffChanges::Some,
            diffs: vec!["a".into()],
            ..DiffResponse::default()
        };
        let wanted = [PropertyPath::parse("*").unwrap()];
        let difference = interpret(response, &wanted, false, false);
        assert_eq!(
            (difference.change, difference.keys.as_slice()),
            (Change::Replace, ["a".to_owned()].as_slice())
        );
    }

    #[test]
    fn delete_before_replace_alone_replaces_nothing() {
        let response = DiffResponse {
            changes: DiffChanges::Some,
            delete_before_replace: true,
            ..DiffResponse::default()
        };
        assert_eq!(interpret(response, &[], false, false).change, Change::Update);
    }

    #[test]
    fn a_trigger_needs_a_value_on_both_sides() {
        let (one, two) = (PropertyValue::from(1.0), PropertyValue::from(2.0));
        assert!(trigger_fires(Some(&one), Some(&two)));
        assert!(!trigger_fires(Some(&one), Some(&one)));
        assert!(!trigger_fires(None, Some(&two)));
        assert!(!trigger_fires(Some(&PropertyValue::Null), Some(&two)));
    }

    #[test]
    fn a_trigger_is_the_same_whether_it_is_secret_or_not_at_any_depth() {
        let list = |value: PropertyValue| PropertyValue::from(vec![value, "x".into()]);
        let (plain, secret) = (list(1.0.into()), list(PropertyValue::secret(1.0.into())));
        assert!(!trigger_fires(Some(&plain), Some(&secret)));
        assert!(trigger_fires(
            Some(&plain),
            Some(&list(PropertyValue::secret(2.0.into())))
        ));
    }
}

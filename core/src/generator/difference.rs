//! What a comparison means for a resource: nothing, an update, or a replacement.

use crate::{
    event::{DetailedDiff, DiffKind},
    property::{PropertyMap, PropertyPath, PropertyValue},
    provider::{DiffChanges, DiffResponse},
};

/// What differs, and what that asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Difference {
    /// What is to be done.
    pub(crate) verdict: Verdict,
    /// Properties that force a replacement.
    pub(crate) keys: Vec<String>,
    /// Properties that differ.
    pub(crate) diffs: Vec<String>,
    /// How each differs.
    pub(crate) detailed: Option<DetailedDiff>,
    /// Whether the provider wants the old one deleted first.
    pub(crate) delete_before_replace: bool,
}

/// What is to be done with a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    #[default]
    Same,
    Update,
    Replace,
}

impl Difference {
    /// A replacement that is decided without a comparison.
    pub(crate) fn replacement(key: &str) -> Self {
        let keys = if key.is_empty() {
            Vec::new()
        } else {
            vec![key.to_owned()]
        };
        Self {
            verdict: Verdict::Replace,
            keys,
            ..Self::default()
        }
    }

    /// Tells whether anything in the answer says that the resource cannot stay, apart from whether it has changed.
    pub(crate) fn asks_for_replacement(&self) -> bool {
        let mut detailed = self.detailed.iter().flat_map(DetailedDiff::values);
        !self.keys.is_empty() || detailed.any(|property| is_replacement(property.kind))
    }

    /// A component's difference: its inputs differ or not.
    pub(crate) fn of_component(old: &PropertyMap, new: &PropertyMap) -> Self {
        let verdict = if old.says_the_same(new) {
            Verdict::Same
        } else {
            Verdict::Update
        };
        Self {
            verdict,
            ..Self::default()
        }
    }
}

/// Interprets a provider's answer to Diff, completed where the provider cannot tell.
///
/// `has_init_errors` says that the last creation or update did not complete: it is retried as an update.
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
    difference.verdict = if pending_replacement || (changed && replaces) {
        Verdict::Replace
    } else if changed || has_init_errors {
        Verdict::Update
    } else {
        Verdict::Same
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

/// Tells whether a replacement trigger fires: both sides are set, and they differ or one is not known.
pub(crate) fn trigger_fires(old: Option<&PropertyValue>, new: Option<&PropertyValue>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let (old, new) = (old.without_wrappers(), new.without_wrappers());
    if old.is_null() || new.is_null() {
        return false;
    }
    old.contains_unknowns() || new.contains_unknowns() || !old.says_the_same(&new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> PropertyMap {
        [("a", PropertyValue::from(text))].into_iter().collect()
    }

    #[test]
    fn a_provider_that_cannot_tell_leaves_it_to_the_inputs() {
        let completed = |new: &str| DiffResponse::default().completed(&map("x"), &map(new));
        let same = interpret(completed("x"), &[], false, false);
        assert_eq!(same.verdict, Verdict::Same);
        let update = interpret(completed("y"), &[], false, false);
        assert_eq!(
            (update.verdict, update.diffs.as_slice()),
            (Verdict::Update, ["a".to_owned()].as_slice())
        );
    }

    #[test]
    fn a_failed_initialization_is_retried_although_nothing_differs() {
        let response = DiffResponse {
            changes: DiffChanges::None,
            ..DiffResponse::default()
        };
        assert_eq!(interpret(response, &[], true, false).verdict, Verdict::Update);
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
            (difference.verdict, difference.keys.as_slice()),
            (Verdict::Replace, ["a".to_owned()].as_slice())
        );
    }

    #[test]
    fn delete_before_replace_alone_replaces_nothing() {
        let response = DiffResponse {
            changes: DiffChanges::Some,
            delete_before_replace: true,
            ..DiffResponse::default()
        };
        assert_eq!(interpret(response, &[], false, false).verdict, Verdict::Update);
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

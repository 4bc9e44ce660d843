//! The comparison of inputs by the engine, for providers that report no result.

use crate::{
    event::{DetailedDiff, DiffKind, PropertyDiff},
    property::{PropertyMap, diff::Change},
    provider::{DiffChanges, DiffResponse},
};

impl DiffResponse {
    /// Completes a response with unknown changes by a comparison of the plain inputs, ignoring secrets. Any other
    /// response is returned unchanged.
    #[must_use]
    pub(crate) fn completed(mut self, old_inputs: &PropertyMap, new_inputs: &PropertyMap) -> Self {
        if self.changes != DiffChanges::Unknown {
            return self;
        }
        let difference = old_inputs.without_wrappers().diff(&new_inputs.without_wrappers());
        let Some(difference) = difference else {
            self.changes = DiffChanges::None;
            self.diffs = Vec::new();
            self.detailed_diff = None;
            return self;
        };
        self.changes = DiffChanges::Some;
        self.diffs = difference.keys().iter().map(ToString::to_string).collect();
        let paths = difference.paths().into_iter();
        let described = paths.map(|(path, change)| {
            let kind = match change {
                Change::Add => DiffKind::Add,
                Change::Delete => DiffKind::Delete,
                Change::Update => DiffKind::Update,
            };
            let described = PropertyDiff {
                kind,
                input_diff: true,
            };
            (path.to_string(), described)
        });
        self.detailed_diff = Some(described.collect::<DetailedDiff>());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::PropertyValue;

    fn map(value: PropertyValue) -> PropertyMap {
        [("a", value)].into_iter().collect()
    }

    #[test]
    fn a_value_that_became_secret_is_unchanged() {
        let (plain, secret) = (map("x".into()), map(PropertyValue::secret("x".into())));
        let completed = DiffResponse::default().completed(&plain, &secret);
        assert_eq!(completed.changes, DiffChanges::None);
    }

    #[test]
    fn a_response_with_known_changes_is_kept() {
        let known = DiffResponse {
            changes: DiffChanges::None,
            ..DiffResponse::default()
        };
        assert_eq!(
            known.completed(&map("x".into()), &map("y".into())).changes,
            DiffChanges::None
        );
    }

    #[test]
    fn each_path_is_described() {
        let completed = DiffResponse::default().completed(&PropertyMap::new(), &map("y".into()));
        let described = completed.detailed_diff.unwrap_or_default();
        assert_eq!(
            (completed.diffs, described["a"].kind),
            (vec!["a".to_owned()], DiffKind::Add)
        );
    }
}

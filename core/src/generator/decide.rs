//! The decision about a registration: the kind of change from its record to the goal.

use crate::{
    generator::diff::{Change, Difference},
    resource::ResourceState,
};

/// The action for a registration with checked inputs.
#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    /// There is no record.
    Create,
    /// A delete-before-replace of another resource has deleted it, for these properties.
    Recreate(Vec<String>),
    /// The record was only read so far; from now on the resource is managed.
    ReplaceExternal,
    /// It has just been imported and matches the goal.
    Imported,
    Same,
    Update(Difference),
    Replace(Difference),
}

/// Decides without a comparison; `None` when record and goal have to be compared. `recreating` holds the replaced
/// properties if a delete-before-replace of another resource has deleted the record.
pub(super) fn without_diff(old: Option<&ResourceState>, recreating: Option<Vec<String>>) -> Option<Decision> {
    match (old, recreating) {
        (None, _) => Some(Decision::Create),
        (Some(_), Some(keys)) => Some(Decision::Recreate(keys)),
        (Some(old), None) if old.external => Some(Decision::ReplaceExternal),
        (Some(_), None) => None,
    }
}

/// Decides by the differences between record and goal.
pub(super) fn by_diff(difference: Difference, imported: bool) -> Decision {
    match difference.change {
        Change::Same if imported => Decision::Imported,
        Change::Same => Decision::Same,
        Change::Update => Decision::Update(difference),
        Change::Replace => Decision::Replace(difference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{token::TypeToken, urn::Urn};

    fn state(external: bool) -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        ResourceState {
            external,
            ..ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true)
        }
    }

    #[test]
    fn records_are_compared_only_when_they_are_managed_and_still_there() {
        let (managed, external) = (state(false), state(true));
        let keys = || Some(vec!["size".to_owned()]);
        let recreate = || Some(Decision::Recreate(vec!["size".to_owned()]));
        let table = [
            (None, None, Some(Decision::Create)),
            (None, keys(), Some(Decision::Create)),
            (Some(&managed), keys(), recreate()),
            (Some(&external), keys(), recreate()),
            (Some(&external), None, Some(Decision::ReplaceExternal)),
            (Some(&managed), None, None),
        ];
        for (row, (old, recreating, expected)) in table.into_iter().enumerate() {
            assert_eq!(without_diff(old, recreating), expected, "row {row}");
        }
    }

    #[test]
    fn an_imported_resource_needs_a_step_only_if_it_differs() {
        let difference = |change| Difference {
            change,
            ..Difference::default()
        };
        let (update, replace) = (difference(Change::Update), difference(Change::Replace));
        let table = [
            (difference(Change::Same), false, Decision::Same),
            (difference(Change::Same), true, Decision::Imported),
            (update.clone(), true, Decision::Update(update.clone())),
            (update.clone(), false, Decision::Update(update)),
            (replace.clone(), true, Decision::Replace(replace)),
        ];
        for (row, (difference, imported, expected)) in table.into_iter().enumerate() {
            assert_eq!(by_diff(difference, imported), expected, "row {row}");
        }
    }
}

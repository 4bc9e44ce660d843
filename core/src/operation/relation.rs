//! The relation of a resource that is to be recorded to the records of the state.

use crate::{
    error::{Error, ErrorKind},
    message::old_copy,
    resource::ResourceState,
    state::PriorState,
    token::ResourceId,
    urn::Urn,
};

/// The relation of a resource to the record with its URN, and to old copies that are pending deletion.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// No record stands in the way.
    Free,
    /// The record is that of the resource.
    Recorded,
    /// The record is that of another resource, with this id.
    Taken(ResourceId),
    /// An old copy of this URN is the resource: the next update deletes it.
    OldCopy(Urn),
    /// The record of this URN is that of the resource: the deletion of one of two would delete it for both.
    Managed(Urn),
}

impl Relation {
    /// Determines the relation of a resource, with this id, to the records of a state.
    pub(super) fn of(base: &PriorState, resource: &ResourceState, id: &ResourceId) -> Self {
        let live = base.live(&resource.urn).map(|record| &record.state);
        // The resource of one that is pending replacement was deleted: the record waits for the replacement.
        let live = live.filter(|record| !record.pending_replacement);
        match (live, base.old_copy(resource, id)) {
            (Some(record), _) if record.id == *id => Self::Recorded,
            (_, Some(copy)) => Self::OldCopy(copy.urn.clone()),
            (live, None) => match (base.owner(resource, id), live) {
                (Some(owner), _) => Self::Managed(owner.urn.clone()),
                (None, Some(record)) => Self::Taken(record.id.clone()),
                (None, None) => Self::Free,
            },
        }
    }
}

/// The error of a resource that the record of `owner` has.
pub(super) fn is_managed(urn: &Urn, id: &ResourceId, owner: &Urn) -> Error {
    let text = format!(
        "the id '{id}' is that of '{owner}': with a second record, the deletion of one would delete the resource of both"
    );
    Error::new(ErrorKind::Conflict, text).with_urn(urn.clone()).with_hint(
        "forget_pending() removes the pending operation; once delete_resources() has removed the other record, the resource can be \
         adopted",
    )
}

/// The error of a resource that an old copy of `copy` is.
pub(super) fn is_old_copy(urn: &Urn, id: &ResourceId, copy: &Urn) -> Error {
    Error::new(ErrorKind::Conflict, old_copy(id.as_str(), copy.as_str()))
        .with_urn(urn.clone())
        .with_hint(
            "forget_pending() removes the pending operation; an update or a destroy deletes the old copy",
        )
}

/// The error of a resource whose URN has the record of another one.
pub(super) fn taken(urn: &Urn, other: &ResourceId) -> Error {
    let text = match other.is_empty() {
        true => format!("the state has a record of '{urn}' already"),
        false => format!("the state has a record of '{urn}' already, with the id '{other}'"),
    };
    Error::new(ErrorKind::Conflict, text)
        .with_urn(urn.clone())
        .with_hint("the option replace of adopt_pending() replaces the record; its resource is not managed any more then")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        state::{StateId, StateRef},
        token::TypeToken,
    };

    const PROVIDER: &str = "urn:pulumi:dev::shop::pulumi:providers:pkg::default::one";

    fn record(name: &str, id: &str) -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", name);
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        state.id = id.into();
        state.provider = PROVIDER.into();
        state
    }

    fn base(records: Vec<ResourceState>) -> PriorState {
        let urn = Urn::new("dev", "shop", "", "pulumi:providers:pkg", "default");
        let mut provider = ResourceState::new(urn, TypeToken::from("pulumi:providers:pkg"), true);
        provider.id = "one".into();
        let states = std::iter::once(provider).chain(records).map(Arc::new);
        let records = (0..).map(StateId).zip(states);
        PriorState::new(records.map(|(id, state)| StateRef { id, state }).collect()).unwrap()
    }

    #[test]
    fn a_record_stands_in_the_way_unless_its_resource_was_deleted() {
        let mut gone = record("gone", "g-1");
        gone.pending_replacement = true;
        let base = base(vec![record("a", "a-1"), gone]);
        let relation = |name: &str, id: &str| Relation::of(&base, &record(name, id), &id.into());
        assert_eq!(relation("a", "a-1"), Relation::Recorded);
        assert_eq!(relation("a", "a-2"), Relation::Taken("a-1".into()));
        assert_eq!(relation("b", "b-1"), Relation::Free);
        assert_eq!(relation("gone", "g-1"), Relation::Free);
    }

    #[test]
    fn an_old_copy_that_is_pending_deletion_is_found_under_any_urn() {
        let copy = ResourceState {
            delete: true,
            ..record("a", "a-0")
        };
        let found = Relation::OldCopy(copy.urn.clone());
        let base = base(vec![record("a", "a-1"), copy]);
        let of = |resource: ResourceState| Relation::of(&base, &resource, &resource.id);
        assert_eq!(of(record("a", "a-0")), found);
        assert_eq!(of(record("b", "a-0")), found);
        let unprovided = ResourceState {
            provider: "".into(),
            ..record("b", "a-0")
        };
        assert_eq!(of(unprovided), found);
        let with_provider = |name: &str, provider: &str| ResourceState {
            provider: provider.into(),
            ..record(name, "a-0")
        };
        let replaced = PROVIDER.replace("::one", "::two");
        assert_eq!(of(with_provider("b", &replaced)), found);
        let updated = PROVIDER.replace("default", "default_2_0_0");
        assert_eq!(of(with_provider("b", &updated)), found);
        let explicit = PROVIDER.replace("default", "west");
        assert_eq!(of(with_provider("b", &explicit)), Relation::Free);
        assert_eq!(of(record("b", "a-1")), Relation::Managed(record("a", "").urn));
        let other = ResourceState {
            resource_type: TypeToken::from("pkg:index:Other"),
            ..record("b", "a-0")
        };
        assert_eq!(of(other), Relation::Free);
    }
}

//! Tests of alias normalisation.

use super::*;
use crate::resource::ResourceOptions;

fn component(urn: &Urn) -> ResourceState {
    ResourceState::new(urn.clone(), urn.resource_type().into(), false)
}

fn snapshot(records: Vec<ResourceState>) -> Snapshot {
    Snapshot {
        resources: records.into_iter().map(Arc::new).collect(),
        ..Snapshot::default()
    }
}

#[test]
fn references_to_a_former_name_follow_and_children_of_a_former_type_are_renamed() {
    let old = Urn::new("d", "p", "", "a:i:Old", "x");
    let new = Urn::new("d", "p", "", "a:i:New", "x");
    let child = Urn::new("d", "p", "a:i:Old", "a:i:Child", "c");
    let implied = Urn::new("d", "p", "a:i:New", "a:i:Child", "c");
    let mut state = snapshot(vec![
        ResourceState {
            aliases: vec![old.clone()],
            ..component(&new)
        },
        ResourceState {
            parent: Some(old.clone()),
            dependencies: vec![old.clone()],
            ..component(&child)
        },
        ResourceState {
            options: ResourceOptions {
                deleted_with: Some(child),
                ..ResourceOptions::default()
            }
            .into(),
            view_of: Some(old),
            ..component(&Urn::new("d", "p", "", "a:i:T", "t"))
        },
    ]);
    normalise(&mut state).unwrap();
    assert!(state.resources[0].aliases.is_empty());
    assert_eq!(state.resources[1].urn, implied);
    assert_eq!(state.resources[1].parent.as_ref(), Some(&new));
    assert_eq!(state.resources[1].dependencies, std::slice::from_ref(&new));
    assert_eq!(state.resources[2].options.deleted_with.as_ref(), Some(&implied));
    assert_eq!(state.resources[2].view_of.as_ref(), Some(&new));
}

/// The copy is still below the parent of a former type, which its successor has left.
#[test]
fn an_old_copy_below_a_renamed_parent_does_not_rename_its_successor() {
    let former = Urn::new("d", "p", "", "a:i:Old", "x");
    let left = Urn::new("d", "p", "", "a:i:Child", "c");
    let copy = ResourceState {
        parent: Some(former.clone()),
        delete: true,
        ..component(&left)
    };
    let parent = ResourceState {
        aliases: vec![former],
        ..component(&Urn::new("d", "p", "", "a:i:New", "x"))
    };
    let mut state = snapshot(vec![parent, component(&left), copy]);
    normalise(&mut state).unwrap();
    assert_eq!([&state.resources[1].urn, &state.resources[2].urn], [&left, &left]);
}

#[test]
fn provider_references_follow_their_provider_s_new_name() {
    let old = Urn::new("d", "p", "", "pulumi:providers:t", "old");
    let new = Urn::new("d", "p", "", "pulumi:providers:t", "new");
    let managed = Urn::new("d", "p", "", "t:i:T", "x");
    let mut state = snapshot(vec![
        ResourceState {
            aliases: vec![old.clone()],
            custom: true,
            id: "1".into(),
            ..component(&new)
        },
        ResourceState {
            provider: format!("{old}::1").into(),
            custom: true,
            ..component(&managed)
        },
    ]);
    normalise(&mut state).unwrap();
    assert_eq!(state.resources[1].provider, format!("{new}::1"));
}

#[test]
fn one_former_name_cannot_belong_to_two() {
    let former = Urn::new("d", "p", "", "a:i:T", "former");
    let claims = |name| ResourceState {
        aliases: vec![former.clone()],
        ..component(&Urn::new("d", "p", "", "a:i:T", name))
    };
    let error = normalise(&mut snapshot(vec![claims("x"), claims("y")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.message().contains("::former'"), "{error}");
}

#[test]
fn records_without_aliases_are_not_copied() {
    let mut state = snapshot(vec![component(&Urn::new("d", "p", "", "a:i:T", "x"))]);
    let before = Arc::clone(&state.resources[0]);
    normalise(&mut state).unwrap();
    assert!(Arc::ptr_eq(&before, &state.resources[0]));
}

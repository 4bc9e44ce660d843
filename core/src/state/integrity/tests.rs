//! Tests of the rules and their messages.

use std::sync::Arc;

use super::*;
use crate::property::PropertyMap;

fn urn(name: &str) -> Urn {
    Urn::new("d", "p", "", "t:i:T", name)
}

fn thing(name: &str) -> ResourceState {
    ResourceState {
        id: name.into(),
        ..ResourceState::new(urn(name), "t:i:T".into(), true)
    }
}

fn message(records: Vec<ResourceState>) -> String {
    let records: Vec<_> = records.into_iter().map(Arc::new).collect();
    verify_resources(&records).map_or_else(
        |error| error.message().replace("urn:pulumi:d::p::t:i:T::", ""),
        |()| "valid".to_owned(),
    )
}

#[test]
fn each_broken_rule_has_its_message() {
    let parent = |parent| ResourceState {
        parent: Some(urn(parent)),
        ..thing("x")
    };
    let needs = |other| ResourceState {
        dependencies: vec![urn(other)],
        ..thing("x")
    };
    let property = ResourceState {
        property_dependencies: [("k".into(), vec![urn("a")])].into(),
        ..thing("x")
    };
    let mut with = thing("x");
    with.options.deleted_with = Some(urn("a"));
    let mut replaced = thing("x");
    replaced.options.replace_with = vec![urn("a")];
    let cases = [
        (vec![thing("a"), parent("a")], "valid"),
        (vec![parent("a")], "child resource x refers to missing parent a"),
        (
            vec![parent("a"), thing("a")],
            "child resource x's parent a comes after it",
        ),
        (
            vec![needs("a")],
            "resource x's dependency a refers to missing resource",
        ),
        (
            vec![needs("a"), thing("a")],
            "resource x's dependency a comes after it",
        ),
        (
            vec![property],
            "resource x's property dependency a (from property k) refers to missing resource",
        ),
        (
            vec![with.clone(), thing("a")],
            "resource x is specified as being deleted with a, which comes after it",
        ),
        (
            vec![with],
            "resource x is specified as being deleted with a, which is missing",
        ),
        (
            vec![replaced],
            "resource x is specified as being replaced with a, which is missing",
        ),
        (
            vec![thing("x"), thing("x")],
            "duplicate resource x (not marked for deletion)",
        ),
        (
            vec![
                thing("x"),
                ResourceState {
                    delete: true,
                    ..thing("x")
                },
            ],
            "valid",
        ),
        (
            vec![ResourceState {
                custom: false,
                ..thing("x")
            }],
            "valid",
        ),
    ];
    for (records, expected) in cases {
        assert_eq!(message(records), expected);
    }
}

#[test]
fn a_provider_must_stand_before_its_resources_except_those_with_a_pending_replacement() {
    let provider = Urn::new("d", "p", "", "pulumi:providers:t", "default");
    let record = ResourceState {
        id: "1".into(),
        inputs: PropertyMap::new(),
        ..ResourceState::new(provider.clone(), "pulumi:providers:t".into(), true)
    };
    let managed = ResourceState {
        provider: format!("{provider}::1").into(),
        ..thing("x")
    };
    let other = ResourceState {
        provider: format!("{provider}::2").into(),
        ..thing("x")
    };
    assert_eq!(message(vec![record.clone(), managed.clone()]), "valid");
    let unknown = format!("resource x refers to unknown provider {provider}::1");
    assert_eq!(message(vec![managed.clone(), record.clone()]), unknown);
    assert_eq!(
        message(vec![record, other.clone()]),
        unknown.replace("::1", "::2")
    );
    assert_eq!(
        message(vec![ResourceState {
            pending_replacement: true,
            ..other
        }]),
        "valid"
    );
}

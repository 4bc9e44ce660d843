//! Tests of the check of requests.

use super::{
    check::check,
    request::ImportRequest,
    row::{Parent, Row, RowProvider},
};

fn checked(json: &str) -> Result<Vec<Row>, String> {
    let request = ImportRequest::from_json(json.as_bytes()).unwrap();
    check(&request, "dev", "shop").map_err(|error| error.message().to_owned())
}

#[test]
fn names_become_references_in_any_order() {
    let rows = checked(
        r#"{"nameTable": {"net": "urn:pulumi:dev::shop::a:b:Net::net"}, "resources": [
            {"type": "t:m:T", "name": "leaf", "id": "1", "parent": "box", "provider": "mine"},
            {"type": "a:b:Box", "name": "box", "component": true, "parent": "net"},
            {"type": "pulumi:providers:t", "name": "mine"},
            {"type": "t:m:T", "name": "top", "logicalName": "top/1", "id": "2", "version": "v1.2",
             "parent": "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"},
            {"type": "t:m:T", "name": "by urn", "id": "3", "parent": "urn:pulumi:dev::shop::t:m:T::top/1"}]}"#,
    )
    .unwrap();
    let urns: Vec<&str> = rows.iter().map(|row| row.urn.as_str()).collect();
    assert_eq!(
        urns,
        [
            "urn:pulumi:dev::shop::a:b:Net$a:b:Box$t:m:T::leaf",
            "urn:pulumi:dev::shop::a:b:Net$a:b:Box::box",
            "urn:pulumi:dev::shop::pulumi:providers:t::mine",
            "urn:pulumi:dev::shop::t:m:T::top/1",
            "urn:pulumi:dev::shop::t:m:T$t:m:T::by urn",
        ]
    );
    assert_eq!(
        (&rows[0].parent, &rows[0].provider),
        (&Parent::Row(1), &RowProvider::Row(2))
    );
    assert_eq!(
        (&rows[1].provider, &rows[2].provider),
        (&RowProvider::None, &RowProvider::None)
    );
    assert_eq!(
        (&rows[3].parent, &rows[4].parent),
        (&Parent::Root, &Parent::Row(3))
    );
    let RowProvider::Default(settings) = &rows[3].provider else {
        panic!("a default provider is expected");
    };
    assert_eq!(
        settings.version.as_ref().map(ToString::to_string).as_deref(),
        Some("1.2.0")
    );
}

#[test]
fn what_is_wrong_with_a_resource_is_named() {
    let table = [
        (r#"{"name": "a", "id": "1"}"#, "resource 'a' has no type"),
        (
            r#"{"type": "t:m:T", "id": "1"}"#,
            "resource 0 of type 't:m:T' has no name",
        ),
        (
            r#"{"type": "t:m:T", "name": " ", "id": "1"}"#,
            "resource ' ' of type 't:m:T' cannot have its name: it is blank",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "logicalName": "a\nb", "id": "1"}"#,
            "resource 'a' of type 't:m:T' cannot have its name: it contains a control character, such as a line break",
        ),
        (
            r#"{"type": "t:m:T", "name": "a"}"#,
            "resource 'a' of type 't:m:T' has no ID",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "component": true}"#,
            "has an ID, but is marked as a component",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "remote": true}"#,
            "is marked as remote, but not as a component",
        ),
        (
            r#"{"type": "pulumi:providers:t", "name": "a", "id": "1"}"#,
            "has an ID, but is a provider, which is created rather than read",
        ),
        (
            r#"{"type": "pulumi:providers:t", "name": "a", "outputs": {}}"#,
            "is a provider and may not have outputs",
        ),
        (
            r#"{"type": "x", "name": "a", "id": "1"}"#,
            "import type \"x\" is not a valid resource type token",
        ),
        (
            r#"{"type": "a:b$c:d:e", "name": "a", "id": "1"}"#,
            "cannot have its type: '::' and '$' separate",
        ),
        (
            r#"{"type": "t:m::T", "name": "a", "id": "1"}"#,
            "cannot have its type: '::' and '$' separate",
        ),
        (
            r#"{"type": "t:m:T:", "name": "a", "id": "1"}"#,
            "cannot have its type: a ':' at its beginning or end",
        ),
        (
            r#"{"type": "x:", "name": "a", "component": true}"#,
            "cannot have its type: a ':' at its beginning or end",
        ),
        (
            r#"{"type": "pulumi:pulumi:Stack", "name": "a", "component": true}"#,
            "cannot have its type: it is that of the stack itself",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "provider": "urn:pulumi:dev::shop::pulumi:providers:u::b::p-1"}"#,
            "is one of the package 'u', not of 't'",
        ),
    ];
    refuses(&table);
}

/// Checks that each row is refused with a text that contains the other one.
fn refuses(table: &[(&str, &str)]) {
    for (row, expected) in table {
        let refused = checked(&format!(r#"{{"resources": [{row}]}}"#)).unwrap_err();
        assert!(refused.contains(expected), "{row}: {refused}");
    }
}

#[test]
fn what_is_wrong_with_the_members_of_a_resource_is_named() {
    let table = [
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "version": "abc"}"#,
            "could not parse version 'abc' for resource 'a' of type 't:m:T'",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "provider": "b"}"#,
            "the provider 'b' for resource 'a' of type 't:m:T' has no entry in 'nameTable' or 'resources'",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "provider": "urn:pulumi:dev::shop::t:m:T::b"}"#,
            "is not a provider",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "provider": "urn:pulumi:dev::shop::pulumi:providers:u::b"}"#,
            "is one of the package 'u', not of 't'",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "parameterization": {"pluginName": "b"}}"#,
            "version must be provided",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "inputs": {"x": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"}}"#,
            "contain unknown values; fill them in before importing",
        ),
        (
            r#"{"type": "t:m:T", "name": "a", "id": "1", "extension": {"name": "e", "value": "*"}}"#,
            "the value of the extension of resource 'a' of type 't:m:T' is not base64",
        ),
    ];
    refuses(&table);
}

#[test]
fn references_are_unique_and_have_no_cycle() {
    let row = |name: &str, more: &str| format!(r#"{{"type": "t:m:T", "name": "{name}", "id": "1"{more}}}"#);
    let rows = |rows: &[String]| checked(&format!(r#"{{"resources": [{}]}}"#, rows.join(", ")));
    let ambiguous = rows(&[
        row("a", r#", "logicalName": "x""#),
        row("a", r#", "logicalName": "y""#),
        row("b", r#", "parent": "a""#),
    ]);
    assert!(
        ambiguous
            .unwrap_err()
            .contains("resource 'b' of type 't:m:T' has an ambiguous parent")
    );
    let twice = rows(&[row("a", ""), row("a", "")]).unwrap_err();
    assert!(
        twice.contains("has an ambiguous URN, set name (or logical name) to be unique"),
        "{twice}"
    );
    let itself = rows(&[row("a", r#", "parent": "a""#)]).unwrap_err();
    assert!(itself.contains("has a cyclic parent: resource 'a'"), "{itself}");
    let provider = r#"{"type": "pulumi:providers:t", "name": "mine", "parent": "a"}"#.to_owned();
    let through_provider = rows(&[row("a", r#", "provider": "mine""#), provider]).unwrap_err();
    assert!(
        through_provider.contains("has a cyclic parent or provider"),
        "{through_provider}"
    );
    let many = rows(&[row("a", r#", "parent": "none""#), r#"{"name": "b"}"#.to_owned()]).unwrap_err();
    assert!(many.starts_with("3 errors occurred:\n  * "), "{many}");
}

#[test]
fn a_deep_chain_of_parents_is_resolved() {
    let rows: Vec<String> = (0..2_000)
        .map(|index| {
            format!(
                r#"{{"type": "T", "name": "n{index}", "component": true, "parent": "n{}"}}"#,
                index + 1
            )
        })
        .chain([r#"{"type": "T", "name": "n2000", "component": true}"#.to_owned()])
        .collect();
    let rows = checked(&format!(r#"{{"resources": [{}]}}"#, rows.join(", "))).unwrap();
    assert_eq!(rows[0].urn.qualified_type().matches('$').count(), 2_000);
}

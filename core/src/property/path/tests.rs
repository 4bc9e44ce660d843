//! Tests of property paths: their notation and their values.

use super::*;
use crate::property::{PropertyMap, PropertyValue, json::from_plain_json};

fn map(text: &str) -> PropertyMap {
    from_plain_json(
        text.replace("SIG", crate::property::signature::SIGNATURE)
            .as_bytes(),
    )
    .unwrap()
}

fn path(text: &str) -> PropertyPath {
    PropertyPath::parse(text).unwrap()
}

fn secret(inner: &str) -> String {
    format!(
        r#"{{"SIG":"{}","value":{inner}}}"#,
        crate::property::signature::SECRET
    )
}

#[track_caller]
fn resets(text: &str, old: &str, new: &str, expected: &str, complete: bool) {
    let mut result = map(new);
    assert_eq!(path(text).reset(&map(old), &mut result), complete, "{text}");
    assert_eq!(result, map(expected), "{text}");
}

#[test]
fn every_form_of_element_is_read() {
    use PathElement::{Index, Key};
    let key = |text: &str| Key(text.into());
    for (text, elements) in [
        ("root", vec![key("root")]),
        ("root.nested", vec![key("root"), key("nested")]),
        (r#"root["nested"]"#, vec![key("root"), key("nested")]),
        (
            r#"["root with \"escaped\" quotes"].nested"#,
            vec![key("root with \"escaped\" quotes"), key("nested")],
        ),
        (
            r#"["root key with a ."][100]"#,
            vec![key("root key with a ."), Index(100)],
        ),
        (
            "root.array[0].[1]",
            vec![key("root"), key("array"), Index(0), Index(1)],
        ),
        (
            "root.array[*].field",
            vec![key("root"), key("array"), key("*"), key("field")],
        ),
        (r#"root["*"]"#, vec![key("root"), key("*")]),
        ("with-dash and space", vec![key("with-dash and space")]),
        ("", vec![]),
    ] {
        assert_eq!(path(text).elements(), elements, "{text}");
    }
}

#[test]
fn malformed_paths_are_refused() {
    for text in [
        ".root",
        "root.",
        "a..b",
        "root[",
        "root[abc]",
        "root[1",
        r#"root["x]"#,
        r#"root["x"."#,
        "root[-1]",
    ] {
        assert!(PropertyPath::parse(text).is_err(), "{text}");
    }
}

#[test]
fn names_are_quoted_only_where_they_must_be() {
    for (text, shown) in [
        ("a.b_1[2]", "a.b_1[2]"),
        (r#"["a"].b"#, "a.b"),
        (r#"a["b.c"]["d\"e"]"#, r#"a["b.c"]["d\"e"]"#),
        ("a-b.c", r#"["a-b"].c"#),
    ] {
        assert_eq!(path(text).to_string(), shown);
        assert_eq!(path(shown), path(text));
    }
}

#[test]
fn a_path_contains_itself_and_what_is_below_it() {
    for (outer, inner, expected) in [
        ("a", "a", true),
        ("a", "a.b[1]", true),
        ("a.b", "a", false),
        ("*", "anything.at[0]", true),
        ("a[*].c", "a[3].c.d", true),
        ("a[*].c", "a[3].d", false),
        ("a[1]", "a[2]", false),
    ] {
        assert_eq!(path(outer).contains(&path(inner)), expected, "{outer} {inner}");
    }
}

#[test]
fn values_are_found_set_and_deleted_through_secrets() {
    let mut values = map(&format!(r#"{{"a":{{"b":{}}},"n":1}}"#, secret(r#"[1,{"c":2}]"#)));
    assert_eq!(path("a.b[1].c").get(&values), Some(&PropertyValue::Number(2.0)));
    assert_eq!(path("a.b[2]").get(&values), None);
    assert!(path("a.b[1].d").set(&mut values, true.into()));
    assert!(path("a.b[0]").delete(&mut values));
    assert!(!path("a.b[7]").set(&mut values, true.into()));
    assert!(!path("n.x").set(&mut values, true.into()));
    assert!(!path("missing.x").delete(&mut values));
    assert_eq!(
        values,
        map(&format!(
            r#"{{"a":{{"b":{}}},"n":1}}"#,
            secret(r#"[{"c":2,"d":true}]"#)
        ))
    );
}

#[test]
fn a_reset_copies_the_old_leaf_or_removes_the_new_one() {
    resets("a", r#"{"a":1}"#, r#"{"a":2,"b":3}"#, r#"{"a":1,"b":3}"#, true);
    resets("a", r#"{"a":1}"#, "{}", r#"{"a":1}"#, true);
    resets("a", "{}", r#"{"a":2}"#, "{}", true);
    resets(
        "a.b",
        r#"{"a":{"b":1}}"#,
        r#"{"a":{"b":2,"c":3}}"#,
        r#"{"a":{"b":1,"c":3}}"#,
        true,
    );
    resets("a.b", r#"{"a":{}}"#, r#"{"a":{"b":2}}"#, r#"{"a":{}}"#, true);
    resets(
        "a[1]",
        r#"{"a":[1,2]}"#,
        r#"{"a":[3,4,5]}"#,
        r#"{"a":[3,2,5]}"#,
        true,
    );
}

#[test]
fn a_reset_neither_creates_containers_nor_resizes_arrays() {
    resets("a.b", r#"{"a":{"b":1}}"#, "{}", "{}", false);
    resets("a.b", "{}", r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#, false);
    resets("a.b", r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#, false);
    resets("a[1]", r#"{"a":[1,2]}"#, r#"{"a":[3]}"#, r#"{"a":[3]}"#, false);
    resets("a[1]", r#"{"a":[1]}"#, r#"{"a":[3,4]}"#, r#"{"a":[3,4]}"#, false);
}

#[test]
fn a_path_that_both_sides_lack_is_no_error() {
    resets("a.b", r#"{"c":1}"#, r#"{"c":2}"#, r#"{"c":2}"#, true);
    resets("a.b", r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":2}"#, true);
    resets("a[5]", r#"{"a":[1]}"#, r#"{"a":[2]}"#, r#"{"a":[2]}"#, true);
}

#[test]
fn a_wildcard_resets_every_entry() {
    resets(
        "*",
        r#"{"a":1,"b":2}"#,
        r#"{"b":3,"c":4}"#,
        r#"{"a":1,"b":2}"#,
        true,
    );
    resets("a[*]", r#"{"a":[1,2]}"#, r#"{"a":[3,4]}"#, r#"{"a":[1,2]}"#, true);
    resets(
        "a[*]",
        r#"{"a":[1,2,3]}"#,
        r#"{"a":[4,5]}"#,
        r#"{"a":[1,2]}"#,
        false,
    );
    resets(
        "a[*].x",
        r#"{"a":[{"x":1},{"x":2}]}"#,
        r#"{"a":[{"x":3,"y":4},{}]}"#,
        r#"{"a":[{"x":1,"y":4},{"x":2}]}"#,
        true,
    );
    resets(
        "*.x",
        r#"{"a":{"x":1}}"#,
        r#"{"a":{"x":2},"b":{"x":3}}"#,
        r#"{"a":{"x":1},"b":{"x":3}}"#,
        false,
    );
}

#[test]
fn a_reset_keeps_what_was_secret_secret() {
    let old = format!(r#"{{"a":{}}}"#, secret(r#"{"b":1}"#));
    resets(
        "a.b",
        &old,
        r#"{"a":{"b":2}}"#,
        &format!(r#"{{"a":{{"b":{}}}}}"#, secret("1")),
        true,
    );
    resets(
        "a.b",
        &old,
        &format!(r#"{{"a":{}}}"#, secret(r#"{"b":2}"#)),
        &old,
        true,
    );
    resets(
        "a.b",
        r#"{"a":{"b":1}}"#,
        &format!(r#"{{"a":{}}}"#, secret(r#"{"b":2}"#)),
        &old,
        true,
    );
    resets("a", &old, r#"{"a":{"b":2}}"#, &old, true);
}

#[test]
fn paths_that_cannot_be_reset_are_returned_without_malformed_ones() {
    let paths = ["a", "list[1]", "[", "b"].map(str::to_owned);
    let (reset, failed) = reset_all(
        &paths,
        &map(r#"{"a": 1, "b": 2, "list": [1]}"#),
        map(r#"{"a": 3, "b": 4, "list": [5, 6]}"#),
    );
    assert_eq!(reset, map(r#"{"a": 1, "b": 2, "list": [5, 6]}"#));
    assert_eq!(failed, ["list[1]"]);
}

#[test]
fn a_value_for_a_text_is_secret_when_one_on_its_way_is() {
    let values = map(&format!(
        r#"{{"open":{{"a":1}},"all":{},"one":{{"a":{}}}}}"#,
        secret(r#"{"a":[1]}"#),
        secret("2")
    ));
    let marked = |text: &str| path(text).get_marked(&values);
    assert_eq!(marked("open.a"), Some(1.0.into()));
    assert_eq!(marked("all.a[0]"), Some(PropertyValue::secret(1.0.into())));
    assert_eq!(marked("one.a"), Some(PropertyValue::secret(2.0.into())));
    assert_eq!(marked("one.b"), None);
}

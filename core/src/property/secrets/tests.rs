//! Tests of unwrapping and restoring the secrets of maps.

use proptest::prelude::*;

use crate::property::{PropertyMap, PropertyValue, arbitrary, json::from_plain_json, signature};

fn map(text: &str) -> PropertyMap {
    let secret = format!(r#"{{"{}":"{}","value":"#, signature::SIGNATURE, signature::SECRET);
    from_plain_json(text.replace("S(", &secret).replace(')', "}").as_bytes()).unwrap()
}

proptest! {
    #[test]
    fn a_map_without_secrets_contains_none(map in arbitrary::map()) {
        prop_assert!(!map.without_secrets().contains_secrets());
    }

    #[test]
    fn a_map_without_wrappers_contains_none(map in arbitrary::map()) {
        let wrapper = |value: &PropertyValue| matches!(value, PropertyValue::Secret(_) | PropertyValue::Output(_));
        let bare = map.without_wrappers();
        prop_assert!(!bare.values().any(|value| value.any(&mut |value| wrapper(value))));
        let collapsed = map.without_outputs();
        let output = |value: &PropertyValue| matches!(value, PropertyValue::Output(_));
        prop_assert!(!collapsed.values().any(|value| value.any(&mut |value| output(value))));
        prop_assert_eq!(collapsed.without_secrets(), bare);
    }
}

#[test]
fn a_map_without_secrets_is_shared_and_not_copied() {
    let plain = map(r#"{"a":{"b":[1,2]}}"#);
    assert!(plain.without_secrets().same_content(&plain));
    assert!(plain.annotated_from(&map(r#"{"a":1}"#)).same_content(&plain));
}

#[test]
fn results_are_annotated_by_matching_names() {
    let returned = map(r#"{"a":1,"o":{"x":1,"y":2},"l":[1,2],"k":{"x":1},"other":5}"#);
    let sent = map(r#"{"a":S(1),"o":{"x":S(1),"y":2},"l":[1,S(2)],"k":S({"x":1}),"missing":S(7)}"#);
    let expected = map(r#"{"a":S(1),"o":{"x":S(1),"y":2},"l":S([1,2]),"k":S({"x":1}),"other":5}"#);
    assert_eq!(returned.annotated_from(&sent), expected);
}

#[test]
fn secrets_inside_a_value_that_becomes_secret_are_flattened() {
    let returned = map(r#"{"l":[S(1),2]}"#);
    assert_eq!(
        returned.annotated_from(&map(r#"{"l":[S(1),2]}"#)),
        map(r#"{"l":S([1,2])}"#)
    );
}

#[test]
fn outputs_are_secret_by_name_or_because_their_input_is() {
    let outputs = map(r#"{"id":"i","a":1,"b":2,"c":{"x":1},"d":S(4)}"#);
    let inputs = map(r#"{"b":S(2),"c":{"x":S(1)},"z":S(1)}"#);
    let expected = map(r#"{"id":"i","a":S(1),"b":S(2),"c":{"x":1},"d":S(4)}"#);
    let additional = ["a".to_owned(), "d".to_owned(), "id".to_owned()];
    assert_eq!(outputs.with_secret_outputs(&additional, &inputs), expected);
}

#[test]
fn values_at_and_below_the_path_of_a_secret_are_marked_at_any_depth() {
    let source =
        map(r#"{"o":{"deep":[{"key":S(1)},{"key":2}],"all":S({"x":1})},"l":[0,S(1)],"plain":{"x":1}}"#);
    let outputs = map(
        r#"{"o":{"deep":[{"key":1,"more":3},{"key":2}],"all":{"x":1,"y":[2]}},"l":[0,1,2],"plain":{"x":1}}"#,
    );
    let expected = map(
        r#"{"o":{"deep":[{"key":S(1),"more":3},{"key":2}],"all":S({"x":1,"y":[2]})},"l":[0,S(1),2],"plain":{"x":1}}"#,
    );
    assert_eq!(outputs.with_secrets_of(&source), expected);
    assert_eq!(
        expected.with_secrets_of(&source),
        expected,
        "marking twice changes nothing"
    );
}

#[test]
fn a_value_of_another_shape_than_one_with_a_secret_is_secret_as_a_whole() {
    let source = map(r#"{"env":{"token":S("t")},"list":[S("t")],"none":{"token":S("t")},"missing":S(1)}"#);
    let outputs = map(r#"{"env":"token=t","list":{"0":"t"},"none":null,"other":1}"#);
    let expected = map(r#"{"env":S("token=t"),"list":S({"0":"t"}),"none":null,"other":1}"#);
    assert_eq!(outputs.with_secrets_of(&source), expected);
}

#[test]
fn marking_shares_the_content_when_nothing_is_to_be_marked() {
    let outputs = map(r#"{"a":{"b":S(1)},"c":[S(2)]}"#);
    assert!(
        outputs
            .with_secrets_of(&map(r#"{"a":{"b":1}}"#))
            .same_content(&outputs),
        "no secrets"
    );
    assert!(
        outputs.with_secrets_of(&outputs.clone()).same_content(&outputs),
        "marked already"
    );
}

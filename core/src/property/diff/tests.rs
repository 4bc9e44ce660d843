//! Tests of the differences between two property maps.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::property::{Unknown, arbitrary, json::from_plain_json};

fn map(text: &str) -> PropertyMap {
    from_plain_json(text.as_bytes()).unwrap()
}

fn paths(old: &str, new: &str) -> Vec<(String, Change)> {
    map(old)
        .diff(&map(new))
        .map(|diff| {
            diff.paths()
                .into_iter()
                .map(|(path, change)| (path.to_string(), change))
                .collect()
        })
        .unwrap_or_default()
}

fn one(value: PropertyValue) -> PropertyMap {
    [("k", value)].into_iter().collect()
}

proptest! {
    #[test]
    fn a_map_is_equivalent_to_its_copy(map in arbitrary::map()) {
        // Copied through text, so that no shared content makes the comparison trivial.
        let copy = from_plain_json(&crate::property::json::to_plain_json(&map).unwrap()).unwrap();
        prop_assert!(map.is_equivalent(&copy));
        prop_assert_eq!(map.diff(&copy), None);
    }

    #[test]
    fn there_is_a_diff_exactly_when_maps_differ(old in arbitrary::map(), new in arbitrary::map()) {
        let diff = old.diff(&new);
        prop_assert_eq!(diff.is_none(), old.is_equivalent(&new));
        if let Some(diff) = diff {
            prop_assert!(!diff.paths().is_empty());
            prop_assert!(diff.keys().is_sorted());
        }
    }
}

#[test]
fn null_is_equivalent_to_absent() {
    assert!(map(r#"{"a":null,"b":{"c":null}}"#).is_equivalent(&map(r#"{"b":{}}"#)));
    assert!(!map(r#"{"a":[null]}"#).is_equivalent(&map(r#"{"a":[]}"#)));
    assert_eq!(
        paths(r#"{"a":null}"#, r#"{"a":1}"#),
        [("a".to_owned(), Change::Add)]
    );
    assert_eq!(
        paths(r#"{"a":1}"#, r#"{"a":null}"#),
        [("a".to_owned(), Change::Delete)]
    );
}

#[test]
fn every_innermost_difference_is_listed() {
    assert_eq!(
        paths(
            r#"{"arr":[1,2,{"x":1}],"gone":1,"same":{"a":1},"kind":[1]}"#,
            r#"{"arr":[1,3,{"x":2,"y":1},4],"new":1,"same":{"a":1},"kind":{"a":1}}"#
        ),
        [
            ("arr[1]".to_owned(), Change::Update),
            ("arr[2].x".to_owned(), Change::Update),
            ("arr[2].y".to_owned(), Change::Add),
            ("arr[3]".to_owned(), Change::Add),
            ("gone".to_owned(), Change::Delete),
            ("kind".to_owned(), Change::Update),
            ("new".to_owned(), Change::Add),
        ]
    );
}

#[test]
fn a_secret_differs_from_its_plain_value() {
    let plain = one("x".into());
    let secret = one(PropertyValue::secret("x".into()));
    assert!(!plain.is_equivalent(&secret));
    assert!(secret.is_equivalent(&one(PropertyValue::secret("x".into()))));
}

#[test]
fn unknowns_are_equal_only_to_unknowns_of_their_kind() {
    let unknown = |kind| one(PropertyValue::Unknown(kind));
    assert!(unknown(Unknown::Bool).is_equivalent(&unknown(Unknown::Bool)));
    assert!(!unknown(Unknown::Bool).is_equivalent(&unknown(Unknown::String)));
    assert!(!unknown(Unknown::String).is_equivalent(&one("".into())));
}

#[test]
fn assets_are_equal_when_their_hashes_are() {
    let asset = |hash: &str, path: &str| {
        one(PropertyValue::Asset(Arc::new(Asset {
            hash: hash.into(),
            source: crate::property::AssetSource::Path(path.into()),
        })))
    };
    assert!(asset("ab", "x").is_equivalent(&asset("ab", "y")));
    assert!(!asset("ab", "x").is_equivalent(&asset("cd", "x")));
    assert!(!asset("", "x").is_equivalent(&asset("", "y")));
}

#[test]
fn nan_is_equivalent_to_nan() {
    let (nan, other) = (f64::NAN, f64::from_bits(f64::NAN.to_bits() | 1));
    assert!(
        one(PropertyValue::Number(nan))
            .diff(&one(PropertyValue::Number(other)))
            .is_none()
    );
    assert_eq!(PropertyValue::Number(nan), PropertyValue::Number(other));
    assert!(
        one(PropertyValue::Number(nan))
            .diff(&one(PropertyValue::Number(1.0)))
            .is_some()
    );
}

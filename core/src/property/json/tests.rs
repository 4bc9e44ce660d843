//! Tests of the JSON of states and of plain JSON: values are unchanged by writing and reading.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::property::{
    MAX_DEPTH, PropertyMap, PropertyValue, Secret, Unknown, arbitrary,
    signature::{RESOURCE, SECRET, SIGNATURE},
};

fn encrypted(map: &PropertyMap, ciphertexts: &Ciphertexts) -> String {
    String::from_utf8(to_vec(&MapJson::new(map, SecretForm::Encrypted(ciphertexts))).unwrap()).unwrap()
}

/// Encrypts and decrypts by reversing the text.
fn turn(texts: Vec<String>) -> Vec<String> {
    texts
        .into_iter()
        .map(|text| text.chars().rev().collect())
        .collect()
}

fn save(map: &PropertyMap, manager: &Arc<str>) -> String {
    let mut collector = SecretCollector::new(Arc::clone(manager));
    collector.collect(map);
    let texts = turn(collector.plaintexts().unwrap());
    encrypted(map, &collector.finish(texts).unwrap())
}

fn load(text: &str, manager: &Arc<str>) -> PropertyMap {
    let StateMap(mut map) = from_slice(text.as_bytes()).unwrap();
    let mut sealed = SealedSecrets::new();
    sealed.collect(&map);
    let plaintexts = turn(sealed.ciphertexts());
    sealed.open(&plaintexts, manager).unwrap().fill(&mut map);
    map
}

fn state(text: &str) -> crate::Result<PropertyMap> {
    let text = text
        .replace("SIG", SIGNATURE)
        .replace("SECRET", SECRET)
        .replace("RESOURCE", RESOURCE);
    from_slice::<StateMap>(text.as_bytes()).map(|map| map.0)
}

/// Returns a value as read from state: output values are collapsed, and unknowns lose their kind.
fn as_stored(value: &PropertyValue) -> PropertyValue {
    match value {
        PropertyValue::Unknown(_) => PropertyValue::unknown(),
        PropertyValue::Array(values) => PropertyValue::array(values.iter().map(as_stored).collect()),
        PropertyValue::Object(map) => PropertyValue::Object(stored_map(map)),
        PropertyValue::Secret(secret) => PropertyValue::secret(as_stored(&secret.element)),
        PropertyValue::Output(output) => {
            let element = output
                .element
                .as_ref()
                .map_or(PropertyValue::unknown(), as_stored);
            if output.secret {
                PropertyValue::secret(element)
            } else {
                element
            }
        }
        other => other.clone(),
    }
}

fn stored_map(map: &PropertyMap) -> PropertyMap {
    map.iter()
        .map(|(key, value)| (key.clone(), as_stored(value)))
        .collect()
}

proptest! {
    #[test]
    fn any_map_is_unchanged_by_a_save_and_a_load(map in arbitrary::map()) {
        let manager: Arc<str> = "turned".into();
        let text = save(&map, &manager);
        let loaded = load(&text, &manager);
        prop_assert_eq!(&loaded, &stored_map(&map));
        // No secret is encrypted again, and the text is the same.
        let mut again = SecretCollector::new(Arc::clone(&manager));
        again.collect(&loaded);
        prop_assert!(again.is_empty());
        prop_assert_eq!(encrypted(&loaded, &Ciphertexts::remembered(manager)), text);
    }

    #[test]
    fn a_plaintext_export_is_unchanged_by_writing_and_reading(map in arbitrary::map()) {
        let text = to_vec(&MapJson::new(&map, SecretForm::Plaintext)).unwrap();
        let StateMap(back) = from_slice(&text).unwrap();
        prop_assert_eq!(back, stored_map(&map));
    }

    #[test]
    fn plain_json_is_unchanged_by_writing_and_reading(map in arbitrary::map()) {
        let text = to_plain_json(&map).unwrap();
        prop_assert_eq!(from_plain_json(&text).unwrap(), map);
    }

    #[test]
    fn a_number_is_read_back_bit_by_bit(number in arbitrary::number()) {
        let map: PropertyMap = [("n", PropertyValue::Number(number))].into_iter().collect();
        let text = to_vec(&MapJson::new(&map, SecretForm::Plaintext)).unwrap();
        let StateMap(back) = from_slice(&text).unwrap();
        let Some(PropertyValue::Number(read)) = back.get("n") else { panic!("{back:?}") };
        prop_assert_eq!(read.to_bits(), number.to_bits());
    }

    #[test]
    fn events_show_no_secret(text in "[a-z]{12,30}") {
        let secret = PropertyValue::array(vec![PropertyValue::secret(text.as_str().into())]);
        let map: PropertyMap = [("s", secret)].into_iter().collect();
        let shown = to_vec(&MapJson::new(&map, SecretForm::Blinded(&Blinding::default()))).unwrap();
        let expected = format!(r#"{{"s":[{{"{SIGNATURE}":"{SECRET}","ciphertext":"[secret]"}}]}}"#);
        prop_assert_eq!(String::from_utf8(shown).unwrap(), expected);
    }
}

#[test]
fn numbers_and_texts_are_written_like_the_reference_engine() {
    let write = |value: PropertyValue| {
        String::from_utf8(to_vec(&ValueJson::new(&value, SecretForm::Plaintext)).unwrap()).unwrap()
    };
    for (number, text) in [
        (3.0, "3"),
        (1.5, "1.5"),
        (-0.0, "-0"),
        (-0.25, "-0.25"),
        (1e-7, "1e-7"),
        (1.25e-9, "1.25e-9"),
        (1e-6, "0.000001"),
        (9.999_999e-7, "9.999999e-7"),
        (9.999_99e20, "999999000000000000000"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (9_007_199_254_740_993_f64, "9007199254740992"),
        (123_456_789_012_345_680_000.0, "123456789012345680000"),
    ] {
        assert_eq!(write(number.into()), text);
    }
    assert_eq!(
        write("héllo \u{2028}\u{2029} <&> \"q\"".into()),
        r#""héllo \u2028\u2029 <&> \"q\"""#
    );
    assert_eq!(
        write(f64::INFINITY.into()),
        format!(r#"{{"{SIGNATURE}":"8ad145fe-0d11-4827-bfd7-1abcbf086f5c","value":"7ff0000000000000"}}"#)
    );
}

#[test]
fn a_document_is_indented_by_the_given_text() {
    let map: PropertyMap = [
        ("a", PropertyValue::array(vec![1e21.into()])),
        ("b", PropertyMap::new().into()),
    ]
    .into_iter()
    .collect();
    let text = to_vec_pretty(&MapJson::new(&map, SecretForm::Plaintext), "    ").unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "{\n    \"a\": [\n        1e+21\n    ],\n    \"b\": {}\n}"
    );
}

#[test]
fn a_secret_in_a_secret_is_encrypted_once() {
    let inner = PropertyValue::secret("x".into());
    let outer: PropertyMap = [("k", inner)].into_iter().collect();
    let map: PropertyMap = [("s", PropertyValue::secret(outer.into()))].into_iter().collect();
    let mut collector = SecretCollector::new("m".into());
    collector.collect(&map);
    let expected = format!(r#"{{"k":{{"{SIGNATURE}":"{SECRET}","ciphertext":"\"x\""}}}}"#);
    assert_eq!(collector.plaintexts().unwrap(), [expected]);
}

#[test]
fn secrets_are_encrypted_again_for_another_manager() {
    let map: PropertyMap = [("s", PropertyValue::secret("x".into()))].into_iter().collect();
    let first = save(&map, &"one".into());
    let mut collector = SecretCollector::new("two".into());
    collector.collect(&map);
    assert_eq!(collector.plaintexts().unwrap(), ["\"x\""]);
    let second = encrypted(&map, &collector.finish(vec!["other".into()]).unwrap());
    assert!(second.contains("other"), "{second}");
    assert_eq!(save(&map, &"one".into()), first);
}

#[test]
fn a_secret_without_ciphertext_is_not_written() {
    let map: PropertyMap = [("s", PropertyValue::secret("x".into()))].into_iter().collect();
    let ciphertexts = Ciphertexts::remembered("m".into());
    assert!(to_vec(&MapJson::new(&map, SecretForm::Encrypted(&ciphertexts))).is_err());
}

#[test]
fn sealed_secrets_are_copied_but_never_used_as_values() {
    let text = format!(r#"{{"s":{{"{SIGNATURE}":"{SECRET}","ciphertext":"v1:abc"}}}}"#);
    let StateMap(map) = from_slice(text.as_bytes()).unwrap();
    assert_eq!(encrypted(&map, &Ciphertexts::sealed()), text);
    let mut collector = SecretCollector::new("m".into());
    collector.collect(&map);
    assert!(collector.plaintexts().is_err());
    assert!(to_vec(&MapJson::new(&map, SecretForm::Plaintext)).is_err());
    assert!(to_plain_json(&map).is_err());
    assert!(to_vec(&MapJson::new(&map, SecretForm::Blinded(&Blinding::default()))).is_ok());
}

#[test]
fn opened_secrets_cache_their_ciphertext() {
    let text = format!(
        r#"{{"a":[{{"{SIGNATURE}":"{SECRET}","ciphertext":"1"}}],"b":{{"{SIGNATURE}":"{SECRET}","ciphertext":"1"}}}}"#
    );
    let StateMap(mut map) = from_slice(text.as_bytes()).unwrap();
    let mut sealed = SealedSecrets::new();
    assert!(sealed.collect(&map));
    assert_eq!(sealed.ciphertexts(), ["1"]);
    sealed
        .open(&["{\"k\":5}".into()], &"m".into())
        .unwrap()
        .fill(&mut map);
    let Some(PropertyValue::Secret(secret)) = map.get("b") else {
        panic!("{map:?}")
    };
    assert!(!secret.is_sealed());
    assert_eq!(encrypted(&map, &Ciphertexts::remembered("m".into())), text);
}

#[test]
fn a_malformed_plaintext_is_not_repeated_in_the_error() {
    let mut sealed = SealedSecrets::new();
    sealed.collect_value(&read::sealed("c"));
    let Err(error) = sealed.open(&["hunter2".into()], &"m".into()) else {
        panic!("opened")
    };
    assert!(!format!("{error:?}").contains("hunter2"));
    let error = state(r#"{"s":{"SIG":"SECRET","plaintext":"hunter2"}}"#).unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"));
}

#[test]
fn a_secret_needs_exactly_one_text() {
    assert!(state(r#"{"s":{"SIG":"SECRET"}}"#).is_err());
    assert!(state(r#"{"s":{"SIG":"SECRET","ciphertext":"1","plaintext":"1"}}"#).is_err());
}

#[test]
fn an_unrecognized_signature_is_an_error() {
    let error = state(r#"{"a":{"SIG":"nonsense"}}"#).unwrap_err();
    assert!(
        error
            .message()
            .contains("unrecognized signature 'nonsense' in property map"),
        "{error}"
    );
}

#[test]
fn old_forms_of_reference_ids_are_read() {
    let urn = "urn:pulumi:dev::shop::pkg:index:Type::a";
    let reference = |id: &str| {
        let map = state(&format!(
            r#"{{"r":{{"SIG":"RESOURCE","urn":"{urn}","packageVersion":""{id}}}}}"#
        ))
        .unwrap();
        match map.get("r") {
            Some(PropertyValue::ResourceReference(reference)) => reference.id.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reference(""), None);
    assert_eq!(reference(r#","id":"i""#), Some(Ok("i".into())));
    assert_eq!(reference(r#","id":"""#), Some(Err(Unknown::String)));
    assert_eq!(reference(r#","id":{"V":"i"}"#), Some(Ok("i".into())));
    assert_eq!(reference(r#","id":{"V":null}"#), None);
    assert_eq!(reference(r#","id":{"V":{}}"#), Some(Err(Unknown::String)));
}

#[test]
fn state_has_only_one_sentinel() {
    let text = format!(
        r#"{{"a":"{}","b":"{}"}}"#,
        Unknown::String.sentinel(),
        Unknown::Number.sentinel()
    );
    let map = state(&text).unwrap();
    assert_eq!(map.get("a"), Some(&PropertyValue::unknown()));
    assert_eq!(map.get("b"), Some(&Unknown::Number.sentinel().into()));
}

#[test]
fn events_elide_the_contents_of_text_assets() {
    let asset = |text: &str| {
        PropertyValue::Asset(Arc::new(crate::property::Asset {
            hash: "ab".into(),
            source: crate::property::AssetSource::Text(text.into()),
        }))
    };
    let map: PropertyMap = [
        ("a", asset("contents")),
        (
            "f",
            asset("exports.handler = __f0;\nfunction __f0() {\n    with({ a: 1 }) {\n  }).apply(this).apply(this, arguments);\n}"),
        ),
        ("t", "name".into()),
    ]
    .into_iter()
    .collect();
    let scrub = |text: &str| text.contains("name").then(|| "[secret]".to_owned());
    let blinding = Blinding { scrub: Some(&scrub) };
    let text =
        String::from_utf8(to_vec(&MapJson::new(&map, SecretForm::Blinded(&blinding))).unwrap()).unwrap();
    assert!(text.contains(r#""text":"<contents elided>""#), "{text}");
    assert!(text.contains("with({ a: 1 })"), "{text}");
    assert!(text.contains(r#""t":"[secret]""#), "{text}");
}

#[test]
fn a_thousand_levels_pass_both_ways_and_more_are_an_error() {
    let nested = |levels: usize| {
        let value = (0..levels).fold(PropertyValue::Null, |value, _| PropertyValue::array(vec![value]));
        [("k", value)].into_iter().collect::<PropertyMap>()
    };
    let text = to_vec(&MapJson::new(&nested(1_000), SecretForm::Plaintext)).unwrap();
    assert_eq!(from_slice::<StateMap>(&text).unwrap().0, nested(1_000));
    assert!(to_vec(&MapJson::new(&nested(MAX_DEPTH + 1), SecretForm::Plaintext)).is_err());
    let text = format!("{{\"k\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(from_slice::<StateMap>(text.as_bytes()).is_err());
}

#[test]
fn debug_of_a_sealed_secret_shows_nothing() {
    let secret = Secret {
        element: "x".into(),
        ..Secret::default()
    };
    assert_eq!(format!("{secret:?}"), "[secret]");
}

#[test]
fn a_plain_object_with_a_signature_is_not_written() {
    let forged: PropertyMap = [("4dabf18193072939515e22adb298388d", "zzz".into())]
        .into_iter()
        .collect();
    let values = [
        PropertyValue::Object(forged.clone()),
        PropertyValue::array(vec![forged.clone().into()]),
        PropertyValue::secret(forged.clone().into()),
    ];
    for value in values {
        let map: PropertyMap = [("a", value)].into_iter().collect();
        for form in [SecretForm::Plaintext, SecretForm::Value] {
            let error = to_vec(&MapJson::new(&map, form)).unwrap_err();
            assert!(error.message().contains("which marks special values"), "{error}");
        }
    }
    // The keys of the map itself have no special meaning.
    let text = to_vec(&MapJson::new(&forged, SecretForm::Plaintext)).unwrap();
    let read: StateMap = from_slice(&text).unwrap();
    assert_eq!(read.0, forged);
}

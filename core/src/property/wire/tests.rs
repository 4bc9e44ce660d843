//! Tests of values in messages: every kind encoded and decoded, with all options.

use std::sync::Arc;

use proptest::prelude::*;
use stackwright_proto::values::{Struct, Value, value::Kind};

use super::*;
use crate::{
    property::{
        ArchiveSource, AssetSource, MAX_DEPTH, Output, PropertyMap, PropertyValue, Unknown, arbitrary,
        json::from_plain_json,
        signature::{ARCHIVE, ASSET, BYTES, OUTPUT, RESOURCE, SECRET, SIGNATURE},
    },
    urn::Urn,
};

/// Builds a message from the JSON form of the protocol's logs.
fn message(text: &str) -> Struct {
    let text = [
        ("SIG", SIGNATURE),
        ("SECRET", SECRET),
        ("ASSET", ASSET),
        ("ARCHIVE", ARCHIVE),
        ("RESOURCE", RESOURCE),
        ("OUTPUT", OUTPUT),
        ("BYTES", BYTES),
        ("UNKNOWN", Unknown::String.sentinel()),
        ("URN", "urn:pulumi:dev::proj::fake:index:Thing::t"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
    let serde_json::Value::Object(fields) = serde_json::from_str(&text).unwrap() else {
        panic!("not an object");
    };
    Struct {
        fields: fields
            .into_iter()
            .map(|(name, value)| (name, from_json(value)))
            .collect(),
    }
}

fn from_json(value: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    let kind = match value {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(value),
        Json::Number(value) => Kind::NumberValue(value.as_f64().unwrap()),
        Json::String(value) => Kind::StringValue(value),
        Json::Array(values) => Kind::ListValue(stackwright_proto::values::ListValue {
            values: values.into_iter().map(from_json).collect(),
        }),
        Json::Object(fields) => Kind::StructValue(Struct {
            fields: fields
                .into_iter()
                .map(|(name, value)| (name, from_json(value)))
                .collect(),
        }),
    };
    Value { kind: Some(kind) }
}

fn decode(text: &str, options: DecodeOptions) -> PropertyMap {
    from_struct(message(text), &options).unwrap()
}

fn plain(text: &str) -> PropertyMap {
    from_plain_json(text.as_bytes()).unwrap()
}

const ALL: DecodeOptions = DecodeOptions::all("inputs");

proptest! {
    #[test]
    fn any_map_is_unchanged_by_encoding_and_decoding(map in arbitrary::map()) {
        let sent = to_struct(&map, &EncodeOptions::all("inputs")).unwrap();
        let bytes = prost::Message::encode_to_vec(&sent);
        prop_assert_eq!(from_struct(sent, &ALL).unwrap(), map);
        prop_assert!(<Struct as prost::Message>::decode(&*bytes).is_ok());
    }

    #[test]
    fn plain_values_contain_no_signature_and_no_unknown(map in arbitrary::map()) {
        let options = EncodeOptions { keep_bytes: true, elide_assets: true, ..EncodeOptions::default() };
        let received = from_struct(to_struct(&map, &options).unwrap(), &ALL).unwrap();
        prop_assert!(!received.contains_secrets());
        prop_assert!(!received.contains_unknowns());
    }
}

#[test]
fn messages_of_the_sdks_are_decoded() {
    let map = decode(
        r#"{"arch":{"SIG":"ARCHIVE","__pulumiArchive":true,"assets":{"x":{"__pulumiAsset":true,"SIG":"ASSET","text":"y"}}},
            "file":{"path":"index.js","__pulumiAsset":true,"SIG":"ASSET"},
            "pw":{"value":"hunter2","SIG":"SECRET"},
            "ref":{"urn":"URN","id":"id-t","SIG":"RESOURCE"},
            "out":{"dependencies":["URN"],"value":"id-t","SIG":"OUTPUT"}}"#,
        ALL,
    );
    let Some(PropertyValue::Archive(archive)) = map.get("arch") else {
        panic!("{map:?}")
    };
    let ArchiveSource::Assets(assets) = &archive.source else {
        panic!("{archive:?}")
    };
    assert!(
        matches!(&assets["x"], PropertyValue::Asset(asset) if asset.source == AssetSource::Text("y".into()))
    );
    let Some(PropertyValue::Asset(file)) = map.get("file") else {
        panic!("{map:?}")
    };
    assert_eq!(file.source, AssetSource::Path("index.js".into()));
    assert_eq!(map.get("pw"), Some(&PropertyValue::secret("hunter2".into())));
    let Some(PropertyValue::ResourceReference(reference)) = map.get("ref") else {
        panic!("{map:?}")
    };
    assert_eq!(reference.id, Some(Ok("id-t".into())));
    let Some(PropertyValue::Output(output)) = map.get("out") else {
        panic!("{map:?}")
    };
    assert_eq!(
        output.dependencies,
        [Urn::parse("urn:pulumi:dev::proj::fake:index:Thing::t").unwrap()]
    );
    assert_eq!(output.element, Some("id-t".into()));
}

#[test]
fn unknowns_that_are_not_kept_are_dropped_at_every_level() {
    let text = r#"{"a":"UNKNOWN","b":[1,"UNKNOWN",{"c":"UNKNOWN","d":2}],"s":{"SIG":"SECRET","value":"UNKNOWN"},"o":{"SIG":"OUTPUT"}}"#;
    let options = DecodeOptions {
        keep_unknowns: false,
        keep_outputs: false,
        ..ALL
    };
    assert_eq!(decode(text, options), plain(r#"{"b":[1,{"d":2}]}"#));

    let sent = to_struct(
        &decode(text, ALL),
        &EncodeOptions {
            keep_secrets: true,
            ..EncodeOptions::default()
        },
    )
    .unwrap();
    assert_eq!(sent, message(r#"{"b":[1,{"d":2}]}"#));
}

#[test]
fn an_unknown_in_a_nested_list_is_kept() {
    for unknown in Unknown::ALL {
        let map: PropertyMap = [("a", PropertyValue::array(vec![PropertyValue::Unknown(unknown)]))]
            .into_iter()
            .collect();
        let sent = to_struct(&map, &EncodeOptions::all("")).unwrap();
        assert_eq!(from_struct(sent, &ALL).unwrap(), map);
    }
}

#[test]
fn a_rejected_unknown_is_reported_with_its_path() {
    let options = DecodeOptions {
        reject_unknowns: true,
        ..ALL
    };
    let error = from_struct(message(r#"{"foo":[1,2,{"bar":"UNKNOWN"}]}"#), &options).unwrap_err();
    assert_eq!(
        error.message(),
        "inputs.foo[2].bar: the value is unknown, which is not allowed here"
    );
}

#[test]
fn an_unknown_signature_is_reported_with_its_path() {
    let error = from_struct(message(r#"{"foo":{"b.c":{"SIG":"other"}}}"#), &ALL).unwrap_err();
    assert_eq!(
        error.message(),
        r#"inputs.foo["b.c"]: unrecognized signature 'other' in property map"#
    );
}

#[test]
fn errors_inside_secrets_do_not_quote_them() {
    for text in [
        r#"{"s":{"SIG":"SECRET","value":{"a":[{"SIG":"hunter2"}]}}}"#,
        r#"{"s":{"SIG":"SECRET","value":{"SIG":"RESOURCE","urn":"hunter2"}}}"#,
        r#"{"s":{"SIG":"OUTPUT","secret":true,"value":{"SIG":"hunter2"}}}"#,
    ] {
        let error = from_struct(message(text), &ALL).unwrap_err();
        assert!(error.message().starts_with("inputs.s.value"), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn bare_unknowns_and_secrets_become_output_values_on_demand() {
    let options = DecodeOptions {
        upgrade_to_outputs: true,
        ..ALL
    };
    let map = decode(
        r#"{"a":"UNKNOWN","s":{"SIG":"SECRET","value":1},"u":{"SIG":"SECRET","value":"UNKNOWN"},
            "o":{"SIG":"OUTPUT","value":"UNKNOWN","dependencies":["URN"]}}"#,
        options,
    );
    let output = |element: Option<PropertyValue>, secret, dependencies: Vec<Urn>| {
        PropertyValue::Output(Arc::new(Output {
            element,
            secret,
            dependencies,
        }))
    };
    assert_eq!(map.get("a"), Some(&output(None, false, vec![])));
    assert_eq!(map.get("s"), Some(&output(Some(1.0.into()), true, vec![])));
    assert_eq!(map.get("u"), Some(&output(None, true, vec![])));
    let urn = Urn::parse("urn:pulumi:dev::proj::fake:index:Thing::t").unwrap();
    assert_eq!(map.get("o"), Some(&output(None, false, vec![urn])));
}

#[test]
fn whole_output_values_have_every_field_and_unknown_ones_are_plain() {
    let text = r#"{"v":{"SIG":"OUTPUT","value":1},"s":{"SIG":"OUTPUT","value":2,"secret":true,"dependencies":["URN"]},
        "u":{"SIG":"OUTPUT","dependencies":["URN"]},"h":{"SIG":"OUTPUT","secret":true}}"#;
    let options = EncodeOptions {
        whole_outputs: true,
        ..EncodeOptions::all("inputs")
    };
    let sent = to_struct(&decode(text, ALL), &options).unwrap();
    let whole = r#"{"v":{"SIG":"OUTPUT","value":1,"secret":false,"dependencies":[]},
        "s":{"SIG":"OUTPUT","value":2,"secret":true,"dependencies":["URN"]},
        "u":"UNKNOWN","h":{"SIG":"SECRET","value":"UNKNOWN"}}"#;
    assert_eq!(sent, message(whole));
}

#[test]
fn output_values_that_are_not_kept_collapse() {
    let text = r#"{"v":{"SIG":"OUTPUT","value":1},"s":{"SIG":"OUTPUT","value":2,"secret":true},"u":{"SIG":"OUTPUT","secret":true}}"#;
    let collapsed = decode(
        text,
        DecodeOptions {
            keep_outputs: false,
            ..ALL
        },
    );
    assert_eq!(collapsed.get("v"), Some(&1.0.into()));
    assert_eq!(collapsed.get("s"), Some(&PropertyValue::secret(2.0.into())));
    assert_eq!(
        collapsed.get("u"),
        Some(&PropertyValue::secret(PropertyValue::unknown()))
    );

    let sent = to_struct(
        &decode(text, ALL),
        &EncodeOptions {
            keep_outputs: false,
            ..EncodeOptions::all("")
        },
    )
    .unwrap();
    assert_eq!(
        sent,
        message(r#"{"v":1,"s":{"SIG":"SECRET","value":2},"u":{"SIG":"SECRET","value":"UNKNOWN"}}"#)
    );
}

#[test]
fn references_that_are_not_kept_become_ids_or_urns() {
    let text = r#"{"c":{"SIG":"RESOURCE","urn":"URN"},"r":{"SIG":"RESOURCE","urn":"URN","id":"i"},"u":{"SIG":"RESOURCE","urn":"URN","id":""}}"#;
    let map = decode(text, ALL);
    assert!(
        matches!(map.get("c"), Some(PropertyValue::ResourceReference(reference)) if reference.id.is_none())
    );
    assert!(
        matches!(map.get("u"), Some(PropertyValue::ResourceReference(reference)) if reference.id == Some(Err(Unknown::String)))
    );
    let expected = message(r#"{"c":"URN","r":"i","u":"UNKNOWN"}"#);
    let sent = to_struct(
        &map,
        &EncodeOptions {
            keep_resources: false,
            ..EncodeOptions::all("")
        },
    )
    .unwrap();
    assert_eq!(sent, expected);
    assert_eq!(
        decode(
            text,
            DecodeOptions {
                keep_resources: false,
                ..ALL
            }
        ),
        from_struct(expected, &ALL).unwrap()
    );
}

#[test]
fn nulls_are_skipped_in_objects_only() {
    let map = plain(r#"{"a":null,"b":{"c":null,"d":[null]}}"#);
    let sent = to_struct(
        &map,
        &EncodeOptions {
            skip_nulls: true,
            ..EncodeOptions::default()
        },
    )
    .unwrap();
    assert_eq!(sent, message(r#"{"b":{"d":[null]}}"#));
}

#[test]
fn elided_assets_are_their_hash() {
    let map = decode(
        r#"{"a":{"SIG":"ASSET","hash":"ab","text":"x"},"b":{"SIG":"ARCHIVE","hash":"cd","path":"d"}}"#,
        ALL,
    );
    let sent = to_struct(
        &map,
        &EncodeOptions {
            elide_assets: true,
            ..EncodeOptions::all("")
        },
    )
    .unwrap();
    assert_eq!(
        sent,
        message(r#"{"a":{"SIG":"ASSET","hash":"ab"},"b":{"SIG":"ARCHIVE","hash":"cd"}}"#)
    );
}

#[test]
fn assets_and_archives_without_contents_are_sent_with_an_empty_source() {
    let map = decode(
        r#"{"a":{"SIG":"ASSET","hash":"ab"},"b":{"SIG":"ARCHIVE","hash":"cd","assets":{}},"c":{"SIG":"ARCHIVE","hash":"cd"}}"#,
        ALL,
    );
    let sent = to_struct(&map, &EncodeOptions::all("")).unwrap();
    let expected = r#"{"a":{"SIG":"ASSET","hash":"ab","text":""},"b":{"SIG":"ARCHIVE","hash":"cd","assets":{}},
        "c":{"SIG":"ARCHIVE","hash":"cd","assets":{}}}"#;
    assert_eq!(sent, message(expected));
}

#[test]
fn byte_strings_need_a_receiver_that_takes_them() {
    let map: PropertyMap = [("b", PropertyValue::Bytes(vec![1, 2].into()))]
        .into_iter()
        .collect();
    assert_eq!(
        to_struct(&map, &EncodeOptions::all("")).unwrap(),
        message(r#"{"b":{"SIG":"BYTES","value":"AQI="}}"#)
    );
    let error = to_struct(
        &map,
        &EncodeOptions {
            label: "outputs",
            ..EncodeOptions::default()
        },
    )
    .unwrap_err();
    assert_eq!(
        error.message(),
        "outputs.b: the receiver does not take byte strings"
    );
}

#[test]
fn numbers_that_json_lacks_pass() {
    let map: PropertyMap = [("nan", f64::NAN.into()), ("inf", f64::INFINITY.into())]
        .into_iter()
        .collect();
    let back = from_struct(to_struct(&map, &EncodeOptions::all("")).unwrap(), &ALL).unwrap();
    assert!(matches!(back.get("nan"), Some(PropertyValue::Number(number)) if number.is_nan()));
    assert_eq!(back.get("inf"), Some(&f64::INFINITY.into()));
}

fn nested(levels: usize) -> PropertyMap {
    let mut value = PropertyValue::Null;
    for level in 0..levels {
        value = if level.is_multiple_of(2) {
            PropertyValue::array(vec![value])
        } else {
            PropertyValue::Object([("k", value)].into_iter().collect())
        };
    }
    [("root", value)].into_iter().collect()
}

#[test]
fn a_thousand_levels_pass_both_ways() {
    let map = nested(1_000);
    let sent = to_struct(&map, &EncodeOptions::all("")).unwrap();
    assert_eq!(from_struct(sent, &ALL).unwrap(), map);
}

#[test]
fn deeper_values_are_an_error_and_no_crash() {
    let error = to_struct(&nested(MAX_DEPTH + 1), &EncodeOptions::all("inputs")).unwrap_err();
    assert!(error.message().starts_with("inputs.root["), "{error}");
    assert!(
        error.message().ends_with("values nest deeper than 1024 levels"),
        "{error}"
    );
    let mut value = Value {
        kind: Some(Kind::NullValue(0)),
    };
    for _ in 0..=MAX_DEPTH {
        value = Value {
            kind: Some(Kind::ListValue(stackwright_proto::values::ListValue {
                values: vec![value],
            })),
        };
    }
    let message = Struct {
        fields: [("root".to_owned(), value)].into(),
    };
    assert!(from_struct(message, &ALL).is_err());
}

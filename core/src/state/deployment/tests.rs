//! Tests of versions, features and refusals; whole states of the reference engine are read in the crate's tests.

use super::*;
use crate::{error::ErrorKind, secrets::Base64Provider};

const URN: &str = "urn:pulumi:dev::shop::shop:index:Box::box";

async fn deployment(text: &str) -> crate::Result<crate::state::Snapshot> {
    read_deployment(text.as_bytes(), SecretsAccess::Open(&Base64Provider), true).await
}

async fn checkpoint_error(text: &str) -> String {
    let read = read_checkpoint(text.as_bytes(), SecretsAccess::Open(&Base64Provider), true).await;
    let error = read.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    error.message().to_owned()
}

fn with_record(fields: &str) -> String {
    format!(
        r#"{{"version":3,"deployment":{{"manifest":{{"time":"2026-11-21T03:34:05.5Z","magic":"","version":""}},"resources":[{{"urn":"{URN}",{fields}}}],"metadata":{{}}}}}}"#
    )
}

#[tokio::test]
async fn versions_and_features_that_are_not_known_are_refused_in_the_format_s_words() {
    let too_new = deployment(r#"{"version":5,"deployment":{}}"#).await.unwrap_err();
    let reference = "this stack's deployment version is too new";
    assert_eq!(too_new.reference_message(), reference);
    assert_eq!(
        too_new.message(),
        format!("{reference}: version 5; versions 1 to 4 can be read")
    );
    let too_old = deployment(r#"{"deployment":{}}"#).await.unwrap_err();
    let reference = "this stack's deployment version is too old";
    assert_eq!(too_old.reference_message(), reference);
    let found = "the deployment document has no field 'version'; versions 1 to 4 can be read";
    assert_eq!(too_old.message(), found);
    let path = deployment("state.json").await.unwrap_err();
    assert_eq!(
        path.hints(),
        ["the document is the text itself, and not the path of a file"]
    );
    // No document, and the inner part of one.
    for other in ["{}", r#"{"manifest":{},"resources":[]}"#] {
        let refused = deployment(other).await.unwrap_err();
        assert_eq!(refused.reference_message(), reference);
        assert_eq!(
            refused.message(),
            "the document has neither 'version' nor 'deployment', as an exported deployment has; versions 1 to 4 can be read"
        );
    }
    assert_eq!(
        checkpoint_error(r#"{"version":9,"checkpoint":{}}"#).await,
        "failed to load checkpoint: unsupported checkpoint version 9"
    );
    assert_eq!(
        checkpoint_error(r#"{"a":1}"#).await,
        "failed to load checkpoint: it has none of the fields of a checkpoint"
    );
    assert_eq!(
        checkpoint_error(r#"{"version":4,"features":["b","views","a"],"checkpoint":{}}"#).await,
        "failed to load checkpoint: this stack's deployment needs support for the following features: b, a"
    );
    assert!(
        deployment(r#"{"version":3,"features":["b"],"deployment":{}}"#)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn errors_name_the_type_of_a_document_that_is_not_an_object() {
    let cases = [
        (r#""""#, "a deployment document is a JSON object, not a text"),
        ("[1]", "a deployment document is a JSON object, not a list"),
        ("null", "a deployment document is a JSON object, not null"),
        (
            r#"{"version":"3"}"#,
            "expected a whole number as the field 'version'",
        ),
        (r#"{"version":3,"deployment":7}"#, "expected a deployment"),
        (
            r#"{"version":3,"deployment":{"manifest":7}}"#,
            "expected a manifest as a JSON object",
        ),
    ];
    for (text, expected) in cases {
        let error = deployment(text).await.unwrap_err();
        assert!(error.message().contains(expected), "{text}: {error}");
        assert!(!error.message().contains("struct"), "{text}: {error}");
    }
    let error = checkpoint_error("[]").await;
    assert!(
        error.contains("fields of a checkpoint") || error.contains("a JSON object"),
        "{error}"
    );
}

#[tokio::test]
async fn checkpoints_of_version_0_are_read() {
    let old = format!(
        r#"{{"stack":"dev","latest":{{"manifest":{{}},"resources":[{{"urn":"{URN}","custom":false,"type":"shop:index:Box"}}]}}}}"#
    );
    let read = read_checkpoint(old.as_bytes(), SecretsAccess::Sealed, true)
        .await
        .unwrap();
    assert_eq!(
        (read.stack.as_str(), read.snapshot.unwrap().resources.len()),
        ("dev", 1)
    );
}

#[tokio::test]
async fn a_view_is_read_and_written_back_with_the_version_and_feature_that_it_needs() {
    let part = URN.replace("::box", "$shop:index:Part::lid");
    let fields = format!(
        r#""custom":true,"id":"1","type":"shop:index:Box"}},{{"urn":"{part}","custom":false,"type":"shop:index:Part","inputs":{{"size":1}},"outputs":{{"size":1}},"parent":"{URN}","viewOf":"{URN}""#
    );
    let text = with_record(&fields).replace(r#""version":3"#, r#""version":4,"features":["views"]"#);
    let mut snapshot = deployment(&text).await.unwrap();
    let view = &snapshot.resources[1];
    assert_eq!(
        (view.view_of.as_ref(), view.custom),
        (view.parent.as_ref(), false)
    );
    let write = async |snapshot: &crate::state::Snapshot| {
        let written = write_deployment(snapshot, SecretsShown::Encrypted, Layout::Compact).await;
        String::from_utf8(written.unwrap()).unwrap()
    };
    assert_eq!(write(&snapshot).await, text);
    snapshot.resources.pop();
    assert!(write(&snapshot).await.starts_with(r#"{"version":3,"deployment""#));
}

#[tokio::test]
async fn the_version_follows_the_features_in_use() {
    let text = with_record(
        r#""custom":false,"type":"shop:index:Box","taint":true,"resourceHooks":{"BeforeCreate":["h"]}"#,
    );
    let mut snapshot = deployment(&text).await.unwrap();
    let written = write_deployment(&snapshot, SecretsShown::Encrypted, Layout::Compact)
        .await
        .unwrap();
    let expected = text.replace(r#""version":3"#, r#""version":4,"features":["hooks","taint"]"#);
    assert_eq!(String::from_utf8(written).unwrap(), expected);
    let record = std::sync::Arc::make_mut(&mut snapshot.resources[0]);
    record.taint = false;
    record.options.resource_hooks.clear();
    let written = write_deployment(&snapshot, SecretsShown::Encrypted, Layout::Compact)
        .await
        .unwrap();
    assert!(written.starts_with(br#"{"version":3,"deployment""#));
}

#[tokio::test]
async fn a_component_with_an_id_keeps_it() {
    let text = with_record(r#""custom":false,"id":"x","type":"shop:index:Box""#);
    let snapshot = deployment(&text).await.unwrap();
    assert_eq!(snapshot.resources[0].id.as_str(), "x");
    let written = write_deployment(&snapshot, SecretsShown::Encrypted, Layout::Compact)
        .await
        .unwrap();
    let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
    let record = &written["deployment"]["resources"][0];
    assert_eq!((&record["custom"], &record["id"]), (&false.into(), &"x".into()));
}

#[tokio::test]
async fn an_unknown_signature_and_a_wrong_magic_are_refused() {
    let text = with_record(
        r#""custom":false,"type":"shop:index:Box","outputs":{"a":{"4dabf18193072939515e22adb298388d":"what"}}"#,
    );
    let error = deployment(&text).await.unwrap_err();
    assert!(
        error
            .message()
            .contains("unrecognized signature 'what' in property map"),
        "{error}"
    );
    let text = with_record(r#""custom":false,"type":"shop:index:Box""#)
        .replace(r#""version":"""#, r#""version":"v1""#);
    let error = deployment(&text).await.unwrap_err();
    assert_eq!(
        error.message(),
        "snapshot integrity failure; refusing to use it: magic cookie mismatch; possible tampering/corruption detected"
    );
}

#[tokio::test]
async fn a_secret_without_a_manager_is_an_error_that_names_the_resource() {
    let text = with_record(
        r#""custom":false,"type":"shop:index:Box","outputs":{"a":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"c2VjcmV0"}}"#,
    );
    let error = deployment(&text).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.urn().map(crate::urn::Urn::as_str)),
        (ErrorKind::Decrypt, Some(URN))
    );
}

#[tokio::test]
async fn parts_of_the_format_that_are_not_interpreted_are_kept() {
    let text = with_record(r#""custom":false,"type":"shop:index:Box""#).replace(
        r#""metadata":{}"#,
        r#""metadata":{"integrity_error":{"error":"e"}},"extensions":{"r":{"name":"n"}},"future":[1]"#,
    );
    let snapshot = deployment(&text).await.unwrap();
    let written = write_deployment(&snapshot, SecretsShown::Encrypted, Layout::Compact)
        .await
        .unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), text);
}

#[tokio::test]
async fn uninterpreted_parts_may_nest_up_to_the_limit_and_deeper_ones_are_an_error() {
    let document = |member: &str, levels: usize| {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let metadata = if member == "metadata" {
            format!(r#"{{"x":{deep}}}"#)
        } else {
            "{}".to_owned()
        };
        let manifest = if member == "plugins" {
            format!(r#","plugins":{deep}"#)
        } else {
            String::new()
        };
        let state = if member == "secrets" {
            format!(r#""state":{deep}"#)
        } else {
            r#""state":{}"#.to_owned()
        };
        let other = match member {
            "snippets" => format!(r#""snippets":[{deep}],"#),
            "extensions" => format!(r#""extensions":{{"a":{deep}}},"#),
            "unknown" => format!(r#""zzz":{deep},"#),
            _ => String::new(),
        };
        format!(
            r#"{{"version":3,"deployment":{{{other}"manifest":{{"magic":"","version":""{manifest}}},
                "secrets_providers":{{"type":"b64",{state}}},"metadata":{metadata},"resources":[]}}}}"#
        )
    };
    for member in [
        "metadata",
        "plugins",
        "secrets",
        "snippets",
        "extensions",
        "unknown",
    ] {
        deployment(&document(member, 100)).await.unwrap();
        let error = deployment(&document(member, 200_000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(
            error.message().contains("JSON nests deeper than 128 levels"),
            "{member}: {error}"
        );
        // As a checkpoint, too.
        let checkpoint = document(member, 200_000)
            .replace(r#""deployment":{"#, r#""checkpoint":{"stack":"dev","latest":{"#)
            + "}";
        let text = checkpoint_error(&checkpoint).await;
        assert!(
            text.contains("JSON nests deeper than 128 levels"),
            "{member}: {text}"
        );
    }
    let kept = deployment(&document("unknown", 2)).await.unwrap();
    assert_eq!(kept.extra["zzz"], serde_json::json!([[]]));
}

#[tokio::test]
async fn unknown_members_of_a_record_may_nest_without_limit() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    for member in ["zzz", "resourceHooks", "customTimeouts", "aliases"] {
        let record = with_record(&format!(
            r#""custom":false,"type":"shop:index:Box","{member}":{deep}"#
        ));
        let read = deployment(&record).await;
        assert_eq!(read.is_ok(), member == "zzz", "{member}");
    }
}

#[tokio::test]
async fn a_checkpoint_without_secrets_does_not_name_the_manager_that_only_encodes_them() {
    let text = |value: &str| {
        format!(
            r#"{{"version":3,"deployment":{{"manifest":{{"time":"2026-01-01T00:00:00Z","magic":"","version":""}},
            "secrets_providers":{{"type":"b64"}},"resources":[{{"urn":"urn:pulumi:dev::shop::box:index:Box::a",
            "custom":false,"type":"box:index:Box","outputs":{{"v":{value}}}}}]}}}}"#
        )
    };
    let plain = deployment(&text("1")).await.unwrap();
    let secret =
        r#"{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"MQ=="}"#;
    let secret = deployment(&text(secret)).await.unwrap();
    for (snapshot, in_checkpoint) in [(&plain, false), (&secret, true)] {
        let checkpoint = write_checkpoint("organization/shop/dev", snapshot, SecretsShown::Encrypted);
        let checkpoint = String::from_utf8(checkpoint.await.unwrap()).unwrap();
        assert_eq!(
            checkpoint.contains("secrets_providers"),
            in_checkpoint,
            "{checkpoint}"
        );
        let document = write_deployment(snapshot, SecretsShown::Encrypted, Layout::Compact).await;
        let document = String::from_utf8(document.unwrap()).unwrap();
        assert_eq!(
            document.contains(r#""secrets_providers":{"type":"b64"}"#),
            in_checkpoint,
            "{document}"
        );
    }
}

#[test]
fn the_known_members_are_the_fields_that_are_read() {
    use serde::{Deserialize as _, de::value::Error};

    /// Keeps the names of the fields that a type asks for.
    struct Names<'a>(&'a mut Vec<&'static str>);

    impl<'de> serde::Deserializer<'de> for Names<'_> {
        type Error = Error;

        fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(serde::de::Error::custom("no value"))
        }

        fn deserialize_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Error> {
            self.0.extend(fields);
            Err(serde::de::Error::custom("no value"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut names = Vec::new();
    record::KnownFields::deserialize(Names(&mut names)).err().unwrap();
    assert_eq!(names.len(), 36);
    assert!(names.iter().all(|name| record::is_known(name)), "{names:?}");
}

#[tokio::test]
async fn unknown_members_are_written_compactly_and_in_order() {
    let text =
        with_record("\"custom\":false,\"type\":\"shop:index:Box\",\"zzz\":{ \"a\" :\n 1.50 },\"aaa\":null");
    let snapshot = deployment(&text).await.unwrap();
    let written = write_deployment(&snapshot, SecretsShown::Sealed, Layout::Compact)
        .await
        .unwrap();
    let written = String::from_utf8(written).unwrap();
    assert!(
        written.contains(r#""type":"shop:index:Box","aaa":null,"zzz":{"a":1.50}}"#),
        "{written}"
    );
}

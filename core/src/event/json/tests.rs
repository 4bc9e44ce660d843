//! Cases that the reference logs do not contain: details of diffs, shown secrets, special numbers and strings.

use std::{collections::BTreeMap, sync::Arc};

use super::{EventJson, text};
use crate::{
    diagnostic::{Diagnostic, Severity},
    event::{
        DetailedDiff, DiffKind, EnforcementLevel, EngineEvent, EventPayload, PolicyFindings, PolicyName,
        PolicyQuestion, PolicyRemediation, PolicySeverity, PolicyViolation, PropertyDiff, StateMetadata,
        StepEvent, StepMetadata,
    },
    property::{Asset, AssetSource, Output, PropertyMap, PropertyValue, ResourceReference, Unknown},
    resource::{ResourceState, UNKNOWN_ID},
    runtime::Timestamp,
    secrets::Redactor,
    step::StepOp,
    urn::Urn,
};

fn urn() -> Urn {
    Urn::new("dev", "shop", "", "pkg:index:Type", "name")
}

fn redactor<const N: usize>(secrets: [&str; N]) -> Redactor {
    let redactor = Redactor::new();
    redactor.learn(secrets);
    redactor
}

fn line(json: &EventJson, payload: EventPayload) -> String {
    json.line(&EngineEvent {
        sequence: 7,
        timestamp: Timestamp::from_second(99).unwrap(),
        internal: false,
        payload,
    })
}

fn step(edit: impl FnOnce(&mut StepMetadata, &mut ResourceState)) -> EventPayload {
    let mut state = ResourceState::new(urn(), "pkg:index:Type".into(), true);
    let mut metadata = StepMetadata {
        op: StepOp::Update,
        urn: urn(),
        resource_type: "pkg:index:Type".into(),
        old: None,
        new: None,
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
        logical: true,
        provider: "".into(),
    };
    edit(&mut metadata, &mut state);
    metadata.new = Some(StateMetadata(Arc::new(state)));
    EventPayload::ResourcePre(Arc::new(StepEvent {
        metadata,
        planning: false,
    }))
}

fn inputs(json: &EventJson, value: PropertyValue) -> String {
    let payload = step(|_, state| state.inputs = PropertyMap::from_iter([("p", value)]));
    let line = line(json, payload);
    let start = line.find(r#""inputs":"#).unwrap() + r#""inputs":"#.len();
    let end = line.find(r#","outputs":"#).unwrap();
    line[start..end].to_owned()
}

#[test]
fn absent_and_empty_details_are_distinguished() {
    let json = EventJson::new();
    assert!(line(&json, step(|_, _| {})).contains(r#""detailedDiff":null,"logical":true"#));
    let empty = step(|metadata, _| metadata.detailed_diff = Some(DetailedDiff::new()));
    assert!(line(&json, empty).contains(r#""detailedDiff":{},"logical":true"#));
}

#[test]
fn the_details_of_a_diff_stand_behind_its_keys_and_names() {
    let payload = step(|metadata, _| {
        metadata.keys = vec!["a".into()];
        metadata.diffs = vec!["a".into(), "b".into()];
        let kind = DiffKind::UpdateReplace;
        let difference = PropertyDiff {
            kind,
            input_diff: true,
        };
        metadata.detailed_diff = Some(BTreeMap::from([("a[0].b".to_owned(), difference)]));
    });
    let expected = concat!(
        r#""keys":["a"],"diffs":["a","b"],"#,
        r#""detailedDiff":{"a[0].b":{"diffKind":"update-replace","inputDiff":true}},"logical":true"#
    );
    assert!(line(&EventJson::new(), payload).contains(expected));
}

#[test]
fn initialization_errors_and_hidden_diffs_end_a_state() {
    let payload = step(|_, state| {
        state.taint = true;
        state.init_errors = vec!["not ready".into()];
        state.options.hide_diffs = vec!["a.b".into()];
    });
    let line = line(&EventJson::new(), payload);
    assert!(line.contains(r#""parent":"","taint":true,"inputs""#), "{line}");
    assert!(
        line.contains(r#""provider":"","initErrors":["not ready"],"hideDiffs":["a.b"]}"#),
        "{line}"
    );
}

#[test]
fn a_diagnostic_carries_the_prefix_of_its_severity_and_a_newline() {
    let json = EventJson::new();
    let of = |severity| {
        line(
            &json,
            EventPayload::Diagnostic(Diagnostic::new(severity, "text").about(urn())),
        )
    };
    assert_eq!(
        of(Severity::Warning),
        concat!(
            r#"{"sequence":7,"timestamp":99,"diagnosticEvent":{"urn":"urn:pulumi:dev::shop::pkg:index:Type::name","#,
            r#""prefix":"warning: ","message":"text\n","color":"never","severity":"warning"}}"#
        )
    );
    for severity in [Severity::Info, Severity::InfoError] {
        assert!(!of(severity).contains("prefix"), "{severity:?}");
    }
}

#[test]
fn secrets_are_blinded_at_every_depth_and_as_outputs() {
    let nested = PropertyValue::array(vec![
        PropertyValue::secret("hush".into()),
        PropertyValue::Output(Arc::new(Output {
            element: Some("hush".into()),
            secret: true,
            dependencies: Vec::new(),
        })),
    ]);
    let text = inputs(&EventJson::new(), nested);
    let blinded =
        r#"{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"[secret]"}"#;
    assert_eq!(text, format!(r#"{{"p":[{blinded},{blinded}]}}"#));
}

#[test]
fn shown_secrets_are_encoded_once_however_deep_they_nest() {
    use base64::Engine as _;
    let inner = PropertyMap::from_iter([("k", PropertyValue::secret("hush".into()))]);
    let json = EventJson {
        show_secrets: true,
        redactor: redactor(["hush"]),
    };
    let text = inputs(&json, PropertyValue::secret(inner.into()));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let encoded = value["p"]["ciphertext"].as_str().unwrap();
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
    let plaintext: serde_json::Value = serde_json::from_slice(&decoded).unwrap();
    assert_eq!(plaintext["k"]["ciphertext"], serde_json::json!("\"hush\""));
}

#[test]
fn scrubbed_texts_vanish_from_messages_and_properties() {
    let json = EventJson {
        show_secrets: false,
        redactor: redactor(["hunter2", "hunter2-long", "ab"]),
    };
    let message = "tried hunter2-long and hunter2 in ab";
    let diagnostic = line(&json, EventPayload::Diagnostic(Diagnostic::error(message)));
    assert!(
        diagnostic.contains(r#"tried [secret] and [secret] in ab\n"#),
        "{diagnostic}"
    );
    let stdout = line(
        &json,
        EventPayload::Stdout {
            message: message.into(),
        },
    );
    assert!(!stdout.contains("hunter2"), "{stdout}");
    assert_eq!(inputs(&json, "a hunter2".into()), r#"{"p":"a [secret]"}"#);
}

#[test]
fn every_unknown_is_the_same_text() {
    let json = EventJson::new();
    for unknown in [Unknown::Bool, Unknown::Array, Unknown::Object] {
        assert_eq!(
            inputs(&json, PropertyValue::Unknown(unknown)),
            format!(r#"{{"p":"{UNKNOWN_ID}"}}"#)
        );
    }
}

#[test]
fn references_to_components_have_no_id_and_unknown_ids_are_empty() {
    let reference = |id| {
        let reference = ResourceReference {
            urn: urn(),
            id,
            package_version: "1.0.0".into(),
        };
        inputs(
            &EventJson::new(),
            PropertyValue::ResourceReference(Arc::new(reference)),
        )
    };
    assert!(!reference(None).contains(r#""id""#));
    assert!(reference(Some(Err(Unknown::String))).contains(r#""id":"","packageVersion":"1.0.0","urn":"#));
    assert!(reference(Some(Ok("x".into()))).contains(r#""id":"x""#));
}

#[test]
fn serialized_program_code_is_shown_and_other_texts_are_elided() {
    let asset = |text: &str| {
        let asset = Asset {
            hash: "h".into(),
            source: AssetSource::Text(text.into()),
        };
        inputs(&EventJson::new(), PropertyValue::Asset(Arc::new(asset)))
    };
    let code = "function __f0() {\n    with({ a: 1 }) {\n  }).apply(undefined, undefined).apply(this, arguments);\n}";
    assert!(asset(code).contains("with({ a: 1 })"));
    assert!(asset("function __f0() {}").contains(r#""text":"<contents elided>""#));
}

#[test]
fn numbers_take_their_shortest_form() {
    let numbers = [
        3.0,
        -0.0,
        1.5,
        1e-7,
        1e-6,
        1e20,
        1e21,
        -1.5e300,
        9_007_199_254_740_993.0,
    ];
    let numbers = numbers.map(PropertyValue::from).to_vec();
    let expected = r#"{"p":[3,-0,1.5,1e-7,0.000001,100000000000000000000,1e+21,-1.5e+300,9007199254740992]}"#;
    assert_eq!(inputs(&EventJson::new(), PropertyValue::array(numbers)), expected);
}

#[test]
fn strings_are_escaped_as_the_log_does() {
    let mut out = String::new();
    text::write_string(&mut out, "é<&>\"\\\n\r\t\u{8}\u{c}\u{1}\u{2028}\u{2029}\u{7f}");
    assert_eq!(out, "\"é<&>\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u2028\\u2029\u{7f}\"");
}

proptest::proptest! {
    #[test]
    fn every_string_round_trips(value in ".*") {
        let mut out = String::new();
        text::write_string(&mut out, &value);
        proptest::prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), value);
    }
}

#[test]
fn policy_findings_are_written_as_by_the_reference() {
    let json = EventJson {
        redactor: redactor(["hyacinth"]),
        ..EventJson::new()
    };
    let name = PolicyName {
        policy: "small".into(),
        pack: "guard".into(),
        version: "1.2.0".into(),
    };
    let facts = r#""policyName":"small","policyPackName":"guard","policyPackVersion":"1.2.0","policyPackVersionTag":"1.2.0""#;
    let violation = PolicyViolation {
        urn: urn(),
        name: name.clone(),
        message: "not hyacinth".into(),
        level: EnforcementLevel::Mandatory,
        severity: Some(PolicySeverity::High),
    };
    let text = line(&json, EventPayload::PolicyViolation(Arc::new(violation)));
    let resource = format!(r#""resourceUrn":"{}""#, urn());
    assert!(
        text.ends_with(&format!(
            r#""policyEvent":{{{resource},"message":"not [secret]\n","color":"never",{facts},"enforcementLevel":"mandatory","severity":"high"}}}}"#
        )),
        "{text}"
    );
    let secret = PropertyMap::from_iter([("p", PropertyValue::secret("tulip".into()))]);
    let remediation = PolicyRemediation {
        urn: urn(),
        name,
        before: PropertyMap::new(),
        after: secret,
    };
    let text = line(&json, EventPayload::PolicyRemediation(Arc::new(remediation)));
    assert!(
        text.contains(&format!(
            r#""policyRemediationEvent":{{{resource},"color":"never",{facts},"after":{{"p":"#
        )) && !text.contains("tulip"),
        "{text}"
    );
    let findings = PolicyFindings {
        question: PolicyQuestion::AnalyzeStack,
        urn: None,
        pack: "guard".into(),
        version: "1.2.0".into(),
        passed: vec!["small".into()],
        failed: Vec::new(),
    };
    let text = line(&json, EventPayload::PolicyFindings(Arc::new(findings)));
    assert!(
        text.ends_with(
            r#""policyAnalyzeStackSummaryEvent":{"policyPackName":"guard","policyPackVersion":"1.2.0","policyPackVersionTag":"1.2.0","passed":["small"]}}"#
        ),
        "{text}"
    );
}

//! The event logs of the reference engine: each line is parsed to a typed event, whose JSON must be the same line.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::EventJson;
use crate::{
    diagnostic::{Diagnostic, Severity},
    event::{
        ChangeCounts, EngineEvent, EventPayload, OperationOutcome, OperationStatus, StateMetadata, StepEvent,
        StepMetadata, Summary,
    },
    property::{Archive, ArchiveSource, Asset, AssetSource, PropertyMap, PropertyValue},
    resource::ResourceState,
    runtime::Timestamp,
    step::StepOp,
    urn::Urn,
};

const LOGS: &[(&str, &str)] = &[
    (
        "1-preview-create",
        include_str!("../../../tests/fixtures/events/1-preview-create.jsonl"),
    ),
    (
        "1-up-create",
        include_str!("../../../tests/fixtures/events/1-up-create.jsonl"),
    ),
    (
        "2-preview-change",
        include_str!("../../../tests/fixtures/events/2-preview-change.jsonl"),
    ),
    (
        "2-up-change",
        include_str!("../../../tests/fixtures/events/2-up-change.jsonl"),
    ),
    (
        "2b-refresh",
        include_str!("../../../tests/fixtures/events/2b-refresh.jsonl"),
    ),
    (
        "4-up-create-failed",
        include_str!("../../../tests/fixtures/events/4-up-create-failed.jsonl"),
    ),
    (
        "6-destroy",
        include_str!("../../../tests/fixtures/events/6-destroy.jsonl"),
    ),
];

fn events(log: &str) -> Vec<(&str, EngineEvent)> {
    log.lines().map(|line| (line, event(line))).collect()
}

fn event(line: &str) -> EngineEvent {
    let value: Map<String, Value> = serde_json::from_str(line).unwrap();
    let (kind, payload) = value.iter().find(|(_, value)| value.is_object()).unwrap();
    EngineEvent {
        sequence: value["sequence"].as_u64().unwrap(),
        timestamp: Timestamp::from_second(value["timestamp"].as_i64().unwrap()).unwrap(),
        internal: false,
        payload: match kind.as_str() {
            "preludeEvent" => EventPayload::Prelude {
                config: serde_json::from_value(payload["config"].clone()).unwrap(),
            },
            "resourcePreEvent" => EventPayload::ResourcePre(step(payload)),
            "resOutputsEvent" => EventPayload::ResourceOutputs(step(payload)),
            "resOpFailedEvent" => EventPayload::ResourceOperationFailed {
                step: step(payload),
                status: match payload["status"].as_u64().unwrap() {
                    0 => OperationStatus::Ok,
                    1 => OperationStatus::PartialFailure,
                    _ => OperationStatus::Unknown,
                },
                steps: payload["steps"].as_u64().unwrap(),
            },
            "diagnosticEvent" => EventPayload::Diagnostic(Diagnostic {
                severity: serde_json::from_value::<Severity>(payload["severity"].clone()).unwrap(),
                message: text(&payload["message"]).strip_suffix('\n').unwrap().into(),
                urn: payload.get("urn").map(|urn| text(urn).parse().unwrap()),
                stream_id: 0,
                ephemeral: false,
            }),
            "summaryEvent" => EventPayload::Summary(Summary {
                maybe_corrupt: payload["maybeCorrupt"].as_bool().unwrap(),
                duration_seconds: payload["durationSeconds"].as_u64().unwrap(),
                resource_changes: changes(&payload["resourceChanges"]),
                policy_packs: BTreeMap::new(),
                local_packs: Vec::new(),
                is_preview: payload["isPreview"].as_bool().unwrap(),
                result: serde_json::from_value::<OperationOutcome>(payload["result"].clone()).unwrap(),
            }),
            "cancelEvent" => EventPayload::Cancel,
            other => panic!("unknown event {other}"),
        },
    }
}

fn changes(value: &Value) -> BTreeMap<&'static str, u64> {
    let op = |name: &str| StepOp::ALL.iter().find(|op| op.name() == name).unwrap().name();
    let entries = value.as_object().unwrap().iter();
    entries
        .map(|(name, count)| (op(name), count.as_u64().unwrap()))
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value
        .map(|list| serde_json::from_value(list.clone()).unwrap())
        .unwrap_or_default()
}

fn step(payload: &Value) -> Arc<StepEvent> {
    let metadata = &payload["metadata"];
    assert!(metadata["detailedDiff"].is_null(), "none of the logs has one");
    Arc::new(StepEvent {
        metadata: StepMetadata {
            op: serde_json::from_value(metadata["op"].clone()).unwrap(),
            urn: text(&metadata["urn"]).parse().unwrap(),
            resource_type: text(&metadata["type"]).into(),
            old: state(&metadata["old"]),
            new: state(&metadata["new"]),
            keys: texts(metadata.get("keys")),
            diffs: texts(metadata.get("diffs")),
            detailed_diff: None,
            logical: metadata.get("logical").is_some(),
            provider: text(&metadata["provider"]).into(),
        },
        planning: payload.get("planning").is_some(),
    })
}

fn state(value: &Value) -> Option<StateMetadata> {
    let object = value.as_object()?;
    let flag = |name: &str| object.contains_key(name);
    let urn: Urn = text(&object["urn"]).parse().unwrap();
    let mut state = ResourceState::new(urn, text(&object["type"]).into(), flag("custom"));
    state.delete = flag("delete");
    state.id = text(&object["id"]).into();
    state.parent = text(&object["parent"]).parse().ok();
    state.protect = flag("protect");
    state.taint = flag("taint");
    state.external = flag("external");
    state.retain_on_delete = flag("retainOnDelete");
    state.inputs = map(&object["inputs"]);
    state.outputs = map(&object["outputs"]);
    state.provider = text(&object["provider"]).into();
    state.init_errors = texts(object.get("initErrors"));
    state.options.hide_diffs = texts(object.get("hideDiffs"));
    Some(StateMetadata(Arc::new(state)))
}

fn map(value: &Value) -> PropertyMap {
    let entries = value.as_object().unwrap().iter();
    entries
        .map(|(key, value)| (key.as_str(), property(value)))
        .collect()
}

fn property(value: &Value) -> PropertyValue {
    match value {
        Value::Null => PropertyValue::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => number.as_f64().unwrap().into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(property).collect::<Vec<_>>().into(),
        Value::Object(object) => match object.get("4dabf18193072939515e22adb298388d").map(text) {
            None => map(value).into(),
            Some("1b47061264138c4ac30d75fd1eb44270") => PropertyValue::secret("never shown".into()),
            Some("c44067f5952c0a294b673a41bacd8c17") => PropertyValue::Asset(Arc::new(Asset {
                hash: text(&object["hash"]).into(),
                source: match object.get("path") {
                    Some(path) => AssetSource::Path(text(path).into()),
                    None => AssetSource::Text("never shown".into()),
                },
            })),
            Some("0def7320c3a5731c473e5ecbe6d01bc7") => PropertyValue::Archive(Arc::new(Archive {
                hash: text(&object["hash"]).into(),
                source: match object.get("path") {
                    Some(path) => ArchiveSource::Path(text(path).into()),
                    None => ArchiveSource::Assets(
                        map(&object["assets"])
                            .into_iter()
                            .map(|(name, value)| (name.to_string(), value))
                            .collect(),
                    ),
                },
            })),
            Some(other) => panic!("unknown signature {other}"),
        },
    }
}

#[test]
fn every_line_of_the_reference_logs_comes_out_byte_for_byte() {
    let json = EventJson::new();
    for (name, log) in LOGS {
        for (line, event) in events(log) {
            assert_eq!(json.line(&event), line, "in {name}");
        }
    }
}

#[test]
fn counting_the_steps_of_a_reference_log_gives_its_summary() {
    for (name, log) in LOGS {
        let events = events(log);
        let mut steps: BTreeMap<(&str, String), &StepMetadata> = BTreeMap::new();
        for (_, event) in &events {
            match &event.payload {
                EventPayload::ResourcePre(step) | EventPayload::ResourceOutputs(step) => {
                    let metadata = &step.metadata;
                    steps.insert((metadata.op.name(), key(metadata)), metadata);
                }
                EventPayload::ResourceOperationFailed { step, .. } => {
                    steps.remove(&(step.metadata.op.name(), key(&step.metadata)));
                }
                _ => {}
            }
        }
        let counts = ChangeCounts::new();
        for step in steps.values().filter(|step| step.op != StepOp::Refresh) {
            let internal = step.resource_type.is_provider() && step.urn.name().starts_with("default");
            if *name != "2b-refresh" {
                counts.succeeded(step, internal);
            } else if !internal {
                counts.add(step.op);
            }
        }
        let summary = events.iter().find_map(|(_, event)| match &event.payload {
            EventPayload::Summary(summary) => Some(summary),
            _ => None,
        });
        assert_eq!(counts.to_map(), summary.unwrap().resource_changes, "in {name}");
    }
}

/// Returns the key that distinguishes the steps of a log: old copies have the URN of the new ones and another id.
fn key(step: &StepMetadata) -> String {
    let old = step.old.as_ref().map_or("", |state| state.0.id.as_str());
    format!("{}::{old}", step.urn)
}

//! Tests of the documents of events: what is written is read without a rest, and comes out as it was.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::EventDocument;
use crate::{
    binding::Document as _,
    diagnostic::{Diagnostic, Severity},
    event::{
        DiffKind, EnforcementLevel, EngineEvent, EventJson, EventPayload, MovedResource, OperationStatus,
        PolicyFindings, PolicyName, PolicyQuestion, PolicyRemediation, PolicySeverity, PolicyViolation,
        Progress, ProgressKind, PropertyDiff, StateMetadata, StepEvent, StepMetadata, SuggestedMove, Summary,
    },
    property::PropertyMap,
    resource::ResourceState,
    runtime::Timestamp,
    step::StepOp,
    urn::Urn,
};

const LOGS: &[&str] = &[
    include_str!("../../../tests/fixtures/events/1-preview-create.jsonl"),
    include_str!("../../../tests/fixtures/events/1-up-create.jsonl"),
    include_str!("../../../tests/fixtures/events/2-preview-change.jsonl"),
    include_str!("../../../tests/fixtures/events/2-up-change.jsonl"),
    include_str!("../../../tests/fixtures/events/2b-refresh.jsonl"),
    include_str!("../../../tests/fixtures/events/4-up-create-failed.jsonl"),
    include_str!("../../../tests/fixtures/events/6-destroy.jsonl"),
];

/// Reads a line as a document, and returns the line's value.
fn read(line: &str) -> Value {
    let value: Value = serde_json::from_str(line).unwrap();
    let document: EventDocument = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(document).unwrap(), value, "{line}");
    value
}

fn urn() -> Urn {
    Urn::new("dev", "shop", "", "pkg:index:Type", "name")
}

fn properties() -> PropertyMap {
    [("size", 3.0.into())].into_iter().collect()
}

/// Returns a step all of whose members are written.
fn step() -> Arc<StepEvent> {
    let mut state = ResourceState::new(urn(), "pkg:index:Type".into(), true);
    state.delete = true;
    state.protect = true;
    state.taint = true;
    state.external = true;
    state.retain_on_delete = true;
    state.init_errors = vec!["not ready".to_owned()];
    state.options.hide_diffs = vec!["size".to_owned()];
    let state = StateMetadata(Arc::new(state));
    let difference = PropertyDiff {
        kind: DiffKind::Update,
        input_diff: true,
    };
    let metadata = StepMetadata {
        op: StepOp::Update,
        urn: urn(),
        resource_type: "pkg:index:Type".into(),
        old: Some(state.clone()),
        new: Some(state),
        keys: vec!["size".to_owned()],
        diffs: vec!["size".to_owned()],
        detailed_diff: Some(BTreeMap::from([("size".to_owned(), difference)])),
        logical: true,
        provider: "".into(),
    };
    let planning = true;
    Arc::new(StepEvent { metadata, planning })
}

fn findings(question: PolicyQuestion) -> EventPayload {
    EventPayload::PolicyFindings(Arc::new(PolicyFindings {
        question,
        urn: Some(urn()),
        pack: "pack".to_owned(),
        version: "1.0.0".to_owned(),
        passed: vec!["a".to_owned()],
        failed: vec!["b".to_owned()],
    }))
}

/// Returns an event of each kind.
fn payloads() -> Vec<EventPayload> {
    let name = PolicyName {
        policy: "policy".to_owned(),
        pack: "pack".to_owned(),
        version: "1.0.0".to_owned(),
    };
    let mut diagnostic = Diagnostic::error("broken");
    diagnostic.severity = Severity::Warning;
    diagnostic.urn = Some(urn());
    diagnostic.ephemeral = true;
    vec![
        EventPayload::Prelude {
            config: BTreeMap::from([("shop:size".to_owned(), "3".to_owned())]),
        },
        EventPayload::ResourcePre(step()),
        EventPayload::ResourceOutputs(step()),
        EventPayload::ResourceOperationFailed {
            step: step(),
            status: OperationStatus::Unknown,
            steps: 1,
        },
        EventPayload::Diagnostic(diagnostic),
        EventPayload::Stdout {
            message: "text".to_owned(),
        },
        EventPayload::Progress(Progress {
            kind: ProgressKind::PluginDownload,
            id: "resource-shop-v1.0.0".to_owned(),
            message: "downloading".to_owned(),
            received: 1,
            total: 2,
            done: false,
        }),
        EventPayload::PolicyLoad,
        EventPayload::PolicyViolation(Arc::new(PolicyViolation {
            urn: urn(),
            name: name.clone(),
            message: "not so".to_owned(),
            level: EnforcementLevel::Advisory,
            severity: Some(PolicySeverity::High),
        })),
        EventPayload::PolicyRemediation(Arc::new(PolicyRemediation {
            urn: urn(),
            name,
            before: properties(),
            after: properties(),
        })),
        findings(PolicyQuestion::Remediate),
        findings(PolicyQuestion::Analyze),
        findings(PolicyQuestion::AnalyzeStack),
        EventPayload::SuggestedMoves(Arc::new(vec![SuggestedMove {
            old_urn: urn(),
            new_urn: urn(),
            reason: "the name changes".to_owned(),
            confidence: Some(0.5),
            alias: "aliases=[]".to_owned(),
            following: vec![MovedResource {
                old_urn: urn(),
                new_urn: urn(),
            }],
            accepted: true,
        }])),
        EventPayload::Summary(Summary {
            resource_changes: BTreeMap::from([("create", 1)]),
            policy_packs: BTreeMap::from([("pack".to_owned(), "1.0.0".to_owned())]),
            ..Summary::default()
        }),
        EventPayload::Cancel,
    ]
}

fn lines() -> Vec<String> {
    let json = EventJson::default();
    let line = |payload| {
        json.line(&EngineEvent {
            sequence: 7,
            timestamp: Timestamp::from_second(99).unwrap(),
            internal: false,
            payload,
        })
    };
    payloads().into_iter().map(line).collect()
}

#[test]
fn every_line_of_the_reference_logs_is_a_document() {
    for line in LOGS.iter().flat_map(|log| log.lines()) {
        read(line);
    }
}

#[test]
fn every_member_of_a_document_is_one_that_is_written() {
    let schema = EventDocument::schema();
    let mut written = BTreeSet::new();
    for line in lines() {
        collect(&read(&line), schema, schema, &mut written);
    }
    let definitions = schema["$defs"].as_object().unwrap().values();
    for definition in definitions.chain([schema]) {
        for (name, member) in definition["properties"].as_object().into_iter().flatten() {
            let key = format!("{} {name} {}", definition["description"], member["description"]);
            assert!(written.contains(&key), "{key}");
        }
    }
}

/// Collects the members of a schema that a value has.
fn collect(value: &Value, schema: &Value, root: &Value, written: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = &root["$defs"][name.rsplit('/').next().unwrap()];
        return collect(value, definition, root, written);
    }
    for branch in schema["anyOf"].as_array().into_iter().flatten() {
        collect(value, branch, root, written);
    }
    for item in value.as_array().into_iter().flatten() {
        collect(item, &schema["items"], root, written);
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let property = &schema["properties"][name];
        if *property == json!(null) {
            collect(member, &schema["additionalProperties"], root, written);
        } else {
            written.insert(format!(
                "{} {name} {}",
                schema["description"], property["description"]
            ));
            collect(member, property, root, written);
        }
    }
}

//! Every kind of expectation can fail: one synthetic observation is checked against right and wrong ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use stackwright_testkit::{
    check::check,
    director::{Answers, Observation},
    scenario::{Expectation, OperationKind},
    script::{CallOutcome, CallRecord},
};

use serde_json::{Value, json};

const STACK: &str = "urn:pulumi:dev::story::pulumi:pulumi:Stack::story-dev";
const A: &str = "urn:pulumi:dev::story::test:index:Thing::a";
const B: &str = "urn:pulumi:dev::story::test:index:Thing::b";

fn step(op: &str, urn: &str) -> Value {
    json!({"metadata": {
        "op": op, "urn": urn, "old": null, "new": {"urn": urn, "custom": true, "inputs": {"n": 1}}, "keys": ["n"],
    }})
}

fn call(method: &str, subject: &str, begin: usize, end: usize) -> CallRecord {
    CallRecord {
        method: method.into(),
        subject: subject.into(),
        request: json!({"name": subject, "inputs": {"n": 1}, "preview": false}),
        begin,
        end: Some(end),
        outcome: CallOutcome::Answered,
    }
}

/// An update that created `a`, then failed to create `b`; an old copy of `a` and a pending operation are left.
fn seen() -> Observation {
    let message = json!({"urn": B, "prefix": "error: ", "message": "disk full\n", "severity": "error"});
    let summary = json!({"maybeCorrupt": true, "resourceChanges": {"create": 1}, "isPreview": false, "result": "failed"});
    let payloads = [
        ("preludeEvent", json!({"config": {}})),
        ("resourcePreEvent", step("create", A)),
        ("resOutputsEvent", step("create", A)),
        ("resourcePreEvent", step("create", B)),
        ("diagnosticEvent", message),
        ("resOpFailedEvent", step("create", B)),
        ("summaryEvent", summary),
        ("cancelEvent", json!({})),
    ];
    let events: Vec<Value> = payloads
        .into_iter()
        .enumerate()
        .map(|(sequence, (kind, payload))| json!({"sequence": sequence, "timestamp": 1, kind: payload}))
        .collect();
    let after = json!({"version": 3, "deployment": {
        "resources": [
            {"urn": STACK, "type": "pulumi:pulumi:Stack"},
            {"urn": A, "type": "test:index:Thing", "custom": true, "id": "a-2", "parent": STACK, "inputs": {"n": 1}},
            {"urn": A, "type": "test:index:Thing", "custom": true, "id": "a-1", "delete": true},
        ],
        "pending_operations": [{"type": "creating", "resource": {"urn": B}}],
    }});
    Observation {
        kind: OperationKind::Update,
        dry: false,
        result: Some(json!({
            "outcome": "failed", "error": {"kind": "failed", "message": "disk full", "urn": B},
            "changes": {"create": 1}, "outputs": {"o": {"value": 1, "secret": false}}, "events": events,
        })),
        calls: vec![
            call("check", "a", 0, 1),
            call("create", "a", 2, 5),
            call("create", "b", 4, 6),
        ],
        config: Value::Null,
        answers: Answers::from([("a".to_owned(), json!({"id": "a-2", "urn": A}))]),
        before: json!({"version": 3, "deployment": {}}),
        after,
        read: json!({"analyses": [
            {"found": {"passed": false, "resources": 2, "violations": [{"policy": "big", "urn": A, "level": "mandatory"}]}},
            {"error": {"kind": "failed", "message": "it broke", "urn": A}},
        ]}),
        written: vec![".pulumi/stacks/story/dev.json".into()],
        locks: Vec::new(),
        world: vec!["a-2".into()],
        problems: Vec::new(),
        trace: Vec::new(),
        secrets: Vec::new(),
        kept: Vec::new(),
        leaks: Vec::new(),
        foreign: Vec::new(),
    }
}

fn findings(seen: &Observation, expectation: &str) -> Vec<String> {
    let mut members: Value = serde_norway::from_str(expectation).unwrap();
    // The parts that are not under test match the observation.
    if members.get("result").is_none() {
        members["result"] = "failed".into();
    }
    let expectation: Expectation = serde_json::from_value(members).unwrap();
    check(seen, &expectation)
}

/// Expectations that the observation meets, each with one of the same kind that it does not.
const CASES: &[(&str, &str)] = &[
    ("{result: failed}", "{result: succeeded}"),
    ("{error: {kind: failed}}", "{error: {kind: provider}}"),
    ("{error: {message: full}}", "{error: {message: empty}}"),
    ("{error: {about: b}}", "{error: {about: a}}"),
    ("{changes: {create: 1}}", "{changes: {create: 1, same: 1}}"),
    ("{maybeCorrupt: true}", "{maybeCorrupt: false}"),
    ("{steps: [create b, create a]}", "{steps: [create a]}"),
    (
        "{steps: [create b, create a]}",
        "{steps: [create a, create b, create b]}",
    ),
    ("{failed: [create b]}", "{failed: []}"),
    (
        "{order: [[create a, create b]]}",
        "{order: [[create b, create a]]}",
    ),
    (
        "{order: [[create a, create b]]}",
        "{order: [[create a, create c]]}",
    ),
    (
        "{metadata: {create a: {keys: [n], old: null}}}",
        "{metadata: {create a: {keys: [m]}}}",
    ),
    (
        "{metadata: {create a: {new: {inputs: {n: 1}}}}}",
        "{metadata: {create c: {}}}",
    ),
    (
        "{events: {resourcePreEvent: 2}}",
        "{events: {resourcePreEvent: 1}}",
    ),
    (
        "{diagnostics: [{text: disk full, about: b}]}",
        "{diagnostics: [{text: disk, about: b}]}",
    ),
    (
        "{diagnostics: [{contains: disk, severity: error}]}",
        "{diagnostics: [{contains: disk, severity: warning}]}",
    ),
    (
        "{diagnostics: [{contains: disk, count: 1}]}",
        "{diagnostics: [{contains: disk, count: 2}]}",
    ),
    (
        "{diagnostics: [{contains: disk, about: b}]}",
        "{diagnostics: [{contains: disk, about: \"\"}]}",
    ),
    ("{noDiagnostics: [disk empty]}", "{noDiagnostics: [disk full]}"),
    ("{outputs: {o: 1}}", "{outputs: {o: 2}}"),
    (
        "{calls: {exactly: {create: [b, a]}}}",
        "{calls: {exactly: {create: [a]}}}",
    ),
    ("{calls: {none: [delete]}}", "{calls: {none: [check]}}"),
    (
        "{calls: {order: [[check a, create a]]}}",
        "{calls: {order: [[create a, create b]]}}",
    ),
    (
        "{calls: {together: [[create a, create b]]}}",
        "{calls: {together: [[check a, create a]]}}",
    ),
    ("{calls: {atMost: {create: 2}}}", "{calls: {atMost: {create: 1}}}"),
    (
        "{calls: {requests: {create a: {inputs: {n: 1}}}}}",
        "{calls: {requests: {create a: {inputs: {n: 2}}}}}",
    ),
    (
        "{program: {a: {id: a-2, urn: \"@a\"}}}",
        "{program: {a: {id: a-1}}}",
    ),
    ("{state: {resources: [a]}}", "{state: {resources: []}}"),
    (
        "{state: {records: {a: {id: a-2, parent: \"@stack\", protect: null}}}}",
        "{state: {records: {a: {protect: true}}}}",
    ),
    ("{state: {records: {a: {}}}}", "{state: {records: {b: {}}}}"),
    ("{state: {deleting: [a]}}", "{state: {deleting: []}}"),
    ("{state: {pending: [creating b]}}", "{state: {pending: []}}"),
    ("{state: {order: [[stack, a]]}}", "{state: {order: [[a, stack]]}}"),
    ("{}", "{state: {unchanged: true}}"),
    ("{world: [a-2]}", "{world: [a-1]}"),
    ("{}", "{untouched: true}"),
    (
        "{read: {analyses: [{passed: false, resources: 2, violations: {big a: {level: mandatory}}}, {error: {message: broke}}]}}",
        "{read: {analyses: [{passed: true}]}}",
    ),
    ("{read: {analyses: [{}]}}", "{read: {analyses: [{resources: 3}]}}"),
    (
        "{read: {analyses: [{violations: {big a: {}}}]}}",
        "{read: {analyses: [{violations: {}}]}}",
    ),
    (
        "{read: {analyses: [{violations: {big a: {level: mandatory}}}]}}",
        "{read: {analyses: [{violations: {big a: {level: advisory}}}]}}",
    ),
    ("{read: {analyses: [{}]}}", "{read: {analyses: [{error: {}}]}}"),
    (
        "{read: {analyses: [{}, {error: {kind: failed}}]}}",
        "{read: {analyses: [{}, {}]}}",
    ),
];

#[test]
fn what_was_seen_meets_right_expectations_and_no_wrong_ones() {
    let seen = seen();
    for (right, wrong) in CASES {
        assert_eq!(findings(&seen, right), [""; 0], "{right}");
        assert!(!findings(&seen, wrong).is_empty(), "{wrong} was not found wrong");
    }
}

#[test]
fn the_rules_that_always_hold_can_be_broken_one_by_one() {
    type Break = fn(&mut Observation);
    let breaks: &[(&str, Break)] = &[
        ("a problem of the scenario", |seen| {
            seen.problems.push("gave up".into());
        }),
        ("a secret in a file", |seen| seen.leaks.push("dev.json".into())),
        ("a secret of the other stack in the state", |seen| {
            seen.foreign.push("a-2".into());
        }),
        ("a lock that is left", |seen| {
            seen.locks.push("locks/x.json".into());
        }),
        ("a secret in an event", |seen| {
            seen.secrets.push("disk full".into());
        }),
        ("a secret in a text of the binding", |seen| {
            seen.kept.push("tulip-mania".into());
            result(seen)["texts"] = json!(["the token is tulip-mania"]);
        }),
        ("a preview that writes and creates", |seen| seen.dry = true),
        ("a dependency that is nowhere", |seen| {
            seen.after["deployment"]["resources"][1]["dependencies"] = json!([B]);
        }),
        ("a record before its parent", |seen| {
            let records = seen.after["deployment"]["resources"].as_array_mut().unwrap();
            records.swap(0, 1);
        }),
        ("a state that is marked as invalid", |seen| {
            seen.after["deployment"]["metadata"] = json!({"integrity_error": {"error": "x"}});
        }),
        ("a gap in the sequence", |seen| {
            result(seen)["events"][3]["sequence"] = json!(9);
        }),
        ("no cancel event", |seen| {
            drop(result(seen)["events"].as_array_mut().unwrap().pop());
        }),
        ("an end without a beginning", |seen| {
            result(seen)["events"][1]["resourcePreEvent"]["metadata"]["urn"] = json!(STACK);
        }),
        ("a summary that counts otherwise", |seen| {
            result(seen)["changes"] = json!({});
        }),
        ("a failure without an error", |seen| {
            result(seen)["error"] = Value::Null;
        }),
    ];
    assert_eq!(findings(&seen(), "{}"), [""; 0]);
    for (what, spoil) in breaks {
        let mut seen = seen();
        spoil(&mut seen);
        assert!(!findings(&seen, "{}").is_empty(), "{what} went unnoticed");
    }
}

fn result(seen: &mut Observation) -> &mut Value {
    seen.result.as_mut().unwrap()
}

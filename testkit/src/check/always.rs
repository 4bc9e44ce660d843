//! The rules that hold for every operation of every scenario, beside its expectations.

use serde_json::{Value, json};

use super::{
    Findings,
    events::{Events, text},
    integrity, names, state,
};
use crate::{director::Observation, script::CallRecord, value};

/// Methods that make or change real things, unless they preview.
const CHANGING: [&str; 3] = ["create", "update", "delete"];

pub(super) fn check(seen: &Observation, wrong: &mut Findings) {
    for problem in &seen.problems {
        wrong.push(format!("the scenario cannot go on: {problem}"));
    }
    integrity::check(&seen.after, wrong);
    if seen.dry {
        check_dry(seen, wrong);
    }
    let state = seen.after.to_string();
    for secret in seen
        .foreign
        .iter()
        .filter(|secret| state.contains(secret.as_str()))
    {
        wrong.push(format!(
            "the secret {secret:?} of the other stack stands in the state"
        ));
    }
    for leak in &seen.leaks {
        wrong.push(format!("a secret stands in the clear in {leak}"));
    }
    let Some(result) = &seen.result else {
        return;
    };
    for lock in &seen.locks {
        wrong.push(format!("a lock is left: {lock}"));
    }
    check_stream(&Events::new(result), seen.dry, wrong);
    let code = result.pointer("/imported/code");
    let shown = json!([
        result.get("events"),
        result.get("error"),
        result.get("plan"),
        code
    ])
    .to_string();
    for secret in seen
        .secrets
        .iter()
        .filter(|secret| shown.contains(secret.as_str()))
    {
        wrong.push(format!(
            "the secret {secret:?} stands in the clear in events, in the error, in the plan or in source code"
        ));
    }
}

/// A preview writes nothing and changes nothing.
fn check_dry(seen: &Observation, wrong: &mut Findings) {
    if !seen.written.is_empty() {
        wrong.push(format!("a preview wrote {:?}", seen.written));
    }
    let (before, after) = (state::content(&seen.before), state::content(&seen.after));
    wrong.compare(
        "the state after a preview",
        &json!({ "$exactly": before }),
        &after,
    );
    let real = |call: &&CallRecord| {
        CHANGING.contains(&call.method.as_str()) && call.request.get("preview") != Some(&Value::Bool(true))
    };
    let calls: Vec<_> = seen.calls.iter().filter(real).map(CallRecord::label).collect();
    if !calls.is_empty() {
        wrong.push(format!("a preview made changes: {calls:?}"));
    }
}

/// Events are numbered without gaps and end with one cancel event; what begins also ends.
fn check_stream(events: &Events<'_>, dry: bool, wrong: &mut Findings) {
    let all = events.all();
    if all.is_empty() {
        // An operation that was refused before it began has none.
        return;
    }
    let numbered = all
        .iter()
        .enumerate()
        .all(|(index, event)| event["sequence"] == json!(index));
    if !numbered {
        wrong.push("the events are not numbered from 0 without gaps");
    }
    if events.of("cancelEvent").count() != 1
        || all.last().is_none_or(|event| event.get("cancelEvent").is_none())
    {
        wrong.push("the cancel event is not the last, or not the only one");
    }
    for (sequence, ended) in events.of("resOutputsEvent").chain(events.of("resOpFailedEvent")) {
        let urn = text(&ended["metadata"], "urn");
        let mut begun = events.of("resourcePreEvent");
        if !begun.any(|(begin, step)| begin < sequence && text(&step["metadata"], "urn") == urn) {
            wrong.push(format!("a step of {} ended that never began", names::name(urn)));
        }
    }
    for (_, step) in events.of("resourcePreEvent").chain(events.of("resOutputsEvent")) {
        let planning = step.get("planning").is_some_and(|planning| planning == true);
        if planning != dry {
            wrong.push(format!(
                "a step has planning {planning}: {}",
                text(&step["metadata"], "urn")
            ));
        }
    }
    for (_, summary) in events.of("summaryEvent") {
        if !value::equal(&summary["isPreview"], &json!(dry)) {
            wrong.push("the summary's isPreview does not match the operation");
        }
    }
}

//! The rules that hold for every operation of every scenario, beside its expectations.

use serde_json::{Map, Value, json};

use super::{
    Findings,
    events::{Events, text},
    integrity, names, state,
};
use crate::{director::Observation, script::CallRecord, value};

/// Methods that make or change real things, unless they preview.
const CHANGING: [&str; 3] = ["create", "update", "delete"];

/// How much of a text is shown before a secret in it.
const PLACE_LENGTH: usize = 120;

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
    for (member, value) in shown(result) {
        let text = value.to_string();
        // In texts of the whole result is the state, too, where a secret that the program also uses in a plain value is plain.
        let hidden = if member == "texts" {
            &seen.kept
        } else {
            &seen.secrets
        };
        for secret in hidden {
            if let Some((before, _)) = text.split_once(secret.as_str()) {
                let place: String = before.chars().rev().take(PLACE_LENGTH).collect();
                let place: String = place.chars().rev().collect();
                wrong.push(format!(
                    "the secret {secret:?} stands in the clear in `{member}` of the result, after {place}"
                ));
            }
        }
    }
}

/// Returns a result without the values in which secrets are readable: outputs that are marked as secret, the state, and what
/// an import has found.
fn shown(result: &Value) -> Map<String, Value> {
    let mut shown = result.as_object().cloned().unwrap_or_default();
    shown.remove("deployment");
    if let Some(imported) = shown.get_mut("imported").and_then(Value::as_object_mut) {
        imported.retain(|member, _| member == "code");
    }
    if let Some(outputs) = shown.get_mut("outputs").and_then(Value::as_object_mut) {
        outputs.retain(|_, output| output["secret"] != json!(true));
    }
    shown
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

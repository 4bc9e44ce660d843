//! Checks of results: how the operation ended, its error, its counts, its outputs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Findings,
    events::{Events, text},
    names,
};
use crate::{
    scenario::{ErrorExpectation, Expectation, ImportedExpectation},
    value::from_plain,
};

pub(super) fn check(result: &Value, events: &Events<'_>, expected: &Expectation, wrong: &mut Findings) {
    let outcome = text(result, "outcome");
    let wanted = expected.result.as_deref().unwrap_or("succeeded");
    let error = result.get("error").filter(|error| !error.is_null());
    // As in the reference engine's summary, a run is only canceled when calls were cancelled.
    let summary = events.of("summaryEvent").last();
    let counted = summary.map_or(outcome, |(_, summary)| text(summary, "result"));
    if counted != wanted {
        let messages: Vec<_> = events
            .of("diagnosticEvent")
            .filter(|(_, it)| text(it, "severity") == "error")
            .map(|(_, it)| text(it, "message").trim_end())
            .collect();
        let error = error.map_or("", |error| text(error, "message"));
        wrong.push(format!(
            "the result is {counted:?}, not {wanted}: {error} {messages:?}"
        ));
    }
    if (outcome == "succeeded") == error.is_some() {
        wrong.push(format!("a result that is {outcome} has the error {error:?}"));
    }
    let is_cancelled = error.is_some_and(|error| text(error, "kind") == "cancelled");
    if is_cancelled && outcome != "canceled" {
        wrong.push(format!(
            "a result that is {outcome} has an error of kind cancelled"
        ));
    }
    if let Some(expected) = &expected.error {
        check_error(error.unwrap_or(&Value::Null), expected, wrong);
    }
    let changes = result.get("changes").cloned().unwrap_or_else(|| json!({}));
    if let Some(expected) = &expected.changes {
        wrong.compare("changes", &json!({ "$exactly": expected }), &changes);
    }
    for (_, summary) in events.of("summaryEvent") {
        if !crate::value::equal(&summary["resourceChanges"], &changes) {
            wrong.push(format!(
                "the summary counts {}, the result {changes}",
                summary["resourceChanges"]
            ));
        }
        if expected
            .maybe_corrupt
            .is_some_and(|wanted| summary["maybeCorrupt"] != json!(wanted))
        {
            wrong.push(format!(
                "the summary has maybeCorrupt: {}",
                summary["maybeCorrupt"]
            ));
        }
        let is_counted = outcome == "canceled" && text(summary, "result") == "failed";
        if text(summary, "result") != outcome && !is_counted {
            wrong.push(format!(
                "the summary has {}, the result {outcome}",
                summary["result"]
            ));
        }
    }
    check_plan(result, expected, wrong);
    if let Some(expected) = &expected.dropped {
        let dropped = result["droppedPending"].as_array().into_iter().flatten();
        let labels = dropped.map(|it| format!("{} {}", text(it, "kind"), names::name(text(it, "urn"))));
        wrong.same_names("the dropped pending operations", expected, labels.collect());
    }
    if let Some(expected) = &expected.outputs {
        wrong.compare("outputs", expected, &outputs(result));
    }
}

pub(super) fn check_error(error: &Value, expected: &ErrorExpectation, wrong: &mut Findings) {
    let has = |member: &str, part: &Option<String>| {
        let part = part.as_deref();
        part.is_none_or(|part| text(error, member).contains(part))
    };
    let is =
        |expected: &Option<String>, found: &str| expected.as_deref().is_none_or(|expected| expected == found);
    let right = is(&expected.kind, text(error, "kind"))
        && has("message", &expected.message)
        && has("referenceMessage", &expected.reference)
        && is(&expected.about, &names::name(text(error, "urn")))
        && expected.has_hints(error);
    if !right {
        wrong.push(format!("the error is {error}, not {expected:?}"));
    }
}

/// Returns the outputs of a result in the form of scenarios.
fn outputs(result: &Value) -> Value {
    let outputs = result["outputs"].as_object().into_iter().flatten();
    let values = outputs.map(|(name, output)| {
        let value = names::shortened(&output["value"]);
        let is_secret = output["secret"] == json!(true);
        (
            name.clone(),
            if is_secret {
                json!({ "$secret": value })
            } else {
                value
            },
        )
    });
    values.collect::<Map<_, _>>().into()
}

fn check_plan(result: &Value, expected: &Expectation, wrong: &mut Findings) {
    let resources = result
        .pointer("/plan/resourcePlans")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let by_name: BTreeMap<String, &Value> = resources.map(|(urn, plan)| (names::name(urn), plan)).collect();
    for (name, expected) in &expected.plan {
        let planned = by_name
            .get(name)
            .map_or(Value::Null, |plan| names::shortened(plan));
        wrong.compare(&format!("the plan's `{name}`"), expected, &planned);
    }
}

/// Checks the report of an import.
pub(super) fn check_imported(result: &Value, expected: &ImportedExpectation, wrong: &mut Findings) {
    let report = result.get("imported").unwrap_or(&Value::Null);
    for (name, expected) in &expected.resources {
        let resources = report["resources"].as_array().into_iter().flatten();
        let mut own = resources.filter(|resource| text(resource, "name") == name);
        let resource = own
            .next()
            .map_or(Value::Null, |resource| names::shortened(&from_plain(resource)));
        wrong.compare(&format!("the imported `{name}`"), expected, &resource);
    }
    for (language, parts) in &expected.code {
        let code = text(&report["code"], language);
        for part in parts.iter().filter(|part| !code.contains(part.as_str())) {
            wrong.push(format!("the {language} code lacks {part:?}:\n{code}"));
        }
    }
    let all = report["code"].to_string();
    for part in expected.no_code.iter().filter(|part| all.contains(part.as_str())) {
        wrong.push(format!("the code contains {part:?}: {all}"));
    }
    if let Some(expected) = &expected.configuration {
        wrong.compare(
            "the configuration",
            &json!({ "$exactly": expected }),
            &report["configuration"],
        );
    }
}

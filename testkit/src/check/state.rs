//! Checks of the recorded state.

use serde_json::Value;

use super::{Findings, events::text, names};
use crate::{director::Observation, scenario::StateExpectation};

/// Returns the deployment without its envelope.
pub(super) fn deployment(exported: &Value) -> &Value {
    exported.get("deployment").unwrap_or(exported)
}

pub(super) fn records(exported: &Value) -> &[Value] {
    let records = deployment(exported).get("resources").and_then(Value::as_array);
    records.map_or(&[], Vec::as_slice)
}

/// Returns the recorded content, without the manifest's author and time.
pub(super) fn content(exported: &Value) -> Value {
    let mut content = deployment(exported).clone();
    if let Some(object) = content.as_object_mut() {
        object.remove("manifest");
        object.remove("secrets_providers");
        object.retain(|_, value| !matches!(value, Value::Object(map) if map.is_empty()) && !value.is_null());
    }
    names::shortened(&content)
}

pub(super) fn check(seen: &Observation, expected: &StateExpectation, wrong: &mut Findings) {
    let records = records(&seen.after);
    let is_old = |record: &&Value| record.get("delete").is_some_and(|delete| delete == true);
    let shown = |record: &&Value| !names::is_implied(text(record, "urn"));
    let name = |record: &Value| names::name(text(record, "urn"));
    if let Some(expected) = &expected.resources {
        let live = records.iter().filter(|record| !is_old(record)).filter(shown);
        wrong.same_names("the recorded resources", expected, live.map(name).collect());
    }
    if let Some(expected) = &expected.deleting {
        let old = records.iter().filter(is_old);
        wrong.same_names("the old copies", expected, old.map(name).collect());
    }
    for (wanted, members) in &expected.records {
        match records
            .iter()
            .find(|record| !is_old(record) && name(record) == *wanted)
        {
            Some(record) => wrong.compare(&format!("record `{wanted}`"), members, &names::shortened(record)),
            None => wrong.push(format!("there is no record of `{wanted}`")),
        }
    }
    let pending = deployment(&seen.after)
        .get("pending_operations")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let label = |it: &Value| format!("{} {}", text(it, "type"), name(&it["resource"]));
    if let Some(expected) = &expected.pending {
        wrong.same_names(
            "pending operations",
            expected,
            pending.iter().map(label).collect(),
        );
    }
    for (wanted, members) in &expected.pending_records {
        match pending.iter().find(|it| label(it) == *wanted) {
            Some(it) => wrong.compare(
                &format!("the record of `{wanted}`"),
                members,
                &names::shortened(&it["resource"]),
            ),
            None => wrong.push(format!("there is no pending operation `{wanted}`")),
        }
    }
    let place = |wanted: &str| {
        records
            .iter()
            .position(|record| !is_old(&record) && name(record) == wanted)
    };
    for chain in &expected.order {
        for pair in chain.windows(2) {
            let (first, second) = (place(&pair[0]), place(&pair[1]));
            if first.is_none() || second.is_none() || first > second {
                wrong.push(format!(
                    "the record of {} does not stand before that of {}",
                    pair[0], pair[1]
                ));
            }
        }
    }
    if let Some(expected) = &expected.secrets_provider {
        let found = deployment(&seen.after).pointer("/secrets_providers/type");
        let found = found.and_then(Value::as_str).unwrap_or_default();
        if found != expected {
            wrong.push(format!("the secrets are encrypted by {found:?}, not {expected}"));
        }
    }
    if expected.unchanged {
        let (before, after) = (content(&seen.before), content(&seen.after));
        wrong.compare("the state", &serde_json::json!({ "$exactly": before }), &after);
    }
}

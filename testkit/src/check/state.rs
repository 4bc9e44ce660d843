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
    if let Some(expected) = &expected.pending {
        let pending = deployment(&seen.after)
            .get("pending_operations")
            .and_then(Value::as_array);
        let labels = pending
            .into_iter()
            .flatten()
            .map(|it| format!("{} {}", text(it, "type"), name(&it["resource"])));
        wrong.same_names("pending operations", expected, labels.collect());
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
    if expected.unchanged {
        let (before, after) = (content(&seen.before), content(&seen.after));
        wrong.compare("the state", &serde_json::json!({ "$exactly": before }), &after);
    }
}

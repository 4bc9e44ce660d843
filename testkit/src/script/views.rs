//! Views of a scripted provider: the parts that a property of a resource lists, each published as a resource.

use serde_json::{Map, Value, json};

use super::answer::{object, same};
use crate::scenario::PACKAGE;

/// Returns the steps that lead from the recorded views to the parts that `property` lists; `None` without such a
/// property.
pub(super) fn of(property: Option<&str>, request: &Value, values: &Map<String, Value>) -> Option<Vec<Value>> {
    let parts = values.get(property?).and_then(Value::as_object).cloned();
    Some(steps(request, &parts.unwrap_or_default()))
}

/// Returns the steps that lead from the recorded views to `parts`.
pub(super) fn steps(request: &Value, parts: &Map<String, Value>) -> Vec<Value> {
    let old: Vec<Value> = request["oldViews"].as_array().cloned().unwrap_or_default();
    let named = |name: &str| old.iter().find(|view| view["name"] == name);
    let mut steps = Vec::new();
    for (name, part) in parts {
        let new = json!({
            "type": format!("{PACKAGE}:index:Part"), "name": name, "inputs": part, "outputs": part,
        });
        steps.push(match named(name) {
            None => json!({ "op": "create", "new": new }),
            Some(old) if same(&object(old, "inputs").into(), part) => {
                json!({ "op": "same", "old": old, "new": new })
            }
            Some(old) => json!({ "op": "update", "old": old, "new": new }),
        });
    }
    let gone = old
        .iter()
        .filter(|view| !parts.contains_key(view["name"].as_str().unwrap_or_default()));
    steps.extend(gone.map(|view| json!({ "op": "delete", "old": view })));
    steps
}

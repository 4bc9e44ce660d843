//! Answers of transforms: what their scripts set, unless a rule of the operation prescribes something else.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    scenario::TransformScript,
    script::{CallFailure, ProviderCall, Scene},
    value,
};

/// The methods by which actors call transforms.
const METHODS: [&str; 2] = ["transform", "transformInvoke"];

/// The transforms of a scenario by name.
pub(super) type Transforms = BTreeMap<String, TransformScript>;

/// Returns whether a call is one of a transform.
pub(super) fn is_transform(call: &ProviderCall) -> bool {
    METHODS.contains(&call.method.as_str())
}

/// Answers a call of a transform. Dropping the future cancels the call.
pub(super) async fn transform(
    scripts: &Transforms,
    scene: &Scene,
    call: ProviderCall,
) -> Result<Value, CallFailure> {
    let name = call.request["transform"].as_str().unwrap_or_default();
    let Some(script) = scripts.get(name) else {
        scene.problem(format!("there is no transform `{name}`"));
        return Ok(json!({}));
    };
    let arguments = if call.method == "transform" {
        "inputs"
    } else {
        "arguments"
    };
    let mut usual = json!({});
    if !script.inputs.is_empty() {
        usual[arguments] = changed(&call.request[arguments], &script.inputs);
    }
    if !script.options.is_empty() {
        // Options change one by one.
        usual["options"] = script.options.clone().into();
    }
    let subject = format!("{name} {}", call.subject());
    let request = value::from_plain(&call.request);
    let answer = scene.play(&call.method, &subject, request, usual).await?;
    Ok(value::to_plain(&answer))
}

/// Sets members of an object; its other values stay in plain JSON form, with the dependencies of output values.
fn changed(object: &Value, set: &Map<String, Value>) -> Value {
    let mut members = object.as_object().cloned().unwrap_or_default();
    for (name, value) in set {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    members.into()
}

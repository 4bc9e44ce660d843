//! Calls of a program's hooks: they are played, recorded and ruled as those of providers are.

use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{CallFailure, ProviderCall, Scene};
use crate::value;

/// The method of such calls; the subject is the name of the hook and that of the resource.
pub(super) const METHOD: &str = "hook";

/// Answers the call of a hook. An error hook agrees to as many further attempts as its statement has `retries`.
pub(super) async fn answer(scene: &Scene, call: &ProviderCall) -> Result<Value, CallFailure> {
    let request = value::from_plain(&call.request);
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
    let (hook, resource) = (text("hook"), text("name"));
    let usual = match request.get("errors").and_then(Value::as_array) {
        Some(errors) => json!({ "retry": errors.len() <= scene.retries_of(hook) }),
        None => json!({}),
    };
    let subject = format!("{hook} {resource}");
    scene.play(METHOD, &subject, request.clone(), usual).await
}

impl Scene {
    fn retries_of(&self, hook: &str) -> usize {
        let known = self.retries.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(hook).copied().unwrap_or_default()
    }
}

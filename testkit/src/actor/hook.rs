//! Hooks of the program: their calls go to the director.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use stackwright::{
    Error, ErrorKind, Result,
    callback::{ErrorHook, ErrorHookCall, HookCall, ResourceHook},
};

use super::wire::Wire;
use crate::provider::AnswerSource as _;

/// A hook whose calls the director answers.
pub(super) struct ForwardedHook {
    name: String,
    preview: bool,
    wire: Arc<Wire>,
}

impl ForwardedHook {
    pub(super) fn new(name: &str, preview: bool, wire: &Arc<Wire>) -> Self {
        Self {
            name: name.to_owned(),
            preview,
            wire: Arc::clone(wire),
        }
    }

    /// Has the director answer a call, whose JSON gets the name of the hook and whether the run is a preview.
    async fn ask(&self, call: &[u8]) -> Result<Value> {
        let malformed = |error| Error::new(ErrorKind::Program, format!("a malformed call: {error}"));
        let mut request: Value = serde_json::from_slice(call).map_err(malformed)?;
        request["hook"] = self.name.clone().into();
        request["preview"] = self.preview.into();
        let answer = self.wire.answer("", "hook", request).await;
        answer.map_err(|error| {
            let message = error["message"].as_str().unwrap_or_default();
            Error::new(ErrorKind::Program, message)
        })
    }
}

#[async_trait]
impl ResourceHook for ForwardedHook {
    async fn run(&self, call: HookCall) -> Result<()> {
        self.ask(&call.to_json()?).await.map(drop)
    }
}

#[async_trait]
impl ErrorHook for ForwardedHook {
    async fn should_retry(&self, call: ErrorHookCall) -> Result<bool> {
        let answer = self.ask(&call.to_json()?).await?;
        Ok(answer["retry"].as_bool().unwrap_or_default())
    }
}

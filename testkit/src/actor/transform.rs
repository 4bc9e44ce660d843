//! Transforms of the actor's programs: each call goes to the director.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use stackwright::{
    Error, ErrorKind, Result,
    monitor::{InvokeTransform, InvokeTransformArgs, ResourceTransform, TransformArgs},
};

use super::wire::Wire;
use crate::provider::AnswerSource as _;

/// A transform of the scenario.
pub(super) struct ForwardedTransform {
    pub(super) wire: Arc<Wire>,
    pub(super) name: String,
}

impl ForwardedTransform {
    /// Sends the document of a call to the director; returns the answer.
    async fn call(&self, method: &str, document: &[u8]) -> Result<Vec<u8>> {
        let mut request: Value = serde_json::from_slice(document)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        request["transform"] = json!(self.name);
        match self.wire.answer("", method, request).await {
            Ok(answer) => Ok(answer.to_string().into_bytes()),
            Err(failure) => {
                let message = failure["message"].as_str().unwrap_or_default();
                Err(Error::new(ErrorKind::Program, message))
            }
        }
    }
}

#[async_trait]
impl ResourceTransform for ForwardedTransform {
    async fn transform(&self, args: TransformArgs) -> Result<Option<TransformArgs>> {
        let answer = self.call("transform", &args.to_json()?).await?;
        args.changed_by_json(&answer).map(Some)
    }
}

#[async_trait]
impl InvokeTransform for ForwardedTransform {
    async fn transform(&self, args: InvokeTransformArgs) -> Result<Option<InvokeTransformArgs>> {
        let answer = self.call("transformInvoke", &args.to_json()?).await?;
        args.changed_by_json(&answer).map(Some)
    }
}

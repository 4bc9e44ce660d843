//! Transforms that are functions of a program behind the protocol.

use async_trait::async_trait;

use super::{InvokeTransform, InvokeTransformArgs, ResourceTransform, TransformArgs};
use crate::{callback::RemoteFunction, error::Result, monitor::wire};

/// A transform of resources.
pub(in crate::monitor) struct RemoteTransform {
    pub(in crate::monitor) function: RemoteFunction,
}

/// A transform of calls of functions.
pub(in crate::monitor) struct RemoteInvokeTransform {
    pub(in crate::monitor) function: RemoteFunction,
}

#[async_trait]
impl ResourceTransform for RemoteTransform {
    async fn transform(&self, args: TransformArgs) -> Result<Option<TransformArgs>> {
        let request = wire::transform_request(&args, self.function.accepts_bytes)?;
        let response = self.function.call(&request).await?;
        wire::transformed(args, response)
    }
}

#[async_trait]
impl InvokeTransform for RemoteInvokeTransform {
    async fn transform(&self, args: InvokeTransformArgs) -> Result<Option<InvokeTransformArgs>> {
        let request = wire::invoke_transform_request(&args, self.function.accepts_bytes)?;
        let response = self.function.call(&request).await?;
        wire::transformed_invoke(args, response)
    }
}

//! Where functions of a program are called: over gRPC, one connection for each target, or in the host's process.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rustc_hash::FxHashMap;
use stackwright_proto::{
    MESSAGE_LIMIT,
    pulumirpc::{CallbackInvokeRequest, callbacks_client::CallbacksClient},
};
use tokio::sync::OnceCell;
use tonic::transport::Channel;

use crate::{
    error::{Error, ErrorKind, Result},
    provider::grpc::transport_failure,
    runtime::Runtime,
    transport,
};

/// Calls functions of a program by token, with the protocol's messages as bytes.
///
/// The engine reaches programs in other processes over gRPC. A host whose program runs in the same process implements
/// this trait instead, and needs no server. Calls are concurrent, from any thread; dropping a call's future cancels the
/// call.
#[async_trait]
pub trait CallbackChannel: Send + Sync + 'static {
    /// Calls the function `token` with an encoded request; returns the encoded response.
    ///
    /// # Errors
    /// When the function does not exist, or fails; the message is that of the function.
    async fn invoke(&self, token: &str, request: Vec<u8>) -> Result<Vec<u8>>;
}

/// The channels of a run by target. Each target is dialled once, at its first call.
pub(crate) struct CallbackTargets {
    runtime: Runtime,
    channels: Mutex<FxHashMap<String, Target>>,
}

type Target = Arc<OnceCell<Arc<dyn CallbackChannel>>>;

impl CallbackTargets {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            channels: Mutex::default(),
        }
    }

    /// Sets the channel of a target in the host's process. Returns false when the target has one already.
    pub(crate) fn serve(&self, target: &str, channel: Arc<dyn CallbackChannel>) -> bool {
        self.target(target).set(channel).is_ok()
    }

    /// Drops all channels: those of this process may hold what holds the targets.
    pub(crate) fn clear(&self) {
        let channels = std::mem::take(&mut *self.channels.lock().unwrap_or_else(PoisonError::into_inner));
        drop(channels);
    }

    /// Calls a function at a target.
    ///
    /// # Errors
    /// [`ErrorKind::Program`] when the target cannot be reached, or the function fails.
    pub(super) async fn invoke(&self, target: &str, token: &str, request: Vec<u8>) -> Result<Vec<u8>> {
        let channel = self.target(target);
        let channel = channel.get_or_try_init(|| self.dial(target)).await?;
        channel.invoke(token, request).await
    }

    fn target(&self, target: &str) -> Target {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(channels.entry(target.to_owned()).or_default())
    }

    async fn dial(&self, target: &str) -> Result<Arc<dyn CallbackChannel>> {
        let failed = |cause: &dyn std::fmt::Display| {
            let text = format!("could not connect to the program's functions at {target}: {cause}");
            Error::new(ErrorKind::Program, text)
        };
        let endpoint = transport::endpoint(target).map_err(|error| failed(&error))?;
        let channel = transport::connect(&endpoint, &self.runtime)
            .await
            .map_err(|error| failed(&error))?;
        let client = CallbacksClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        Ok(Arc::new(GrpcChannel {
            client,
            target: target.to_owned(),
        }))
    }
}

struct GrpcChannel {
    client: CallbacksClient<Channel>,
    target: String,
}

#[async_trait]
impl CallbackChannel for GrpcChannel {
    async fn invoke(&self, token: &str, request: Vec<u8>) -> Result<Vec<u8>> {
        let request = CallbackInvokeRequest {
            token: token.to_owned(),
            request,
        };
        let status = match self.client.clone().invoke(request).await {
            Ok(response) => return Ok(response.into_inner().response),
            Err(status) => status,
        };
        let text = match transport_failure(&status) {
            Some(failure) => {
                let target = &self.target;
                format!(
                    "the program's functions at {target} did not answer: {}",
                    failure.text
                )
            }
            None => status.message().to_owned(),
        };
        Err(Error::new(ErrorKind::Program, text))
    }
}

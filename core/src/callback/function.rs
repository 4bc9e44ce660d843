//! One function of a program behind the protocol: its target, its token, and the messages of its calls.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use prost::Message;
use stackwright_proto::pulumirpc::Callback;

use super::CallbackTargets;
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// How long one call of a program's function may take.
pub(crate) const CALLBACK_TIMEOUT: Duration = Duration::from_secs(300);

/// A function of a program, as a Callback message names it.
#[derive(Clone)]
pub(crate) struct RemoteFunction {
    targets: Arc<CallbackTargets>,
    target: String,
    token: String,
    /// The function accepts raw bytes in its request.
    pub(crate) accepts_bytes: bool,
}

impl RemoteFunction {
    /// Returns the function that a message names.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] without a target.
    pub(crate) fn new(callback: Callback, targets: &Arc<CallbackTargets>) -> Result<Self> {
        if callback.target.is_empty() {
            return Err(Error::invalid("target must be specified"));
        }
        Ok(Self {
            targets: Arc::clone(targets),
            target: callback.target,
            token: callback.token,
            accepts_bytes: callback.accepts_byte_string,
        })
    }

    /// Calls the function.
    ///
    /// # Errors
    /// [`ErrorKind::Program`] when the function cannot be reached, fails, takes longer than [`CALLBACK_TIMEOUT`], or
    /// returns a malformed response.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub(crate) async fn call<A: Message + Default>(
        &self,
        request: &impl Message,
        runtime: &Runtime,
    ) -> Result<A> {
        let response = within_deadline(
            self.targets
                .invoke(&self.target, &self.token, request.encode_to_vec()),
            runtime,
        )
        .await?;
        A::decode(&*response).map_err(|error| {
            Error::new(
                ErrorKind::Program,
                format!("it returned a malformed response: {error}"),
            )
        })
    }
}

/// The text of a function of the host that panicked.
pub(crate) const PANICKED: &str = "it panicked";

/// Awaits the call of a function of the host.
///
/// # Errors
/// Those of the call, and [`ErrorKind::Program`] when it panics.
pub(crate) async fn unless_panicked<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    let ended = AssertUnwindSafe(call).catch_unwind().await;
    ended.unwrap_or_else(|_| Err(Error::new(ErrorKind::Program, PANICKED)))
}

/// Awaits the call of a function of the program.
///
/// # Errors
/// Those of the call, and [`ErrorKind::Program`] when it panics, and after [`CALLBACK_TIMEOUT`].
pub(crate) async fn within_deadline<T>(
    call: impl Future<Output = Result<T>>,
    runtime: &Runtime,
) -> Result<T> {
    tokio::select! {
        biased;
        result = unless_panicked(call) => result,
        () = runtime.clock.wait(CALLBACK_TIMEOUT) => {
            let seconds = CALLBACK_TIMEOUT.as_secs();
            Err(Error::new(ErrorKind::Program, format!("it did not return within {seconds} s")))
        }
    }
}

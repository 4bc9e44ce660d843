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
    /// [`ErrorKind::Program`] when the function cannot be reached, fails, or returns a malformed response.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub(crate) async fn call<A: Message + Default>(&self, request: &impl Message) -> Result<A> {
        let call = self
            .targets
            .invoke(&self.target, &self.token, request.encode_to_vec());
        let response = call.await?;
        A::decode(&*response).map_err(|error| {
            let text = format!("it returned a malformed response: {error}");
            Error::new(ErrorKind::Program, text)
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
/// Those of the call, and [`ErrorKind::Program`] when it panics or takes longer than `limit`.
pub(crate) async fn within_deadline<T>(
    call: impl Future<Output = Result<T>>,
    limit: Duration,
    runtime: &Runtime,
) -> Result<T> {
    tokio::select! {
        biased;
        result = unless_panicked(call) => result,
        () = runtime.clock.wait(limit) => Err(overdue(limit)),
    }
}

/// Returns the error of a function that has not returned within `limit`.
pub(crate) fn overdue(limit: Duration) -> Error {
    let seconds = limit.as_secs_f64();
    let text = format!("it did not return within {seconds} s, which is the operation's callback timeout");
    Error::new(ErrorKind::Program, text)
}

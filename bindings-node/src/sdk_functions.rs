//! Functions of SDK programs that the engine calls by token: they run on the JavaScript thread.

use std::sync::Arc;

use async_trait::async_trait;
use napi_derive::napi;
use stackwright::{Error, ErrorKind, Result, callback::CallbackChannel};
use tokio::sync::oneshot;

use crate::{
    bridge::{Bridge, Message, PendingCall, Shared},
    convert::{Js, Reader},
    errors,
};

/// Functions of an SDK program, which JavaScript knows by a number until this is dropped.
struct JsFunctions {
    shared: Arc<Shared>,
    number: u32,
}

impl Drop for JsFunctions {
    fn drop(&mut self) {
        self.shared.send(Message::FunctionsDropped(self.number));
    }
}

/// A call that JavaScript has not answered.
struct FunctionCall(oneshot::Sender<Result<Vec<u8>>>);

impl PendingCall for FunctionCall {
    fn answer(self: Box<Self>, reader: &Reader, succeeded: bool, value: Js) {
        let scope = reader.scope();
        let unreadable = |error: napi::Error| {
            let text = format!("the answer of a function cannot be read: {}", error.reason);
            Error::new(ErrorKind::Program, text)
        };
        let answer = if succeeded {
            let bytes = scope.as_bytes(value).map_err(unreadable);
            bytes.map(|bytes| bytes.unwrap_or_default().to_vec())
        } else {
            let text = scope.as_text(value).map_err(unreadable);
            text.and_then(|text| Err(Error::new(ErrorKind::Program, text)))
        };
        // The caller may have abandoned the call meanwhile.
        drop(self.0.send(answer));
    }
}

/// Forgets a call when the engine drops it before the answer.
struct ForgetOnDrop<'call> {
    shared: &'call Shared,
    call: u32,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        drop(self.shared.provider_calls.remove(self.call));
    }
}

#[async_trait]
impl CallbackChannel for JsFunctions {
    async fn invoke(&self, token: &str, request: Vec<u8>) -> Result<Vec<u8>> {
        let (sender, answer) = oneshot::channel();
        let call = self.shared.provider_calls.put(Box::new(FunctionCall(sender)));
        let _guard = ForgetOnDrop {
            shared: &self.shared,
            call,
        };
        self.shared.send(Message::FunctionCall {
            call,
            functions: self.number,
            token: token.to_owned(),
            request,
        });
        let ended = || {
            Error::new(
                ErrorKind::Program,
                "the JavaScript environment of the program has ended",
            )
        };
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

#[napi]
impl Bridge {
    /// Has the engine call functions of a run's program at `target` over the bridge, by a number that is theirs alone. Returns
    /// false when the target has functions already.
    #[napi(catch_unwind)]
    pub fn serve_functions(&self, run: u32, target: String, number: u32) -> napi::Result<bool> {
        let served = self
            .shared
            .runs
            .get(run)
            .ok_or_else(|| errors::to_napi(&Error::new(ErrorKind::Cancelled, "the run has ended")))?;
        let functions = JsFunctions {
            shared: Arc::clone(&self.shared),
            number,
        };
        Ok(served.monitor.serve_callbacks(&target, Arc::new(functions)))
    }
}

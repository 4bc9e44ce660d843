//! Pending calls: a call of a function of the host, and the wait for its completion.

use std::{ffi::c_void, sync::Arc};

use serde::Deserialize;
use stackwright::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;

use super::{
    Answer,
    completion::{Completion, sw_provider_status_t},
    sw_completion_t, sw_give_up_t,
};
use crate::{
    bytes::sw_bytes_view_t,
    callback::{lent, terminated},
    context::{OpenContext, sw_context_t},
    foreign::{Inside, Place, UserData},
    runtime::Shared,
};

/// A function of the host that takes a request and a completion.
pub(super) type Function = unsafe extern "C" fn(*mut c_void, sw_bytes_view_t, *mut sw_completion_t);

/// A function of the host that takes a context as well.
pub(super) type ContextFunction =
    unsafe extern "C" fn(*mut c_void, *mut sw_context_t, sw_bytes_view_t, *mut sw_completion_t);

/// A function of the host that serves the policies of a pack: it also takes the names of a policy and of its function.
pub(crate) type PolicyFunction = unsafe extern "C" fn(
    *mut c_void,
    policy: sw_bytes_view_t,
    function: sw_bytes_view_t,
    argument: sw_bytes_view_t,
    *mut sw_completion_t,
);

/// Calls a function of the host with arguments beside the request, which is valid until it returns.
pub(crate) type CallClosure = Arc<dyn Fn(*mut c_void, sw_bytes_view_t, *mut sw_completion_t) + Send + Sync>;

/// A function of the host, with the other arguments that it gets.
#[derive(Clone)]
pub(crate) enum HostFunction {
    /// Without a context.
    Plain(Function),
    /// With a context, which is alive until the function has returned and the call was completed.
    WithContext(ContextFunction, Arc<sw_context_t>),
    /// With the names of a policy and of its function, each followed by a NUL.
    OfPolicy(PolicyFunction, Arc<[Vec<u8>; 2]>),
    /// With arguments that the closure has.
    Closure(CallClosure),
}

impl HostFunction {
    fn context(&self) -> Option<&Arc<sw_context_t>> {
        match self {
            Self::Plain(_) | Self::OfPolicy(..) | Self::Closure(_) => None,
            Self::WithContext(_, context) => Some(context),
        }
    }

    /// # Safety
    /// `user_data` must be the pointer that the host supplied for the function, `request` valid until it returns.
    unsafe fn call(&self, user_data: *mut c_void, request: sw_bytes_view_t, completion: Completion) {
        let completion = completion.into_handle();
        match self {
            // SAFETY: this function's contract.
            Self::Plain(function) => unsafe { function(user_data, request, completion) },
            Self::WithContext(function, context) => {
                let context = Arc::as_ptr(context).cast_mut();
                // SAFETY: this function's contract; the context is alive while `self` is.
                unsafe { function(user_data, context, request, completion) };
            }
            Self::OfPolicy(function, names) => {
                let [policy, name] = names.each_ref().map(|name| lent(name));
                // SAFETY: this function's contract; the names are alive while `self` is.
                unsafe { function(user_data, policy, name, request, completion) };
            }
            Self::Closure(call) => call(user_data, request, completion),
        }
    }
}

/// A call of a function of the host.
pub(crate) struct PendingCall {
    pub(crate) function: HostFunction,
    pub(crate) give_up: sw_give_up_t,
    pub(crate) data: Arc<UserData>,
    /// Whether the function never blocks, so that it may be called on a thread of the runtime.
    pub(crate) prompt: bool,
}

impl PendingCall {
    /// Calls the function and waits for the answer; `None` when the host freed the completion.
    pub(crate) async fn answer(self, shared: &Arc<Shared>, request: Vec<u8>) -> Option<Answer> {
        let context = self.function.context();
        let cancellation = context.and_then(|context| context.cancellation());
        let (completion, receiver) = Completion::new(context.map(Arc::clone).map(OpenContext::new));
        let mut guard = GiveUpGuard {
            cancellation,
            give_up: self.give_up,
            data: Arc::clone(&self.data),
            call: completion.id(),
            shared: Arc::clone(shared),
            answered: false,
        };
        if self.prompt {
            self.call(shared, request, completion, Place::Callback);
        } else {
            let on_thread = Arc::clone(shared);
            // Not waited for: the answer may arrive before or after the function returns.
            let started = shared.threads.run(move || {
                if !completion.is_given_up() {
                    self.call(&on_thread, request, completion, Place::OwnThread);
                }
            });
            if let Err(error) = started {
                guard.answered = true;
                let message = format!("cannot start a thread for a call of the host: {error}");
                return Some(Answer::Failed(
                    sw_provider_status_t::SW_PROVIDER_STATUS_UNAVAILABLE as i32,
                    message,
                ));
            }
        }
        let answer = receiver.await;
        guard.answered = true;
        answer.ok()
    }

    fn call(self, shared: &Shared, request: Vec<u8>, completion: Completion, place: Place) {
        let _pass = shared.gate.enter();
        // Dropped before the pass, so that waiting for the gate includes the free of `user_data`.
        let Self { function, data, .. } = self;
        let _inside = Inside::enter(place);
        let request = terminated(request);
        // SAFETY: the host supplied the function for this pointer; the request is valid until it returns.
        unsafe { function.call(data.pointer(), lent(&request), completion) };
    }
}

/// Returns the response in an answer. A failure becomes an error of `kind`; `what` names the function in others.
pub(crate) fn text_answer(
    answer: Option<Answer>,
    kind: ErrorKind,
    what: &str,
) -> stackwright::Result<Vec<u8>> {
    match answer {
        Some(Answer::Done(answer)) => Ok(answer),
        Some(Answer::Object(..)) => Err(Error::invalid(format!(
            "malformed {what} response from the host: a content with a version"
        ))),
        Some(Answer::Failed(_, message)) => Err(Error::new(kind, message)),
        Some(Answer::FailedWith(failure)) => match serde_json::from_slice::<FailureMessage>(&failure) {
            Ok(failure) => Err(Error::new(kind, failure.message)),
            Err(error) => Err(Error::invalid(format!(
                "malformed {what} response from the host: {error}"
            ))),
        },
        None => {
            let message = format!("the host freed the completion of {what} without a response");
            Err(Error::new(kind, message))
        }
    }
}

#[derive(Deserialize)]
struct FailureMessage {
    message: String,
}

/// Cancels the call's context and calls `give_up` when dropped before the answer arrived.
struct GiveUpGuard {
    cancellation: Option<CancellationToken>,
    give_up: sw_give_up_t,
    data: Arc<UserData>,
    call: u64,
    shared: Arc<Shared>,
    answered: bool,
}

impl Drop for GiveUpGuard {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        if let Some(cancellation) = &self.cancellation {
            cancellation.cancel();
        }
        if let Some(give_up) = self.give_up {
            let _pass = self.shared.gate.enter();
            let _inside = Inside::enter(Place::Callback);
            // SAFETY: the host supplied the function for this pointer.
            unsafe { give_up(self.data.pointer(), self.call) };
        }
    }
}

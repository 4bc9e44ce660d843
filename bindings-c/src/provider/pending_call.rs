//! Pending calls: a call of a function of the host, and the wait for its completion.

use std::{ffi::c_void, sync::Arc};

use super::{Answer, completion::sw_provider_status_t, sw_completion_t, sw_give_up_t};
use crate::{
    bytes::sw_bytes_view_t,
    callback::{lent, terminated},
    foreign::{Inside, Place, UserData},
    runtime::Shared,
};

/// A function of the host that takes a request and a completion.
pub(super) type Function = unsafe extern "C" fn(*mut c_void, sw_bytes_view_t, *mut sw_completion_t);

/// A call of a function of the host.
pub(crate) struct PendingCall {
    pub(crate) function: Function,
    pub(crate) give_up: sw_give_up_t,
    pub(crate) data: Arc<UserData>,
    /// Whether the function never blocks, so that it may be called on a thread of the runtime.
    pub(crate) prompt: bool,
}

impl PendingCall {
    /// Calls the function and waits for the answer; `None` when the host freed the completion.
    pub(crate) async fn answer(self, shared: &Arc<Shared>, request: Vec<u8>) -> Option<Answer> {
        let (completion, receiver) = sw_completion_t::new();
        let mut guard = GiveUpGuard {
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

    fn call(self, shared: &Shared, request: Vec<u8>, completion: Box<sw_completion_t>, place: Place) {
        let _pass = shared.gate.enter();
        // Dropped before the pass, so that waiting for the gate includes the free of `user_data`.
        let Self { function, data, .. } = self;
        let _inside = Inside::enter(place);
        let request = terminated(request);
        // SAFETY: the host supplied the function for this pointer; the request is valid until it returns.
        unsafe { function(data.pointer(), lent(&request), Box::into_raw(completion)) };
    }
}

/// Calls `give_up` when dropped before the answer arrived.
struct GiveUpGuard {
    give_up: sw_give_up_t,
    data: Arc<UserData>,
    call: u64,
    shared: Arc<Shared>,
    answered: bool,
}

impl Drop for GiveUpGuard {
    fn drop(&mut self) {
        if let (false, Some(give_up)) = (self.answered, self.give_up) {
            let _pass = self.shared.gate.enter();
            let _inside = Inside::enter(Place::Callback);
            // SAFETY: the host supplied the function for this pointer.
            unsafe { give_up(self.data.pointer(), self.call) };
        }
    }
}

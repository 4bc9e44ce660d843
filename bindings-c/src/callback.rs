//! Callbacks: the result of an asynchronous call, delivered exactly once, also when the call is dropped or panics.

use std::{ffi::c_void, sync::Arc};

use crate::{
    bytes::sw_bytes_view_t,
    error::sw_error_t,
    failure::{Failure, Outcome},
    foreign::{Gate, Inside, Place, Pointer},
    status::sw_status_t,
};

/// Receives the result of an asynchronous call, on a thread of the runtime.
///
/// Called EXACTLY ONCE for each call that returned `SW_STATUS_OK`, never for one that did not, and possibly before
/// that call has returned. `result` (a NUL follows it; its data is null when there is none) and `error` (null on
/// success) are borrowed for the duration of the callback. It must return soon and must not make a blocking call, which
/// returns `SW_STATUS_MISUSE` here.
pub type sw_callback_t = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        status: sw_status_t,
        result: sw_bytes_view_t,
        error: *const sw_error_t,
    ),
>;

type Function = unsafe extern "C" fn(*mut c_void, sw_status_t, sw_bytes_view_t, *const sw_error_t);

/// A callback that has not been called yet. Dropping it calls it with a failure.
pub(crate) struct Delivery {
    target: Option<(Function, Pointer)>,
    gate: Arc<Gate>,
}

impl Delivery {
    /// Creates a delivery, which calls `callback` exactly once. Null is misuse.
    pub(crate) fn new(callback: sw_callback_t, user_data: *mut c_void, gate: Arc<Gate>) -> Outcome<Self> {
        let function = callback.ok_or_else(|| Failure::misuse("the callback is null"))?;
        Ok(Self {
            target: Some((function, Pointer(user_data))),
            gate,
        })
    }

    /// Calls the callback.
    pub(crate) fn deliver(mut self, outcome: Outcome<Option<Vec<u8>>>) {
        self.call(outcome);
    }

    fn call(&mut self, outcome: Outcome<Option<Vec<u8>>>) {
        let Some((function, user_data)) = self.target.take() else {
            return;
        };
        let _pass = self.gate.enter();
        let _inside = Inside::enter(Place::Callback);
        match outcome {
            Ok(result) => {
                let result = result.map(terminated);
                let view = result.as_deref().map_or(sw_bytes_view_t::empty(), lent);
                // SAFETY: the host supplied the function for this pointer; the view is valid until it returns.
                unsafe { function(user_data.0, sw_status_t::SW_STATUS_OK, view, std::ptr::null()) };
            }
            Err(failure) => {
                let error = sw_error_t::new(failure);
                // SAFETY: the host supplied the function for this pointer; the error is valid until it returns.
                unsafe {
                    function(
                        user_data.0,
                        error.status(),
                        sw_bytes_view_t::empty(),
                        &raw const error,
                    );
                };
            }
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if self.target.is_some() {
            self.call(Err(abandoned()));
        }
    }
}

/// Appends the NUL that follows each text that is passed to the host.
pub(crate) fn terminated(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(0);
    bytes
}

/// Returns a view of [`terminated`] bytes without their NUL.
pub(crate) fn lent(terminated: &[u8]) -> sw_bytes_view_t {
    sw_bytes_view_t::new(terminated.split_last().map_or(&[], |(_, content)| content))
}

fn abandoned() -> Failure {
    let (kind, message) = if std::thread::panicking() {
        (
            stackwright::ErrorKind::Internal,
            "the engine panicked during the call",
        )
    } else {
        (
            stackwright::ErrorKind::Cancelled,
            "the runtime ended before the call did",
        )
    };
    stackwright::Error::new(kind, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        calls: Vec<(sw_status_t, Vec<u8>)>,
    }

    unsafe extern "C" fn record(
        user_data: *mut c_void,
        status: sw_status_t,
        result: sw_bytes_view_t,
        error: *const sw_error_t,
    ) {
        assert_eq!(error.is_null(), status == sw_status_t::SW_STATUS_OK);
        // SAFETY: borrowed for this call.
        let bytes = unsafe { result.bytes("result") }.unwrap_or_default().to_vec();
        // SAFETY: the tests below pass a `Seen`.
        unsafe { &mut *user_data.cast::<Seen>() }
            .calls
            .push((status, bytes));
    }

    #[test]
    fn a_callback_is_called_once_also_when_its_call_is_dropped_or_panics() {
        let mut seen = Seen::default();
        let pointer: *mut c_void = (&raw mut seen).cast();
        let make = || Delivery::new(Some(record), pointer, Arc::default()).expect("a callback");
        make().deliver(Ok(Some(b"x".to_vec())));
        drop(make());
        let delivery = make();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _kept = delivery;
            panic!("test panic");
        }));
        assert!(panicked.is_err());
        assert_eq!(
            seen.calls,
            [
                (sw_status_t::SW_STATUS_OK, b"x".to_vec()),
                (sw_status_t::SW_STATUS_CANCELLED, Vec::new()),
                (sw_status_t::SW_STATUS_INTERNAL, Vec::new()),
            ]
        );
    }
}

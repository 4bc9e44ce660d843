//! Completions: handles with which the host completes a call of its functions, from any thread.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::oneshot;

use crate::{
    bytes::sw_bytes_view_t,
    context::OpenContext,
    failure::{Failure, Outcome},
    guard::guard,
    status::sw_status_t,
};

/// The status of a provider's failed call; names and numbers are those of gRPC. After `UNKNOWN`, `INTERNAL` and
/// `DATA_LOSS` the engine treats the physical resource's state as unknown, after any other as unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "the names are those of gRPC")]
pub enum sw_provider_status_t {
    SW_PROVIDER_STATUS_CANCELLED = 1,
    SW_PROVIDER_STATUS_UNKNOWN = 2,
    SW_PROVIDER_STATUS_INVALID_ARGUMENT = 3,
    SW_PROVIDER_STATUS_DEADLINE_EXCEEDED = 4,
    SW_PROVIDER_STATUS_NOT_FOUND = 5,
    SW_PROVIDER_STATUS_ALREADY_EXISTS = 6,
    SW_PROVIDER_STATUS_PERMISSION_DENIED = 7,
    SW_PROVIDER_STATUS_RESOURCE_EXHAUSTED = 8,
    SW_PROVIDER_STATUS_FAILED_PRECONDITION = 9,
    SW_PROVIDER_STATUS_ABORTED = 10,
    SW_PROVIDER_STATUS_OUT_OF_RANGE = 11,
    SW_PROVIDER_STATUS_UNIMPLEMENTED = 12,
    SW_PROVIDER_STATUS_INTERNAL = 13,
    SW_PROVIDER_STATUS_UNAVAILABLE = 14,
    SW_PROVIDER_STATUS_DATA_LOSS = 15,
    SW_PROVIDER_STATUS_UNAUTHENTICATED = 16,
}

/// The response of the host.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The response's JSON; empty for one without fields.
    Done(Vec<u8>),
    /// A status and a message.
    Failed(i32, String),
    /// A failure's JSON.
    FailedWith(Vec<u8>),
}

/// A pending call of a host's function. The function owns it and must pass it to exactly one of
/// `sw_completion_succeed`, `sw_completion_fail`, `sw_completion_fail_with` and `sw_completion_free`, from any thread,
/// also after the call was cancelled.
pub struct sw_completion_t {
    id: u64,
    answer: oneshot::Sender<Answer>,
    /// The context of the call, which lives as long as the completion.
    context: Option<OpenContext>,
}

impl sw_completion_t {
    /// Creates a completion and the receiver of its answer.
    pub(crate) fn new(context: Option<OpenContext>) -> (Box<Self>, oneshot::Receiver<Answer>) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (answer, receiver) = oneshot::channel();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let completion = Self { id, answer, context };
        (Box::new(completion), receiver)
    }

    fn complete(self, with: Answer) {
        // Closed before the engine continues.
        drop(self.context);
        // The receiver of a cancelled call is gone, which is no error.
        drop(self.answer.send(with));
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Takes ownership of a completion from the host.
///
/// # Safety
/// `completion` must be null or have been passed to the host and not have been completed or freed.
unsafe fn take(completion: *mut sw_completion_t) -> Outcome<Box<sw_completion_t>> {
    if completion.is_null() {
        return Err(Failure::misuse("the completion is null"));
    }
    // SAFETY: created by `new`, and neither completed nor freed by this function's contract.
    Ok(unsafe { Box::from_raw(completion) })
}

/// Returns the number of the call, which is unique in this process and the argument of `give_up`.
///
/// # Safety
/// `completion` must be null (which returns 0) or not have been completed or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_id(completion: *const sw_completion_t) -> u64 {
    // SAFETY: null or alive by this function's contract.
    unsafe { completion.as_ref() }.map_or(0, sw_completion_t::id)
}

/// Returns whether the call was cancelled. The completion must be completed or freed all the same.
///
/// # Safety
/// `completion` must be null (which returns true) or not have been completed or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_is_cancelled(completion: *const sw_completion_t) -> bool {
    // SAFETY: null or alive by this function's contract.
    unsafe { completion.as_ref() }.is_none_or(sw_completion_t::is_given_up)
}

/// Completes a call with the JSON of its response (empty for one without fields) and frees the completion, also on
/// failure. A malformed response fails the call.
///
/// # Safety
/// `completion` must be null or not have been completed or freed; `response` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_succeed(
    completion: *mut sw_completion_t,
    response: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: this function's contract is the same.
        let completion = unsafe { take(completion) }?;
        // SAFETY: readable by this function's contract.
        let response = unsafe { response.bytes("the response") }?.to_vec();
        completion.complete(Answer::Done(response));
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Completes a call with a failure and frees the completion, also when this function fails.
///
/// `status` is one of `sw_provider_status_t`; the message is reported unchanged.
///
/// # Safety
/// `completion` must be null or not have been completed or freed; `message` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_fail(
    completion: *mut sw_completion_t,
    status: i32,
    message: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: this function's contract is the same.
        let completion = unsafe { take(completion) }?;
        // SAFETY: readable by this function's contract.
        let message = unsafe { message.text("the message") }?.to_owned();
        completion.complete(Answer::Failed(status, message));
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Completes a call with a failure that has details, and frees the completion, also when this function fails.
///
/// `failure` is JSON: `{"status": 9, "message": "…", "initFailure": {"id": "…", "inputs": {…}, "outputs": {…},
/// "reasons": ["…"]}, "missingKeys": [{"name": "…", "description": "…"}], "inputErrors": [{"property": "…", "reason":
/// "…"}]}`, of which only the message is required. `initFailure` states that the resource was created or updated, but its
/// initialization failed; `inputErrors` are the inputs that a component or method refuses, by path.
///
/// # Safety
/// `completion` must be null or not have been completed or freed; `failure` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_fail_with(
    completion: *mut sw_completion_t,
    failure: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: this function's contract is the same.
        let completion = unsafe { take(completion) }?;
        // SAFETY: readable by this function's contract.
        let failure = unsafe { failure.bytes("the failure") }?.to_vec();
        completion.complete(Answer::FailedWith(failure));
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Frees a completion without a response, which fails the call. Null is ignored.
///
/// # Safety
/// `completion` must be null or not have been completed or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_free(completion: *mut sw_completion_t) {
    // SAFETY: this function's contract is the same.
    drop(unsafe { take(completion) });
}

#[cfg(test)]
mod tests {
    use stackwright::provider::ProviderStatus;

    use super::*;

    #[test]
    fn the_statuses_of_providers_have_the_engines_numbers() {
        use sw_provider_status_t as Status;
        let pairs = [
            (Status::SW_PROVIDER_STATUS_CANCELLED, ProviderStatus::Cancelled),
            (Status::SW_PROVIDER_STATUS_UNKNOWN, ProviderStatus::Unknown),
            (
                Status::SW_PROVIDER_STATUS_INVALID_ARGUMENT,
                ProviderStatus::InvalidArgument,
            ),
            (
                Status::SW_PROVIDER_STATUS_DEADLINE_EXCEEDED,
                ProviderStatus::DeadlineExceeded,
            ),
            (Status::SW_PROVIDER_STATUS_NOT_FOUND, ProviderStatus::NotFound),
            (
                Status::SW_PROVIDER_STATUS_ALREADY_EXISTS,
                ProviderStatus::AlreadyExists,
            ),
            (
                Status::SW_PROVIDER_STATUS_PERMISSION_DENIED,
                ProviderStatus::PermissionDenied,
            ),
            (
                Status::SW_PROVIDER_STATUS_RESOURCE_EXHAUSTED,
                ProviderStatus::ResourceExhausted,
            ),
            (
                Status::SW_PROVIDER_STATUS_FAILED_PRECONDITION,
                ProviderStatus::FailedPrecondition,
            ),
            (Status::SW_PROVIDER_STATUS_ABORTED, ProviderStatus::Aborted),
            (
                Status::SW_PROVIDER_STATUS_OUT_OF_RANGE,
                ProviderStatus::OutOfRange,
            ),
            (
                Status::SW_PROVIDER_STATUS_UNIMPLEMENTED,
                ProviderStatus::Unimplemented,
            ),
            (Status::SW_PROVIDER_STATUS_INTERNAL, ProviderStatus::Internal),
            (
                Status::SW_PROVIDER_STATUS_UNAVAILABLE,
                ProviderStatus::Unavailable,
            ),
            (Status::SW_PROVIDER_STATUS_DATA_LOSS, ProviderStatus::DataLoss),
            (
                Status::SW_PROVIDER_STATUS_UNAUTHENTICATED,
                ProviderStatus::Unauthenticated,
            ),
        ];
        for (ours, engines) in pairs {
            assert_eq!(ours as i32, engines as i32);
            assert_eq!(ProviderStatus::from_code(ours as i32), engines);
        }
    }

    #[test]
    fn freeing_a_completion_closes_its_channel() {
        let (completion, mut receiver) = sw_completion_t::new(None);
        let completion = Box::into_raw(completion);
        // SAFETY: created above, completed or freed once.
        unsafe {
            assert!(!sw_completion_is_cancelled(completion));
            assert!(sw_completion_id(completion) > 0);
            sw_completion_free(completion);
        }
        assert!(matches!(
            receiver.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        ));
    }

    #[test]
    fn completing_a_cancelled_call_is_no_error() {
        let (completion, receiver) = sw_completion_t::new(None);
        drop(receiver);
        let completion = Box::into_raw(completion);
        // SAFETY: created above, completed or freed once.
        unsafe {
            assert!(sw_completion_is_cancelled(completion));
            let status = sw_completion_succeed(completion, sw_bytes_view_t::empty());
            assert_eq!(status, sw_status_t::SW_STATUS_OK);
        }
    }
}

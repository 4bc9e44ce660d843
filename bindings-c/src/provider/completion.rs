//! Completions: handles with which the host completes a call of its functions, from any thread.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

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
    /// The content of an object, and its version.
    Object(Vec<u8>, Vec<u8>),
}

/// A pending call of a host's function. The function owns it and must pass it to exactly one of
/// `sw_completion_succeed`, `sw_completion_succeed_with_version`, `sw_completion_fail`, `sw_completion_fail_with` and
/// `sw_completion_free`, from any thread,
/// also after the call was cancelled. Passing it to a second one has no effect and returns
/// `SW_STATUS_MISUSE`.
pub struct sw_completion_t {
    /// A handle is a number that is never dereferenced.
    _opaque: [u8; 0],
}

/// The calls that are neither completed nor freed, by their handles. Process-wide, because a handle is passed without the
/// runtime, and can be completed after its end.
static PENDING: Mutex<BTreeMap<usize, Completion>> = Mutex::new(BTreeMap::new());

fn pending() -> MutexGuard<'static, BTreeMap<usize, Completion>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that is not completed.
pub(crate) struct Completion {
    number: usize,
    answer: oneshot::Sender<Answer>,
    /// The context of the call, which lives as long as the completion.
    context: Option<OpenContext>,
}

impl Completion {
    /// Creates a completion and the receiver of its answer.
    pub(crate) fn new(context: Option<OpenContext>) -> (Self, oneshot::Receiver<Answer>) {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let (answer, receiver) = oneshot::channel();
        let completion = Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            answer,
            context,
        };
        (completion, receiver)
    }

    /// Gives the completion to the host, until it is completed or freed.
    pub(crate) fn into_handle(self) -> *mut sw_completion_t {
        let handle = std::ptr::without_provenance_mut(self.number);
        pending().insert(self.number, self);
        handle
    }

    fn complete(self, with: Answer) {
        // Closed before the engine continues.
        drop(self.context);
        // The receiver of a cancelled call is gone, which is no error.
        drop(self.answer.send(with));
    }

    /// Returns the number of the call, which is its handle.
    pub(crate) fn id(&self) -> u64 {
        self.number as u64
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Takes ownership of a completion from the host.
fn take(handle: *mut sw_completion_t) -> Outcome<Completion> {
    if handle.is_null() {
        return Err(Failure::misuse("the completion is null"));
    }
    let taken = pending().remove(&handle.addr());
    taken.ok_or_else(|| Failure::misuse("the completion was completed or freed already"))
}

/// Returns the number of the call, which is unique in this process and the argument of `give_up`; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn sw_completion_id(completion: *const sw_completion_t) -> u64 {
    completion.addr() as u64
}

/// Returns whether the call was cancelled. The completion must be completed or freed all the same. True for null, and once that is
/// done.
#[unsafe(no_mangle)]
pub extern "C" fn sw_completion_is_cancelled(completion: *const sw_completion_t) -> bool {
    pending()
        .get(&completion.addr())
        .is_none_or(Completion::is_given_up)
}

/// Completes a call with the JSON of its response (empty for one without fields) and frees the completion, also on
/// failure. A malformed response fails the call.
///
/// # Safety
/// `response` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_succeed(
    completion: *mut sw_completion_t,
    response: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        let completion = take(completion)?;
        // SAFETY: readable by this function's contract.
        let response = unsafe { response.bytes("the response") }?.to_vec();
        completion.complete(Answer::Done(response));
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Completes a call of `get` of a store of the host with the content of an object and its version (a text that is not empty), and
/// frees the completion, also when this function fails.
///
/// # Safety
/// `content` and `version` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_succeed_with_version(
    completion: *mut sw_completion_t,
    content: sw_bytes_view_t,
    version: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        let completion = take(completion)?;
        // SAFETY: readable by this function's contract.
        let content = unsafe { content.bytes("the content") }?.to_vec();
        // SAFETY: readable by this function's contract.
        let version = unsafe { version.bytes("the version") }?.to_vec();
        completion.complete(Answer::Object(content, version));
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
/// `message` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_fail(
    completion: *mut sw_completion_t,
    status: i32,
    message: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        let completion = take(completion)?;
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
/// `failure` must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_completion_fail_with(
    completion: *mut sw_completion_t,
    failure: sw_bytes_view_t,
) -> sw_status_t {
    let body = || {
        let completion = take(completion)?;
        // SAFETY: readable by this function's contract.
        let failure = unsafe { failure.bytes("the failure") }?.to_vec();
        completion.complete(Answer::FailedWith(failure));
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Frees a completion without a response, which fails the call. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn sw_completion_free(completion: *mut sw_completion_t) {
    // Dropped outside of the lock, because the end of a context calls the host.
    drop(take(completion));
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
        let (completion, mut receiver) = Completion::new(None);
        let number = completion.id();
        let handle = completion.into_handle();
        assert!(!sw_completion_is_cancelled(handle));
        assert_eq!(sw_completion_id(handle), number);
        sw_completion_free(handle);
        assert!(matches!(
            receiver.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        ));
    }

    #[test]
    fn completing_a_cancelled_call_is_no_error() {
        let (completion, receiver) = Completion::new(None);
        drop(receiver);
        let handle = completion.into_handle();
        assert!(sw_completion_is_cancelled(handle));
        // SAFETY: the response is empty.
        let status = unsafe { sw_completion_succeed(handle, sw_bytes_view_t::empty()) };
        assert_eq!(status, sw_status_t::SW_STATUS_OK);
    }

    #[test]
    fn a_second_completion_is_misuse_and_has_no_effect() {
        let (completion, mut receiver) = Completion::new(None);
        let handle = completion.into_handle();
        let none = sw_bytes_view_t::empty();
        // SAFETY: the responses are empty.
        unsafe {
            assert_eq!(sw_completion_succeed(handle, none), sw_status_t::SW_STATUS_OK);
            assert_eq!(sw_completion_succeed(handle, none), sw_status_t::SW_STATUS_MISUSE);
            assert_eq!(sw_completion_fail(handle, 2, none), sw_status_t::SW_STATUS_MISUSE);
            assert_eq!(
                sw_completion_fail_with(handle, none),
                sw_status_t::SW_STATUS_MISUSE
            );
        }
        sw_completion_free(handle);
        assert!(sw_completion_is_cancelled(handle));
        assert!(matches!(receiver.try_recv(), Ok(Answer::Done(response)) if response.is_empty()));
    }
}

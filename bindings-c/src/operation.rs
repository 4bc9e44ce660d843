//! Operations under way: events, cancellation and the result.

use std::{
    collections::BTreeMap,
    ffi::c_void,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use stackwright::{
    diagnostic::Severity,
    event::{EventJson, EventStream, OperationOutcome},
    executor::StepOp,
    operation::{Operation, OperationOptions, OperationResult},
    property::json::{PlainMap, to_vec},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bytes::sw_bytes_t,
    callback::{Delivery, sw_callback_t},
    engine::Parts,
    error::sw_error_t,
    guard::{Failure, Outcome, Slot, guard, live},
    status::sw_status_t,
};

/// An operation under way, or ended. Freeing the handle does not end it.
pub struct sw_operation_t {
    operation: Operation,
    parts: Arc<Parts>,
    /// The functions of the program that have not returned yet.
    running: TaskTracker,
    /// Whether the session outlives the result: then a program may wait for as long as it is held.
    held: bool,
    /// Set when the handle is freed.
    freed: CancellationToken,
    show_secrets: bool,
    events: Arc<Mutex<Events>>,
}

/// The events that the host has not pulled yet.
enum Events {
    /// Nobody has asked for any: the operation itself keeps them, or makes none when it was told so.
    Untouched,
    Here(Box<Listener>),
    /// A call waits for the next one.
    Taken,
}

struct Listener {
    stream: EventStream,
    /// Only the operation's own writer knows what is secret in it.
    writer: EventJson,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultDocument<'a> {
    outcome: OperationOutcome,
    error: Option<ErrorDocument<'a>>,
    changes: &'a BTreeMap<&'static str, u64>,
    outputs: PlainMap,
    steps: Vec<StepDocument<'a>>,
    diagnostics: Vec<DiagnosticDocument<'a>>,
    duration_seconds: f64,
    tree: String,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    kind: &'static str,
    message: &'a str,
    urn: Option<String>,
    provider: Option<&'a str>,
    phase: Option<&'a str>,
    hints: &'a [String],
}

#[derive(Serialize)]
struct StepDocument<'a> {
    op: StepOp,
    urn: String,
    #[serde(rename = "type")]
    resource_type: &'a str,
}

#[derive(Serialize)]
struct DiagnosticDocument<'a> {
    severity: Severity,
    message: &'a str,
    urn: Option<String>,
}

fn document(result: &OperationResult) -> Outcome<Vec<u8>> {
    let error = result.error.as_ref().map(|error| ErrorDocument {
        kind: error.kind().name(),
        message: error.message(),
        urn: error.urn().map(ToString::to_string),
        provider: error.provider(),
        phase: error.phase(),
        hints: error.hints(),
    });
    let step = |step: &Arc<stackwright::event::StepEvent>| StepDocument {
        op: step.metadata.op,
        urn: step.metadata.urn.to_string(),
        resource_type: "",
    };
    let mut document = ResultDocument {
        outcome: result.outcome,
        error,
        changes: &result.changes,
        outputs: PlainMap(result.outputs.clone()),
        steps: result.steps.iter().map(step).collect(),
        diagnostics: Vec::with_capacity(result.diagnostics.len()),
        duration_seconds: result.duration.as_secs_f64(),
        tree: result.tree(),
    };
    for (described, step) in document.steps.iter_mut().zip(&result.steps) {
        described.resource_type = step.metadata.resource_type.as_str();
    }
    document
        .diagnostics
        .extend(result.diagnostics.iter().map(|diagnostic| DiagnosticDocument {
            severity: diagnostic.severity,
            message: &diagnostic.message,
            urn: diagnostic.urn.as_ref().map(ToString::to_string),
        }));
    Ok(to_vec(&document)?)
}

impl sw_operation_t {
    pub(crate) fn new(
        operation: Operation,
        parts: Arc<Parts>,
        running: TaskTracker,
        options: &OperationOptions,
    ) -> Self {
        running.close();
        let handle = Self {
            operation,
            parts,
            running,
            held: options.hold_session,
            freed: CancellationToken::new(),
            show_secrets: options.show_secrets,
            events: Arc::new(Mutex::new(Events::Untouched)),
        };
        handle.cancel_at_the_end();
        handle
    }

    /// Cancels the operation when the runtime ends, at once and for good, and ends a session that is still held then.
    fn cancel_at_the_end(&self) {
        let operation = self.operation.clone();
        let closing: CancellationToken = self.parts.shared.closing.clone();
        let (held, freed) = (self.held, self.freed.clone());
        let end = self.end();
        let task = async move {
            tokio::pin!(end);
            tokio::select! {
                () = closing.cancelled() => {
                    operation.cancel();
                    operation.cancel();
                    drop(end.await);
                }
                _result = &mut end => {}
            }
            if held {
                tokio::select! {
                    () = closing.cancelled() => {}
                    () = freed.cancelled() => {}
                }
                operation.release().await;
            }
        };
        drop(self.parts.shared.tasks.spawn_on(task, &self.parts.shared.handle));
    }

    /// Waits until the operation has ended and, unless its session is held, no function of its program runs any more.
    fn end(&self) -> impl Future<Output = Arc<OperationResult>> + Send + use<> {
        let (operation, running, held) = (self.operation.clone(), self.running.clone(), self.held);
        async move {
            let result = operation.wait().await;
            if !held {
                running.wait().await;
            }
            result
        }
    }

    /// Ends the session and waits until nothing of it is left.
    fn released(&self) -> impl Future<Output = Outcome<()>> + Send + use<> {
        let (operation, running) = (self.operation.clone(), self.running.clone());
        async move {
            operation.release().await;
            running.wait().await;
            Ok(())
        }
    }

    /// Takes the stream out of its place, for one call.
    fn take_events(&self) -> Outcome<Taken> {
        let mut place = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let listener = match std::mem::replace(&mut *place, Events::Taken) {
            Events::Here(listener) => listener,
            Events::Untouched => {
                let stream = self.operation.events();
                let writer = stream.json(self.show_secrets);
                Box::new(Listener { stream, writer })
            }
            Events::Taken => {
                return Err(Failure::misuse("another call waits for the next event already"));
            }
        };
        Ok(Taken {
            listener: Some(listener),
            events: Arc::clone(&self.events),
        })
    }
}

impl Drop for sw_operation_t {
    fn drop(&mut self) {
        self.freed.cancel();
    }
}

/// The stream of events while a call waits for the next one; it goes back to its place when dropped.
struct Taken {
    listener: Option<Box<Listener>>,
    events: Arc<Mutex<Events>>,
}

impl Taken {
    async fn next(mut self) -> Outcome<Option<Vec<u8>>> {
        let Some(listener) = &mut self.listener else {
            return Ok(None);
        };
        let event = listener.stream.next().await;
        Ok(event.map(|event| listener.writer.line(&event).into_bytes()))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(listener) = self.listener.take() {
            *self.events.lock().unwrap_or_else(PoisonError::into_inner) = Events::Here(listener);
        }
    }
}

/// Waits for the end of an operation and, unless its session is held, of its program.
///
/// Returns the status of the operation's error. `result` (which may be null) is set in either case, to JSON:
/// `{"outcome": "succeeded"|"failed"|"canceled", "error": null or {"kind", "message", "urn", "provider", "phase",
/// "hints"}, "changes": {"create": 3}, "outputs": {…}, "steps": [{"op", "urn", "type"}], "diagnostics": [{"severity",
/// "message", "urn"}], "durationSeconds", "tree"}`. The tree is a text for people.
///
/// # Safety
/// `operation` must be null or alive, `result` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_wait(
    operation: *const sw_operation_t,
    result: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or writable by this function's contract.
        let place = unsafe { Slot::optional(result) };
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let end = operation.end();
        let result = operation
            .parts
            .shared
            .block_on_to_the_end(async { Ok(end.await) })?;
        if let Some(place) = place {
            place.fill(sw_bytes_t::boxed(document(&result)?));
        }
        result.error.clone().map_or(Ok(()), |error| Err(error.into()))
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Waits as `sw_operation_wait` does, with a callback. The callback's status is `SW_STATUS_OK` also for an operation
/// that failed: its result says how it ended.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_wait_async(
    operation: *const sw_operation_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let shared = &operation.parts.shared;
        shared.ensure_open()?;
        let delivery = Delivery::new(callback, user_data, Arc::clone(&shared.gate))?;
        let end = operation.end();
        shared.deliver(delivery, async move { document(&*end.await).map(Some) });
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Waits for the next event, a line of the reference engine's event log (JSON); null after the last one, which is the
/// cancel event. Every event comes, from the first on, however slow the caller is. One call at a time: another gets
/// `SW_STATUS_MISUSE`.
///
/// # Safety
/// `operation` must be null or alive, `event` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_next_event(
    operation: *const sw_operation_t,
    event: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(event, "event") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        crate::foreign::ensure_may_block()?;
        let next = operation.take_events()?.next();
        if let Some(event) = operation.parts.shared.block_on_to_the_end(next)? {
            place.fill(sw_bytes_t::boxed(event));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Gets the next event as `sw_operation_next_event` does, with a callback; its result has no data after the last one.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_next_event_async(
    operation: *const sw_operation_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let shared = &operation.parts.shared;
        shared.ensure_open()?;
        if callback.is_none() {
            return Err(Failure::misuse("the callback is null"));
        }
        let taken = operation.take_events()?;
        let delivery = Delivery::new(callback, user_data, Arc::clone(&shared.gate))?;
        // The stream is back in its place before the callback, which may ask for the next event.
        shared.deliver(delivery, taken.next());
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Gives the result of an operation that has ended, as `sw_operation_wait` does, without waiting; null while it runs.
///
/// # Safety
/// `operation` must be null or alive, `result` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_result(
    operation: *const sw_operation_t,
    result: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(result, "result") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        if let Some(result) = operation.operation.result() {
            place.fill(sw_bytes_t::boxed(document(&result)?));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Asks an operation to end: what runs finishes and is recorded. A second time, running calls of providers are given
/// up. Further times, and after the end, nothing happens. May be called from callbacks.
///
/// # Safety
/// `operation` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_cancel(operation: *const sw_operation_t) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        operation.operation.cancel();
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Ends the session of an operation that was started with `holdSession`, and waits until nothing of it is left: what
/// was unanswered is told that the monitor shut down, and the providers are let go. Of another operation, it waits for
/// the end. Any number of calls is one; freeing the handle releases without waiting.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_release(
    operation: *const sw_operation_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let releasing = operation.released();
        operation.parts.shared.block_on_to_the_end(releasing)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Ends the session as `sw_operation_release` does, without waiting; the callback's result has no data.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_release_async(
    operation: *const sw_operation_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let shared = &operation.parts.shared;
        shared.ensure_open()?;
        let delivery = Delivery::new(callback, user_data, Arc::clone(&shared.gate))?;
        let releasing = operation.released();
        shared.deliver(delivery, async move { releasing.await.map(|()| None) });
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Frees an operation's handle; the operation goes on. Nothing happens for null.
///
/// # Safety
/// `operation` must be null or have come from `sw_stack_start` and not have been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_free(operation: *mut sw_operation_t) {
    if !operation.is_null() {
        // SAFETY: made by `sw_stack_start`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(operation) });
    }
}

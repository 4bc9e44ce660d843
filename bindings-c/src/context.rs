//! The context of a running program: registering, reading and invoking, each waiting or with a callback.

use std::{
    ffi::{CString, c_char, c_void},
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use stackwright::{
    Error, ErrorKind,
    diagnostic::Severity,
    monitor::{Invoke, Read, Registration, WireStatus},
    program::ProgramContext,
    property::json::{PlainValue, from_plain_json, to_plain_json, to_vec},
    urn::Urn,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    callback::{Delivery, sw_callback_t},
    error::sw_error_t,
    guard::{Failure, Outcome, Slot, guard, live},
    runtime::Shared,
    status::sw_status_t,
};

/// What a running program talks to. Lent to the program; never freed by it.
pub struct sw_context_t {
    program: ProgramContext,
    info: CString,
    shared: Arc<Shared>,
    /// The asynchronous calls whose callbacks have not returned yet.
    calls: TaskTracker,
    failure: Mutex<Option<Error>>,
    /// Set when the program is over.
    over: CancellationToken,
    /// The callbacks that wait for the end of the run or the program.
    notices: TaskTracker,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    project: &'a str,
    stack: &'a str,
    organization: &'a str,
    root_directory: Option<&'a std::path::Path>,
    config: &'a std::collections::BTreeMap<String, String>,
    config_secret_keys: &'a [String],
    dry_run: bool,
    parallel: i32,
    root_stack: String,
}

/// Turns a monitor's status into the engine's error.
pub(crate) fn end_of(status: &WireStatus) -> Error {
    const INVALID_ARGUMENT: i32 = 3;
    const NOT_FOUND: i32 = 5;
    let kind = match status.code {
        _ if status.is_shut_down() => ErrorKind::Cancelled,
        INVALID_ARGUMENT => ErrorKind::InvalidInput,
        NOT_FOUND => ErrorKind::NotFound,
        _ => ErrorKind::Provider,
    };
    Error::new(kind, status.message.clone())
}

type Answer = Outcome<Option<Vec<u8>>>;

impl sw_context_t {
    pub(crate) fn new(program: ProgramContext, root: &Urn, shared: Arc<Shared>) -> stackwright::Result<Self> {
        let info = to_vec(&Info {
            project: &program.info.project,
            stack: &program.info.stack,
            organization: &program.info.organization,
            root_directory: program.info.root_directory.as_deref(),
            config: &program.info.config,
            config_secret_keys: &program.info.config_secret_keys,
            dry_run: program.info.dry_run,
            parallel: program.info.parallel,
            root_stack: root.to_string(),
        })?;
        Ok(Self {
            program,
            // JSON has no NUL inside.
            info: CString::new(info).unwrap_or_default(),
            shared,
            calls: TaskTracker::new(),
            failure: Mutex::default(),
            over: CancellationToken::new(),
            notices: TaskTracker::new(),
        })
    }

    /// Waits until every callback of the program's calls has returned, then tells those who wait for the end.
    pub(crate) async fn finish(&self) {
        self.calls.close();
        self.calls.wait().await;
        self.over.cancel();
        self.notices.close();
        self.notices.wait().await;
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends `call` when the run ends without it.
    fn until_ended(
        &self,
        call: impl Future<Output = Answer> + Send + 'static,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let program = self.program.clone();
        async move {
            tokio::select! {
                biased;
                answer = call => answer,
                () = program.ended() => {
                    Err(Error::new(ErrorKind::Cancelled, "the run ended before the call was answered").into())
                }
            }
        }
    }

    fn wait(&self, call: impl Future<Output = Answer> + Send + 'static) -> Answer {
        self.shared.block_on_to_the_end(self.until_ended(call))
    }

    fn start(&self, delivery: Delivery, call: impl Future<Output = Answer> + Send + 'static) {
        let call = self.until_ended(call);
        let token = self.calls.token();
        let task = async move {
            delivery.deliver(call.await);
            drop(token);
        };
        self.shared.tasks.spawn_on(task, &self.shared.handle);
    }

    fn delivery(&self, callback: sw_callback_t, user_data: *mut c_void) -> Outcome<Delivery> {
        Delivery::new(callback, user_data, Arc::clone(&self.shared.gate))
    }

    fn register(&self, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
        let registering = self.program.monitor.register(Registration::from_json(json)?);
        Ok(async move {
            let registered = registering.await.map_err(|status| end_of(&status))?;
            Ok(Some(registered.to_json()?))
        })
    }

    fn read(&self, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
        let reading = self.program.monitor.read(Read::from_json(json)?);
        Ok(async move {
            let read = reading.await.map_err(|status| end_of(&status))?;
            Ok(Some(read.to_json()?))
        })
    }

    fn invoke(&self, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
        let invoke = Invoke::from_json(json)?;
        let monitor = self.program.monitor.clone();
        Ok(async move {
            let result = monitor.invoke(invoke).await.map_err(|status| end_of(&status))?;
            Ok(Some(to_plain_json(&result)?))
        })
    }

    fn register_outputs(
        &self,
        urn: &str,
        json: &[u8],
    ) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
        let urn = Urn::parse(urn)?;
        let outputs = from_plain_json(json)?;
        let monitor = self.program.monitor.clone();
        Ok(async move {
            let registering = monitor.register_outputs(&urn, outputs).await;
            registering.map_err(|status| end_of(&status))?;
            Ok(None)
        })
    }

    fn call(&self, method: &str, request: &[u8]) -> impl Future<Output = Answer> + Send + use<> {
        let calling = self
            .program
            .monitor
            .call(method, bytes::Bytes::copy_from_slice(request));
        async move { Ok(Some(calling.await.map_err(|status| end_of(&status))?)) }
    }
}

/// Returns what the program is told of its run, as JSON: `{"project", "stack", "organization", "rootDirectory",
/// "config": {"ns:name": "text"}, "configSecretKeys": [], "dryRun", "parallel", "rootStack": "urn…"}`. Structured
/// configuration values are JSON texts; secret ones are readable. Lives as long as the context; null for null.
///
/// # Safety
/// `context` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_info(context: *const sw_context_t) -> *const c_char {
    // SAFETY: null or alive by this function's contract.
    unsafe { context.as_ref() }.map_or(std::ptr::null(), |context| context.info.as_ptr())
}

/// Tells whether the run has ended without the program, which should return soon; true for null.
///
/// # Safety
/// `context` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_is_ended(context: *const sw_context_t) -> bool {
    // SAFETY: null or alive by this function's contract.
    unsafe { context.as_ref() }.is_none_or(|context| context.program.monitor.is_closed())
}

/// Tells a callback when the run ends without the program (with `SW_STATUS_CANCELLED`; the program should return soon),
/// or, at the latest, when the program has returned and its last call was answered (with `SW_STATUS_OK`).
///
/// # Safety
/// `context` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_ended_async(
    context: *const sw_context_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        let delivery = context.delivery(callback, user_data)?;
        let (program, over) = (context.program.clone(), context.over.clone());
        let token = context.notices.token();
        let task = async move {
            let outcome = tokio::select! {
                biased;
                () = over.cancelled() => Ok(None),
                () = program.ended() => Err(Error::new(ErrorKind::Cancelled, "the run has ended").into()),
            };
            delivery.deliver(outcome);
            drop(token);
        };
        drop(context.shared.tasks.spawn_on(task, &context.shared.handle));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Says why the program fails; the run fails with this message when the program returns, whatever it returns.
///
/// # Safety
/// `context` must be null or alive, `message` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_fail(
    context: *const sw_context_t,
    message: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        // SAFETY: readable by this function's contract.
        let message = unsafe { message.text("the message") }?;
        *context.failure.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Error::new(ErrorKind::Program, message));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Registers a resource and waits until it is as it should be.
///
/// `registration` is JSON: `{"type", "name", "inputs": {…}}` and any of `custom` (false for a component), `parent`,
/// `dependencies`, `propertyDependencies`, `provider` (`<urn>::<id>`), `providers`, `version`, `pluginDownloadURL`,
/// `protect`, `deleteBeforeReplace`, `ignoreChanges`, `replaceOnChanges`, `additionalSecretOutputs`, `aliases`,
/// `importId`, `customTimeouts`, `retainOnDelete`, `deletedWith`, `replaceWith`, `hideDiffs`, `replacementTrigger`.
/// The result is `{"urn", "id", "outputs", "unknown", "failed", "skipped"}`.
///
/// Returns `SW_STATUS_CANCELLED` when the run ends first; the program should then return.
///
/// # Safety
/// `context` must be null or alive, `registration` readable, `registered` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register(
    context: *const sw_context_t,
    registration: sw_bytes_view_t,
    registered: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        waiting(
            context,
            registered,
            error,
            || registration.bytes("the registration"),
            |context, json| context.register(json),
        )
    }
}

/// Registers a resource as `sw_context_register` does, without waiting: any number may be under way. Resources are
/// claimed in the order of the calls.
///
/// # Safety
/// `context` must be null or alive, `registration` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_async(
    context: *const sw_context_t,
    registration: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        starting(
            context,
            callback,
            user_data,
            error,
            || registration.bytes("the registration"),
            |context, json| context.register(json),
        )
    }
}

/// Looks at something without managing it and waits for the answer. `read` is JSON: `{"type", "name", "id"}` and any
/// of `parent`, `inputs`, `dependencies`, `provider`, `version`, `pluginDownloadURL`, `additionalSecretOutputs`. The
/// result is that of `sw_context_register`.
///
/// # Safety
/// `context` must be null or alive, `read` readable, `registered` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_read(
    context: *const sw_context_t,
    read: sw_bytes_view_t,
    registered: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        waiting(
            context,
            registered,
            error,
            || read.bytes("the read"),
            |context, json| context.read(json),
        )
    }
}

/// Looks at something as `sw_context_read` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `read` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_read_async(
    context: *const sw_context_t,
    read: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        starting(
            context,
            callback,
            user_data,
            error,
            || read.bytes("the read"),
            |context, json| context.read(json),
        )
    }
}

/// Calls a function of a package and waits for its result, a JSON object. `invoke` is JSON: `{"token": "pkg:module:fn",
/// "arguments": {…}}` and any of `provider`, `version`, `pluginDownloadURL`, `parent`, `dependsOn`.
///
/// # Safety
/// `context` must be null or alive, `invoke` readable, `result` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_invoke(
    context: *const sw_context_t,
    invoke: sw_bytes_view_t,
    result: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        waiting(
            context,
            result,
            error,
            || invoke.bytes("the invoke"),
            |context, json| context.invoke(json),
        )
    }
}

/// Calls a function of a package as `sw_context_invoke` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `invoke` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_invoke_async(
    context: *const sw_context_t,
    invoke: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        starting(
            context,
            callback,
            user_data,
            error,
            || invoke.bytes("the invoke"),
            |context, json| context.invoke(json),
        )
    }
}

/// Publishes the outputs (a JSON object) of a component that the program registered, and waits until they are
/// recorded.
///
/// # Safety
/// `context` must be null or alive, `urn` and `outputs` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_outputs(
    context: *const sw_context_t,
    urn: sw_bytes_view_t,
    outputs: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((urn.text("the URN")?, outputs.bytes("the outputs")?));
        waiting(
            context,
            std::ptr::null_mut(),
            error,
            both,
            |context, (urn, json)| context.register_outputs(urn, json),
        )
    }
}

/// Publishes outputs as `sw_context_register_outputs` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `urn` and `outputs` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_outputs_async(
    context: *const sw_context_t,
    urn: sw_bytes_view_t,
    outputs: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((urn.text("the URN")?, outputs.bytes("the outputs")?));
        starting(
            context,
            callback,
            user_data,
            error,
            both,
            |context, (urn, json)| context.register_outputs(urn, json),
        )
    }
}

/// Calls the resource monitor with a message of the protocol (`ResourceMonitor/RegisterResource` and an encoded
/// request, for instance) and waits for the encoded response: for hosts that run an SDK's program without a socket.
///
/// # Safety
/// `context` must be null or alive, `method` and `request` readable, `response` and `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_call(
    context: *const sw_context_t,
    method: sw_bytes_view_t,
    request: sw_bytes_view_t,
    response: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((method.text("the method")?, request.bytes("the request")?));
        waiting(context, response, error, both, |context, (method, request)| {
            Ok(context.call(method, request))
        })
    }
}

/// Calls the resource monitor as `sw_context_call` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `method` and `request` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_call_async(
    context: *const sw_context_t,
    method: sw_bytes_view_t,
    request: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((method.text("the method")?, request.bytes("the request")?));
        starting(
            context,
            callback,
            user_data,
            error,
            both,
            |context, (method, request)| Ok(context.call(method, request)),
        )
    }
}

/// Sets one of the stack's outputs to a JSON value; they are recorded when the program has ended.
///
/// # Safety
/// `context` must be null or alive, `name` and `value` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_export(
    context: *const sw_context_t,
    name: sw_bytes_view_t,
    value: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name") }?;
        // SAFETY: readable by this function's contract.
        let value = unsafe { value.bytes("the value") }?;
        let value: PlainValue = stackwright::property::json::from_slice(value)
            .map_err(|error| Failure::invalid(format!("invalid value of output {name:?}: {error}")))?;
        context.program.monitor.export(name, value.0);
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_severity_t {
    /// For those who look for a fault.
    SW_SEVERITY_DEBUG = 0,
    /// Worth reading.
    SW_SEVERITY_INFO = 1,
    /// Something is probably not as intended.
    SW_SEVERITY_WARNING = 2,
    /// Something failed; the run fails.
    SW_SEVERITY_ERROR = 3,
}

/// Says something to people, about a resource or, when `urn` is empty, about the whole deployment. `severity` is one
/// of `sw_severity_t`.
///
/// # Safety
/// `context` must be null or alive, `message` and `urn` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_log(
    context: *const sw_context_t,
    severity: i32,
    message: sw_bytes_view_t,
    urn: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        // SAFETY: readable by this function's contract.
        let message = unsafe { message.text("the message") }?;
        // SAFETY: readable by this function's contract.
        let urn = unsafe { urn.text("the URN") }?;
        let urn = if urn.is_empty() {
            None
        } else {
            Some(Urn::parse(urn)?)
        };
        let severity = match severity {
            0 => Severity::Debug,
            1 => Severity::Info,
            2 => Severity::Warning,
            3 => Severity::Error,
            other => return Err(Failure::misuse(format!("there is no severity {other}"))),
        };
        context.program.monitor.log(severity, message, urn);
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Makes a call and waits for its answer.
///
/// # Safety
/// `context` must be null or alive, `place` and `error` null or writable.
unsafe fn waiting<A, F: Future<Output = Answer> + Send + 'static>(
    context: *const sw_context_t,
    place: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
    arguments: impl FnOnce() -> Outcome<A>,
    call: impl FnOnce(&sw_context_t, A) -> Outcome<F>,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or writable by this function's contract.
        let place = unsafe { Slot::optional(place) };
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        crate::foreign::ensure_may_block()?;
        let answer = context.wait(call(context, arguments()?)?)?;
        if let (Some(place), Some(answer)) = (place, answer) {
            place.fill(sw_bytes_t::boxed(answer));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Makes a call and leaves its answer to a callback.
///
/// # Safety
/// `context` must be null or alive, `error` null or writable.
unsafe fn starting<A, F: Future<Output = Answer> + Send + 'static>(
    context: *const sw_context_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
    arguments: impl FnOnce() -> Outcome<A>,
    call: impl FnOnce(&sw_context_t, A) -> Outcome<F>,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        if callback.is_none() {
            return Err(Failure::misuse("the callback is null"));
        }
        let call = call(context, arguments()?)?;
        context.start(context.delivery(callback, user_data)?, call);
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

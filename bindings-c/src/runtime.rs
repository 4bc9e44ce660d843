//! The runtime: the threads of the engines, owned by the caller. There is no global one.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};
use stackwright::runtime::{Clock as _, SystemClock};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bytes::sw_bytes_view_t,
    callback::Delivery,
    error::sw_error_t,
    failure::{Failure, Outcome},
    foreign::{Gate, ensure_may_block, ensure_outside},
    guard::{Slot, VersionedStruct, guard, sized},
    status::sw_status_t,
    threads::Threads,
};

/// The default name of threads.
const THREAD_NAME: &str = "stackwright";

/// The time that `sw_runtime_free` waits for cancelled operations, and again for the engine's blocking threads.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(30);

/// The options of a runtime. Set `struct_size` to the structure's size and unused fields to zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_runtime_options_t {
    /// `sizeof(sw_runtime_options_t)`.
    pub struct_size: usize,
    /// The number of worker threads; 0 for one per core.
    pub threads: u32,
    /// The maximum number of threads for blocking work of the engine: files, key derivation, hashes; 0 for 512.
    /// Functions of the host that may block use none of them: each running one has a thread of its own. The number of
    /// those threads has no limit, and idle ones are reused.
    pub blocking_threads: u32,
    /// The name of the threads; empty for `stackwright`.
    pub thread_name: sw_bytes_view_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_runtime_options_t {
    const MIN_STRUCT_SIZE: usize = std::mem::offset_of!(Self, thread_name);
}

/// The threads of engines. Shared by the engines that are created with it, which work until `sw_runtime_free`. A
/// process may have several.
pub struct sw_runtime_t {
    pub(crate) shared: Arc<Shared>,
}

/// The state that a runtime shares with its engines, stacks and operations.
pub(crate) struct Shared {
    runtime: Mutex<Option<tokio::runtime::Runtime>>,
    pub(crate) handle: tokio::runtime::Handle,
    /// The threads of the host's functions that may block.
    pub(crate) threads: Threads,
    /// Cancelled when the runtime begins to end.
    pub(crate) closing: CancellationToken,
    /// The tasks that the end of the runtime waits for.
    pub(crate) tasks: TaskTracker,
    pub(crate) gate: Arc<Gate>,
}

impl Shared {
    /// Waits for `future` on the caller's thread. The end of the runtime drops it with a cancellation error.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        ensure_may_block()?;
        self.ensure_open()?;
        let _pass = self.gate.enter();
        self.handle.block_on(self.until_closing(future))
    }

    /// Waits for `future`, which must end soon after the runtime begins to end.
    pub(crate) fn block_on_to_the_end<T>(&self, future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        ensure_may_block()?;
        self.ensure_open()?;
        let _pass = self.gate.enter();
        self.handle.block_on(future)
    }

    /// Spawns `future`, which must end soon after the runtime begins to end, and delivers its result.
    pub(crate) fn deliver(
        &self,
        delivery: Delivery,
        future: impl Future<Output = Outcome<Option<Vec<u8>>>> + Send + 'static,
    ) {
        let task = async move { delivery.deliver(future.await) };
        self.tasks.spawn_on(task, &self.handle);
    }

    async fn until_closing<T>(&self, future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        tokio::select! {
            biased;
            outcome = future => outcome,
            () = self.closing.cancelled() => Err(closed()),
        }
    }

    /// Fails with misuse when the runtime is ending.
    pub(crate) fn ensure_open(&self) -> Outcome<()> {
        if self.closing.is_cancelled() {
            return Err(Failure::misuse("the runtime has been freed"));
        }
        Ok(())
    }

    fn end(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.handle.block_on(async {
            tokio::select! {
                () = self.tasks.wait() => {}
                () = SystemClock.wait(SHUTDOWN_GRACE) => {}
            }
        });
        self.gate.wait_until_idle();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(SHUTDOWN_GRACE);
        }
        self.threads.end();
        self.gate.wait_until_idle();
    }
}

fn closed() -> Failure {
    stackwright::Error::new(
        stackwright::ErrorKind::Cancelled,
        "the runtime ended before the call did",
    )
    .into()
}

/// Creates a runtime; `options` may be null.
///
/// # Safety
/// `options` must be null or readable, `runtime` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_runtime_new(
    options: *const sw_runtime_options_t,
    runtime: *mut *mut sw_runtime_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(runtime, "runtime") }?;
        // SAFETY: null or readable by this function's contract.
        let (builder, name) = unsafe { builder(options) }?;
        place.fill(Box::into_raw(Box::new(start(builder, name)?)));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Blocks SIGPIPE in a thread of the runtime: a write to a connection that a plugin or a program has closed fails there with an
/// error, and does not end a host that has the signal's default action. Processes that the engine starts do not inherit this.
fn block_sigpipe() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGPIPE);
    // Fails for invalid arguments alone.
    let _ = signals.thread_block();
}

/// # Safety
/// `options` must be null or readable, with a readable name.
unsafe fn builder(options: *const sw_runtime_options_t) -> Outcome<(tokio::runtime::Builder, String)> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().thread_name(THREAD_NAME);
    builder.on_thread_start(block_sigpipe);
    // SAFETY: null or readable by this function's contract.
    let Some(options) = unsafe { sized(options, "the structure of the runtime's options") }? else {
        return Ok((builder, THREAD_NAME.to_owned()));
    };
    if options.threads > 0 {
        builder.worker_threads(options.threads as usize);
    }
    if options.blocking_threads > 0 {
        builder.max_blocking_threads(options.blocking_threads as usize);
    }
    // SAFETY: readable by this function's contract.
    let name = unsafe { options.thread_name.text("the name of the threads") }?;
    if name.contains('\0') {
        return Err(Failure::invalid("the name of the threads contains a NUL"));
    }
    let name = if name.is_empty() { THREAD_NAME } else { name };
    builder.thread_name(name);
    Ok((builder, name.to_owned()))
}

fn start(mut builder: tokio::runtime::Builder, name: String) -> Outcome<sw_runtime_t> {
    let runtime = builder.build().map_err(|error| {
        stackwright::Error::new(
            stackwright::ErrorKind::Unavailable,
            format!("cannot start the runtime's threads: {error}"),
        )
    })?;
    let handle = runtime.handle().clone();
    Ok(sw_runtime_t {
        shared: Arc::new(Shared {
            runtime: Mutex::new(Some(runtime)),
            handle,
            threads: Threads::new(name),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            gate: Arc::default(),
        }),
    })
}

/// Ends a runtime: cancels its operations, delivers each pending callback, then stops the threads and frees it.
///
/// Returns when the last callback, program and provider function has returned. Afterwards only the `free` functions of
/// tables are called, when their engines, stacks and operations are freed. Those handles may be freed before or after;
/// their other functions return `SW_STATUS_MISUSE` from then on.
///
/// Returns `SW_STATUS_MISUSE` without freeing when called from a callback, a program or a provider's function. Null is
/// ignored.
///
/// # Safety
/// `runtime` must be null or a live object of `sw_runtime_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_runtime_free(runtime: *mut sw_runtime_t) -> sw_status_t {
    let body = || {
        ensure_outside("sw_runtime_free")?;
        if runtime.is_null() {
            return Ok(());
        }
        // SAFETY: created by `sw_runtime_new`, and not freed before by this function's contract.
        let runtime = unsafe { Box::from_raw(runtime) };
        runtime.shared.end();
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn test_runtime() -> sw_runtime_t {
        // SAFETY: null is allowed.
        let (mut builder, name) = unsafe { builder(std::ptr::null()) }.expect("no options are fine");
        builder.worker_threads(1);
        start(builder, name).expect("threads")
    }

    #[test]
    fn the_end_of_a_runtime_cancels_pending_calls() {
        let runtime = test_runtime();
        let shared = Arc::clone(&runtime.shared);
        let (sender, receiver) = std::sync::mpsc::channel();
        let call = async move {
            std::future::pending::<()>().await;
            Ok(None)
        };
        let task = {
            let shared = Arc::clone(&shared);
            async move {
                let outcome: Outcome<Option<Vec<u8>>> = shared.until_closing(call).await;
                sender.send(outcome.is_err()).expect("the test listens");
            }
        };
        shared.tasks.spawn_on(task, &shared.handle);
        shared.end();
        assert_eq!(receiver.recv(), Ok(true));
        assert!(matches!(
            shared.block_on(async { Ok(()) }),
            Err(Failure::Misuse(_))
        ));
    }

    #[test]
    fn options_of_another_size_are_refused() {
        let options = sw_runtime_options_t {
            struct_size: 3,
            threads: 1,
            blocking_threads: 0,
            thread_name: sw_bytes_view_t::empty(),
        };
        let mut made = std::ptr::null_mut();
        // SAFETY: all are local variables.
        let status = unsafe { sw_runtime_new(&raw const options, &raw mut made, std::ptr::null_mut()) };
        assert_eq!(status, sw_status_t::SW_STATUS_MISUSE);
        assert!(made.is_null());
    }
}

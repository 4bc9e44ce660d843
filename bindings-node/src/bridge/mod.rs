//! The bridge between Rust's threads and the JavaScript thread; it transfers messages in batches.
//!
//! Rust puts messages in a queue and wakes JavaScript once; JavaScript takes the whole queue with one call. Nothing
//! here waits for JavaScript, and the wake function is weak: an idle engine does not keep Node alive.

mod hooks;
mod message;
mod pending;
mod run;
mod values;

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use napi::{
    Env, JsValue as _, Result, Status,
    bindgen_prelude::{FnArgs, Function, FunctionRef, Unknown, within_runtime_if_available},
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use stackwright::{Error, ErrorKind, monitor::Monitor};
use tokio::runtime::Handle;

pub(crate) use hooks::HookNames;
pub(crate) use message::{Answer, CommandOutput, Message, Payload};
pub(crate) use pending::Pending;
pub(crate) use run::{Ended, Facts, OpenRun, Run, environment_ended};
pub use values::Values;

use crate::{
    convert::{self, Js, Reader, Scope, Writer},
    errors, registration,
};

/// A weak function without arguments: it wakes the JavaScript side.
type Wake = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;
/// Makes instances of the package's value classes.
type Revive = FunctionRef<FnArgs<(u32, (), (), ())>, Unknown<'static>>;

/// A call that JavaScript has not answered.
pub(crate) trait PendingCall: Send {
    /// Sends the answer to the waiting caller.
    fn answer(self: Box<Self>, reader: &Reader, succeeded: bool, value: Js);
}

/// The state that both sides of one engine's bridge share.
pub(crate) struct Shared {
    queue: Mutex<Vec<Message>>,
    /// True while JavaScript has been woken and has not taken the queue yet.
    awake: AtomicBool,
    wake: Wake,
    revive: Revive,
    /// Node's own runtime for native work.
    handle: Handle,
    /// Provider calls that JavaScript has not answered.
    pub(crate) provider_calls: Pending<Box<dyn PendingCall>>,
    /// The runs of code in JavaScript.
    pub(crate) runs: Pending<Arc<Run>>,
    /// The monitors of runs whose programs have ended, as long as their operations go on.
    ended_runs: Mutex<HashMap<u32, Monitor>>,
    /// The registered hooks of the operations that run.
    pub(crate) hooks: HookNames,
}

impl Shared {
    /// Sends a message; wakes JavaScript unless it has been woken already.
    pub(crate) fn send(&self, message: Message) {
        self.lock().push(message);
        if !self.awake.swap(true, Ordering::AcqRel) {
            let status = self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
            if status != Status::Ok {
                self.disconnect();
            }
        }
    }

    /// Drops all messages and pending calls, and ends all runs, once the environment has ended. Callers see their senders dropped.
    fn disconnect(&self) {
        let dropped = std::mem::take(&mut *self.lock());
        drop(dropped);
        drop(self.provider_calls.take_all());
        for run in self.runs.take_all() {
            run.finish(Err(environment_ended()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Message>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Message> {
        // First the flag, then the queue: a message in between is taken now and causes one spurious wake-up.
        self.awake.store(false, Ordering::Release);
        std::mem::take(&mut *self.lock())
    }

    /// Keeps the monitor of a run whose program has ended, until its operation is over.
    pub(crate) fn keep_ended(self: &Arc<Self>, run: u32, monitor: &Monitor) {
        self.ended().insert(run, monitor.clone());
        let (shared, monitor) = (Arc::downgrade(self), monitor.clone());
        self.spawn(async move {
            monitor.closed().await;
            if let Some(shared) = shared.upgrade() {
                shared.ended().remove(&run);
            }
        });
    }

    /// Returns the monitor of a run, also after the end of its program while the operation goes on.
    pub(crate) fn monitor(&self, run: u32) -> Option<Monitor> {
        let running = self.runs.get(run).map(|run| run.monitor.clone());
        running.or_else(|| self.ended().get(&run).cloned())
    }

    /// Keeps the name of a registered hook until its operation is over.
    pub(crate) fn keep_hook(self: &Arc<Self>, monitor: &Monitor, name: String, number: u32) {
        if !self.hooks.add(monitor.run_info(), name, number) {
            return;
        }
        let (shared, monitor) = (Arc::downgrade(self), monitor.clone());
        self.spawn(async move {
            monitor.closed().await;
            if let Some(shared) = shared.upgrade() {
                shared.hooks.remove(monitor.run_info());
            }
        });
    }

    /// Returns the monitors of runs whose programs have ended.
    pub(crate) fn ended(&self) -> MutexGuard<'_, HashMap<u32, Monitor>> {
        self.ended_runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(work));
    }

    /// Returns the runtime that all of this engine's work runs on.
    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns a writer for the running callback.
    pub(crate) fn writer(&self, env: &Env) -> Result<Writer> {
        let revive = self.revive.borrow_back(env)?;
        Ok(Writer::new(Scope::new(env.raw()), revive.raw()))
    }
}

/// The JavaScript side's handle of the bridge.
#[napi]
pub struct Bridge {
    pub(crate) shared: Arc<Shared>,
}

impl Bridge {
    /// Returns a run.
    pub(crate) fn run(&self, number: u32) -> Result<Arc<Run>> {
        self.shared.runs.get(number).ok_or_else(|| {
            let message = "the run has ended: a program can register nothing after its end";
            errors::to_napi(&Error::new(ErrorKind::Cancelled, message))
        })
    }
}

#[napi]
impl Bridge {
    /// Builds a bridge: `wake` is called when messages wait, `revive` makes instances of the value classes.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        wake: Function<'_, (), Unknown<'static>>,
        revive: Function<'_, FnArgs<(u32, (), (), ())>, Unknown<'static>>,
    ) -> Result<Self> {
        let wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        let shared = Shared {
            queue: Mutex::default(),
            awake: AtomicBool::new(false),
            wake,
            revive: revive.create_ref()?,
            handle: within_runtime_if_available(Handle::current),
            provider_calls: Pending::default(),
            runs: Pending::default(),
            ended_runs: Mutex::default(),
            hooks: HookNames::default(),
        };
        let shared = Arc::new(shared);
        // The programs of a worker end with it, and so do their operations: no message would report it.
        env.add_env_cleanup_hook(Arc::downgrade(&shared), |shared| {
            if let Some(shared) = shared.upgrade() {
                shared.disconnect();
            }
        })?;
        Ok(Self { shared })
    }

    /// Takes all waiting messages: a flat list of `tag, number, a, b`.
    #[napi(catch_unwind, ts_return_type = "unknown[]")]
    pub fn drain<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let writer = self.shared.writer(env)?;
        let scope = writer.scope();
        let messages = self.shared.take();
        let list = scope.array(messages.len() * message::STRIDE)?;
        for (index, message) in messages.into_iter().enumerate() {
            scope.nested(|| message.write(&writer, list, index * message::STRIDE))?;
        }
        // SAFETY: the list is a handle of this callback's environment.
        Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), list) })
    }

    /// Answers provider calls: a flat list of `number, succeeded, value`.
    #[napi(catch_unwind)]
    pub fn answer(&self, env: &Env, #[napi(ts_arg_type = "unknown[]")] answers: Unknown<'_>) -> Result<()> {
        let reader = Reader::new(Scope::new(env.raw()))?;
        let scope = reader.scope();
        let answers = answers.raw();
        let length = scope.length(answers)?;
        for start in (0..length).step_by(3) {
            scope.nested(|| {
                let number = scope.as_number(scope.element(answers, start)?)?;
                let succeeded = scope.as_bool(scope.element(answers, start + 1)?)?;
                let value = scope.element(answers, start + 2)?;
                if let Some(call) = self.shared.provider_calls.take(number) {
                    call.answer(&reader, succeeded, value);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Converts a value to the engine's form and back, as a provider receives it.
#[napi(
    catch_unwind,
    ts_args_type = "bridge: Bridge, value: unknown",
    ts_return_type = "unknown"
)]
pub fn round_trip<'env>(env: &'env Env, bridge: &Bridge, value: Unknown<'_>) -> Result<Unknown<'env>> {
    let made = bridge
        .shared
        .writer(env)?
        .value(&convert::value_of(env, &value, "value")?)?;
    // SAFETY: the value is a handle of this callback's environment.
    Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), made) })
}

/// Writes a value in the engine's plain JSON form; secrets are in plain text.
#[napi(catch_unwind, ts_args_type = "value: unknown")]
pub fn value_to_json(env: &Env, value: Unknown<'_>) -> Result<String> {
    registration::value_to_json(convert::value_of(env, &value, "value")?)
        .map_err(|error| errors::to_napi(&error))
}

/// Reads a value from the engine's plain JSON form.
#[napi(catch_unwind, ts_return_type = "unknown")]
pub fn value_from_json<'env>(env: &'env Env, bridge: &Bridge, text: String) -> Result<Unknown<'env>> {
    let value = registration::value_from_json(&text).map_err(|error| errors::to_napi(&error))?;
    let made = bridge.shared.writer(env)?.value(&value)?;
    // SAFETY: the value is a handle of this callback's environment.
    Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), made) })
}

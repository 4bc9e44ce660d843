//! The switches of a run: failures, cancellation and termination.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustc_hash::FxHashMap;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::{error::Error, token::TypeToken, urn::Urn};

/// Why a run fails.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A step failed; its diagnostic has been emitted.
    Step(Error),
    /// The generator refused a resource and ended the run; the diagnostic has been emitted.
    Bail(Error),
    /// The generator refused a resource and continued, to report further errors.
    Generation(Error),
    /// The code of a component or of a method failed and ended the run; the diagnostic has been emitted. The resource is that
    /// of the code, whose own steps did not fail.
    Callback(Error),
    /// The program raised an error.
    Program(Error),
    /// The engine could not continue: the journal could not be written, for instance.
    Fatal(Error),
}

impl Failure {
    /// Returns the error.
    pub(crate) fn error(&self) -> &Error {
        match self {
            Self::Step(error)
            | Self::Bail(error)
            | Self::Generation(error)
            | Self::Callback(error)
            | Self::Program(error)
            | Self::Fatal(error) => error,
        }
    }

    fn error_mut(&mut self) -> &mut Error {
        match self {
            Self::Step(error)
            | Self::Bail(error)
            | Self::Generation(error)
            | Self::Callback(error)
            | Self::Program(error)
            | Self::Fatal(error) => error,
        }
    }
}

/// A call of a provider, a policy or a function of the program that was given up with its run.
#[derive(Clone, Debug)]
pub(crate) struct AbandonedCall {
    /// What did not return, as a sentence without an end.
    pub(crate) text: String,
    /// The method: `create` for instance.
    pub(crate) method: &'static str,
    /// The package of the provider; `None` for a policy or a function of the program.
    pub(crate) provider: Option<String>,
    /// The resource; `None` for a function of a package.
    pub(crate) urn: Option<Urn>,
}

impl AbandonedCall {
    /// Describes a call on a resource.
    pub(crate) fn on(urn: &Urn, method: &'static str) -> Self {
        Self {
            urn: Some(urn.clone()),
            ..Self::of_provider(&TypeToken::from(urn.resource_type()), method, urn.as_str())
        }
    }

    /// Describes a call of a function or a method.
    pub(crate) fn of(token: &str, method: &'static str) -> Self {
        Self::of_provider(&TypeToken::from(token), method, token)
    }

    /// Describes a call of a policy or of a function of the program with a sentence.
    pub(crate) fn of_function(text: String, method: &'static str, urn: Option<&Urn>) -> Self {
        Self {
            text,
            method,
            provider: None,
            urn: urn.cloned(),
        }
    }

    fn of_provider(token: &TypeToken, method: &'static str, subject: &str) -> Self {
        let provider = token.asked_package();
        Self {
            text: format!("provider `{provider}` did not return from {method} of {subject}"),
            method,
            provider: Some(provider.to_owned()),
            urn: None,
        }
    }
}

/// The shared switches of one run. They only ever go from off to on.
#[derive(Clone, Default)]
pub(crate) struct Control(Arc<Switches>);

#[derive(Default)]
struct Switches {
    /// No new step starts.
    stopped: CancellationToken,
    /// The user has cancelled the operation.
    asked: AtomicBool,
    /// Wakes the tasks that react to cancellation.
    cancelled: CancellationToken,
    /// The user has cancelled a second time: running calls are abandoned.
    terminated: CancellationToken,
    /// The timeout that has cancelled the operation.
    timed_out: OnceLock<Duration>,
    abandoned: Mutex<Vec<AbandonedCall>>,
    /// Calls that were in progress at the timeout, and ended after it.
    late: Mutex<Vec<AbandonedCall>>,
    failures: Mutex<Vec<Failure>>,
    /// The resources whose registrations started default providers, by the URNs of these.
    first_users: Mutex<FxHashMap<Urn, Urn>>,
    failed: OnceLock<()>,
}

/// The switches of the runs of an engine, and the number of those that have not ended.
#[derive(Default)]
pub(crate) struct Controls {
    runs: Mutex<Vec<Weak<Switches>>>,
    running: TaskTracker,
}

impl Controls {
    fn runs(&self) -> MutexGuard<'_, Vec<Weak<Switches>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, control: &Control) {
        let mut runs = self.runs();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(&control.0));
    }

    /// Notes that a run begins. It has ended when the returned value is dropped.
    pub(crate) fn begin(&self) -> TaskTrackerToken {
        self.running.token()
    }

    /// Returns whether a run that has begun has not ended.
    pub(crate) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Cancels all runs as the user does, unless they are cancelled; with `abandons`, as a second time.
    pub(crate) fn cancel(&self, abandons: bool) {
        let runs: Vec<_> = self.runs().iter().filter_map(Weak::upgrade).collect();
        for run in runs.into_iter().map(Control) {
            if !run.is_cancelled() {
                run.cancel();
            }
            if abandons && !run.is_terminated() {
                run.cancel();
            }
        }
    }
}

impl Control {
    /// Sets the resource whose registration started a default provider. Errors of the provider name it, because the
    /// program does not know the provider.
    pub(crate) fn first_user(&self, provider: Urn, user: Urn) {
        let mut users = self.0.first_users.lock().unwrap_or_else(PoisonError::into_inner);
        users.entry(provider).or_insert(user);
    }

    /// Records a failure; with `stop`, no other step starts any more.
    pub(crate) fn fail(&self, mut failure: Failure, stop: bool) {
        let error = failure.error_mut();
        let users = self.0.first_users.lock().unwrap_or_else(PoisonError::into_inner);
        let user = error.urn().and_then(|urn| users.get(urn)).cloned();
        drop(users);
        if let Some(user) = user {
            *error = error.clone().with_urn(user);
        }
        self.0
            .failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(failure);
        self.0.failed.get_or_init(|| ());
        if stop {
            self.0.stopped.cancel();
        }
    }

    /// Returns whether anything has failed.
    #[must_use]
    pub(crate) fn has_failed(&self) -> bool {
        self.0.failed.get().is_some()
    }

    /// Returns the failures, in order.
    #[must_use]
    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.0
            .failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Cancels the run: running steps complete. A second call abandons running provider calls.
    pub(crate) fn cancel(&self) {
        if self.0.asked.swap(true, Ordering::SeqCst) {
            self.0.terminated.cancel();
        }
        self.announce_cancellation();
    }

    /// Returns what cancels the run as long as it exists, once: a further call abandons nothing. It returns whether the run
    /// exists.
    pub(crate) fn interrupt(&self) -> Box<dyn Fn() -> bool + Send + Sync> {
        let run = Arc::downgrade(&self.0);
        Box::new(move || {
            let Some(run) = run.upgrade().map(Self) else {
                return false;
            };
            if !run.is_cancelled() {
                run.cancel();
            }
            true
        })
    }

    fn announce_cancellation(&self) {
        // The order matters: a call that ends with its provider's cancellation must not start another step.
        self.0.stopped.cancel();
        self.0.cancelled.cancel();
    }

    /// Cancels a run that has not ended within `timeout`; one that is cancelled already stays as it is.
    pub(crate) fn time_out(&self, timeout: Duration) {
        // Set first, so that all who see the cancellation see its reason.
        let timed_out = !self.is_cancelled() && self.0.timed_out.set(timeout).is_ok();
        if timed_out && !self.0.asked.swap(true, Ordering::SeqCst) {
            self.announce_cancellation();
        }
    }

    /// Returns the timeout that has cancelled the run.
    #[must_use]
    pub(crate) fn timed_out(&self) -> Option<Duration> {
        self.0.timed_out.get().copied()
    }

    /// Records a call that was given up because the run was terminated.
    pub(crate) fn abandon(&self, call: AbandonedCall) {
        let mut abandoned = self.0.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.push(call);
    }

    /// Returns the calls that were given up, in order.
    #[must_use]
    pub(crate) fn abandoned(&self) -> Vec<AbandonedCall> {
        let abandoned = self.0.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.clone()
    }

    /// Records a call that has ended now, where that is after the timeout of the run.
    pub(crate) fn note_end(&self, describe: impl FnOnce() -> AbandonedCall) {
        if self.0.timed_out.get().is_some() {
            let mut late = self.0.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.push(describe());
        }
    }

    /// Returns the calls that did not end before the timeout of the run: those that were given up, then those that ended later.
    #[must_use]
    pub(crate) fn unfinished_at_timeout(&self) -> Vec<AbandonedCall> {
        let mut calls = self.abandoned();
        let late = self.0.late.lock().unwrap_or_else(PoisonError::into_inner);
        for call in &*late {
            if !calls.iter().any(|known| known.text == call.text) {
                calls.push(call.clone());
            }
        }
        calls
    }

    /// Returns whether the run is cancelled.
    #[must_use]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// Returns whether running calls are abandoned.
    #[must_use]
    pub(crate) fn is_terminated(&self) -> bool {
        self.0.terminated.is_cancelled()
    }

    /// Returns whether no new step may start.
    #[must_use]
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.is_cancelled()
    }

    /// Resolves when no new step may start.
    pub(crate) async fn stopped(&self) {
        self.0.stopped.cancelled().await;
    }

    /// Returns a token that is cancelled with the run.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.0.cancelled.clone()
    }

    /// Resolves when the run is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.0.cancelled.cancelled().await;
    }

    /// Resolves when running calls are to be abandoned.
    pub(crate) async fn terminated(&self) {
        self.0.terminated.cancelled().await;
    }
}

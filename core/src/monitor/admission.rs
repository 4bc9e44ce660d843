//! The admission of requests: which are accepted, where their work begins, and how they end with the run.

use std::{future::Future, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    diagnostic::Diagnostic,
    executor::{AbandonedCall, Executor},
    monitor::{
        WireStatus,
        in_flight::{Flight, InFlight},
        request_error::RequestError,
    },
    provider::{ProviderHandle, ProviderResult},
};

/// How long code of a provider may take to return when the run has been stopped and works on nothing else.
const CODE_GRACE: Duration = Duration::from_secs(30);

/// Accepts the requests of one run until it ends.
pub(super) struct Admission {
    executor: Arc<Executor>,
    pub(super) in_flight: InFlight,
    /// The monitor has ended.
    closed: CancellationToken,
    /// Code of a provider has been given up, because the stopped run has worked on nothing else: all other code is, too.
    silent: CancellationToken,
}

/// Where the work of a request begins.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// As a task of the runtime: many requests of a fast program are worked on in parallel.
    Spawned,
    /// On the calling thread, as far as it does not wait: a program of an SDK takes much longer for a request than the engine
    /// does, and its next one often needs the answer.
    Inline,
}

impl Admission {
    /// Creates the admission of a run, which ends when `closed` is cancelled.
    pub(super) fn new(executor: Arc<Executor>, closed: CancellationToken) -> Self {
        Self {
            executor,
            in_flight: InFlight::default(),
            closed,
            silent: CancellationToken::new(),
        }
    }

    /// Accepts a request that is `doing` something, unless no more are accepted.
    pub(super) fn enter(&self, doing: &str) -> Result<Flight, RequestError> {
        if self.closed.is_cancelled() {
            return Err(WireStatus::shut_down(doing).into());
        }
        self.executor.activity().touch();
        let ending = self.executor.control().is_stopped();
        self.in_flight.enter().ok_or_else(|| {
            if ending {
                RequestError::RunEnded
            } else {
                WireStatus::shut_down(doing).into()
            }
        })
    }

    /// Accepts a request, and does its work where the caller polls; the request ends when this is dropped.
    pub(super) async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, WireStatus> {
        let flight = match self.enter("sending resource registration") {
            Ok(flight) => flight,
            Err(error) => return Err(self.status_of(error).await),
        };
        self.conclude(work.await, flight).await
    }

    /// Ends a request, and returns its result.
    pub(super) async fn conclude<T>(
        &self,
        result: Result<T, RequestError>,
        flight: Flight,
    ) -> Result<T, WireStatus> {
        drop(flight);
        match result {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.status_of(error).await),
        }
    }

    /// Starts the work of an accepted request, and returns its result. The work continues when the future is dropped.
    pub(super) fn begin<T, W>(
        self: &Arc<Self>,
        start: Start,
        work: Result<W, RequestError>,
    ) -> impl Future<Output = Result<T, WireStatus>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, WireStatus>> + Send + 'static,
    {
        let admission = Arc::clone(self);
        let spawner = &self.executor.runtime().spawner;
        let work = work.map(|work| match start {
            Start::Spawned => spawner.spawn(work),
            Start::Inline => spawner.begin(work),
        });
        async move {
            match work {
                Ok(task) => task
                    .await
                    .unwrap_or_else(|error| Err(WireStatus::internal(&error))),
                Err(error) => Err(admission.status_of(error).await),
            }
        }
    }

    /// Returns the status of a request that failed.
    pub(super) async fn status_of(&self, error: RequestError) -> WireStatus {
        match error {
            RequestError::Status(status) => status,
            RequestError::RunEnded => self.after_the_end("waiting on step's done channel").await,
            RequestError::OutputsAfterRunEnded => {
                self.after_the_end("waiting on output step's done channel").await
            }
        }
    }

    /// Waits until the session is released, for a request without an answer. The code of components, methods and hooks learns of
    /// the end at once: the end waits for that code, and running calls of a provider may wait for what its component registers.
    async fn after_the_end(&self, waiting: &str) -> WireStatus {
        if !self.executor.is_awaiting_code() {
            self.closed.cancelled().await;
        }
        WireStatus::shut_down(waiting)
    }

    /// Awaits a call until the run has ended. `describe` describes a call that is abandoned.
    pub(super) async fn unless_ended<T>(
        &self,
        call: impl Future<Output = T>,
        describe: impl FnOnce() -> AbandonedCall,
    ) -> Result<T, RequestError> {
        tokio::select! {
            biased;
            answer = call => {
                self.executor.control().note_end(describe);
                Ok(answer)
            }
            () = self.closed.cancelled() => {
                Err(WireStatus::shut_down("waiting on step's done channel").into())
            }
            () = self.executor.terminated() => {
                self.executor.control().abandon(describe());
                Err(RequestError::RunEnded)
            }
        }
    }

    /// Awaits code of a provider that calls the engine again: until the run has ended, and no longer than [`CODE_GRACE`] in which a
    /// stopped run works on nothing else. All requests of the code are refused then, so that it has nothing to complete. `describe`
    /// describes a call that is abandoned.
    pub(super) async fn unless_silent<T>(
        &self,
        call: impl Future<Output = T>,
        describe: impl Fn() -> AbandonedCall,
    ) -> Result<T, RequestError> {
        let silent = async {
            self.executor.control().stopped().await;
            tokio::select! {
                biased;
                () = self.executor.activity().quiet(CODE_GRACE) => self.silent.cancel(),
                () = self.silent.cancelled() => {}
            }
        };
        tokio::select! {
            biased;
            answer = self.unless_ended(call, &describe) => answer,
            () = silent => {
                let call = describe();
                let text = format!(
                    "{} within {} s after the run had been stopped, and is waited for no longer",
                    call.text,
                    CODE_GRACE.as_secs()
                );
                self.executor.diagnose(Diagnostic::warning(text));
                self.executor.control().abandon(call);
                Err(RequestError::RunEnded)
            }
        }
    }

    /// Awaits a function of the program until the run is stopped. `describe` describes a call that is abandoned.
    pub(super) async fn unless_stopped<T>(
        &self,
        call: impl Future<Output = T>,
        describe: impl FnOnce() -> AbandonedCall,
    ) -> Result<T, RequestError> {
        tokio::select! {
            biased;
            answer = call => Ok(answer),
            () = self.executor.control().stopped() => {
                self.executor.control().abandon(describe());
                Err(RequestError::RunEnded)
            }
            () = self.closed.cancelled() => {
                Err(WireStatus::shut_down("waiting on step's done channel").into())
            }
        }
    }

    /// Waits for the ends of announcements.
    pub(super) async fn until_all(&self, ends: Vec<CancellationToken>) -> Result<(), RequestError> {
        for end in ends {
            tokio::select! {
                biased;
                () = end.cancelled() => {}
                () = self.executor.control().stopped() => return Err(RequestError::RunEnded),
            }
        }
        Ok(())
    }

    /// Resolves when the run is stopped, or the monitor has ended.
    pub(super) async fn stopped(&self) {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => {}
            () = self.executor.control().stopped() => {}
        }
    }

    /// Awaits a Construct or a method within the limit of its provider's calls. It may wait for other resources: the time in
    /// which the run works on these does not count.
    pub(super) async fn within_limit<T>(
        &self,
        provider: &ProviderHandle,
        method: &'static str,
        subject: &str,
        call: impl Future<Output = ProviderResult<T>>,
    ) -> ProviderResult<T> {
        let activity = self.executor.activity();
        let Some(limit) = provider.provider.limit() else {
            let _waiting = activity.waiting();
            return call.await;
        };
        let answer = activity.within(limit.timeout, call).await;
        answer.unwrap_or_else(|| Err(limit.exceeded(&format!("{method} of {subject}"), limit.timeout)))
    }
}

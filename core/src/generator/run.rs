//! The run of registrations: errors are reported to it, and pending responses end with it.

use std::sync::Arc;

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    executor::{AbandonedCall, Executor, Failure, StepFailure},
    generator::RegisterOutcome,
    message::Text,
    provider::{ProviderError, ProviderHandle},
    resource::ResourceState,
    token::TypeToken,
    urn::Urn,
};

/// The run is ending: the request gets no response until the monitor shuts down.
///
/// The reason has been reported when this is returned.
#[derive(Clone, Debug)]
pub(crate) struct RunEnded;

/// Reports errors of one run, and ends it.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) executor: Arc<Executor>,
}

/// A call of a resource's own provider that counts against the limit of concurrent checks and diffs.
#[derive(Clone, Copy)]
pub(super) struct CountedCall {
    /// The provider's method, as errors name it.
    method: &'static str,
    /// The answer may depend on a later registration.
    waits: bool,
}

impl CountedCall {
    pub(super) const fn new(method: &'static str, provider: &ProviderHandle) -> Option<Self> {
        Some(Self {
            method,
            waits: provider.waits_for_registrations,
        })
    }

    /// Returns a diff of a provider's configuration, which never waits for registrations.
    pub(super) const fn diff_config() -> Option<Self> {
        Some(Self {
            method: "diff",
            waits: false,
        })
    }
}

impl Run {
    /// Reports an error of a resource and ends the run.
    pub(super) fn bail(&self, urn: &Urn, message: impl Into<Text>) -> RunEnded {
        let error = Error::new(ErrorKind::Failed, self.report(urn, message));
        self.end(error.with_urn(urn.clone()))
    }

    /// Reports an error with its cause and ends the run; after a cancellation, which explains any error, nothing is
    /// reported.
    pub(super) fn bail_unless_cancelled(
        &self,
        urn: &Urn,
        message: impl Into<Text>,
        cause: Option<&Error>,
    ) -> RunEnded {
        if self.executor.control().is_cancelled() {
            return RunEnded;
        }
        let mut error = Error::new(ErrorKind::Failed, self.report(urn, message));
        if let Some(cause) = cause {
            error = error.with_facts_of(cause);
        }
        self.end(error.with_urn(urn.clone()))
    }

    /// Reports an error and continues, to find further errors: the run fails at its end.
    pub(super) fn fault(&self, urn: &Urn, message: impl Into<Text>) {
        let error = Error::new(ErrorKind::Failed, self.report(urn, message));
        self.fail_later(error.with_urn(urn.clone()));
    }

    /// Fails the run at its end with an error that has been reported.
    pub(super) fn fail_later(&self, error: Error) {
        self.executor.control().fail(Failure::Generation(error), false);
    }

    /// Ends the run with an error that has been reported.
    pub(super) fn end(&self, error: Error) -> RunEnded {
        self.executor.control().fail(Failure::Bail(error), true);
        RunEnded
    }

    /// Refuses each of `texts`, each with its resource's URN. A preview continues and fails at its end; an update ends
    /// with the first, under the text `summary`.
    pub(super) fn refuse_all<'a>(
        &self,
        texts: impl Iterator<Item = (&'a Urn, Text)>,
        summary: &str,
    ) -> Result<(), RunEnded> {
        let mut first = None;
        for (urn, text) in texts {
            if self.executor.is_preview() {
                self.fault(urn, text);
            } else {
                let text = self.report(urn, text).map(|_| summary.to_owned(), str::to_owned);
                first.get_or_insert_with(|| Error::new(ErrorKind::Failed, text).with_urn(urn.clone()));
            }
        }
        first.map_or(Ok(()), |error| Err(self.end(error)))
    }

    /// Emits an error diagnostic about a resource and returns its text.
    pub(super) fn report(&self, urn: &Urn, message: impl Into<Text>) -> Text {
        let text = message.into();
        self.executor
            .diagnose(Diagnostic::error(text.clone()).about(urn.clone()));
        text
    }

    /// Emits a warning about a resource.
    pub(super) fn warn(&self, urn: &Urn, message: impl Into<Text>) {
        self.executor
            .diagnose(Diagnostic::warning(message).about(urn.clone()));
    }

    /// Returns whether a failure or a cancellation ended the run before its program was complete.
    pub(super) fn has_ended_early(&self) -> bool {
        let control = self.executor.control();
        control.has_failed() || control.is_cancelled()
    }

    /// Returns the response of a registration whose step failed: the run continues only with `continue_on_error`.
    pub(super) fn after_failure(
        &self,
        failure: &StepFailure,
        state: &Arc<ResourceState>,
    ) -> Result<RegisterOutcome, RunEnded> {
        if failure.cancelled || !self.executor.options().continue_on_error {
            return Err(RunEnded);
        }
        Ok(RegisterOutcome::failed(Arc::clone(state)))
    }

    /// Awaits a call about a resource. A failed one ends the run; so does a termination. `call` is set for a call of
    /// the resource's own provider; calls of policy packs are not limited.
    pub(super) async fn ask<T>(
        &self,
        urn: &Urn,
        call: Option<CountedCall>,
        question: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, RunEnded> {
        let question = async {
            let _working = self.executor.activity().working();
            let _slot = match call {
                Some(CountedCall { method, waits }) => Some(self.executor.question(urn, method, waits).await),
                None => None,
            };
            question.await
        };
        let answer = self.unless_terminated(question).await;
        if let Some(CountedCall { method, .. }) = call {
            let control = self.executor.control();
            let call = || AbandonedCall::on(urn, method);
            match &answer {
                Ok(_) => control.note_end(call),
                Err(RunEnded) => control.abandon(call()),
            }
        }
        answer?.map_err(|error| {
            let facts = || {
                let asked = TypeToken::from(urn.resource_type());
                Some(Error::of_provider(
                    asked.asked_package(),
                    call?.method,
                    &error.message,
                ))
            };
            let cause = error.cause.clone().or_else(facts);
            self.bail_unless_cancelled(urn, error.text(), cause.as_ref())
        })
    }

    /// Awaits the load of a provider that a resource needs. A failed one ends the run; so does a termination.
    pub(super) async fn load<T>(
        &self,
        urn: &Urn,
        loading: impl Future<Output = crate::error::Result<T>>,
    ) -> Result<T, RunEnded> {
        let working = self.executor.activity().working();
        let loaded = self.unless_terminated(loading).await;
        drop(working);
        let call = || AbandonedCall::on(urn, "load");
        match &loaded {
            Ok(_) => self.executor.control().note_end(call),
            Err(RunEnded) => self.executor.control().abandon(call()),
        }
        loaded?.map_err(|error| self.bail_unless_cancelled(urn, error.text().clone(), Some(&error)))
    }

    /// Awaits a response until running calls are abandoned.
    pub(super) async fn unless_terminated<T>(&self, answer: impl Future<Output = T>) -> Result<T, RunEnded> {
        tokio::select! {
            biased;
            answer = answer => Ok(answer),
            () = self.executor.terminated() => Err(RunEnded),
        }
    }
}

//! The run of every operation: lock, load, decrypt, journal, do the work, record, fold, unlock, report.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::Duration,
};

use futures::FutureExt as _;

use super::{
    OperationKind, OperationOptions, OperationResult, Session, StackContext,
    run_program::NO_PROGRAM,
    work::{Found, Work, whole_seconds},
};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    event::{EventPayload, EventSink, Summary},
    executor::Control,
    program::Program,
    secrets::{Overheard, SecretsProvider},
    state::{Journal, Ledger, journal::HostJournal},
    store::{HistoryRecord, LoadedStack, StackSession},
};

/// One operation on its way.
pub(crate) struct OperationRun {
    pub(crate) stack: Arc<StackContext>,
    pub(crate) kind: OperationKind,
    pub(crate) options: OperationOptions,
    pub(crate) program: Option<Arc<dyn Program>>,
    pub(crate) events: EventSink,
    pub(crate) control: Control,
    pub(crate) session: Session,
}

impl OperationRun {
    /// Runs the operation to its end. Whatever happens, the last event is the one that ends the stream.
    pub(crate) async fn run(mut self) -> OperationResult {
        if let Some(failed) = self.rehearse().await {
            return failed;
        }
        // Whatever anybody says from now on is searched for them.
        let redactor = self.events.redactor();
        self.stack
            .config
            .each_secret_in_the_clear(|secret| redactor.learn([secret]));
        let clock = Arc::clone(&self.stack.engine.runtime.clock);
        let began = clock.elapsed();
        let mut work = Work::default();
        let result = match self.options.check().and_then(|()| self.check_program()) {
            Ok(()) => match self.perform(&mut work, began).await {
                Err(error) => Err(self.stack.explained(error).await),
                performed => performed,
            },
            refused => refused,
        };
        self.session
            .finish(self.options.hold_session, &self.stack.engine.runtime)
            .await;
        let ending = work.ending(&self.control);
        let error = self
            .verdict(result.err(), ending.cancelled)
            .map(|error| error.scrubbed(|text| self.events.redactor().scrub(text)));
        if error.is_some() {
            // Nobody is to be held to half of it.
            work.plan = None;
        }
        let outcome = ending.outcome(error.as_ref());
        let duration = clock.elapsed().saturating_sub(began);
        let summary = work.summary.take();
        let changes = summary
            .as_ref()
            .map(|summary| summary.resource_changes.clone())
            .unwrap_or_default();
        if let Some(summary) = summary {
            let summary = Summary {
                result: ending.summed_up(outcome),
                duration_seconds: whole_seconds(duration),
                ..summary
            };
            self.events.emit(EventPayload::Summary(summary), false);
        }
        if ending.cancelled && ending.terminated {
            self.events
                .diagnostic(Diagnostic::error(format!("{} failed", self.noun())));
        }
        self.events.end();
        let outputs = work.outputs.unwrap_or_else(|| work.snapshot.stack_outputs());
        OperationResult {
            error,
            outcome,
            changes,
            outputs_changed: work.outputs_before.is_some_and(|before| before != outputs),
            outputs,
            steps: work.steps,
            diagnostics: self.events.diagnostics(),
            plan: work.plan,
            snapshot: work.snapshot,
            duration,
            redactor: self.events.redactor().clone(),
            is_preview: self.options.dry_run,
            knows_state: work.knows_state,
        }
    }

    /// Returns the stack's secrets; what the state holds encrypted is kept out of texts once it is decrypted.
    fn secrets(&self) -> Overheard<Arc<dyn SecretsProvider>> {
        let secrets = Arc::clone(&self.stack.secrets);
        Overheard::new(secrets, self.events.redactor().clone())
    }

    async fn perform(&self, work: &mut Work, began: Duration) -> Result<()> {
        let creates = self.stack.is_new && self.kind == OperationKind::Update;
        if creates && self.program.is_none() {
            return Err(Error::invalid(NO_PROGRAM));
        }
        if self.options.dry_run {
            let found = match self.load().await {
                // A preview does not create the stack.
                Err(error) if creates && error.kind() == ErrorKind::NotFound => Found::default(),
                loaded => {
                    let LoadedStack { snapshot, holder, .. } = loaded?;
                    Found { snapshot, holder }
                }
            };
            return self.perform_loaded(work, found, None, began).await;
        }
        let lock = self.stack.storage.lock_for(self.kind.name()).await?;
        // Also where code of the host panics: the stack is free before anybody hears of the end.
        let result = AssertUnwindSafe(self.perform_locked(work, creates, began))
            .catch_unwind()
            .await;
        if result.is_err() {
            self.end_what_is_left().await;
        }
        let released = lock.release().await;
        match result {
            Ok(result) => result.and(released),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Sees to it that nothing of an operation that has died goes on: the stack may be another's from now on.
    async fn end_what_is_left(&self) {
        self.control.cancel();
        self.control.cancel();
        self.stop_refreshing().await;
        let mut journal = None;
        self.session.own(|parts| journal = parts.journal.take());
        self.session.finish(false, &self.stack.engine.runtime).await;
        if let Some(journal) = journal {
            // What is in it is recovered when the stack is next opened.
            drop(journal.close().await);
        }
    }

    async fn stop_refreshing(&self) {
        let mut refreshing = None;
        self.session.own(|parts| refreshing = parts.refreshing.take());
        if let Some(refreshing) = refreshing {
            refreshing.stop().await;
        }
    }

    /// Loads the state, and tells people what they should know about it.
    async fn load(&self) -> Result<LoadedStack> {
        let storage = &self.stack.storage;
        let mut loaded = match self.options.dry_run {
            true => storage.load_unlocked(&self.secrets()).await?,
            false => storage.load(&self.secrets()).await?,
        };
        for warning in loaded.warnings.drain(..) {
            self.events.diagnostic(warning);
        }
        Ok(loaded)
    }

    async fn perform_locked(&self, work: &mut Work, creates: bool, began: Duration) -> Result<()> {
        let storage = &self.stack.storage;
        let loaded = match self.load().await {
            Err(error) if creates && error.kind() == ErrorKind::NotFound => {
                self.stack.create_if_new().await?;
                self.load().await?
            }
            loaded => loaded?,
        };
        let mut snapshot = loaded.snapshot.clone();
        if snapshot.secrets.is_none() {
            snapshot.secrets = Some(self.stack.new_secrets(&self.secrets()).await?);
        }
        // What a crash left in a journal becomes the checkpoint before a new journal begins.
        let session = Arc::new(storage.begin(loaded, &mut snapshot, self.kind.name()).await?);
        for note in session.notes() {
            self.events.diagnostic(note.clone());
        }
        let sink = session.sink();
        let sink = match &self.stack.journal {
            Some(receiver) => Arc::new(HostJournal::new(Arc::clone(receiver)).then(sink)),
            None => sink,
        };
        let runtime = &self.stack.engine.runtime;
        let journal = Journal::start(Ledger::new(snapshot.clone()), sink, runtime);
        let interval = self.stack.engine.checkpoint_interval;
        // In memory there is no other program for which the checkpoint is refreshed.
        let interval = interval.filter(|_| !self.stack.is_supplied);
        let refreshing = interval.map(|interval| session.refresh_in_background(journal.clone(), interval));
        self.session.own(|parts| {
            parts.journal = Some(journal.clone());
            parts.refreshing = refreshing;
        });
        let started = runtime.clock.now();
        let found = Found {
            snapshot,
            holder: None,
        };
        let result = self
            .perform_loaded(work, found, Some(journal.clone()), began)
            .await;
        // Until the ledger has been folded it is not known what has become of the state.
        work.knows_state = false;
        self.stop_refreshing().await;
        let (mut ledger, written) = journal.close().await?;
        let cancelled = work.ending(&self.control).cancelled;
        let succeeded = result.is_ok() && !self.control.has_failed() && !cancelled;
        if succeeded {
            // A run of some resources has not looked at the others.
            if self.options.targets.is_empty() && self.options.excludes.is_empty() {
                ledger.settle_pending();
            }
            if self.options.clear_pending_creates {
                ledger.settle_creations();
            }
        }
        let folded = self.fold(&session, &ledger, work).await;
        let changes = work
            .summary
            .as_ref()
            .map(|summary| summary.resource_changes.clone())
            .unwrap_or_default();
        let refused = matches!(&result, Err(error) if error.kind() == ErrorKind::InvalidInput);
        if refused && !ledger.is_dirty() {
            // Nothing was tried: that is no operation to remember.
            return result.and(written).and(folded);
        }
        if self.stack.is_supplied {
            return result.and(written).and(folded);
        }
        let history = session
            .record_history(HistoryRecord {
                kind: self.kind.name(),
                message: self.options.message.clone(),
                started,
                ended: runtime.clock.now(),
                succeeded: succeeded && folded.is_ok(),
                changes,
                config: self.stack.config.clone(),
            })
            .await;
        result.and(written).and(folded).and(history)
    }

    /// Makes the ledger the new checkpoint. A run that changed nothing writes nothing.
    async fn fold(&self, session: &StackSession, ledger: &Ledger, work: &mut Work) -> Result<()> {
        // A refreshed checkpoint may name steps in flight that have failed since.
        if !ledger.is_dirty() && !session.has_refreshed() {
            // The key of a new manager may still be derived, and the result writes its document without waiting.
            if let Some(manager) = &ledger.base().secrets {
                manager.ready().await?;
            }
            work.snapshot = Arc::new(ledger.base().clone());
            work.knows_state = true;
            return session.discard().await;
        }
        let mut snapshot = ledger.compose_valid()?;
        let committed = session.commit(&mut snapshot).await;
        // Also when it could not be written: that is what there is now, and the journal has it.
        work.snapshot = Arc::new(snapshot);
        work.knows_state = true;
        committed
    }
}

//! The run of every operation: lock, load, decrypt, journal, execute the verb, commit, unlock, report.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::Duration,
};

use futures::FutureExt as _;

use super::{
    ImportRequest, OperationKind, OperationOptions, OperationResult, PendingWork, Session, SetMember,
    StackContext,
    adopt::with_kept,
    execute::whole_seconds,
    import::check_request,
    moves::accept_moves,
    options::styled_name,
    outcome::{error_of, noun, title, unexpected_changes},
    pending,
    recorded_run::{environment_of, recorded_end, refuse_cancelled, return_recorded, watch_mark},
    rehearsal::rehearse,
    run_program::NO_PROGRAM,
    run_state::{LoadedState, RunState},
    with_program::check_program,
};
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind, Result},
    event::{EventPayload, EventSink, Summary},
    executor::Control,
    moves::AppliedMoves,
    program::Program,
    runtime::Clock,
    secrets::{RedactingSecrets, SecretsProvider},
    state::{Journal, JournalReplay, Snapshot, journal::HostJournal, with_recorded_id},
    store::{HistoryRecord, LoadedStack, LockPurpose, StackLock, StackSession},
    telemetry::{LogHub, Scope},
};

/// How long the calls of an operation that has timed out may go on before they are given up.
const TIMEOUT_GRACE: Duration = Duration::from_secs(30);

/// Cancels an operation after its timeout, and terminates it after a grace period.
async fn time_out(control: Control, clock: Arc<dyn Clock>, timeout: Option<Duration>) -> Infallible {
    if let Some(timeout) = timeout {
        clock.wait(timeout).await;
        control.time_out(timeout);
        clock.wait(TIMEOUT_GRACE).await;
        control.cancel();
    }
    std::future::pending().await
}

/// A running operation.
pub(crate) struct OperationRun {
    pub(crate) stack: Arc<StackContext>,
    pub(crate) kind: OperationKind,
    pub(crate) options: OperationOptions,
    pub(crate) program: Option<Arc<dyn Program>>,
    /// What it shares with the operations of the other stacks of its set.
    pub(crate) set: SetMember,
    /// The resources that an import is about.
    pub(crate) import: Option<Arc<ImportRequest>>,
    pub(crate) events: EventSink,
    pub(crate) control: Control,
    pub(crate) session: Session,
    pub(crate) pending: PendingWork,
    /// The moves that it applies.
    pub(crate) moves: AppliedMoves,
    /// Its span.
    pub(crate) scope: Scope,
}

impl OperationRun {
    /// Runs the operation to its end, and cancels it when it takes too long. The last event always ends the stream.
    pub(crate) async fn run(self) -> OperationResult {
        LogHub::redact_installed(self.events.redactor());
        let clock = Arc::clone(&self.stack.engine.runtime.clock);
        let timeout = time_out(self.control.clone(), clock, self.options.time_limit());
        tokio::select! {
            biased;
            result = self.run_to_end() => result,
            never = timeout => match never {},
        }
    }

    async fn run_to_end(mut self) -> OperationResult {
        self.set
            .keep_unfinished(&self.stack, &self.options.unfinished_stacks);
        let accepted = match self.accept().await {
            Ok(Some(failed)) => return failed,
            accepted => accepted.map(drop),
        };
        let began = self.stack.engine.runtime.clock.elapsed();
        let mut state = RunState::default();
        let result = match accepted.and_then(|()| self.check()) {
            Ok(()) => match self.run_loaded(&mut state, began).await {
                Err(error) => Err(self.stack.explained(error).await),
                ended => ended,
            },
            refused => refused,
        };
        self.session
            .finish(self.options.hold_session, &self.stack.engine.runtime)
            .await;
        self.conclude(state, result.err(), began)
    }

    /// Reads the configuration, and accepts moves. Returns the result of a preview that has failed meanwhile.
    async fn accept(&mut self) -> Result<Option<OperationResult>> {
        let configured = self.configure().await;
        // The redactor learns the secrets of the configuration before any event can be emitted.
        let redactor = self.events.redactor();
        self.stack
            .config
            .each_secret_in_the_clear(|secret| redactor.learn([secret]));
        configured?;
        match accept_moves(self).await? {
            Some(failed) => Ok(Some(failed)),
            None => Ok(rehearse(self).await),
        }
    }

    /// Refuses invalid options, and requests that the stack cannot serve.
    fn check(&self) -> Result<()> {
        self.options.check()?;
        for stack in &self.options.unfinished_stacks {
            self.stack.referred_stack(stack)?;
        }
        if self.options.exclude_protected && self.kind != OperationKind::Destroy {
            let text = format!("{} is an option of destroys", styled_name("excludeProtected"));
            return Err(Error::invalid(text));
        }
        check_program(self)?;
        check_request(self)
    }

    /// Ends the stream of events, and returns the result.
    fn conclude(self, mut state: RunState, error: Option<Error>, began: Duration) -> OperationResult {
        let ending = state.ending(&self.control);
        let error = error_of(&self, error, ending.cancelled)
            .map(|error| with_kept(&self, &state, error))
            .map(|error| error.scrubbed(|text| self.events.redactor().scrub(text)));
        if error.is_some() {
            // An incomplete plan holds no later operation.
            state.plan = None;
        }
        let error = error.or_else(|| unexpected_changes(&self, state.summary.as_ref()));
        let outcome = ending.outcome(error.as_ref());
        let now = self.stack.engine.runtime.clock.elapsed();
        let duration = now.saturating_sub(began);
        let mut changes = BTreeMap::default();
        if let Some(summary) = state.summary.take() {
            changes.clone_from(&summary.resource_changes);
            let summary = Summary {
                result: ending.summary_outcome(outcome),
                duration_seconds: whole_seconds(duration),
                ..summary
            };
            self.events.emit(EventPayload::Summary(summary), false);
        }
        if ending.cancelled && ending.terminated {
            self.events
                .diagnostic(Diagnostic::error(format!("{} failed", noun(&self))));
        }
        self.events.end();
        let outputs = state.outputs.unwrap_or_else(|| state.snapshot.stack_outputs());
        OperationResult {
            error,
            outcome,
            changes,
            outputs_changed: state
                .outputs_before
                .as_ref()
                .is_some_and(|before| *before != outputs),
            outputs_before: state.outputs_before,
            outputs,
            steps: state.steps,
            suggested_moves: state.moves,
            rerecorded: state.rerecorded,
            language: state.language,
            diagnostics: self.events.diagnostics(),
            plan: state.plan,
            imported: state.imported,
            snapshot: state.snapshot,
            dropped_pending: state.dropped_pending,
            is_recorded: state.is_recorded,
            unfinished_reads: match state.is_recorded {
                true => state.recorded_reads,
                false => self.set.unfinished_reads(),
            },
            adopted: self.pending.found().record.take(),
            duration,
            redactor: self.events.redactor().clone(),
            title: title(&self),
            is_preview: self.options.dry_run,
            knows_state: state.knows_state,
        }
    }

    /// Reads the configuration, when the host keeps it elsewhere.
    async fn configure(&mut self) -> Result<()> {
        let runs_program = self.options.program_purpose(self.kind).is_some();
        if let Some((stack, refresh)) = self.stack.configured(runs_program).await? {
            self.stack = Arc::new(stack);
            if refresh && matches!(self.kind, OperationKind::Update | OperationKind::Destroy) {
                self.options.refresh.get_or_insert(true);
            }
        }
        Ok(())
    }

    /// Returns the stack's secrets; the redactor of texts learns all that they decrypt.
    fn secrets(&self) -> RedactingSecrets<Arc<dyn SecretsProvider>> {
        let secrets = Arc::clone(&self.stack.secrets);
        RedactingSecrets::new(secrets, self.events.redactor().clone())
    }

    async fn run_loaded(&self, state: &mut RunState, began: Duration) -> Result<()> {
        let creates = self.stack.is_created_by_writes()
            && matches!(self.kind, OperationKind::Update | OperationKind::Import);
        if creates && self.kind == OperationKind::Update && self.program.is_none() {
            return Err(Error::invalid(NO_PROGRAM));
        }
        let _watch = watch_mark(self);
        if self.options.dry_run {
            refuse_cancelled(self).await?;
            let found = match self.load().await {
                // A preview does not create the stack.
                Err(error) if creates && error.kind() == ErrorKind::NotFound => LoadedState::default(),
                loaded => {
                    let LoadedStack { snapshot, holder, .. } = loaded?;
                    LoadedState { snapshot, holder }
                }
            };
            return self.execute(state, found, None, began).await;
        }
        let lock = self.lock().await?;
        // The stack is unlocked before the operation returns, even when host code panics.
        let result = AssertUnwindSafe(self.run_once(state, creates, began))
            .catch_unwind()
            .await;
        if result.is_err() {
            self.abandon().await;
        }
        // What the operation has done and written is complete.
        if let Err(error) = lock.release().await {
            self.events.diagnostic(Diagnostic::warning(error.message()));
        }
        match result {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Runs the operation over the locked stack, unless its run has ended before.
    async fn run_once(&self, state: &mut RunState, creates: bool, began: Duration) -> Result<()> {
        if let Some(end) = recorded_end(self).await? {
            return return_recorded(self, state, end).await;
        }
        refuse_cancelled(self).await?;
        self.run_locked(state, creates, began).await
    }

    /// Locks the stack. Waits for it as long as the options state, unless the operation is cancelled.
    async fn lock(&self) -> Result<StackLock> {
        let limit = self
            .options
            .lock_limit()
            .unwrap_or(self.stack.storage.lock_limit());
        let waits = |error: &Error| {
            let text = format!("waiting for the lock of the stack: {}", error.message());
            self.events.diagnostic(Diagnostic::new(Severity::Info, text));
        };
        let purpose = LockPurpose {
            operation: self.kind.name(),
            run: self.options.run_id.as_deref(),
            max_wait: None,
        };
        let locking = self.stack.storage.lock_within(purpose, limit, waits);
        if limit.is_zero() && purpose.run.is_none() {
            return locking.await;
        }
        tokio::select! {
            biased;
            () = self.control.cancelled() => {
                let text = "the operation was cancelled while it waited for the lock of the stack";
                Err(Error::new(ErrorKind::Cancelled, text))
            }
            lock = locking => lock,
        }
    }

    /// Ends all parts of an operation that has panicked: another operation may lock the stack afterwards.
    async fn abandon(&self) {
        self.control.cancel();
        self.control.cancel();
        self.stop_refreshing().await;
        let mut journal = None;
        self.session.own(|parts| journal = parts.journal.take());
        self.session.finish(false, &self.stack.engine.runtime).await;
        if let Some(journal) = journal {
            // Its entries are recovered when the stack is next opened.
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

    /// Loads the state, and emits its warnings.
    pub(super) async fn load(&self) -> Result<LoadedStack> {
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

    async fn run_locked(&self, state: &mut RunState, creates: bool, began: Duration) -> Result<()> {
        let (session, snapshot) = self.begin_session(creates).await?;
        let journal = self.begin_journal(&session, &snapshot);
        let runtime = &self.stack.engine.runtime;
        let found = LoadedState {
            snapshot,
            holder: None,
        };
        let result = self.execute(state, found, Some(journal.clone()), began).await;
        // The state is not known until the replay is committed.
        state.knows_state = false;
        self.stop_refreshing().await;
        let (mut replay, written) = journal.close().await?;
        let cancelled = state.ending(&self.control).cancelled;
        let succeeded = result.is_ok() && !self.control.has_failed() && !cancelled;
        self.settle_found(&mut replay);
        if succeeded && self.kind != OperationKind::Adopt {
            self.settle_examined(&mut replay);
        }
        let committed = self.commit(&session, &replay, state).await;
        if committed.is_ok() {
            self.report_dropped(&replay, state);
        }
        let refused = matches!(&result, Err(error) if self.is_refusal(error));
        // A refused operation without a step has no history.
        if refused && !replay.is_dirty() || self.stack.is_supplied {
            let ended = match committed {
                Ok(()) => session.discard().await,
                failed => failed,
            };
            return result.and(written).and(ended);
        }
        let summary = state.summary.as_ref();
        let changes = summary.map(|summary| summary.resource_changes.clone());
        let record = HistoryRecord {
            kind: self.kind.history_name(),
            message: self.options.message.clone(),
            started: session.started(),
            ended: runtime.clock.now(),
            succeeded: succeeded && committed.is_ok(),
            changes: changes.unwrap_or_default(),
            config: self.stack.config.clone(),
            environment: environment_of(self),
        };
        let ended = match committed {
            Ok(()) => session.conclude(record).await,
            // The journal stays, and the failure of the commit is reported, not that of the record.
            failed => {
                drop(session.record_history(record).await);
                failed
            }
        };
        result.and(written).and(ended)
    }

    /// Loads the state under the lock, and begins the session. With `creates`, a missing stack is created.
    async fn begin_session(&self, creates: bool) -> Result<(Arc<StackSession>, Snapshot)> {
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
        // A journal that a crash left becomes the checkpoint before a new journal begins.
        let storage = &self.stack.storage;
        let session = StackSession::begin(storage, loaded, &mut snapshot, self.kind.name()).await?;
        for note in session.notes() {
            self.events.diagnostic(note.clone());
        }
        Ok((Arc::new(session), snapshot))
    }

    /// Begins the journal of a session, and the refreshes of its checkpoint.
    fn begin_journal(&self, session: &Arc<StackSession>, snapshot: &Snapshot) -> Journal {
        let sink = session.sink();
        let sink = match &self.stack.journal {
            Some(receiver) => Arc::new(HostJournal::new(Arc::clone(receiver)).then(sink)),
            None => sink,
        };
        let runtime = &self.stack.engine.runtime;
        let journal = Journal::start(JournalReplay::new(snapshot.clone()), sink, runtime);
        let interval = self.stack.engine.checkpoint_interval;
        // An in-memory store has no other reader of a refreshed checkpoint.
        let interval = interval.filter(|_| !self.stack.is_supplied);
        let refreshing = interval.map(|interval| session.refresh_in_background(journal.clone(), interval));
        self.session.own(|parts| {
            parts.journal = Some(journal.clone());
            parts.refreshing = refreshing;
        });
        journal
    }

    /// Returns whether an error refuses the operation before its first step.
    fn is_refusal(&self, error: &Error) -> bool {
        match error.kind() {
            ErrorKind::InvalidInput => true,
            ErrorKind::NotFound | ErrorKind::Conflict => self.kind == OperationKind::Adopt,
            _ => false,
        }
    }

    /// Settles the pending operations of the resources that a successful run has examined.
    fn settle_examined(&self, replay: &mut JournalReplay) {
        // A targeted run has not examined the other resources, nor has an import.
        let examines_all = self.options.targets.is_empty() && self.options.excludes.is_empty();
        if examines_all && self.kind != OperationKind::Import {
            replay.settle_pending();
        }
        if self.options.clear_pending_creates {
            replay.settle_creations();
        }
    }

    /// Settles the pending operations that the run has resolved, and keeps those that it could not.
    fn settle_found(&self, replay: &mut JournalReplay) {
        let found = self.pending.found();
        for place in &found.resolved {
            replay.resolve_pending(*place);
        }
        for place in &found.kept {
            replay.keep_pending(*place);
        }
    }

    /// Adds the pending operations that are no longer recorded, although nothing is known about them, to the result and
    /// the events.
    fn report_dropped(&self, replay: &JournalReplay, state: &mut RunState) {
        let records = &replay.base().resources;
        state.dropped_pending = replay
            .dropped_pending()
            .map(|pending| with_recorded_id(pending, records))
            .collect();
        if !state.dropped_pending.is_empty() {
            let text = pending::dropped(&state.dropped_pending);
            self.events.diagnostic(Diagnostic::new(Severity::Info, text));
        }
    }

    /// Makes the replay the new checkpoint, beside which the journal stays. A run that changed nothing writes nothing.
    async fn commit(
        &self,
        session: &StackSession,
        replay: &JournalReplay,
        state: &mut RunState,
    ) -> Result<()> {
        // A refreshed checkpoint may name steps in flight that have failed since.
        if !replay.is_dirty() && !session.has_refreshed() {
            // The key of a new manager may still be derived, and the result writes its document without waiting.
            if let Some(manager) = &replay.base().secrets {
                manager.ready().await?;
            }
            state.snapshot = Arc::new(replay.base().clone());
            state.knows_state = true;
            return Ok(());
        }
        let mut snapshot = replay.to_valid_snapshot()?;
        let committed = session.commit(&mut snapshot).await;
        // Even when it could not be written: the journal contains this state.
        state.snapshot = Arc::new(snapshot);
        state.knows_state = true;
        committed
    }
}

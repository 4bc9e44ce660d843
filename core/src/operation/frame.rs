//! The frame of every operation: lock, load, decrypt, journal, do the work, record, fold, unlock, report.

use std::{sync::Arc, time::Duration};

use crate::{
    diagnostic::{Diagnostic, Severity},
    engine::EngineParts,
    error::{Error, ErrorKind, Result},
    event::{EventPayload, EventSink, OperationOutcome, Summary},
    executor::{Control, Executor, ExecutorOptions, Failure},
    generator::{Generator, GeneratorOptions},
    operation::{OperationKind, OperationOptions, OperationResult, Session, providers},
    program::{Program, RunInfo},
    project::Config,
    property::PropertyMap,
    provider::ProviderRegistry,
    state::{Base, Journal, Ledger, Snapshot, StateRef},
    store::StackStorage,
    urn::Urn,
};

/// A stack as operations see it.
pub(crate) struct StackContext {
    pub(crate) engine: Arc<EngineParts>,
    pub(crate) storage: StackStorage,
    pub(crate) organization: String,
    pub(crate) project: String,
    pub(crate) stack: String,
    pub(crate) root_directory: Option<std::path::PathBuf>,
    pub(crate) config: Config,
    pub(crate) journal: Option<Arc<dyn crate::state::journal::JournalReceiver>>,
}

/// One operation on its way.
pub(crate) struct Frame {
    pub(crate) stack: Arc<StackContext>,
    pub(crate) kind: OperationKind,
    pub(crate) options: OperationOptions,
    pub(crate) program: Option<Arc<dyn Program>>,
    pub(crate) events: EventSink,
    pub(crate) control: Control,
    pub(crate) session: Session,
}

/// What the work left behind.
#[derive(Default)]
struct Work {
    outputs: Option<PropertyMap>,
    snapshot: Arc<Snapshot>,
    summary: Option<Summary>,
    steps: Vec<Arc<crate::event::StepEvent>>,
}

impl StackContext {
    /// Returns the result of an operation whose task died.
    pub(crate) fn died(&self, error: Error, control: &Control) -> OperationResult {
        control.cancel();
        OperationResult {
            error: Some(error.with_hint(format!(
                "the stack {}/{} is recovered when it is next opened",
                self.project, self.stack
            ))),
            outcome: OperationOutcome::Failed,
            changes: std::collections::BTreeMap::new(),
            outputs: PropertyMap::new(),
            steps: Vec::new(),
            diagnostics: Vec::new(),
            snapshot: Arc::default(),
            duration: Duration::ZERO,
        }
    }
}

impl Frame {
    /// Runs the operation to its end. Whatever happens, the last event is the one that ends the stream.
    pub(crate) async fn run(self) -> OperationResult {
        let clock = Arc::clone(&self.stack.engine.runtime.clock);
        let began = clock.elapsed();
        let mut work = Work::default();
        let result = match self.options.check() {
            Ok(()) => self.perform(&mut work, began).await,
            refused => refused,
        };
        self.session
            .finish(self.options.hold_session, &self.stack.engine.runtime)
            .await;
        let error = self
            .verdict(result.err())
            .map(|error| error.scrubbed(self.events.redactor()));
        let outcome = match &error {
            None => OperationOutcome::Succeeded,
            Some(_) if self.control.is_terminated() => OperationOutcome::Canceled,
            Some(_) => OperationOutcome::Failed,
        };
        let duration = clock.elapsed().saturating_sub(began);
        let summary = work.summary.take();
        let changes = summary
            .as_ref()
            .map(|summary| summary.resource_changes.clone())
            .unwrap_or_default();
        if let Some(summary) = summary {
            let summary = Summary {
                result: outcome,
                duration_seconds: whole_seconds(duration),
                ..summary
            };
            self.events.emit(EventPayload::Summary(summary), false);
        }
        if self.control.is_cancelled() && self.control.is_terminated() {
            self.events
                .diagnostic(Diagnostic::error(format!("{} failed", self.noun())));
        }
        self.events.end();
        let outputs = work
            .outputs
            .unwrap_or_else(|| stack_outputs(&work.snapshot, &self.stack));
        OperationResult {
            error,
            outcome,
            changes,
            outputs,
            steps: work.steps,
            diagnostics: self.events.diagnostics(),
            snapshot: work.snapshot,
            duration,
        }
    }

    fn noun(&self) -> &'static str {
        if self.options.dry_run { "preview" } else { "update" }
    }

    /// Finds the one error that says best why the operation failed.
    fn verdict(&self, error: Option<Error>) -> Option<Error> {
        if error.is_some() {
            return error;
        }
        let failures = self.control.failures();
        let fatal = failures.iter().find_map(|failure| match failure {
            Failure::Fatal(error) | Failure::Program(error) => Some(error.clone()),
            Failure::Step | Failure::Bail(_) => None,
        });
        if fatal.is_some() && !self.control.is_cancelled() {
            return fatal;
        }
        if self.control.is_cancelled() {
            return Some(Error::new(
                ErrorKind::Cancelled,
                format!("BAIL: {} canceled", self.noun()),
            ));
        }
        if failures.is_empty() {
            return None;
        }
        let first = self
            .events
            .diagnostics()
            .into_iter()
            .find(|diagnostic| diagnostic.severity == Severity::Error);
        let urn = first.as_ref().and_then(|diagnostic| diagnostic.urn.clone());
        let reason = first.map(|diagnostic| diagnostic.message).unwrap_or_default();
        let text = if reason.is_empty() {
            format!("{} failed", self.noun())
        } else {
            format!("{} failed: {reason}", self.noun())
        };
        let error = Error::new(ErrorKind::Failed, text);
        Some(match urn {
            Some(urn) => error.with_urn(urn),
            None => error,
        })
    }

    async fn perform(&self, work: &mut Work, began: Duration) -> Result<()> {
        if self.options.dry_run {
            let loaded = self.stack.storage.load(&*self.stack.engine.secrets).await?;
            return self.perform_loaded(work, loaded.snapshot, None, began).await;
        }
        let lock = self.stack.storage.lock().await?;
        let result = self.perform_locked(work, began).await;
        let released = lock.release().await;
        result.and(released)
    }

    async fn perform_locked(&self, work: &mut Work, began: Duration) -> Result<()> {
        let storage = &self.stack.storage;
        let loaded = storage.load(&*self.stack.engine.secrets).await?;
        for warning in loaded.warnings.clone() {
            self.events.diagnostic(warning);
        }
        let mut snapshot = loaded.snapshot.clone();
        if snapshot.secrets.is_none() {
            snapshot.secrets = Some(self.stack.engine.secrets.create().await?);
        }
        // What a crash left in a journal becomes the checkpoint before a new journal begins.
        let session = storage.begin(loaded, &snapshot, self.kind.name()).await?;
        let sink = session.sink();
        let sink = match &self.stack.journal {
            Some(receiver) => {
                Arc::new(crate::state::journal::HostJournal::new(Arc::clone(receiver)).then(sink))
            }
            None => sink,
        };
        let runtime = &self.stack.engine.runtime;
        let journal = Journal::start(Ledger::new(snapshot.clone()), sink, runtime);
        let started = runtime.clock.now();
        let result = self
            .perform_loaded(work, snapshot, Some(journal.clone()), began)
            .await;
        let (mut ledger, written) = journal.close().await?;
        let succeeded = result.is_ok() && !self.control.has_failed() && !self.control.is_cancelled();
        if succeeded {
            ledger.settle_pending();
        }
        let folded = self.fold(&session, &ledger, work).await;
        let changes = work
            .summary
            .as_ref()
            .map(|summary| summary.resource_changes.clone())
            .unwrap_or_default();
        let history = session
            .record_history(crate::store::HistoryRecord {
                kind: self.kind.name(),
                message: self.options.message.clone(),
                started,
                ended: runtime.clock.now(),
                succeeded,
                changes,
                config: self.stack.config.clone(),
            })
            .await;
        result.and(written).and(folded).and(history)
    }

    /// Makes the ledger the new checkpoint. A run that changed nothing writes nothing.
    async fn fold(
        &self,
        session: &crate::store::StackSession,
        ledger: &Ledger,
        work: &mut Work,
    ) -> Result<()> {
        if !ledger.is_dirty() {
            session.discard().await?;
            work.snapshot = Arc::new(ledger.base().clone());
            return Ok(());
        }
        let snapshot = ledger.compose_valid()?;
        session.commit(&snapshot).await?;
        work.snapshot = Arc::new(snapshot);
        Ok(())
    }

    async fn perform_loaded(
        &self,
        work: &mut Work,
        snapshot: Snapshot,
        journal: Option<Journal>,
        began: Duration,
    ) -> Result<()> {
        let engine = &self.stack.engine;
        work.snapshot = Arc::new(snapshot.clone());
        let run = Arc::new(self.run_info(&snapshot).await?);
        let records: Vec<StateRef> = Ledger::new(snapshot.clone()).records().cloned().collect();
        let base = Arc::new(Base::new(records)?);
        self.warn_of_pending(&snapshot);
        let executor = Arc::new(Executor::new(
            ExecutorOptions {
                preview: self.options.dry_run,
                parallel: self.options.parallelism(),
                continue_on_error: self.options.continue_on_error,
                ignore_protect: self.options.ignore_protect,
                reports_refresh: self.kind == OperationKind::Refresh,
                compares_outputs: self.options.use_legacy_refresh_diff,
            },
            engine.runtime.clone(),
            self.events.clone(),
            journal,
            self.control.clone(),
        ));
        let source = providers::source(&self.stack, &run, &executor);
        let registry = ProviderRegistry::new(
            source,
            engine.runtime.clone(),
            self.options.dry_run,
            self.options.disable_provider_preview,
        );
        let heard = engine
            .service
            .register(&self.stack.project, &self.stack.stack, self.events.clone());
        self.session.own(|parts| {
            parts.registry = Some(Arc::clone(&registry));
            parts.heard = Some(heard);
        });
        let watcher = self.watch_cancellation(&registry);
        let outputs = self.work(&executor, &registry, base, run).await;
        if self.control.is_cancelled() {
            self.tell_of_cancellation(watcher, &registry).await;
        } else {
            watcher.abort();
        }
        work.outputs = outputs;
        work.steps = executor.take_steps();
        work.summary = Some(Summary {
            maybe_corrupt: executor.maybe_corrupt(),
            duration_seconds: whole_seconds(engine.runtime.clock.elapsed().saturating_sub(began)),
            resource_changes: executor.counts().to_map(),
            is_preview: self.options.dry_run,
            result: OperationOutcome::Succeeded,
        });
        self.say_how_it_ended();
        // Warm processes go back before the stack is unlocked, so that the next operation finds them.
        if !self.options.hold_session {
            self.session.finish(false, &engine.runtime).await;
        }
        Ok(())
    }

    async fn work(
        &self,
        executor: &Arc<Executor>,
        registry: &Arc<ProviderRegistry>,
        base: Arc<Base>,
        run: Arc<RunInfo>,
    ) -> Option<PropertyMap> {
        let base = match self.refresh_pass(executor, registry, base).await {
            Ok(base) => base,
            Err(error) => {
                self.control.fail(Failure::Fatal(error), true);
                return None;
            }
        };
        if self.kind == OperationKind::Refresh || self.control.has_failed() || self.control.is_stopped() {
            return None;
        }
        let options = GeneratorOptions {
            stack: self.stack.stack.clone(),
            project: self.stack.project.clone(),
            replace_targets: self.options.replace_targets.clone(),
            use_legacy_diff: self.options.use_legacy_diff,
            disable_resource_references: self.options.disable_resource_references,
            disable_output_values: self.options.disable_output_values,
        };
        let generator = Arc::new(Generator::new(
            options,
            base,
            Arc::clone(executor),
            Arc::clone(registry),
        ));
        match self.kind {
            OperationKind::Update => self.update(&generator, run).await,
            OperationKind::Destroy => {
                generator.delete_leftovers().await;
                None
            }
            OperationKind::Refresh => None,
        }
    }

    /// At the first cancellation every provider is told; what runs is left to finish.
    fn watch_cancellation(&self, registry: &Arc<ProviderRegistry>) -> crate::runtime::Task<()> {
        let (control, registry) = (self.control.clone(), Arc::clone(registry));
        self.stack.engine.runtime.spawner.spawn(async move {
            control.cancelled().await;
            registry.cancel().await;
        })
    }

    /// Sees to it that every provider has heard of the cancellation, those that were loaded after it included.
    async fn tell_of_cancellation(
        &self,
        watcher: crate::runtime::Task<()>,
        registry: &Arc<ProviderRegistry>,
    ) {
        let told = async {
            drop(watcher.await);
            registry.cancel().await;
        };
        tokio::select! {
            () = told => {}
            // Who insists does not wait for a provider that does not answer.
            () = self.control.terminated() => {}
        }
    }

    /// Decrypts the configuration, announces it, and tells the program what it is to know.
    async fn run_info(&self, snapshot: &Snapshot) -> Result<RunInfo> {
        let stack = &self.stack;
        let config = match &snapshot.secrets {
            Some(manager) => stack.config.decrypt(&**manager).await?,
            None => stack.config.in_the_clear()?,
        };
        config.each_secret(|secret| self.events.redactor().learn([secret]));
        self.events.emit_with(false, || EventPayload::Prelude {
            config: config.blinded(),
        });
        Ok(RunInfo {
            project: stack.project.clone(),
            stack: stack.stack.clone(),
            organization: stack.organization.clone(),
            root_directory: stack.root_directory.clone(),
            config: config.texts(),
            config_secret_keys: config.secret_keys(),
            dry_run: self.options.dry_run,
            parallel: i32::try_from(self.options.parallelism()).unwrap_or(i32::MAX),
        })
    }

    fn warn_of_pending(&self, snapshot: &Snapshot) {
        if self.kind != OperationKind::Update
            || self.options.dry_run
            || snapshot.pending_operations.is_empty()
        {
            return;
        }
        let count = snapshot.pending_operations.len();
        let mut text = format!(
            "Attempting to deploy or update resources with {count} pending operations from previous deployment."
        );
        for operation in &snapshot.pending_operations {
            text.push_str(&format!(
                "\n  * {}, interrupted while {}",
                operation.resource.urn,
                pending_name(operation)
            ));
        }
        text.push_str("\nThese resources are in an unknown state because the engine was interrupted while waiting for changes to these resources to complete.");
        self.events.diagnostic(Diagnostic::new(Severity::Warning, text));
    }

    fn say_how_it_ended(&self) {
        let noun = self.noun();
        if self.control.is_cancelled() {
            if !self.control.is_terminated() {
                self.events
                    .diagnostic(Diagnostic::error(format!("{noun} canceled")));
            }
        } else if self
            .control
            .failures()
            .iter()
            .any(|failure| matches!(failure, Failure::Step))
        {
            self.events
                .diagnostic(Diagnostic::error(format!("{noun} failed")));
        }
    }
}

fn pending_name(operation: &crate::resource::PendingOperation) -> String {
    format!("{:?}", operation.kind).to_lowercase()
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

fn stack_outputs(snapshot: &Snapshot, stack: &StackContext) -> PropertyMap {
    let root = Urn::root_stack(&stack.stack, &stack.project);
    let record = snapshot
        .resources
        .iter()
        .find(|state| state.urn == root && !state.delete);
    record.map(|state| state.outputs.clone()).unwrap_or_default()
}

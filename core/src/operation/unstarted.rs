//! An operation that has not begun: its handle exists, and it is started or skipped later.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::{
    diagnostic::Diagnostic,
    error::Error,
    event::{EventSink, OperationOutcome},
    executor::Control,
    moves::AppliedMoves,
    operation::{
        ImportRequest, Operation, OperationKind, OperationOptions, OperationResult, OperationRun,
        PendingWork, Session, SessionLease, SetMember, StackContext,
    },
    program::Program,
    telemetry::Scope,
};

/// What an operation is about, beside its options.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) program: Option<Arc<dyn Program>>,
    /// The request of an import.
    pub(crate) import: Option<Arc<ImportRequest>>,
    /// The pending operation that an adoption is about.
    pub(crate) pending: PendingWork,
    pub(crate) set: SetMember,
}

/// An operation that has not begun.
pub(crate) struct Unstarted {
    run: OperationRun,
    result: watch::Sender<Option<Arc<OperationResult>>>,
}

impl Unstarted {
    /// Creates the operation and its handle, which receives all events.
    pub(crate) fn new(
        stack: &Arc<StackContext>,
        kind: OperationKind,
        options: OperationOptions,
        work: Work,
    ) -> (Self, Operation) {
        let runtime = &stack.engine.runtime;
        let events = EventSink::with_debug(Arc::clone(&runtime.clock), options.debug);
        let first = Arc::new(Mutex::new((!options.no_events).then(|| events.subscribe())));
        let control = Control::default();
        stack.engine.controls.add(&control);
        let (sender, result) = watch::channel(None);
        let session = Session::default();
        let run = OperationRun {
            stack: Arc::clone(stack),
            kind,
            options,
            program: work.program,
            set: work.set,
            import: work.import,
            events: events.clone(),
            control: control.clone(),
            session: session.clone(),
            pending: work.pending,
            moves: AppliedMoves::default(),
            scope: Scope::default(),
        };
        let operation = Operation {
            events,
            first,
            control,
            result,
            session: SessionLease::new(session),
        };
        let pending = Self { run, result: sender };
        (pending, operation)
    }

    /// Starts the operation.
    pub(crate) fn start(self) {
        let Self { mut run, result } = self;
        let stack = Arc::clone(&run.stack);
        let (verb, preview) = (run.kind.name(), run.options.dry_run);
        let scope = Scope::operation(
            &stack.storage.name().to_string(),
            verb,
            preview,
            stack.engine.exporter.as_ref(),
            run.options.caller(),
            run.events.redactor(),
        );
        run.scope = scope.clone();
        tracing::info!(target: "stackwright::operation", stack = %stack.storage.name(), verb, preview, "an operation begins");
        let (events, control, session) = (run.events.clone(), run.control.clone(), run.session.clone());
        if let Some(simulation) = &stack.engine.simulation {
            simulation.add_operation(control.interrupt());
        }
        let counted = stack.engine.runtime.meter.operation(verb, preview);
        let running = stack.engine.controls.begin();
        let spawner = stack.engine.runtime.spawner.clone();
        let of_work = spawner.clone();
        drop(spawner.spawn(async move {
            let work = of_work.spawn(scope.within(run.run()));
            let ended = match work.await {
                Ok(result) => result,
                Err(error) => {
                    events.end();
                    session.finish(false, &stack.engine.runtime).await;
                    stack.died(error, &control)
                }
            };
            let outcome = ended.outcome.name();
            tracing::info!(target: "stackwright::operation", stack = %stack.storage.name(), verb, preview, outcome, "an operation has ended");
            scope.ended(outcome, ended.outcome == OperationOutcome::Succeeded);
            counted.ends_as(match ended.outcome {
                OperationOutcome::Succeeded => |counts| &mut counts.succeeded,
                OperationOutcome::Failed => |counts| &mut counts.failed,
                OperationOutcome::Canceled => |counts| &mut counts.canceled,
            });
            result.send_replace(Some(Arc::new(ended)));
            drop(running);
        }));
    }

    /// Ends the operation, which does not begin.
    pub(crate) fn skip(self, error: Error) {
        let Self { run, result } = self;
        run.events.diagnostic(Diagnostic::error(error.message()));
        run.events.end();
        let mut ended = OperationResult::without_run(error, run.options.dry_run);
        ended.diagnostics = run.events.diagnostics();
        result.send_replace(Some(Arc::new(ended)));
    }
}

//! Running the program of an operation, and the deletions and reads that follow when it has ended.

use std::sync::Arc;

use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind, Result},
    executor::Failure,
    generator::{Generator, Purpose},
    message::text_of_program,
    monitor::{Monitor, RunInfo},
    operation::{OperationRun, session::SHUTDOWN_GRACE},
    program::ProgramContext,
    property::PropertyMap,
    runtime::Task,
};

/// The message of an update whose stack has no program.
pub(super) const NO_PROGRAM: &str = "the stack has no program to update from";

/// Gives the monitor to the session and the plugins.
fn own_monitor(run: &OperationRun, monitor: &Monitor) {
    run.session.own(|parts| {
        if let Some(plugins) = &parts.plugins {
            plugins.share_root(monitor.shared_root());
        }
        parts.monitor = Some(monitor.clone());
    });
}

/// Runs the program and all that follows from it; returns the stack's outputs.
pub(super) async fn run_program(
    run: &OperationRun,
    generator: &Arc<Generator>,
    info: Arc<RunInfo>,
) -> Option<PropertyMap> {
    let monitor = Monitor::new(
        Arc::clone(generator),
        Arc::clone(&info),
        Arc::clone(&run.stack.engine.fetch),
    );
    own_monitor(run, &monitor);
    let Some(program) = run.program.clone() else {
        run.control.fail(Failure::Fatal(Error::invalid(NO_PROGRAM)), true);
        return None;
    };
    if let Some(error) = monitor.fault() {
        run.control.fail(Failure::Fatal(error), true);
        return None;
    }
    let context = ProgramContext {
        info,
        monitor: monitor.clone(),
    };
    let mut program = run
        .stack
        .engine
        .runtime
        .spawner
        .spawn(async move { program.run(context).await });
    let mut ended = false;
    tokio::select! {
        biased;
        result = &mut program => {
            ended = true;
            note_end(run, &monitor, result.and_then(|result| result));
        }
        () = monitor.signalled() => {}
        () = run.control.stopped() => {}
    }
    // Accepted requests complete, or fail because the run is ending.
    drain(run, &monitor).await;
    note_reports(run, &monitor, generator.options().purpose);
    publish_exports(run, generator, &monitor).await;
    let outputs = follow(run, generator).await;
    if run.control.has_failed() || run.control.is_cancelled() {
        if run.options.hold_session {
            // Requests without an answer wait until the host releases the session, and the program with it.
            if !ended {
                run.session.own(|parts| parts.program = Some(program));
            }
            return outputs;
        }
        monitor.close();
    } else {
        monitor.finish();
    }
    if !ended {
        wait_for_end(run, &monitor, &mut program).await;
    }
    if !run.options.hold_session {
        monitor.close();
    }
    outputs
}

/// Deletes and reads what follows from the end of a program; returns the stack's outputs.
async fn follow(run: &OperationRun, generator: &Generator) -> Option<PropertyMap> {
    // Where failures do not stop the run, leftovers are handled nevertheless.
    if !run.control.is_stopped() {
        match generator.options().purpose {
            Purpose::Update => generator.delete_leftovers().await,
            Purpose::Refresh => generator.refresh_leftovers().await,
            Purpose::Destroy => generator.delete_everything().await,
        }
    }
    let outputs = generator.finish_stack_outputs().await;
    if generator.options().purpose == Purpose::Refresh && !run.control.is_stopped() {
        generator.settle_refresh().await;
    }
    generator.end_plan();
    let is_over = run.control.has_failed() || run.control.is_cancelled();
    if !is_over && generator.options().purpose != Purpose::Destroy {
        generator.analyze_stack().await;
    }
    outputs
}

/// Waits until no request is in flight; the monitor accepts none from then on. A second cancellation shortens the wait:
/// it leaves the time to answer that calls were abandoned.
async fn drain(run: &OperationRun, monitor: &Monitor) {
    let clock = Arc::clone(&run.stack.engine.runtime.clock);
    let terminated = async {
        run.control.terminated().await;
        clock.wait(SHUTDOWN_GRACE).await;
    };
    tokio::select! {
        biased;
        () = monitor.seal() => {}
        () = terminated => monitor.seal_now(),
    }
}

/// Fails the run of a program that has failed.
fn note_end(run: &OperationRun, monitor: &Monitor, result: Result<()>) {
    let Err(error) = result else { return };
    let is_plain = error.kind() == ErrorKind::Program && error.message_code().is_none();
    let error = match is_plain.then(|| text_of_program(error.message())) {
        Some(text) => error.with_text(text),
        None => error,
    };
    // A program that fails because the run has ended does not change the reason of the end.
    if !run.control.is_stopped() {
        let error = if error.is_reported() {
            // Redacted, like the diagnostics that it is compared with.
            with_reason(run, error.scrubbed(|text| run.events.redactor().scrub(text)))
        } else {
            error
        };
        if error.kind() == ErrorKind::Program && !error.is_reported() {
            run.events.diagnostic(Diagnostic::error(error.message()));
        }
        let error = monitor.with_cause_of_transform(error);
        run.control.fail(Failure::Program(error), true);
    }
}

/// Fails the run of a program that has reported errors, or has continued after an unreadable declaration, or after a registration that
/// was refused: what is recorded would be deleted.
fn note_reports(run: &OperationRun, monitor: &Monitor, purpose: Purpose) {
    if monitor.has_reported_errors() {
        let error = Error::new(ErrorKind::Program, "the program reported errors");
        note_end(run, monitor, Err(error.already_reported()));
    }
    let deletes = purpose == Purpose::Update;
    let refused = || monitor.lost_registration().filter(|_| deletes);
    if let Some(error) = monitor.unreadable_declaration().or_else(refused)
        && !run.control.is_stopped()
    {
        run.events.diagnostic(Diagnostic::error(error.message()));
        run.control.fail(Failure::Program(error), true);
    }
}

/// Replaces the error of a program by the diagnostic that the program emitted for it.
fn with_reason(run: &OperationRun, error: Error) -> Error {
    let diagnostics = run.events.diagnostics();
    match diagnostics
        .iter()
        .find(|reported| reported.severity == Severity::Error)
    {
        // The diagnostic contains the error.
        Some(reported) if reported.message.library().contains(error.message()) => error,
        Some(reported) => {
            let text = format!("{}: {}", error.message(), reported.message.library());
            Error::new(error.kind(), text).already_reported()
        }
        None => error,
    }
}

/// Publishes the outputs that a program has exported through the typed API as those of the stack. The run fails, and the
/// stack keeps its former outputs, where they hold an asset that cannot be read.
async fn publish_exports(run: &OperationRun, generator: &Arc<Generator>, monitor: &Monitor) {
    let Some(root) = monitor.own_root() else { return };
    match monitor.hashed_exports(&root).await {
        Ok(exports) => drop(generator.register_outputs(&root, exports).await),
        Err(error) => note_end(run, monitor, Err(error)),
    }
}

/// Waits for a program whose run is over.
async fn wait_for_end(run: &OperationRun, monitor: &Monitor, program: &mut Task<Result<()>>) {
    let clock = Arc::clone(&run.stack.engine.runtime.clock);
    tokio::select! {
        biased;
        result = &mut *program => note_end(run, monitor, result.and_then(|result| result)),
        () = clock.wait(SHUTDOWN_GRACE) => program.abort(),
    }
}

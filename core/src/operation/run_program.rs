//! Running the program of an operation, and what follows when it has ended: an update deletes what it has not registered.

use std::sync::Arc;

use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind, Result},
    executor::Failure,
    generator::{Generator, Purpose},
    message::text_of_program,
    monitor::Monitor,
    monitor::RunInfo,
    operation::{OperationRun, session::LAST_WORDS},
    program::ProgramContext,
    property::PropertyMap,
    runtime::Task,
};

/// The message of an update whose stack has no program.
pub(super) const NO_PROGRAM: &str = "the stack has no program to update from";

impl OperationRun {
    /// Lets the session and the plugins know the monitor.
    fn own_monitor(&self, monitor: &Monitor) {
        self.session.own(|parts| {
            if let Some(plugins) = &parts.plugins {
                plugins.share_root(monitor.shared_root());
            }
            parts.monitor = Some(monitor.clone());
        });
    }

    /// Runs the program and all that follows from it; returns the stack's outputs.
    pub(super) async fn run_program(
        &self,
        generator: &Arc<Generator>,
        run: Arc<RunInfo>,
    ) -> Option<PropertyMap> {
        let monitor = Monitor::new(
            Arc::clone(generator),
            Arc::clone(&run),
            Arc::clone(&self.stack.engine.fetch),
        );
        self.own_monitor(&monitor);
        let Some(program) = self.program.clone() else {
            self.control
                .fail(Failure::Fatal(Error::invalid(NO_PROGRAM)), true);
            return None;
        };
        if let Some(error) = monitor.fault() {
            self.control.fail(Failure::Fatal(error), true);
            return None;
        }
        let context = ProgramContext {
            info: run,
            monitor: monitor.clone(),
        };
        let mut program = self
            .stack
            .engine
            .runtime
            .spawner
            .spawn(async move { program.run(context).await });
        let mut ended = false;
        tokio::select! {
            result = &mut program => {
                ended = true;
                self.note_end(result.and_then(|result| result));
            }
            () = monitor.signalled() => {}
            () = self.control.stopped() => {}
        }
        // What has been taken up is brought to its end, or to where it sees that the run is over.
        self.all_done(&monitor).await;
        self.note_reports(&monitor);
        self.publish_exports(generator, &monitor).await;
        // Where failures do not stop the run, what is left over goes all the same.
        if !self.control.is_stopped() {
            match generator.options().purpose {
                Purpose::Update => generator.delete_leftovers().await,
                Purpose::Refresh => generator.refresh_leftovers().await,
                Purpose::Destroy => generator.delete_everything().await,
            }
        }
        let outputs = generator.finish_stack_outputs().await;
        if generator.options().purpose == Purpose::Refresh && !self.control.is_stopped() {
            generator.settle_refresh().await;
        }
        generator.end_plan();
        let is_over = self.control.has_failed() || self.control.is_cancelled();
        if !is_over && generator.options().purpose != Purpose::Destroy {
            generator.analyze_stack().await;
        }
        if self.control.has_failed() || self.control.is_cancelled() {
            if self.options.hold_session {
                // What is unanswered stays so until the host releases the session, and the program with it.
                if !ended {
                    self.session.own(|parts| parts.program = Some(program));
                }
                return outputs;
            }
            monitor.close();
        } else {
            monitor.finish();
        }
        if !ended {
            self.last_words(&mut program).await;
        }
        if !self.options.hold_session {
            monitor.close();
        }
        outputs
    }

    /// Waits until nothing is being worked on; the monitor takes nothing more from then on. Who insists waits no longer
    /// than it takes to say that calls were given up.
    async fn all_done(&self, monitor: &Monitor) {
        let clock = Arc::clone(&self.stack.engine.runtime.clock);
        let insisted = async {
            self.control.terminated().await;
            clock.wait(LAST_WORDS).await;
        };
        tokio::select! {
            biased;
            () = monitor.seal() => {}
            () = insisted => monitor.seal_now(),
        }
    }

    fn note_end(&self, result: Result<()>) {
        let Err(error) = result else { return };
        let is_plain = error.kind() == ErrorKind::Program && error.message_code().is_none();
        let error = match is_plain.then(|| text_of_program(error.message())) {
            Some(text) => error.with_text(text),
            None => error,
        };
        // A program that fails because the run has ended adds nothing to why it ended.
        if !self.control.is_stopped() {
            let error = if error.is_reported() {
                // What was told has no secrets either: only so the two can be compared.
                self.with_reason(error.scrubbed(|text| self.events.redactor().scrub(text)))
            } else {
                error
            };
            if error.kind() == ErrorKind::Program && !error.is_reported() {
                self.events.diagnostic(Diagnostic::error(error.message()));
            }
            self.control.fail(Failure::Program(error), true);
        }
    }

    /// Fails the run of a program that has reported errors, or has gone on after a declaration that the engine has not seen.
    fn note_reports(&self, monitor: &Monitor) {
        if monitor.has_reported_errors() {
            let error = Error::new(ErrorKind::Program, "the program reported errors");
            self.note_end(Err(error.already_reported()));
        }
        if let Some(error) = monitor.unreadable_declaration()
            && !self.control.is_stopped()
        {
            self.events.diagnostic(Diagnostic::error(error.message()));
            self.control.fail(Failure::Program(error), true);
        }
    }

    /// Completes the error of a program that has told people itself by what it told them.
    fn with_reason(&self, error: Error) -> Error {
        let said = self.events.diagnostics();
        match said.iter().find(|said| said.severity == Severity::Error) {
            // What was told names the error itself: no need to say it again.
            Some(said) if said.message.library().contains(error.message()) => error,
            Some(said) => {
                let text = format!("{}: {}", error.message(), said.message.library());
                Error::new(error.kind(), text).already_reported()
            }
            None => error,
        }
    }

    async fn publish_exports(&self, generator: &Arc<Generator>, monitor: &Monitor) {
        let Some(root) = monitor.own_root() else { return };
        // An output of our own API is a value of the stack component, like any other's.
        drop(generator.register_outputs(&root, monitor.exports()).await);
    }

    /// Waits for a program whose run is over.
    async fn last_words(&self, program: &mut Task<Result<()>>) {
        let clock = Arc::clone(&self.stack.engine.runtime.clock);
        tokio::select! {
            result = &mut *program => self.note_end(result.and_then(|result| result)),
            () = clock.wait(LAST_WORDS) => program.abort(),
        }
    }
}

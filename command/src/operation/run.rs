//! One operation: its events go to the log and to the display, and its result becomes the outcome of the command.

use std::sync::Arc;

use stackwright::{
    Stack,
    diagnostic::Severity,
    event::{EventLog, EventPayload, OperationOutcome},
    operation::{ImportRequest, Operation, OperationKind, OperationOptions, OperationResult},
    program::Program,
    urn::Urn,
};

use super::{
    display::{Display, Outcome, Progress, Shown},
    import_file::ImportFile,
};
use crate::{
    arguments::Display as DisplayArguments,
    failure::{Failure, Result},
    invocation::Invocation,
};

/// The variable that replaces the digest of previews by lines.
const STREAMING_PREVIEW: &str = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW";

/// The operations that a command runs, on one stack.
pub(super) struct Runner<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) stack: Stack,
    /// The name of the stack in headlines.
    pub(super) shown: String,
    pub(super) display: &'a DisplayArguments,
    pub(super) program: Option<Arc<dyn Program>>,
    pub(super) log: Option<EventLog>,
    /// Collects what a preview would create.
    pub(super) import_file: Option<ImportFile>,
}

/// What an operation does.
#[derive(Clone)]
pub(super) enum Work {
    Update,
    Refresh,
    Destroy,
    Import(ImportRequest),
}

impl Work {
    const fn headline(&self, is_preview: bool) -> &'static str {
        match (self, is_preview) {
            (Self::Update, false) => "Updating",
            (Self::Update, true) => "Previewing update",
            (Self::Refresh, false) => "Refreshing",
            (Self::Refresh, true) => "Previewing refresh",
            (Self::Destroy, false) => "Destroying",
            (Self::Destroy, true) => "Previewing destroy",
            (Self::Import(_), false) => "Importing",
            (Self::Import(_), true) => "Previewing import",
        }
    }
}

/// Cancels an operation that nothing waits for any more.
struct CancelOnDrop(Operation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.0.result().is_none() {
            self.0.cancel();
        }
    }
}

impl Runner<'_> {
    /// Runs an operation to its end.
    ///
    /// # Errors
    /// The failure of the operation. Its message is empty when the reasons were among the events.
    pub(super) async fn run(
        &mut self,
        work: &Work,
        options: OperationOptions,
    ) -> Result<Arc<OperationResult>> {
        let is_preview = options.dry_run;
        let options = OperationOptions {
            debug: self.display.debug || self.display.json || self.log.is_some(),
            ..options
        };
        let program = self.program.clone();
        let operation = match work {
            Work::Update => self.stack.start(OperationKind::Update, options, program),
            Work::Refresh => self.stack.start(OperationKind::Refresh, options, program),
            Work::Destroy => self.stack.start(OperationKind::Destroy, options, program),
            Work::Import(request) => self.stack.import_resources(request.clone(), options),
        };
        let _guard = CancelOnDrop(operation.clone());
        let mut display = self.display(work, is_preview);
        let has_errors = self.follow(&operation, &mut display).await;
        let result = operation.wait().await;
        display.end(self.invocation, &result)?;
        if self.display.diff && !self.display.is_document() {
            (self.invocation.stdout)(&result.tree());
        }
        match &result.error {
            None => Ok(result),
            Some(_) if result.outcome == OperationOutcome::Canceled => Err(Failure::canceled()),
            Some(_) if has_errors => Err(Failure::reported()),
            Some(error) => Err(error.clone().into()),
        }
    }

    /// Ends the event log.
    pub(super) async fn close_log(&mut self) {
        if let Some(log) = self.log.take() {
            log.close().await;
        }
    }

    fn display(&self, work: &Work, is_preview: bool) -> Display {
        if self.display.json {
            return match is_preview && !self.invocation.is_enabled(STREAMING_PREVIEW) {
                true => Display::Digest(Box::default()),
                false => Display::Lines,
            };
        }
        if self.display.is_outcome() {
            return Display::Outcome(Outcome::default());
        }
        let headline = format!("{} ({}):", work.headline(is_preview), self.shown);
        let root = Urn::root_stack(self.stack.name().stack(), self.stack.name().project());
        let shown = Shown {
            debug: self.display.debug,
            outputs: !self.display.suppress_outputs,
            progress: !self.display.suppress_progress,
            remediations: self.display.show_policy_remediations,
        };
        Display::Progress(Box::new(Progress::new(headline, root, shown)))
    }

    /// Passes all events on; returns whether an error was among them.
    async fn follow(&mut self, operation: &Operation, display: &mut Display) -> bool {
        let mut events = operation.events();
        let json = events.json(false);
        let mut cancellations = self.invocation.cancellation.watch();
        let mut delivered = 0;
        let mut has_errors = false;
        loop {
            let requested = *cancellations.borrow_and_update();
            while delivered < requested {
                operation.cancel();
                delivered += 1;
            }
            let event = tokio::select! {
                event = events.next() => event,
                Ok(()) = cancellations.changed() => continue,
            };
            let Some(event) = event else {
                return has_errors;
            };
            if let EventPayload::Diagnostic(diagnostic) = &event.payload {
                has_errors |= diagnostic.severity == Severity::Error;
            }
            if let Some(file) = &mut self.import_file {
                file.event(&event);
            }
            if let Some(log) = &mut self.log {
                log.write(&json.line(&event));
            }
            display.event(self.invocation, &event, &json);
        }
    }
}

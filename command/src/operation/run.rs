//! One operation: its events go to the log and to the display, and its result becomes the outcome of the command.

use std::{path::Path, sync::Arc};

use stackwright::{
    Stack,
    diagnostic::Severity,
    event::{EventJson, EventLog, EventPayload, OperationOutcome},
    operation::{ImportRequest, Operation, OperationKind, OperationOptions, OperationResult},
    program::Program,
    runtime::Clock,
};

use super::{
    display::{Digest, Display, Listed, Live, Outcome},
    import_file::ImportFile,
};
use crate::{
    arguments::Display as DisplayArguments,
    display::{Board, Lines, Paint, Shown, Title, differences},
    failure::{Failure, Result},
    invocation::Invocation,
    running::{Place, Running},
    text,
};

/// The variable that replaces the digest of previews by lines.
const STREAMING_PREVIEW: &str = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW";

/// The operations that a command runs, on one stack.
pub(super) struct Runner<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) stack: Stack,
    /// The name of the stack in texts.
    pub(super) shown: String,
    pub(super) running: Arc<Running>,
    pub(super) place: Place,
    pub(super) display: &'a DisplayArguments,
    pub(super) paint: Paint,
    /// Whether lines may be updated in place.
    pub(super) is_live: bool,
    pub(super) clock: Arc<dyn Clock>,
    /// Masks the secrets of the last operation.
    pub(super) json: Option<EventJson>,
    pub(super) program: Option<Arc<dyn Program>>,
    pub(super) log: Option<EventLog>,
    /// The message of operations that have none.
    pub(super) title: String,
    /// Collects what a preview would create.
    pub(super) import_file: Option<ImportFile>,
    /// The result of the last operation that was no preview, also of one that failed.
    pub(super) last: Option<Arc<OperationResult>>,
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
    pub(super) const fn kind(&self) -> OperationKind {
        match self {
            Self::Update => OperationKind::Update,
            Self::Refresh => OperationKind::Refresh,
            Self::Destroy => OperationKind::Destroy,
            Self::Import(_) => OperationKind::Import,
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
        self.check_page()?;
        let is_preview = options.dry_run;
        let options = OperationOptions {
            debug: self.display.debug || self.display.json || self.log.is_some(),
            message: match options.message.is_empty() {
                true => self.title.clone(),
                false => options.message,
            },
            ..options
        };
        let program = self.program.clone();
        let operation = match work {
            Work::Import(request) => self.stack.import_resources(request.clone(), options),
            work => self.stack.start(work.kind(), options, program),
        };
        let _guard = CancelOnDrop(operation.clone());
        let _running = match is_preview {
            true => Some(self.running.add_preview(self.place.clone(), &operation)),
            false => self.running.add(self.place.clone(), &operation),
        };
        // Cancellations are awaited until the state has been saved.
        let _awaited = self.invocation.cancellation.watch();
        let mut display = self.display(work, is_preview);
        let has_errors = self.follow(&operation, &mut display).await;
        let result = operation.wait().await;
        self.last = (!is_preview).then(|| Arc::clone(&result));
        display.end(self.invocation, &result)?;
        if let Some(json) = &self.json
            && self.display.diff
            && !self.display.is_document()
        {
            let changes = differences(&result, json, self.paint, self.display.show_secrets);
            if !changes.is_empty() {
                self.invocation.write(&changes);
            }
        }
        let drawn = self.draw(&result);
        match &result.error {
            None => drawn.map(|()| result),
            Some(_) if result.outcome == OperationOutcome::Canceled => Err(Failure::canceled()),
            Some(_) if has_errors => Err(Failure::reported()),
            Some(error) => Err(error.clone().into()),
        }
    }

    /// Refuses a place for the page of an operation that cannot have one, before anything is done.
    fn check_page(&self) -> Result {
        let Some(file) = &self.display.html else {
            return Ok(());
        };
        let path = self.invocation.path(file);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let refused = match std::fs::metadata(folder.unwrap_or(Path::new("."))) {
            Err(error) => text::reason(&error),
            Ok(found) if !found.is_dir() => "its folder is a file".to_owned(),
            Ok(_) if path.is_dir() => "it is a folder".to_owned(),
            Ok(_) => return Ok(()),
        };
        Err(Failure::new(format!("could not write {file}: {refused}")))
    }

    /// Writes the page of an operation where the command line names a file.
    fn draw(&self, result: &OperationResult) -> Result {
        let Some(file) = &self.display.html else {
            return Ok(());
        };
        let page = result.picture().to_html();
        std::fs::write(self.invocation.path(file), page)
            .map_err(|error| Failure::new(format!("could not write {file}: {}", text::reason(&error))))
    }

    /// Ends the event log.
    pub(super) async fn close_log(&mut self) {
        if let Some(log) = self.log.take() {
            log.close().await;
        }
    }

    fn display(&self, work: &Work, is_preview: bool) -> Display {
        let listed = Listed {
            sames: self.display.show_sames,
            replacement_steps: self.display.show_replacement_steps,
        };
        if self.display.json {
            return match is_preview && !self.invocation.is_enabled(STREAMING_PREVIEW) {
                true => Display::Digest(Box::new(Digest::new(listed))),
                false => Display::Lines,
            };
        }
        if self.display.is_outcome() {
            return Display::Outcome(Outcome::new(listed));
        }
        let title = Title::new(work.kind(), is_preview, self.stack.name());
        let shown = Shown {
            debug: self.display.debug,
            outputs: !self.display.suppress_outputs,
            progress: !self.display.suppress_progress,
            remediations: self.display.show_policy_remediations,
            sames: self.display.show_sames,
            secrets: self.display.show_secrets,
            urns: self.display.urns,
        };
        match &self.invocation.terminal.size {
            Some(size) if self.is_live && shown.progress => {
                let board = Board::new(title, Arc::clone(&self.clock));
                let board = board.showing(shown).painted(self.paint);
                Display::Live(Box::new(Live::new(board, Arc::clone(size))))
            }
            _ => Display::Progress(Box::new(Lines::new(title).showing(shown).painted(self.paint))),
        }
    }

    /// Passes all events on; returns whether an error was among them.
    async fn follow(&mut self, operation: &Operation, display: &mut Display) -> bool {
        let mut events = operation.events();
        let json = events.json(false);
        self.json = Some(json.clone());
        let clock = Arc::clone(&self.clock);
        let interval = display.interval();
        let mut frame = clock.wait(interval.unwrap_or_default());
        let mut cancellations = self.invocation.cancellation.watch();
        let mut delivered = 0;
        let mut has_errors = false;
        loop {
            let requested = *cancellations.borrow_and_update();
            while delivered < requested {
                operation.cancel();
                delivered += 1;
                display.cancelled(delivered);
            }
            let event = tokio::select! {
                event = events.next() => event,
                Ok(()) = cancellations.changed() => continue,
                () = &mut frame, if interval.is_some() => {
                    display.draw(self.invocation);
                    frame = clock.wait(interval.unwrap_or_default());
                    continue;
                }
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

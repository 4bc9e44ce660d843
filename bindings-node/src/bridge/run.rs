//! Runs in JavaScript: of programs, and of the code of components and methods.

use std::sync::{Arc, Mutex, PoisonError};

use napi::Result;
use stackwright::{
    Error, ErrorKind,
    monitor::{Monitor, RunInfo},
    program::ProgramContext,
};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::{Message, Payload, Shared};
use crate::convert::{Js, Writer};

/// How a program ended.
pub(crate) type Ended = stackwright::Result<()>;

/// The error of a program whose environment has ended.
pub(crate) fn environment_ended() -> Error {
    let text = "the JavaScript environment of the program has ended";
    Error::new(ErrorKind::Program, text)
}

/// A run whose code runs in JavaScript.
pub(crate) struct Run {
    /// Receives the code's calls.
    pub(crate) monitor: Monitor,
    /// The calls that are not answered yet.
    pub(crate) calls: TaskTracker,
    /// Receives the result of a program; the result of other code is its answer.
    end: Mutex<Option<oneshot::Sender<Ended>>>,
}

impl Run {
    /// Creates the run of a program; `end` receives its result.
    pub(crate) fn of_program(monitor: Monitor, end: oneshot::Sender<Ended>) -> Self {
        Self {
            end: Mutex::new(Some(end)),
            ..Self::of_body(monitor)
        }
    }

    /// Creates the run of the code of a component or a method.
    pub(crate) fn of_body(monitor: Monitor) -> Self {
        Self {
            monitor,
            calls: TaskTracker::new(),
            end: Mutex::default(),
        }
    }

    /// Resolves when the engine has ended the run and all answers have been sent.
    pub(crate) async fn drained(&self, context: &ProgramContext) {
        context.ended().await;
        self.calls.close();
        self.calls.wait().await;
    }

    /// Ends the run; a second call has no effect.
    pub(crate) fn finish(&self, ended: Ended) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            // The engine may have dropped the program meanwhile.
            drop(end.send(ended));
        }
    }
}

/// A run that JavaScript can use by its number until this is dropped. Dropping it stops code that is still running.
pub(crate) struct OpenRun {
    shared: Arc<Shared>,
    number: u32,
}

impl OpenRun {
    /// Opens a run.
    pub(crate) fn new(shared: &Arc<Shared>, run: Arc<Run>) -> Self {
        Self {
            number: shared.runs.put(run),
            shared: Arc::clone(shared),
        }
    }

    /// Returns the number of the run.
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        if self.shared.runs.remove(self.number).is_some() {
            self.shared.send(Message::ProgramStop(self.number));
        }
    }
}

/// The facts of a run, for its start.
pub(crate) struct Facts(pub(crate) Arc<RunInfo>);

impl Payload for Facts {
    /// Makes the object with a run's info.
    fn write(&self, writer: &Writer) -> Result<Js> {
        let scope = writer.scope();
        let info = &*self.0;
        let object = scope.object()?;
        writer.set_text(object, "project", &info.project)?;
        writer.set_text(object, "stack", &info.stack)?;
        writer.set_text(object, "organization", &info.organization)?;
        if let Some(directory) = &info.root_directory {
            writer.set_text(object, "rootDirectory", &directory.to_string_lossy())?;
        }
        let config = scope.object()?;
        for (key, value) in &info.config {
            writer.set_text(config, key, value)?;
        }
        scope.set_named(object, "config", config)?;
        let secret_keys = writer.texts(&info.config_secret_keys)?;
        scope.set_named(object, "configSecretKeys", secret_keys)?;
        writer.set_bool(object, "dryRun", info.dry_run)?;
        let parallel = scope.number(f64::from(info.parallel))?;
        scope.set_named(object, "parallel", parallel)?;
        Ok(object)
    }
}

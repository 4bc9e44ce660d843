//! One invocation of the command: what it gets, where it writes, and how it is cancelled.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use stackwright::{plugin::HostEnvironment, program::Program, secrets::KeyServiceCallbacks};
use tokio::sync::watch;

use crate::{
    display::{Paint, ScreenSize},
    failure::{Failure, Result},
};

/// Receives what a command writes, on any thread: whole lines, but for the line of heartbeats of an operation, which grows.
pub type Output = Arc<dyn Fn(&str) + Send + Sync>;

/// Reads the standard input to its end.
pub type Input = Arc<dyn Fn() -> io::Result<Vec<u8>> + Send + Sync>;

/// Asks a question, and returns the line that was typed; `None` at the end of the input.
pub type Ask = Arc<dyn Fn(&str) -> io::Result<Option<String>> + Send + Sync>;

/// The terminal that an invocation runs at. By default there is none: results are plain lines, and nothing is asked.
#[derive(Clone, Default)]
pub struct Terminal {
    /// Returns the size of the terminal that the standard output is, where rows can be updated in place. Operations show a tree
    /// then, and texts are coloured unless the environment has `NO_COLOR`. It is called before each drawing.
    pub size: Option<Arc<dyn Fn() -> ScreenSize + Send + Sync>>,
    /// Asks the user, where the standard input is a terminal, too. It may block: it is called on a thread of its own. A call that
    /// is still running when the invocation is cancelled is left alone.
    pub ask: Option<Ask>,
    /// The same for a passphrase or another secret: what is typed is not shown. Without it, none is asked for.
    pub ask_hidden: Option<Ask>,
}

/// The variable that stands for `--yes`.
const SKIP_CONFIRMATIONS: &str = "PULUMI_SKIP_CONFIRMATIONS";

/// The name of the reference engine's command.
const REFERENCE_NAME: &str = "pulumi";

/// The interpreter of an inline program, as the reference SDKs answer the call `About` for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRuntime {
    /// The version.
    pub version: String,
    /// The path of the executable.
    pub executable: String,
}

/// One invocation of the command.
#[derive(Clone)]
pub struct Invocation {
    /// The name of the command in the text of `--help`: `pulumi` by default.
    pub name: String,
    /// The arguments, without the name of the command.
    pub arguments: Vec<String>,
    /// The working directory, an absolute path: the project is looked for from here upwards.
    pub directory: PathBuf,
    /// The environment; there is no other. Plugin processes have it, too.
    pub environment: BTreeMap<String, String>,
    /// The standard input; empty by default.
    pub stdin: Input,
    /// Receives the results, and the progress of operations.
    pub stdout: Output,
    /// Receives errors, warnings and notices.
    pub stderr: Output,
    /// The terminal of the standard streams.
    pub terminal: Terminal,
    /// Cancels the operation that the command runs.
    pub cancellation: Cancellation,
    /// Runs in place of the language runtime that `--client` names: an inline program that needs no socket.
    pub program: Option<Arc<dyn Program>>,
    /// What runs that program, which the history keeps.
    pub program_runtime: Option<ProgramRuntime>,
    /// Receives the events, a line of JSON each, in place of the file or the server that `--event-log` names.
    pub events: Option<Output>,
    /// Wraps the data keys of stacks whose secrets provider is a key service (`awskms://…`), with the credentials of the environment.
    /// Without it, such stacks are refused.
    pub key_service: Option<Arc<dyn KeyServiceCallbacks>>,
}

impl Invocation {
    /// Creates an invocation without environment, whose output is dropped.
    pub fn new<A: Into<String>>(
        arguments: impl IntoIterator<Item = A>,
        directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            name: REFERENCE_NAME.to_owned(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: directory.into(),
            environment: BTreeMap::new(),
            stdin: Arc::new(|| Ok(Vec::new())),
            stdout: Arc::new(|_| {}),
            stderr: Arc::new(|_| {}),
            terminal: Terminal::default(),
            cancellation: Cancellation::default(),
            program: None,
            program_runtime: None,
            events: None,
            key_service: None,
        }
    }

    /// Returns the invocation without what asks the user.
    pub(crate) fn without_questions(mut self) -> Self {
        self.terminal.ask = None;
        self.terminal.ask_hidden = None;
        self
    }

    /// Returns a variable of the environment, unless it is empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// Returns whether a variable of the environment is set to a true value.
    pub(crate) fn is_enabled(&self, name: &str) -> bool {
        matches!(
            self.variable(name),
            Some("1" | "t" | "T" | "true" | "TRUE" | "True")
        )
    }

    /// Returns the environment of processes.
    pub(crate) fn process_environment(&self) -> HostEnvironment {
        let variables = self.environment.iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        HostEnvironment::new(variables.collect(), self.directory.clone())
    }

    /// Returns a path as seen from the working directory.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.directory.join(path)
    }

    /// Returns how texts are coloured: as `--color` requests, and otherwise on a terminal without `NO_COLOR`.
    pub(crate) fn paint(&self, color: Option<&str>) -> Paint {
        let is_coloured = match color {
            Some("always") => true,
            Some("never" | "raw") => false,
            _ => self.terminal.size.is_some() && self.variable("NO_COLOR").is_none(),
        };
        if is_coloured {
            Paint::COLOURED
        } else {
            Paint::PLAIN
        }
    }

    /// Asks the user, and waits for the answer or for a cancellation; `None` at the end of the input.
    pub(crate) async fn answer(&self, ask: &Ask, question: &str) -> Result<Option<String>> {
        self.cancellation.answer(ask, question).await
    }

    /// Returns whether nothing is to be confirmed: `--yes` was given, or the environment stands for it.
    pub(crate) fn is_confirmed(&self, yes: bool) -> bool {
        yes || self.is_enabled(SKIP_CONFIRMATIONS)
    }

    /// Asks the user of a terminal, unless that is confirmed already, and returns the answer: the end of the input is a no.
    pub(crate) async fn confirm(&self, yes: bool, question: &str) -> Result<bool> {
        let Some(ask) = self.terminal.ask.as_ref().filter(|_| !self.is_confirmed(yes)) else {
            return Ok(true);
        };
        let answer = self.answer(ask, &format!("{question} ")).await?;
        let answer = answer.unwrap_or_default().trim().to_lowercase();
        Ok(matches!(answer.as_str(), "y" | "yes"))
    }

    /// Asks the user of a terminal to type the name of a stack, unless that is confirmed already. The consequence is a sentence.
    pub(crate) async fn confirm_by_name(&self, yes: bool, consequence: &str, name: &str) -> Result {
        let Some(ask) = self.terminal.ask.as_ref().filter(|_| !self.is_confirmed(yes)) else {
            return Ok(());
        };
        let question = format!("{consequence} Type its name to confirm: ");
        match self.answer(ask, &question).await? {
            Some(answer) if answer.trim() == name => Ok(()),
            _ => Err(Failure::declined()),
        }
    }

    /// Writes whole lines of results, or nothing.
    pub(crate) fn write(&self, text: &str) {
        if !text.is_empty() {
            (self.stdout)(text);
        }
    }

    /// Writes a line of results.
    pub(crate) fn print(&self, line: impl AsRef<str>) {
        (self.stdout)(&format!("{}\n", line.as_ref()));
    }

    /// Writes a line to standard error.
    pub(crate) fn note(&self, line: impl AsRef<str>) {
        (self.stderr)(&format!("{}\n", line.as_ref()));
    }

    /// Writes a warning.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.note(format!("warning: {}", text.as_ref()));
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and variables can be secret.
        formatter
            .debug_struct("Invocation")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Cancels an invocation. Cloning shares it.
#[derive(Clone)]
pub struct Cancellation(Arc<watch::Sender<u8>>);

impl Default for Cancellation {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Cancellation {
    /// Cancels: running steps complete and are recorded. A second call abandons the running calls of providers.
    pub fn cancel(&self) {
        self.0.send_modify(|count| *count = count.saturating_add(1));
    }

    /// Returns whether a running operation, or a question, ends when the invocation is cancelled. Other commands ignore it.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Asks the user, and waits for the answer or for a cancellation; `None` at the end of the input.
    pub(crate) async fn answer(&self, ask: &Ask, question: &str) -> Result<Option<String>> {
        let mut cancellations = self.watch();
        if *cancellations.borrow_and_update() > 0 {
            return Err(Failure::canceled());
        }
        let (ask, question) = (Arc::clone(ask), question.to_owned());
        let answer = tokio::task::spawn_blocking(move || ask(&question));
        let answer = tokio::select! {
            answer = answer => answer.map_err(|error| Failure::new(format!("asking: {error}")))?,
            Ok(()) = cancellations.changed() => return Err(Failure::canceled()),
        };
        answer.map_err(|error| Failure::new(format!("reading the answer: {error}")))
    }

    /// Returns the number of calls of [`Self::cancel`], and its changes.
    pub(crate) fn watch(&self) -> watch::Receiver<u8> {
        self.0.subscribe()
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Cancellation")
            .field(&*self.0.borrow())
            .finish()
    }
}

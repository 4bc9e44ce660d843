//! One invocation of the command: what it gets, where it writes, and how it is cancelled.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use stackwright::{plugin::HostEnvironment, program::Program};
use tokio::sync::watch;

/// Receives what a command writes, whole lines at a time, on any thread.
pub type Output = Arc<dyn Fn(&str) + Send + Sync>;

/// Reads the standard input to its end.
pub type Input = Arc<dyn Fn() -> io::Result<Vec<u8>> + Send + Sync>;

/// One invocation of the command.
#[derive(Clone)]
pub struct Invocation {
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
    /// Cancels the operation that the command runs.
    pub cancellation: Cancellation,
    /// Runs in place of the language runtime that `--client` names: an inline program that needs no socket.
    pub program: Option<Arc<dyn Program>>,
}

impl Invocation {
    /// Creates an invocation without environment, whose output is dropped.
    pub fn new<A: Into<String>>(
        arguments: impl IntoIterator<Item = A>,
        directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: directory.into(),
            environment: BTreeMap::new(),
            stdin: Arc::new(|| Ok(Vec::new())),
            stdout: Arc::new(|_| {}),
            stderr: Arc::new(|_| {}),
            cancellation: Cancellation::default(),
            program: None,
        }
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

//! The reference engine's command as a Python object: one call runs one invocation on the calling thread.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    Error, Language,
    binding::{self, PluginDocument},
};
use stackwright_command::{Cancellation, Invocation};

use crate::{
    engine::Engine,
    errors::{OrRaise as _, to_exception},
    function::HostContext,
    host::python_key_service,
    program::read_program,
    runtime::Runtime,
};

/// Runs a command line of the command `stackwright` on the process's own streams, environment and signals; returns its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> i32 {
    py.detach(|| stackwright_cli::run(arguments))
}

/// How many threads a command without an engine has.
const THREADS: usize = 2;
/// How long the calling thread waits before it looks for signals of the process.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// What a running invocation sends to the calling thread.
enum Message {
    /// Whole lines, for standard output or standard error.
    Text { is_error: bool, text: String },
    /// The exit code.
    Ended(i32),
}

/// A command with its runtime, or with that of an engine.
#[pyclass(frozen, weakref, module = "stackwright._stackwright")]
pub(crate) struct Command {
    command: stackwright_command::Command,
    runtime: Arc<Runtime>,
    /// Runs functions of programs.
    host: HostContext,
    /// Whether the runtime ends with the command.
    is_owner: bool,
}

#[pymethods]
impl Command {
    /// Creates a command on what the environment of each invocation names. `plugins` has settings of plugins, and `threads` what
    /// runs functions of programs.
    #[new]
    fn new(py: Python<'_>, plugins: &[u8], threads: &Bound<'_, PyDict>) -> PyResult<Self> {
        let document: PluginDocument =
            binding::read(plugins, Language::Python, "the plugins of a command").or_raise(py)?;
        let (plugins, _) = document.into_settings().or_raise(py)?;
        let runtime = Runtime::start(THREADS).or_raise(py)?;
        let handle = runtime.handle(py)?.clone();
        Ok(Self {
            command: stackwright_command::Command::with_plugins(handle.clone(), plugins),
            runtime,
            host: HostContext::read(py, threads, handle)?,
            is_owner: true,
        })
    }

    /// Creates a command on an engine.
    #[staticmethod]
    fn on_engine(py: Python<'_>, engine: &Engine) -> PyResult<Self> {
        let runtime = engine.shared_runtime();
        let handle = runtime.handle(py)?.clone();
        Ok(Self {
            command: stackwright_command::Command::with_engine(handle, engine.core()),
            runtime,
            host: engine.host_context(),
            is_owner: false,
        })
    }

    /// Returns the version of the reference engine that the command is compatible with.
    #[staticmethod]
    fn version() -> &'static str {
        stackwright_command::Command::version()
    }

    /// Runs an invocation and returns its exit code. `write(is_error, text)` gets whole lines, on the calling thread.
    ///
    /// An exception of `write`, and a signal that raises one, cancels the operation; it is raised when that has ended. A second
    /// signal abandons the running calls of providers. `program` runs in place of the language runtime of the command line, and
    /// `key_service` has the functions that wrap and unwrap data keys.
    #[pyo3(signature = (arguments, directory, environment, stdin, write, program=None, key_service=None))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn run(
        &self,
        py: Python<'_>,
        arguments: Vec<String>,
        directory: PathBuf,
        environment: BTreeMap<String, String>,
        stdin: Vec<u8>,
        write: &Bound<'_, PyAny>,
        program: Option<&Bound<'_, PyAny>>,
        key_service: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<i32> {
        let key_service = key_service
            .map(|functions| python_key_service(functions, &self.host))
            .transpose()?;
        let program = program
            .map(|program| read_program(program, &self.host))
            .transpose()?;
        let (sender, mut receiver) = mpsc::channel();
        let cancellation = Cancellation::default();
        let output = |is_error| {
            let sender = sender.clone();
            Arc::new(move |text: &str| {
                let text = text.to_owned();
                // A caller that is gone needs no output.
                drop(sender.send(Message::Text { is_error, text }));
            })
        };
        let invocation = Invocation {
            environment,
            stdin: Arc::new(move || Ok(stdin.clone())),
            stdout: output(false),
            stderr: output(true),
            cancellation: cancellation.clone(),
            program,
            key_service,
            ..Invocation::new(arguments, directory)
        };
        let command = self.command.clone();
        drop(self.runtime.handle(py)?.spawn(async move {
            let code = command.run(invocation).await;
            drop(sender.send(Message::Ended(code)));
        }));
        let mut raised: Option<PyErr> = None;
        loop {
            let received;
            (received, receiver) = py.detach(move || (receiver.recv_timeout(SIGNAL_INTERVAL), receiver));
            let outcome = match received {
                Ok(Message::Ended(code)) => return raised.map_or(Ok(code), Err),
                Ok(Message::Text { .. }) if raised.is_some() => Ok(()),
                Ok(Message::Text { is_error, text }) => write.call1((is_error, text)).map(drop),
                Err(RecvTimeoutError::Timeout) => py.check_signals(),
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = Error::internal("the engine ended before the command");
                    return Err(raised.unwrap_or_else(|| to_exception(py, &ended)));
                }
            };
            if let Err(error) = outcome {
                cancellation.cancel();
                raised.get_or_insert(error);
            }
        }
    }

    /// Ends the threads without waiting. Called when the interpreter ends.
    fn abandon(&self) {
        if self.is_owner {
            self.host.pool.close();
            self.runtime.shut_down();
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        if self.is_owner {
            // Threads own the pool, not the command: without this they would never end.
            self.host.pool.close();
        }
    }
}

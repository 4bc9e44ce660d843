//! The reference engine's command as a Python object: one call runs one invocation on the calling thread.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use futures::future::BoxFuture;
use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    Error, Language,
    binding::{self, PluginDocument},
    runtime::{Clock as _, SystemClock, in_place},
};
use stackwright_command::{Cancellation, Invocation, Output, ProgramRuntime};
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
};

use crate::{
    engine::Engine,
    errors::{OrRaise as _, to_exception},
    function::HostContext,
    host::python_key_service,
    logs,
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

/// Whole lines.
struct Lines {
    /// What they are written to: `stdout`, `stderr`, or the log of `event`s.
    stream: &'static str,
    text: String,
}

/// What the calling thread does next.
enum Event {
    Wrote(Lines),
    /// The invocation has ended with an exit code.
    Ended(i32),
    /// It is time to look for signals.
    Tick,
    /// The runtime has ended.
    Abandoned,
}

/// An invocation that the calling thread works on.
struct Running {
    handle: Handle,
    invocation: BoxFuture<'static, i32>,
    lines: mpsc::UnboundedReceiver<Lines>,
    runtime_ended: watch::Receiver<bool>,
}

impl Running {
    /// Works on the invocation until the calling thread has something to do. Lines come before the end.
    fn next(&mut self) -> Event {
        let next = || {
            self.handle.block_on(async {
                tokio::select! {
                    biased;
                    // Before all that would use the runtime.
                    Ok(_) = self.runtime_ended.wait_for(|ended| *ended) => Event::Abandoned,
                    Some(lines) = self.lines.recv() => Event::Wrote(lines),
                    code = &mut self.invocation => Event::Ended(code),
                    () = SystemClock.wait(SIGNAL_INTERVAL) => Event::Tick,
                }
            })
        };
        // A runtime that is shut down meanwhile panics. A thread that works for a runtime cannot wait for another one.
        let next = AssertUnwindSafe(next);
        let event = match Handle::try_current() {
            Ok(_) => thread::scope(|scope| scope.spawn(next).join()),
            Err(_) => catch_unwind(next),
        };
        event.unwrap_or(Event::Abandoned)
    }

    /// Returns the next lines that are there.
    fn written(&mut self) -> Option<Lines> {
        self.lines.try_recv().ok()
    }
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
        logs::install();
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

    /// Runs an invocation and returns its exit code. `write(stream, text)` gets pieces of text for `stdout` and
    /// `stderr`, on the calling thread, and with `events` those of an event log, whose stream is `event`.
    ///
    /// An exception of `write`, and a signal that raises one, cancels the operation; it is raised when that has ended. A second
    /// signal abandons the running calls of providers. `program` runs in place of the language runtime of the command line, and
    /// `key_service` has the functions that wrap and unwrap data keys. `runtime` is the version of the program's interpreter, with the
    /// path of its executable.
    #[pyo3(signature = (arguments, directory, environment, stdin, write, program=None, events=false, key_service=None, runtime=None))]
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
        events: bool,
        key_service: Option<&Bound<'_, PyAny>>,
        runtime: Option<(String, String)>,
    ) -> PyResult<i32> {
        let key_service = key_service
            .map(|functions| python_key_service(functions, &self.host))
            .transpose()?;
        let program = program
            .map(|program| read_program(program, &self.host))
            .transpose()?;
        let (sender, lines) = mpsc::unbounded_channel();
        let cancellation = Cancellation::default();
        let output = |stream| -> Output {
            let sender = sender.clone();
            Arc::new(move |text: &str| {
                let text = text.to_owned();
                // A caller that is gone needs no output.
                drop(sender.send(Lines { stream, text }));
            })
        };
        let invocation = Invocation {
            environment,
            stdin: Arc::new(move || Ok(stdin.clone())),
            stdout: output("stdout"),
            stderr: output("stderr"),
            events: events.then(|| output("event")),
            cancellation: cancellation.clone(),
            program,
            program_runtime: runtime.map(|(version, executable)| ProgramRuntime { version, executable }),
            key_service,
            ..Invocation::new(arguments, directory)
        };
        let command = self.command.clone();
        let mut running = Running {
            handle: self.runtime.handle(py)?.clone(),
            invocation: Box::pin(in_place(async move { command.run(invocation).await })),
            lines,
            runtime_ended: self.runtime.ended(),
        };
        let mut raised: Option<PyErr> = None;
        let mut code = None;
        loop {
            let event = match code {
                None => {
                    let event;
                    (event, running) = py.detach(move || (running.next(), running));
                    event
                }
                // What was written before the end.
                Some(code) => match running.written() {
                    Some(lines) => Event::Wrote(lines),
                    None => return raised.map_or(Ok(code), Err),
                },
            };
            let outcome = match event {
                Event::Ended(ended) => {
                    code = Some(ended);
                    Ok(())
                }
                Event::Wrote(_) if raised.is_some() => Ok(()),
                Event::Wrote(Lines { stream, text }) => write.call1((stream, text)).map(drop),
                Event::Tick => py.check_signals(),
                Event::Abandoned => {
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

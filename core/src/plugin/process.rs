//! The process of a plugin: start, output and end, including all processes that it starts.

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    sync::watch,
};

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    metrics::RunningPlugin,
    plugin::{
        DiagnosticSink, HostEnvironment, OutputRoute, PluginCommand, PluginTimeouts, code,
        disposition::ignores_interrupts,
        guard::{Group, Guard, Lifeline},
        guarded::{self, StartFault, Started},
        output::Stream,
        port::parse_port,
    },
    runtime::{Runtime, Task},
};

/// The maximum number of bytes of the first line, which contains the port.
const PORT_LINE_LIMIT: u64 = 4096;
/// How long to wait for the remaining output of a process that has closed a stream.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How to start a plugin.
#[derive(Clone)]
pub struct Start {
    /// The plugin's name in messages: `files (resource)`.
    pub label: String,
    /// The command line without the engine's address.
    pub command: PluginCommand,
    /// The address of the Engine service: the argument after those of the command.
    pub engine_address: String,
    /// The arguments after the engine's address: the program of a policy pack, for instance.
    pub operands: Vec<OsString>,
    /// The working directory; `None` is the host's.
    pub directory: Option<PathBuf>,
    /// The variables of the host. Those of the command and of `environment` override them.
    pub host_environment: HostEnvironment,
    /// Variables in addition to those of the host and of the command.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether its output is informational instead of debug output.
    pub visible: bool,
    /// Receives its output; `None` drops it.
    pub sink: Option<DiagnosticSink>,
    /// The shell that guards it; `None` starts it unguarded.
    pub guard_shell: Option<PathBuf>,
    /// The timeouts of the process.
    pub timeouts: PluginTimeouts,
}

/// A running plugin. Dropping it kills the process and all that it started.
pub struct PluginProcess {
    program: String,
    /// The folder of its code.
    folder: Option<PathBuf>,
    port: u16,
    watched: Watched,
    route: Arc<OutputRoute>,
    timeouts: PluginTimeouts,
    runtime: Runtime,
}

/// The handle of a watched process. Dropping it kills the process group.
#[derive(Debug)]
struct Watched {
    group: Group,
    lifeline: Option<Lifeline>,
    exit: watch::Receiver<Option<String>>,
    /// Closed when no process of the group is left.
    left: watch::Receiver<()>,
    expected: Arc<AtomicBool>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.expected.store(true, Ordering::Relaxed);
        match &self.lifeline {
            Some(lifeline) => lifeline.release(),
            // Not reaped yet, so its number has not been reused.
            None if self.exit.borrow().is_none() => self.group.kill(),
            None => {}
        }
    }
}

impl Watched {
    async fn exited(&self) -> String {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(text) => text.clone().unwrap_or_default(),
            Err(_) => "the host's runtime has ended".to_owned(),
        }
    }

    /// Waits until the process, its children and its guard have ended and have been reaped.
    async fn reaped(&self) {
        let mut left = self.left.clone();
        while left.changed().await.is_ok() {}
    }
}

impl PluginProcess {
    /// Starts a plugin and waits for its port.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] if it cannot be started or writes no port in time; the process has ended then.
    ///
    /// # Cancel safety
    /// Dropping the future ends the process.
    pub async fn start(start: Start, runtime: &Runtime) -> Result<Self> {
        let program = start.command.program.display().to_string();
        let folder = code::folder(
            &start.command,
            start.directory.as_deref(),
            &start.host_environment,
        );
        let cannot_start = |error: std::io::Error| {
            plugin_error(format!("could not start plugin [{program}]: {error}")).with_source(error)
        };
        let started = guarded::start(command_of(&start), start.guard_shell.as_deref(), runtime).await;
        let Started {
            mut child,
            guard,
            group,
        } = started.map_err(|fault| match fault {
            StartFault::Guard(error) => {
                cannot_start(error).with_hint("its process needs a POSIX shell as guard")
            }
            StartFault::Process(error) => cannot_start(error),
        })?;
        let route = Arc::new(OutputRoute::new(start.sink.clone(), start.visible));
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Error::internal("a started process has no pipes"));
        };
        let errors = runtime.spawner.spawn({
            let route = Arc::clone(&route);
            async move { route.drain(Stream::Error, BufReader::new(errors)).await }
        });
        tracing::debug!(target: "stackwright::plugin", plugin = start.label, pid = child.id(), "a plugin process has started");
        let counted = child.id().map(|pid| runtime.meter.plugin(pid, &start.label));
        let process = (child, guard, group);
        let watched = watch_over(process, counted, program.clone(), Arc::clone(&route), runtime);

        let mut output = BufReader::new(output);
        let first = tokio::select! {
            biased;
            line = first_line(&mut output) => line,
            () = runtime.clock.wait(start.timeouts.port) => {
                let seconds = start.timeouts.port.as_secs_f64();
                Err(format!("did not write its port within {seconds} s"))
            }
        };
        let failure = match first {
            Ok(Some(line)) => match parse_port(&line) {
                Ok(port) => {
                    runtime.spawner.spawn({
                        let route = Arc::clone(&route);
                        async move { route.drain(Stream::Output, output).await }
                    });
                    return Ok(Self {
                        program,
                        folder,
                        port,
                        watched,
                        route,
                        timeouts: start.timeouts,
                        runtime: runtime.clone(),
                    });
                }
                Err(fault) => {
                    let label = &start.label;
                    format!("{label} plugin [{program}] wrote an invalid port to stdout: {fault}")
                }
            },
            Ok(None) => {
                let end = tokio::select! {
                    biased;
                    exit = watched.exited() => exit,
                    () = runtime.clock.wait(OUTPUT_DRAIN_TIMEOUT) => "it closed its standard output".to_owned(),
                };
                format!("could not read plugin [{program}]: {end}")
            }
            Err(fault) => format!("{} plugin [{program}] {fault}", start.label),
        };
        drop(watched);
        Err(with_remaining_output(failure, &route, errors, runtime).await)
    }

    /// Returns the port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the executable's path, for messages.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the folder of its code, if known.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the route of its output.
    #[must_use]
    pub(crate) fn route(&self) -> &OutputRoute {
        &self.route
    }

    /// Returns how the process ended; `None` while it runs.
    #[must_use]
    pub fn exit(&self) -> Option<String> {
        self.watched.exit.borrow().clone()
    }

    /// Waits until the process has ended and returns how.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn exited(&self) -> String {
        self.watched.exited().await
    }

    /// Marks the end of the process as expected, so that it is not reported as an error.
    pub fn expect_exit(&self) {
        self.watched.expected.store(true, Ordering::Relaxed);
    }

    /// Interrupts the process and all that it started, and kills the rest after the timeout.
    ///
    /// # Cancel safety
    /// The process ends also when the future is dropped: it is killed with the last handle.
    pub async fn close(&self) {
        self.expect_exit();
        if self.exit().is_none() {
            self.end().await;
        }
        tokio::select! {
            biased;
            () = self.watched.reaped() => {}
            () = self.runtime.clock.wait(self.timeouts.interrupt) => {}
        }
    }

    async fn end(&self) {
        let group = self.watched.group;
        let timeout = self.timeouts.interrupt;
        group.interrupt();
        // Processes started by a host that ignores SIGINT ignore it as well, unless they have installed a handler.
        let first = if ignores_interrupts() {
            timeout / 4
        } else {
            timeout
        };
        if self.ends_within(first).await {
            return;
        }
        if first < timeout {
            group.terminate();
            if self.ends_within(timeout - first).await {
                return;
            }
        }
        group.kill();
        // Waits with a limit: a process that hangs in the kernel does not end.
        self.ends_within(timeout).await;
    }

    async fn ends_within(&self, timeout: Duration) -> bool {
        tokio::select! {
            biased;
            _ = self.watched.exited() => true,
            () = self.runtime.clock.wait(timeout) => false,
        }
    }
}

impl std::fmt::Debug for PluginProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PluginProcess")
            .field("program", &self.program)
            .field("port", &self.port)
            .field("exit", &self.exit())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Start {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may contain secret configuration.
        formatter
            .debug_struct("Start")
            .field("label", &self.label)
            .field("program", &self.command.program)
            .finish_non_exhaustive()
    }
}

fn plugin_error(message: String) -> Error {
    Error::new(ErrorKind::Plugin, message).with_phase("load")
}

/// Returns the command line of a plugin.
fn command_of(start: &Start) -> Command {
    let mut command = Command::new(&start.command.program);
    command
        .args(&start.command.arguments)
        .arg(&start.engine_address)
        .args(&start.operands)
        .env_clear()
        .envs(start.host_environment.variables())
        .envs(
            start
                .command
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = &start.directory {
        command.current_dir(directory);
    }
    command
}

/// Starts the task that waits for the process, reports an unexpected end, and reaps the guard.
fn watch_over(
    (mut child, guard, group): (Child, Option<Guard>, Group),
    counted: Option<RunningPlugin>,
    program: String,
    route: Arc<OutputRoute>,
    runtime: &Runtime,
) -> Watched {
    let (sender, exit) = watch::channel(None);
    let (leaving, left) = watch::channel(());
    let expected = Arc::new(AtomicBool::new(false));
    let lifeline = guard.as_ref().map(|guard| guard.lifeline.clone());
    let watched = Watched {
        group,
        lifeline,
        exit,
        left,
        expected: Arc::clone(&expected),
    };
    let reaper = runtime.clone();
    runtime.spawner.spawn(async move {
        let _leaving = leaving;
        let end = match child.wait().await {
            Ok(status) => describe(status),
            Err(error) => error.to_string(),
        };
        drop(counted);
        tracing::debug!(target: "stackwright::plugin", plugin = program, end, "a plugin process has ended");
        sender.send_replace(Some(end.clone()));
        if let Some(mut guard) = guard {
            guard.lifeline.release();
            if let Err(error) = guard.process.wait().await {
                tracing::debug!(%error, "could not wait for the guard of a plugin");
            }
            if let Some(group) = guard.control_group.take() {
                group.remove(&reaper).await;
            }
        }
        if !expected.load(Ordering::Relaxed) {
            let lines = route.last_lines();
            let text = format!("plugin [{program}] exited prematurely: {end}\n{lines}");
            route.emit(Diagnostic::error(text.trim_end()));
        }
        group.reap(&reaper).await;
    });
    watched
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Reads the first line; `None` if the output ends before the line does.
async fn first_line(output: &mut BufReader<ChildStdout>) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    match output.take(PORT_LINE_LIMIT).read_until(b'\n', &mut line).await {
        Ok(_) if line.ends_with(b"\n") || line.len() as u64 == PORT_LINE_LIMIT => {
            Ok(Some(String::from_utf8_lossy(&line).into_owned()))
        }
        Ok(_) => Ok(None),
        Err(error) => Err(format!("could not be read from: {error}")),
    }
}

/// Appends the error output of a process that is being ended to a message.
async fn with_remaining_output(
    message: String,
    route: &OutputRoute,
    errors: Task<()>,
    runtime: &Runtime,
) -> Error {
    tokio::select! {
        biased;
        _ = errors => {}
        () = runtime.clock.wait(OUTPUT_DRAIN_TIMEOUT) => {}
    }
    let words = route.last_lines();
    let words = words.trim_end();
    plugin_error(if words.is_empty() {
        message
    } else {
        format!("{message}\n{words}")
    })
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;

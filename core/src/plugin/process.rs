//! One plugin's process: started, listened to, and ended together with all that it started.

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
    plugin::{
        DiagnosticSink, Inheritance, OutputRoute, PluginCommand, PluginTimeouts,
        cgroup::ControlGroup,
        code,
        disposition::ignores_interrupts,
        guard::{Group, Guard, Lifeline},
        output::Stream,
        port::parse_port,
    },
    runtime::{Runtime, Task},
    store::ProcessIdentity,
};

/// The longest first line that may still be a port.
const PORT_LINE_LIMIT: u64 = 4096;
/// How long to wait for the last words of a process that has closed its output.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How to start a plugin.
#[derive(Clone)]
pub struct Start {
    /// What messages call it: `files (resource)`.
    pub label: String,
    /// The command line, without the engine's address.
    pub command: PluginCommand,
    /// Where the Engine service listens: the last argument.
    pub engine_address: String,
    /// The working directory; `None` is the host's.
    pub directory: Option<PathBuf>,
    /// The variables that it takes over from the host; those of the command and those below come on top.
    pub inheritance: Inheritance,
    /// Variables beside those of the host and of the command.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether people shall see what it writes.
    pub visible: bool,
    /// Who gets what it writes.
    pub sink: Option<DiagnosticSink>,
    /// The shell that guards it; `None` leaves it unguarded.
    pub guard_shell: Option<PathBuf>,
    /// How long things may take.
    pub timeouts: PluginTimeouts,
}

/// A running plugin. Dropping it kills it and all that it started.
pub struct PluginProcess {
    program: String,
    /// Where its code is.
    folder: Option<PathBuf>,
    port: u16,
    watched: Watched,
    route: Arc<OutputRoute>,
    timeouts: PluginTimeouts,
    runtime: Runtime,
}

/// What must happen to a process once it runs, whoever forgets it.
#[derive(Debug)]
struct Watched {
    group: Group,
    lifeline: Option<Lifeline>,
    exit: watch::Receiver<Option<String>>,
    /// Closed when nothing is left of the group.
    left: watch::Receiver<()>,
    expected: Arc<AtomicBool>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.expected.store(true, Ordering::Relaxed);
        match &self.lifeline {
            Some(lifeline) => lifeline.release(),
            // Not reaped yet, so that the number is still its own.
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

    /// Waits until the process, what it started and its guard have ended and been taken note of.
    async fn reaped(&self) {
        let mut left = self.left.clone();
        while left.changed().await.is_ok() {}
    }
}

impl PluginProcess {
    /// Starts a plugin and waits for its port.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] when it can not be started or does not write a port in time; the process is gone then.
    ///
    /// # Cancel safety
    /// Dropping the future ends the process.
    pub async fn start(start: Start, runtime: &Runtime) -> Result<Self> {
        let program = start.command.program.display().to_string();
        let folder = code::folder(&start.command, start.directory.as_deref(), &start.inheritance);
        let cannot_start = |error: std::io::Error| {
            plugin_error(format!("could not start plugin [{program}]: {error}")).with_source(error)
        };
        let host = ProcessIdentity::of(std::process::id());
        let started = start.guard_shell.as_deref();
        let control_group = || ControlGroup::create(runtime).map(Arc::new);
        let guard = match started.map(|shell| Guard::start(shell, &host, control_group())) {
            Some(Ok(guard)) => Some(guard),
            Some(Err(error)) => {
                return Err(cannot_start(error).with_hint("its process needs a POSIX shell as guard"));
            }
            None => None,
        };
        let mut child =
            spawn(&start, guard.as_ref().map_or(0, |guard| guard.group.number())).map_err(cannot_start)?;
        let route = Arc::new(OutputRoute::new(start.sink.clone(), start.visible));
        if let Some(group) = guard.as_ref().and_then(|guard| guard.control_group.clone()) {
            child = joined(child, group, runtime).await?;
        }
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Error::internal("a started process has no pipes"));
        };
        let group = match &guard {
            Some(guard) => guard.group,
            None => Group::led_by(&child).map_err(cannot_start)?,
        };
        let errors = runtime.spawner.spawn({
            let route = Arc::clone(&route);
            async move { route.drain(Stream::Error, BufReader::new(errors)).await }
        });
        let watched = watch_over(child, guard, group, program.clone(), Arc::clone(&route), runtime);

        let mut output = BufReader::new(output);
        let first = tokio::select! {
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
                    exit = watched.exited() => exit,
                    () = runtime.clock.wait(LAST_WORDS) => "it closed its standard output".to_owned(),
                };
                format!("could not read plugin [{program}]: {end}")
            }
            Err(fault) => format!("{} plugin [{program}] {fault}", start.label),
        };
        drop(watched);
        Err(with_last_words(failure, &route, errors, runtime).await)
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

    /// Returns the folder that its code is in, where that is known.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns where its lines go.
    #[must_use]
    pub(crate) fn route(&self) -> &OutputRoute {
        &self.route
    }

    /// Says how the process ended, if it has ended.
    #[must_use]
    pub fn exit(&self) -> Option<String> {
        self.watched.exit.borrow().clone()
    }

    /// Waits until the process has ended and says how.
    pub async fn exited(&self) -> String {
        self.watched.exited().await
    }

    /// Takes the end of the process as its due from now on, not as a fault to report.
    pub fn expect_exit(&self) {
        self.watched.expected.store(true, Ordering::Relaxed);
    }

    /// Interrupts the process and all that it started, and kills what is left after a while.
    pub async fn close(&self) {
        self.expect_exit();
        if self.exit().is_none() {
            self.end().await;
        }
        tokio::select! {
            () = self.watched.reaped() => {}
            () = self.runtime.clock.wait(self.timeouts.interrupt) => {}
        }
    }

    async fn end(&self) {
        let group = self.watched.group;
        let patience = self.timeouts.interrupt;
        group.interrupt();
        // Who started in a host that ignores interrupts does not hear them, unless it has asked for them since.
        let first = if ignores_interrupts() {
            patience / 4
        } else {
            patience
        };
        if self.ends_within(first).await {
            return;
        }
        if first < patience {
            group.terminate();
            if self.ends_within(patience - first).await {
                return;
            }
        }
        group.kill();
        // A process that hangs in the kernel can not be waited for.
        self.ends_within(patience).await;
    }

    async fn ends_within(&self, patience: Duration) -> bool {
        tokio::select! {
            _ = self.watched.exited() => true,
            () = self.runtime.clock.wait(patience) => false,
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
        // The environment may hold secret configuration.
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

fn spawn(start: &Start, group: i32) -> std::io::Result<Child> {
    let mut command = Command::new(&start.command.program);
    command
        .args(&start.command.arguments)
        .arg(&start.engine_address)
        .env_clear()
        .envs(start.inheritance.variables())
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
        .stderr(Stdio::piped())
        .process_group(group)
        .kill_on_drop(true);
    if let Some(directory) = &start.directory {
        command.current_dir(directory);
    }
    command.spawn()
}

/// Moves a process into its control group.
async fn joined(child: Child, group: Arc<ControlGroup>, runtime: &Runtime) -> Result<Child> {
    // The task owns the process, so that its number stays its own until it is in the group.
    let joining = runtime.spawner.spawn_blocking(move || {
        if let Some(Err(error)) = child.id().map(|pid| group.add(pid)) {
            tracing::debug!(%error, "a plugin stays outside of its control group");
        }
        child
    });
    joining.await
}

/// Starts the task that waits for the process, reports an end that nobody asked for, and reaps the guard.
fn watch_over(
    mut child: Child,
    guard: Option<Guard>,
    group: Group,
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
            route.tell(Diagnostic::error(text.trim_end()));
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

/// Reads the first line; `None` when the output ends before it does.
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

/// Adds what a process that is being ended has written to its error stream.
async fn with_last_words(message: String, route: &OutputRoute, errors: Task<()>, runtime: &Runtime) -> Error {
    tokio::select! {
        _ = errors => {}
        () = runtime.clock.wait(LAST_WORDS) => {}
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

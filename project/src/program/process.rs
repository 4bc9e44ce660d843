//! The process of a program: its output becomes messages, and it ends with the run, with all processes that it has started.

use std::{
    collections::VecDeque,
    fs::File,
    io::{Seek as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::fs::{MemfdFlags, memfd_create};
use stackwright::{
    Error, ErrorKind, Result,
    diagnostic::Severity,
    monitor::Monitor,
    plugin::{GuardedProcess, OutputLines},
    program::ProgramContext,
    runtime::Runtime,
};
use tokio::{
    io::{AsyncRead, BufReader},
    process::Command,
    task::JoinHandle,
};

/// How long a program may take to end after its run has: its calls have been refused by then.
const UNWIND_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a program may take to end after an interrupt, before it is killed.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long output is waited for after the end of the process: a process that it has left behind can hold the pipes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How many of its last lines the error of a failed process has.
const LAST_LINES: usize = 20;

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With an exit code. The launcher has stated that the program is complete, or has not.
    Exited { code: i32, is_complete: bool },
    /// By a signal of another.
    Killed(i32),
    /// Because its run had ended.
    Stopped,
}

/// A running program. It is killed when it is dropped and when its host ends, with all processes that it has started.
pub(super) struct Child {
    process: GuardedProcess,
    /// What it reads from its standard input. A launcher appends to it when the program is complete: an exit code can be that of
    /// any code of the process.
    input: File,
    input_length: u64,
    last_lines: LastLines,
}

/// The last lines of a process, the oldest one first.
#[derive(Clone, Default)]
pub(super) struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    fn add(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(line.trim_end().to_owned());
    }

    /// Adds the lines to an error.
    pub(super) fn explain(&self, error: Error) -> Error {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return error;
        }
        let lines = Vec::from(lines.clone()).join("\n");
        error.with_hint(format!("its last lines:\n{lines}"))
    }
}

impl Child {
    /// Starts a process that reads `text` from its standard input.
    pub(super) async fn start(mut command: Command, text: &str, runtime: &Runtime) -> Result<Self> {
        let program = command.as_std().get_program().display().to_string();
        let cannot_start = |error: std::io::Error| {
            let text = format!("the program could not be started with {program}: {error}");
            Error::new(ErrorKind::Program, text)
        };
        let input = in_memory(text).and_then(|input| Ok((input.try_clone()?, input)));
        let (input, given) = input.map_err(cannot_start)?;
        command.stdin(given);
        let process = GuardedProcess::start(command, runtime).await;
        Ok(Self {
            process: process.map_err(cannot_start)?,
            input,
            input_length: text.len() as u64,
            last_lines: LastLines::default(),
        })
    }

    /// Returns its last lines, also those to come.
    pub(super) fn last_lines(&self) -> LastLines {
        self.last_lines.clone()
    }

    /// Runs the program to its end.
    pub(super) async fn run(mut self, context: &ProgramContext) -> Result<Ending> {
        let monitor = &context.monitor;
        let clock = &monitor.runtime().clock;
        let (stdout, stderr) = self.process.take_outputs();
        let outputs = [
            stdout.map(|stdout| lines(stdout, monitor, Severity::Info, self.last_lines.clone())),
            stderr.map(|stderr| lines(stderr, monitor, Severity::InfoError, self.last_lines.clone())),
        ];
        let mut is_stopped = false;
        let status = loop {
            let stopping = async {
                tokio::select! {
                    () = context.ended() => clock.wait(UNWIND_TIMEOUT).await,
                    () = monitor.cancelled() => {}
                }
            };
            tokio::select! {
                status = self.process.wait() => break status,
                () = stopping, if !is_stopped => {
                    is_stopped = true;
                    self.process.interrupt();
                }
                () = clock.wait(INTERRUPT_TIMEOUT), if is_stopped => self.process.kill(),
            }
        };
        // What the program has left behind ends with it.
        let is_complete = self.is_complete();
        self.process.end().await;
        for mut output in outputs.into_iter().flatten() {
            tokio::select! {
                _ = &mut output => {}
                // A process that has left the group can hold it open.
                () = clock.wait(DRAIN_TIMEOUT) => output.abort(),
            }
        }
        let status = status.map_err(|error| {
            Error::new(
                ErrorKind::Program,
                format!("the program could not be waited for: {error}"),
            )
        })?;
        Ok(match (is_stopped, status.code(), status.signal()) {
            (true, ..) => Ending::Stopped,
            (false, Some(code), _) => Ending::Exited { code, is_complete },
            (false, None, signal) => Ending::Killed(signal.unwrap_or_default()),
        })
    }

    /// Returns whether the launcher has stated that the program is complete.
    fn is_complete(&self) -> bool {
        let length = self.input.metadata().map(|metadata| metadata.len());
        length.is_ok_and(|length| length > self.input_length)
    }
}

/// Returns a file without a name that contains a text. Not a pipe: a host without a handler of SIGPIPE would end with a process that
/// does not read it.
fn in_memory(text: &str) -> std::io::Result<File> {
    let mut file = File::from(memfd_create(c"program", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Makes each line of a stream a message.
fn lines(
    stream: impl AsyncRead + Unpin + Send + 'static,
    monitor: &Monitor,
    severity: Severity,
    last_lines: LastLines,
) -> JoinHandle<()> {
    let monitor = monitor.clone();
    tokio::spawn(async move {
        let mut lines = OutputLines::new(BufReader::new(stream));
        while let Some(line) = lines.next_line().await {
            last_lines.add(&line);
            monitor.log(severity, format!("{line}\n"), None);
        }
    })
}

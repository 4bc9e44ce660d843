//! The process of a program: its output becomes messages, and it ends with the run, with all processes that it has started.

use std::{os::unix::process::ExitStatusExt as _, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use stackwright::{
    Error, ErrorKind, Result, diagnostic::Severity, monitor::Monitor, program::ProgramContext,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    process::Command,
    task::JoinHandle,
};

/// How long a program may take to end after its run has: its calls have been refused by then.
const UNWIND_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a program may take to end after an interrupt, before it is killed.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long output is waited for after the end of the process: a process that it has left behind can hold the pipes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With an exit code.
    Exited(i32),
    /// By a signal of another.
    Killed(i32),
    /// Because its run had ended.
    Stopped,
}

/// A running program. Its process group is killed when it is dropped.
pub(super) struct Child {
    process: tokio::process::Child,
    group: Option<Pid>,
    input: String,
}

impl Child {
    /// Starts a process in a group of its own; it reads `input` from its standard input.
    pub(super) fn start(mut command: Command, input: String) -> Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let process = command.spawn().map_err(|error| {
            let program = command.as_std().get_program().display();
            Error::new(
                ErrorKind::Program,
                format!("the program could not be started with {program}: {error}"),
            )
        })?;
        let id = process.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self {
            group: id.and_then(Pid::from_raw),
            process,
            input,
        })
    }

    /// Runs the program to its end.
    pub(super) async fn run(mut self, context: &ProgramContext) -> Result<Ending> {
        let monitor = &context.monitor;
        let clock = &monitor.runtime().clock;
        let outputs = [
            self.process
                .stdout
                .take()
                .map(|stdout| lines(stdout, monitor, Severity::Info)),
            self.process
                .stderr
                .take()
                .map(|stderr| lines(stderr, monitor, Severity::InfoError)),
        ];
        if let Some(mut stdin) = self.process.stdin.take() {
            let input = std::mem::take(&mut self.input);
            // A process that does not read it ends for a reason of its own.
            drop(tokio::spawn(
                async move { stdin.write_all(input.as_bytes()).await },
            ));
        }
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
                    self.signal(Signal::INT);
                }
                () = clock.wait(INTERRUPT_TIMEOUT), if is_stopped => self.signal(Signal::KILL),
            }
        };
        // What the program has left behind ends with it.
        self.signal(Signal::KILL);
        self.group = None;
        for output in outputs.into_iter().flatten() {
            tokio::select! {
                _ = output => {}
                () = clock.wait(DRAIN_TIMEOUT) => {}
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
            (false, Some(code), _) => Ending::Exited(code),
            (false, None, signal) => Ending::Killed(signal.unwrap_or_default()),
        })
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that is gone has ended.
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Makes each line of a stream a message.
fn lines(
    stream: impl AsyncRead + Unpin + Send + 'static,
    monitor: &Monitor,
    severity: Severity,
) -> JoinHandle<()> {
    let monitor = monitor.clone();
    tokio::spawn(async move {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line).await, Ok(length) if length > 0) {
            monitor.log(severity, String::from_utf8_lossy(&line).into_owned(), None);
            line.clear();
        }
    })
}

//! A process that ends with its host, with all processes that it has started.

use std::{
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::{
    cgroup::ControlGroup,
    guard::{Group, Guard},
};
use crate::{runtime::Runtime, store::ProcessIdentity};

/// Why a process or its guard did not start.
#[derive(Debug)]
pub(super) enum StartFault {
    /// The guard.
    Guard(io::Error),
    /// The process.
    Process(io::Error),
}

/// A started process, its guard and its group.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) guard: Option<Guard>,
    pub(super) group: Group,
}

/// Starts a command in the groups of a new guard; without a shell, in a process group of its own.
pub(super) async fn start(
    mut command: Command,
    guard_shell: Option<&Path>,
    runtime: &Runtime,
) -> Result<Started, StartFault> {
    let host = ProcessIdentity::of(std::process::id());
    let control_group = || ControlGroup::create(runtime).map(Arc::new);
    let guard = guard_shell.map(|shell| Guard::start(shell, &host, control_group()));
    let guard = guard.transpose().map_err(StartFault::Guard)?;
    command
        .process_group(guard.as_ref().map_or(0, |guard| guard.group.number()))
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(StartFault::Process)?;
    if let Some(group) = guard.as_ref().and_then(|guard| guard.control_group.clone()) {
        child = joined(child, group, runtime).await?;
    }
    let group = match &guard {
        Some(guard) => guard.group,
        None => Group::led_by(&child).map_err(StartFault::Process)?,
    };
    Ok(Started { child, guard, group })
}

/// Moves a process into its control group.
async fn joined(child: Child, group: Arc<ControlGroup>, runtime: &Runtime) -> Result<Child, StartFault> {
    // The task owns the process, so its number is not reused before it is in the group.
    let joining = runtime.spawner.spawn_blocking(move || {
        if let Some(Err(error)) = child.id().map(|pid| group.add(pid)) {
            tracing::debug!(%error, "a process stays outside of its control group");
        }
        child
    });
    joining
        .await
        .map_err(|error| StartFault::Process(io::Error::other(error)))
}

/// A process that is killed when its host ends or when it is dropped, with all processes that it has started.
///
/// Children that have left its process group end as well where the host may create control groups (version 2).
///
/// # Examples
/// ```
/// use stackwright::{plugin::GuardedProcess, runtime::Runtime};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let runtime = Runtime::system(tokio::runtime::Handle::current());
/// let mut process = GuardedProcess::start(tokio::process::Command::new("true"), &runtime).await?;
/// assert!(process.wait().await?.success());
/// process.end().await;
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
pub struct GuardedProcess {
    started: Started,
    runtime: Runtime,
    has_ended: bool,
}

impl GuardedProcess {
    /// Starts a command, whose outputs become pipes. A system without a POSIX shell has no guard: the process ends with this
    /// value then, and not with a host that is killed.
    ///
    /// # Errors
    /// Those of the operating system.
    ///
    /// # Cancel safety
    /// Dropping the future ends the process.
    pub async fn start(mut command: Command, runtime: &Runtime) -> io::Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let shell = Path::new(super::GUARD_SHELL);
        let started = start(command, shell.exists().then_some(shell), runtime).await;
        let started = started.map_err(|fault| match fault {
            StartFault::Process(error) => error,
            StartFault::Guard(error) => {
                io::Error::new(error.kind(), format!("its guard did not start: {error}"))
            }
        })?;
        Ok(Self {
            started,
            runtime: runtime.clone(),
            has_ended: false,
        })
    }

    /// Takes the standard output and the standard error of the process.
    pub fn take_outputs(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.started.child.stdout.take(), self.started.child.stderr.take())
    }

    /// Waits for the end of the process. Processes that it has started may run on.
    ///
    /// # Errors
    /// Those of the operating system.
    ///
    /// # Cancel safety
    /// Another call continues.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.started.child.wait().await
    }

    /// Sends SIGINT to the process group.
    pub fn interrupt(&self) {
        self.started.group.interrupt();
    }

    /// Kills the process, and all that it has started.
    pub fn kill(&self) {
        let guard = self.started.guard.as_ref();
        if let Some(group) = guard.and_then(|guard| guard.control_group.as_ref()) {
            group.kill();
        }
        self.started.group.kill();
    }

    /// Kills what the process has left behind, and returns when the guard has been reaped.
    ///
    /// # Cancel safety
    /// Dropping the future kills all the same.
    pub async fn end(mut self) {
        self.kill();
        if let Some(guard) = &mut self.started.guard {
            if let Err(error) = guard.process.wait().await {
                tracing::debug!(%error, "could not wait for the guard of a process");
            }
            // The number of the group can be that of another one from here on.
            self.has_ended = true;
            if let Some(group) = guard.control_group.take() {
                group.remove(&self.runtime).await;
            }
        }
        self.has_ended = true;
        let (group, runtime) = (self.started.group, self.runtime.clone());
        self.runtime
            .spawner
            .spawn(async move { group.reap(&runtime).await });
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        if !self.has_ended {
            self.kill();
        }
    }
}

impl std::fmt::Debug for GuardedProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GuardedProcess")
            .field("id", &self.started.child.id())
            .finish_non_exhaustive()
    }
}

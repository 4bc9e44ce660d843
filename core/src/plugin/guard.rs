//! The guard of a plugin's process group: a small shell that kills the group as soon as the host has ended.
//!
//! A killed process cannot clean up, so another process has to detect its end. The guard is started first and leads a
//! process group of its own, which the plugin then joins. Its standard input is a pipe whose other end the host holds:
//! when the host closes it, or ends for any reason, the guard reads the end of the file and kills the group, including
//! itself. This needs no unsafe code, works on every POSIX system, and also ends the processes that the plugin has
//! started. The kernel's own signal upon a parent's death (Linux only) would be tied to the thread that started the
//! plugin, and would not end the plugin's children.
//!
//! Children that the host forks hold the pipe as well. So a second shell of the group polls for the host's process, and
//! kills the group once that has ended.
//!
//! The group exists as long as the guard does, so signals to it never reach an unrelated group with a reused number.
//!
//! Processes that leave the group are ended as well if the plugin has a control group: the guard kills that first.

use std::{
    io,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpgid};
use tokio::process::{Child, ChildStdin, Command};

use super::cgroup::ControlGroup;
use crate::{runtime::Runtime, store::ProcessIdentity};

/// A shell function: succeeds if the process `$1`, which started at the kernel's tick `$2`, runs. A process that may
/// not be signalled counts as running. An empty tick is not compared.
///
/// In `/proc/<pid>/stat` the state is the first field after the name and its closing parenthesis, the tick the
/// twentieth. If the name contains a line break they are not in the first line, and the process counts as running.
const HOST_RUNS: &str = r#"
host_runs() {
    kill -0 "$1" || [ -d "/proc/$1" ] || return 1
    [ -n "$2" ] && read -r stat <"/proc/$1/stat" || return 0
    start=$2
    case $stat in *") "*) ;; *) return 0 ;; esac
    set -- ${stat##*") "}
    case $1 in Z | X) return 1 ;; esac
    [ "${20}" = "$start" ]
}
"#;

/// A shell function: kills the control group `$3`, if there is one, and its own process group. If the host
/// (`$1`, `$2`) has ended, only the guard can remove the control group, so it waits for the group's processes.
const END_ALL: &str = r#"
end_all() {
    [ -z "$3" ] || echo 1 >"$3/cgroup.kill"
    for pause in 0 0 0 0 0 0 0 0 1 1 1; do
        [ -n "$3" ] && [ -d "$3" ] && ! rmdir "$3" || break
        [ $pause = 0 ] && continue
        host_runs "$1" "$2" && break
        sleep $pause
    done
    kill -KILL 0
}
"#;

/// Waits for the end of the input and ignores the signals that are meant for the plugin. A second shell polls for the
/// host (`$1`, `$2`), and for the first shell.
const WAIT: &str = r#"
trap "" HUP INT QUIT TERM
{ while kill -0 $$ && host_runs "$1" "$2"; do sleep 2 || exit; done; end_all "$1" "$2" "$3"; } &
while read -r _; do :; done
end_all "$1" "$2" "$3"
"#;

/// The longest pause between two checks whether the members of a killed group have ended.
const MAX_REAP_PAUSE: Duration = Duration::from_secs(1);
/// Number of those checks: about ten seconds.
const MAX_REAP_CHECKS: u32 = 20;

/// The end of the pipe that keeps a group running. Clones share it. The group is killed when it is released or when all
/// clones are dropped.
#[derive(Clone, Debug)]
pub(super) struct Lifeline(Arc<Mutex<Option<ChildStdin>>>);

impl Lifeline {
    /// Makes the guard kill the group now.
    pub(super) fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A running guard.
#[derive(Debug)]
pub(super) struct Guard {
    /// The shell process; the owner waits for it.
    pub(super) process: Child,
    /// The pipe that keeps it waiting.
    pub(super) lifeline: Lifeline,
    /// The process group that it leads.
    pub(super) group: Group,
    /// The control group that it kills; `None` if there is none.
    pub(super) control_group: Option<Arc<ControlGroup>>,
}

impl Guard {
    /// Starts a guard with a new, otherwise empty process group. The guard kills both groups when `host` ends.
    pub(super) fn start(
        shell: &Path,
        host: &ProcessIdentity,
        control_group: Option<Arc<ControlGroup>>,
    ) -> io::Result<Self> {
        let mut process = Command::new(shell)
            .args(["-c", &format!("{HOST_RUNS}{END_ALL}{WAIT}"), "guard"])
            .arg(host.pid.to_string())
            .arg(host.started.map(|tick| tick.to_string()).unwrap_or_default())
            .args(control_group.iter().map(|group| group.folder()))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Group::led_by(&process)?;
        let input = process.stdin.take();
        Ok(Self {
            process,
            lifeline: Lifeline(Arc::new(Mutex::new(input))),
            group,
            control_group,
        })
    }
}

/// A process group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(Pid);

impl Group {
    /// Returns the group of a running process that leads one.
    pub(super) fn led_by(leader: &Child) -> io::Result<Self> {
        leader
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .map(Self)
            .ok_or_else(|| io::Error::other("the process ended at once"))
    }

    /// Returns the group's number.
    pub(super) fn number(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Sends SIGINT to the group.
    pub(super) fn interrupt(self) {
        self.signal(Signal::INT);
    }

    /// Sends SIGTERM to the group, for processes that ignore SIGINT.
    pub(super) fn terminate(self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGKILL to the group.
    pub(super) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Reaps the group's processes that the host has inherited from a plugin that has ended. A host that is the first
    /// process of a container, or a subreaper, is their parent; they would otherwise remain as zombies.
    ///
    /// The leader has been waited for and the group has been killed before the call; only members of the group are
    /// touched. Returns after the first check if the host has inherited no process.
    pub(super) async fn reap(self, runtime: &Runtime) {
        let mut pause = Duration::from_millis(1);
        for _ in 0..MAX_REAP_CHECKS {
            loop {
                match waitpgid(self.0, WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            // The number is this group's as long as a member exists.
            runtime.clock.wait(pause).await;
            pause = (pause * 2).min(MAX_REAP_PAUSE);
        }
        tracing::debug!(
            group = self.number(),
            "processes of a plugin do not end after SIGKILL"
        );
    }

    fn signal(self, signal: Signal) {
        if let Err(error) = kill_process_group(self.0, signal) {
            tracing::debug!(group = self.number(), %error, "a process group could not be signalled");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that runs until it is killed.
    fn sleeper() -> std::process::Child {
        std::process::Command::new("sleep").arg("600").spawn().unwrap()
    }

    fn shells() -> impl Iterator<Item = &'static str> {
        let known = ["/bin/sh", "/bin/bash", "/bin/dash"];
        known.into_iter().filter(|shell| Path::new(shell).exists())
    }

    /// Returns the result of the guard's function for a process.
    fn host_runs(shell: &str, host: &ProcessIdentity) -> bool {
        let started = host.started.map(|tick| tick.to_string()).unwrap_or_default();
        let asked = std::process::Command::new(shell)
            .args(["-c", &format!("{HOST_RUNS}host_runs \"$1\" \"$2\""), "guard"])
            .args([host.pid.to_string(), started])
            .stderr(Stdio::null())
            .status();
        asked.unwrap().success()
    }

    /// Waits for the end of a guard.
    async fn ends(guard: &mut Guard) -> bool {
        let clock = Runtime::system(tokio::runtime::Handle::current()).clock;
        tokio::select! {
            biased;
            ended = guard.process.wait() => ended.is_ok(),
            () = clock.wait(Duration::from_secs(60)) => false,
        }
    }

    #[test]
    fn the_guard_distinguishes_a_running_host_from_an_ended_one() {
        for shell in shells() {
            let own = ProcessIdentity::of(std::process::id());
            assert!(host_runs(shell, &own), "{shell}");
            let unknown_start = ProcessIdentity {
                started: None,
                ..own.clone()
            };
            assert!(host_runs(shell, &unknown_start), "{shell}");
            if let Some(tick) = own.started {
                let earlier = ProcessIdentity {
                    started: Some(tick - 1),
                    ..own
                };
                assert!(
                    !host_runs(shell, &earlier),
                    "{shell}: another process of the same number"
                );
            }
            let mut ended = sleeper();
            let identity = ProcessIdentity::of(ended.id());
            ended.kill().unwrap();
            // A zombie until it is waited for.
            while host_runs(shell, &identity) {}
            ended.wait().unwrap();
            assert!(!host_runs(shell, &identity), "{shell}");
        }
    }

    #[tokio::test]
    async fn a_group_ends_with_its_host_although_the_pipe_stays_open() {
        for shell in shells() {
            let mut host = sleeper();
            let mut guard = Guard::start(Path::new(shell), &ProcessIdentity::of(host.id()), None).unwrap();
            host.kill().unwrap();
            host.wait().unwrap();
            assert!(ends(&mut guard).await, "{shell}");
        }
    }

    #[tokio::test]
    async fn a_group_ends_when_its_lifeline_is_released() {
        for shell in shells() {
            let own = ProcessIdentity::of(std::process::id());
            let mut guard = Guard::start(Path::new(shell), &own, None).unwrap();
            guard.lifeline.release();
            assert!(ends(&mut guard).await, "{shell}");
        }
    }
}

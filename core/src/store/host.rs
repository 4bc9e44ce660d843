//! Facts about this process and its host, by which lock files tell their owners.

use std::sync::Arc;

use crate::runtime::Timestamp;

/// Who holds the locks that this process takes, and whether other owners on this host still live.
#[derive(Clone)]
pub struct HostFacts {
    /// This process.
    pub pid: u32,
    /// The user that it runs as.
    pub username: String,
    /// The host's name.
    pub hostname: String,
    /// Tells apart the systems that share the name: two processes with the same value here see each other under the
    /// same numbers. Containers often have their host's name, but never its process numbers.
    pub system: String,
    /// Looks up other processes of this host.
    pub processes: Arc<dyn Processes>,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// There is none with this id.
    Gone,
    /// It runs since then, if that is known.
    Running(Option<Timestamp>),
    /// Nothing can be found out.
    Unknown,
}

/// Looks up processes.
pub trait Processes: Send + Sync + 'static {
    /// Tells whether a process of this host runs.
    fn state(&self, pid: u32) -> ProcessState;
}

impl HostFacts {
    /// Asks the operating system. Reads no environment variable.
    #[must_use]
    pub fn system() -> Self {
        Self {
            pid: std::process::id(),
            username: system::username(),
            hostname: system::hostname(),
            system: start::system(),
            processes: Arc::new(SystemProcesses),
        }
    }
}

impl std::fmt::Debug for HostFacts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}@{} (pid {})",
            self.username, self.hostname, self.pid
        )
    }
}

/// One process, distinguished from a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProcessIdentity {
    /// Its number.
    pub(crate) pid: u32,
    /// The tick of the kernel at which it started, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<u64>,
    /// As [`HostFacts::system`].
    pub(crate) system: String,
}

impl ProcessIdentity {
    /// Returns the identity of a running process of this system.
    pub(crate) fn of(pid: u32) -> Self {
        Self {
            pid,
            started: start::ticks(pid),
            system: start::system(),
        }
    }

    /// Returns whether the process is known to have ended. Nothing is known of processes of other systems.
    pub(crate) fn has_ended(&self) -> bool {
        if self.system != start::system() {
            return false;
        }
        match system::process(self.pid) {
            ProcessState::Gone => true,
            ProcessState::Running(_) | ProcessState::Unknown => {
                let now = start::ticks(self.pid);
                self.started.is_some() && now.is_some() && self.started != now
            }
        }
    }
}

/// The processes of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemProcesses;

impl Processes for SystemProcesses {
    fn state(&self, pid: u32) -> ProcessState {
        system::process(pid)
    }
}

mod system {
    use super::ProcessState;

    pub(super) fn hostname() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// Finds the user's name in the system's list; the number does when it is not there.
    pub(super) fn username() -> String {
        let id = rustix::process::getuid().as_raw().to_string();
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        users
            .lines()
            .find_map(|line| {
                let mut fields = line.split(':');
                let name = fields.next()?;
                (fields.nth(1)? == id).then(|| name.to_owned())
            })
            .unwrap_or(id)
    }

    pub(super) fn process(pid: u32) -> ProcessState {
        let Some(id) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
            return ProcessState::Gone;
        };
        match rustix::process::test_kill_process(id) {
            Err(rustix::io::Errno::SRCH) => ProcessState::Gone,
            // Not being allowed to signal it proves that it is there.
            _ => super::start::running(pid),
        }
    }
}

mod start {
    use std::fs::read_to_string;

    use super::{ProcessState, Timestamp};

    /// Names this boot and the namespace of the process numbers.
    pub(super) fn system() -> String {
        let boot = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {}", boot.trim(), namespace.display())
    }

    /// Finds out since when a process runs; one that has ended and waits for its parent is gone.
    pub(super) fn running(pid: u32) -> ProcessState {
        match stat(pid) {
            Some((true, _)) => ProcessState::Gone,
            Some((false, ticks)) => ProcessState::Running(ticks.and_then(started)),
            None => ProcessState::Running(None),
        }
    }

    /// Returns the tick of the kernel at which a process started.
    pub(super) fn ticks(pid: u32) -> Option<u64> {
        stat(pid)?.1
    }

    /// Returns whether a process has ended, and its starting tick; `None` where nothing can be read about it.
    fn stat(pid: u32) -> Option<(bool, Option<u64>)> {
        let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is a name in parentheses, which may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let has_ended = matches!(fields.next(), Some("Z" | "X"));
        Some((has_ended, fields.nth(18).and_then(|ticks| ticks.parse().ok())))
    }

    /// Turns the kernel's count of ticks since it started into a time.
    fn started(ticks: u64) -> Option<Timestamp> {
        let boot: i64 = read_to_string("/proc/stat")
            .ok()?
            .lines()
            .find_map(|line| line.strip_prefix("btime "))?
            .trim()
            .parse()
            .ok()?;
        let seconds = i64::try_from(ticks / rustix::param::clock_ticks_per_second()).ok()?;
        Timestamp::from_second(boot + seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_an_impossible_one_does_not() {
        let facts = HostFacts::system();
        assert!(!facts.hostname.is_empty() && !facts.username.is_empty());
        assert_eq!(facts.processes.state(0), ProcessState::Gone);
        assert_eq!(facts.processes.state(u32::MAX), ProcessState::Gone);
        let ProcessState::Running(started) = facts.processes.state(facts.pid) else {
            panic!("this process runs");
        };
        assert!(started.unwrap() > Timestamp::from_second(1_500_000_000).unwrap());
    }
    #[test]
    fn a_process_has_ended_once_its_number_is_free_or_belongs_to_a_later_one() {
        let own = ProcessIdentity::of(std::process::id());
        assert!(!own.has_ended());
        let gone = ProcessIdentity {
            pid: u32::MAX,
            ..own.clone()
        };
        assert!(gone.has_ended());
        let elsewhere = ProcessIdentity {
            system: "another boot".to_owned(),
            ..gone
        };
        assert!(!elsewhere.has_ended(), "its number says nothing here");
        if let Some(started) = own.started {
            let earlier = ProcessIdentity {
                started: Some(started - 1),
                ..own
            };
            assert!(earlier.has_ended());
        }
    }
}

//! Facts about this process and its host, by which lock files identify their owners.

use std::sync::Arc;

use crate::runtime::Timestamp;

/// The owner of the locks that this process takes, and the lookup of other owners on this host.
#[derive(Clone)]
pub struct HostFacts {
    /// This process.
    pub pid: u32,
    /// The user of the process.
    pub username: String,
    /// The host's name.
    pub hostname: String,
    /// Distinguishes systems of the same host name: processes with the same value share the process numbers.
    /// Containers often have their host's name, but never its process numbers. Empty, or with a blank at one of its ends, it is
    /// unknown: a system unlike any other, whose process numbers mean nothing.
    pub system: String,
    /// Looks up other processes of this host.
    pub processes: Arc<dyn Processes>,
}

/// The state of a process, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// There is no process with this id.
    Gone,
    /// It runs, since this time if that is known.
    Running(Option<Timestamp>),
    /// The state cannot be determined.
    Unknown,
}

/// Looks up processes.
pub trait Processes: Send + Sync + 'static {
    /// Returns whether a process of this host runs.
    fn state(&self, pid: u32) -> ProcessState;
}

impl HostFacts {
    /// Queries the operating system. Reads no environment variable.
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

/// Returns whether both name the same system. An unknown one, of which a part could not be read, is unlike any other: nothing is
/// concluded from process numbers.
pub(super) fn is_same_system(one: &str, other: &str) -> bool {
    let is_known = !one.is_empty() && one.trim().len() == one.len();
    is_known && one == other
}

/// One process, distinguished from a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProcessIdentity {
    /// The process number.
    pub(crate) pid: u32,
    /// The kernel tick at which the process started, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<u64>,
    /// The system that numbers its processes: [`HostFacts::system`].
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

    /// Returns the identity of a process of a system. Of one that is not this system only the number is known.
    pub(crate) fn in_system(pid: u32, system: &str) -> Self {
        match *system == *start::system() {
            true => Self::of(pid),
            false => Self {
                pid,
                started: None,
                system: system.to_owned(),
            },
        }
    }

    /// Returns whether the process has a number of this system.
    pub(crate) fn is_of_this_system(&self) -> bool {
        is_same_system(&self.system, &start::system())
    }

    /// Returns whether the process is suspended: it may go on later.
    pub(crate) fn is_suspended(&self) -> bool {
        self.is_of_this_system() && start::is_suspended(self.pid)
    }

    /// Returns whether the process is known to have ended. Processes of other systems are unknown.
    pub(crate) fn has_ended(&self) -> bool {
        if !self.is_of_this_system() {
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

    /// Returns the user's name in the system's list, or the user's number when it is not listed.
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
            // A refused permission to signal it proves that it exists.
            _ => super::start::running(pid),
        }
    }
}

mod start {
    use std::fs::read_to_string;

    use super::{ProcessState, Timestamp};

    /// Returns the identity of this boot and of the namespace of process numbers.
    pub(super) fn system() -> String {
        let boot = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {}", boot.trim(), namespace.display())
    }

    /// Returns the start time of a process. A zombie is gone.
    pub(super) fn running(pid: u32) -> ProcessState {
        match stat(pid) {
            Some((true, _)) => ProcessState::Gone,
            Some((false, ticks)) => ProcessState::Running(ticks.and_then(started)),
            None => ProcessState::Running(None),
        }
    }

    /// Returns the kernel tick at which a process started.
    pub(super) fn ticks(pid: u32) -> Option<u64> {
        stat(pid)?.1
    }

    /// Returns whether a process was stopped by a signal or a debugger.
    pub(super) fn is_suspended(pid: u32) -> bool {
        fields(pid).is_some_and(|fields| fields.starts_with(['T', 't']))
    }

    /// Returns whether a process has ended, and its start tick; `None` where it cannot be read.
    fn stat(pid: u32) -> Option<(bool, Option<u64>)> {
        let fields = fields(pid)?;
        let mut fields = fields.split_ascii_whitespace();
        let has_ended = matches!(fields.next(), Some("Z" | "X"));
        Some((has_ended, fields.nth(18).and_then(|ticks| ticks.parse().ok())))
    }

    /// Returns the kernel's fields of a process, from its state on.
    fn fields(pid: u32) -> Option<String> {
        let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is a name in parentheses, which may contain any characters.
        Some(stat.rsplit_once(')')?.1.trim_start().to_owned())
    }

    /// Converts kernel ticks since boot to a time.
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
        assert!(!elsewhere.has_ended(), "its number belongs to another system");
        assert!(is_same_system(&own.system, &own.system));
        let (boot, namespace) = own.system.split_once(' ').unwrap();
        for unknown in [
            "".to_owned(),
            " ".to_owned(),
            format!("{boot} "),
            format!(" {namespace}"),
        ] {
            assert!(
                !is_same_system(&unknown, &unknown),
                "{unknown:?} is unlike any other"
            );
        }
        if let Some(started) = own.started {
            let earlier = ProcessIdentity {
                started: Some(started - 1),
                ..own
            };
            assert!(earlier.has_ended());
        }
    }
}

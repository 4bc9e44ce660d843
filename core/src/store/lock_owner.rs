//! The owner that a lock file names, and the state of its process.

use super::{HostFacts, ProcessState, host::is_same_system};
use crate::{
    error::{Error, Result},
    runtime::Timestamp,
};

/// The suffix of the user's name in this engine's lock files. Other programs show it before a lock is broken: a journal
/// beside the checkpoint may contain newer state.
pub(super) const USERNAME_SUFFIX: &str = " (stackwright: open the stack with it first)";

/// The owner that a lock file names.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Owner {
    pub(super) pid: u32,
    pub(super) username: String,
    pub(super) hostname: String,
    pub(super) timestamp: Timestamp,
    /// [`HostFacts::system`] of the owner. Only this engine's locks have it; the reference engine ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
    /// The operation: `update`, `refresh`, `destroy`, `import`, `removal`. Likewise only in this engine's locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) operation: Option<String>,
    /// The id of the operation's run. Likewise only in this engine's locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
}

impl Owner {
    /// Returns the user's name without [`USERNAME_SUFFIX`].
    pub(super) fn user(&self) -> &str {
        let name = self.username.as_str();
        name.strip_suffix(USERNAME_SUFFIX).unwrap_or(name)
    }

    /// Returns whether this engine has written the lock.
    pub(super) const fn is_of_this_engine(&self) -> bool {
        self.system.is_some()
    }

    /// Describes the owner's process and its operation; `None` when the lock names no operation.
    pub(super) fn described(&self, facts: &HostFacts) -> Option<String> {
        let operation = self.operation.as_deref()?;
        let (process, since) = (self.process(facts), self.since());
        Some(format!(
            "the {operation} that {process} began at {since} holds the stack"
        ))
    }

    fn process(&self, facts: &HostFacts) -> String {
        match self.is_of_this_system(facts) && self.pid == facts.pid {
            true => "this very process".to_owned(),
            false => format!("process {} of {}@{}", self.pid, self.user(), self.hostname),
        }
    }

    /// Returns the time at which the lock was taken.
    pub(super) fn since(&self) -> impl std::fmt::Display {
        self.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ")
    }

    /// Returns whether the lock states that the owner shares the process numbers of this process.
    fn is_of_this_system(&self, facts: &HostFacts) -> bool {
        let system = self.system.as_deref();
        self.hostname == facts.hostname && system.is_some_and(|system| is_same_system(system, &facts.system))
    }

    /// Returns whether the owner has ended without releasing its lock.
    ///
    /// Locks of the reference engine do not name the system of their process number. They are never replaced: the state
    /// of their owner is unknown.
    ///
    /// Only called while this process holds the store's own lock of the stack, so that this process has no other lock
    /// of it.
    pub(super) fn is_gone(&self, facts: &HostFacts) -> bool {
        self.is_of_this_system(facts) && (self.pid == facts.pid || self.has_ended(facts))
    }

    /// Returns whether no process of this host can be the owner. Only meaningful for owners of this host.
    fn has_ended(&self, facts: &HostFacts) -> bool {
        match facts.processes.state(self.pid) {
            ProcessState::Gone => true,
            // The id belongs to another process now. Start times are known to the second.
            ProcessState::Running(Some(started)) => started.as_second() > self.timestamp.as_second() + 1,
            ProcessState::Running(None) | ProcessState::Unknown => false,
        }
    }

    /// Returns the owner as the holder of a stack that this process has not locked; `None` when it has ended.
    ///
    /// Unlike [`Self::is_gone`] this decides only about messages, not about locks. A lock without a system, as the
    /// reference engine writes it, is therefore checked by its process number when it names this host.
    pub(super) fn holder(&self, facts: &HostFacts) -> Option<Holder> {
        let names_this_host = self.hostname == facts.hostname;
        let is_comparable = self.system.is_none() || self.is_of_this_system(facts);
        if names_this_host && is_comparable && self.has_ended(facts) {
            return None;
        }
        let text = self.described(facts).unwrap_or_else(|| {
            let (process, since) = (self.process(facts), self.since());
            format!("{process} holds the stack since {since}")
        });
        Some(Holder {
            text,
            is_alive: self.is_of_this_system(facts),
        })
    }
}

/// Whose lock is broken: a user and a host, as messages have them, and a process where one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockOwner {
    /// The user.
    pub user: String,
    /// The host.
    pub host: String,
    /// The number of the process on that host; any process when it is left out.
    pub process: Option<u32>,
}

impl LockOwner {
    /// Parses `user@host`, or `user@host:process`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let (names, process) = match text.rsplit_once(':') {
            Some((names, digits)) => (names, digits.parse().ok()),
            None => (text, None),
        };
        let is_whole = process.is_some() || !text.contains(':');
        match names.rsplit_once('@') {
            Some((user, host)) if is_whole && !user.is_empty() && !host.is_empty() => Ok(Self {
                user: user.to_owned(),
                host: host.to_owned(),
                process,
            }),
            _ => Err(
                Error::invalid(format!("{text:?} names no owner of a lock")).with_hint(
                    "an owner is user@host or user@host:process, as the error of a locked stack has them",
                ),
            ),
        }
    }

    /// Returns whether these are the owner's.
    pub(super) fn is(&self, user: &str, host: &str, process: u32) -> bool {
        self.user == user && self.host == host && self.process.is_none_or(|own| own == process)
    }
}

impl std::fmt::Display for LockOwner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}@{}", self.user, self.host)?;
        match self.process {
            Some(process) => write!(formatter, ":{process}"),
            None => Ok(()),
        }
    }
}

/// The holder of a stack's lock, in listings. What its lock file does not state, and all of a malformed one, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    /// The operation that runs: `update` for instance. Only locks of this engine state it.
    pub operation: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The number of the process on that host.
    pub process: Option<u32>,
    /// When the lock was taken.
    pub since: Option<Timestamp>,
    /// Whether the process is known to run. It is not known for those of other hosts and of other programs.
    pub is_running: bool,
}

impl LockHolder {
    /// Returns the holder that the content of a lock file names; `None` when the next operation replaces the lock, because it is one of
    /// this engine and its process has ended.
    pub(super) fn of_file(content: &[u8], facts: &HostFacts) -> Option<Self> {
        let Ok(owner) = serde_json::from_slice::<Owner>(content) else {
            return Some(Self::default());
        };
        let holder = owner.holder(facts);
        if holder.is_none() && owner.is_of_this_engine() {
            return None;
        }
        Some(Self {
            user: Some(owner.user().to_owned()),
            operation: owner.operation,
            host: Some(owner.hostname),
            process: Some(owner.pid),
            since: Some(owner.timestamp),
            is_running: holder.is_some_and(|holder| holder.is_alive),
        })
    }
}

/// The owner of a stack's lock, for callers that read the stack without a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Names the process that holds the stack, its operation and its start, without a full stop.
    pub text: String,
    /// Whether its process is known to run.
    pub is_alive: bool,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::Processes;

    /// Process 7 runs since 1970, process 9 started in 2100, no other runs.
    struct ProcessTable;

    impl Processes for ProcessTable {
        fn state(&self, pid: u32) -> ProcessState {
            let since = |text: &str| ProcessState::Running(Some(text.parse().unwrap()));
            match pid {
                7 => since("1970-01-01T00:00:00Z"),
                9 => since("2100-01-01T00:00:00Z"),
                _ => ProcessState::Gone,
            }
        }
    }

    fn seen(
        pid: u32,
        hostname: &str,
        system: Option<&str>,
        operation: Option<&str>,
    ) -> Option<(String, bool)> {
        let facts = HostFacts {
            pid: 7,
            username: "ann".to_owned(),
            hostname: "here".to_owned(),
            system: "boot".to_owned(),
            processes: Arc::new(ProcessTable),
        };
        let owner = Owner {
            pid,
            username: format!("bob{USERNAME_SUFFIX}"),
            hostname: hostname.to_owned(),
            timestamp: "2026-01-02T03:04:05Z".parse().unwrap(),
            system: system.map(str::to_owned),
            operation: operation.map(str::to_owned),
            run: None,
        };
        let holder = owner.holder(&facts)?;
        Some((holder.text, holder.is_alive))
    }

    #[test]
    fn a_running_process_holds_the_stack_and_an_ended_one_does_not() {
        let this = "the update that this very process began at 2026-01-02T03:04:05Z holds the stack";
        assert_eq!(
            seen(7, "here", Some("boot"), Some("update")),
            Some((this.to_owned(), true))
        );
        assert_eq!(seen(8, "here", Some("boot"), Some("update")), None);
        assert_eq!(
            seen(9, "here", Some("boot"), Some("update")),
            None,
            "it started later"
        );
    }

    #[test]
    fn an_owner_is_a_user_a_host_and_perhaps_a_process() {
        let ann = LockOwner::parse("ann@there").unwrap();
        assert!(ann.is("ann", "there", 7) && ann.is("ann", "there", 8));
        assert!(!ann.is("bob", "there", 7) && !ann.is("ann", "here", 7));
        let process = LockOwner::parse("ann@example.com@there:7").unwrap();
        assert_eq!(process.to_string(), "ann@example.com@there:7");
        assert!(process.is("ann@example.com", "there", 7) && !process.is("ann@example.com", "there", 8));
        for text in ["", "ann", "@there", "ann@", "ann@there:", "ann@there:x", "ann:7"] {
            assert!(LockOwner::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn processes_of_other_systems_are_unknown() {
        let other = "the update that process 8 of bob@there began at 2026-01-02T03:04:05Z holds the stack";
        assert_eq!(
            seen(8, "there", Some("boot"), Some("update")),
            Some((other.to_owned(), false))
        );
        let container = seen(8, "here", Some("another"), Some("update"));
        assert!(!container.unwrap().1);
        let facts = HostFacts {
            system: " ".to_owned(),
            ..HostFacts::system()
        };
        let owner = Owner {
            pid: u32::MAX,
            username: "bob".to_owned(),
            hostname: facts.hostname.clone(),
            timestamp: "2026-01-02T03:04:05Z".parse().unwrap(),
            system: Some(facts.system.clone()),
            operation: None,
            run: None,
        };
        assert!(!owner.is_gone(&facts), "both systems are unknown");
        assert!(!owner.holder(&facts).unwrap().is_alive);
    }

    #[test]
    fn a_listing_has_each_lock_that_refuses_operations() {
        let facts = HostFacts::system();
        let listed = |system: Option<&str>| {
            // No process has this number.
            let file = serde_json::json!({
                "pid": i32::MAX, "username": "bob", "hostname": facts.hostname, "timestamp": "2026-01-02T03:04:05Z", "system": system,
            });
            LockHolder::of_file(file.to_string().as_bytes(), &facts)
        };
        assert_eq!(
            listed(Some(&facts.system)),
            None,
            "the next operation replaces it"
        );
        let reference = listed(None).unwrap();
        assert_eq!(reference.user.as_deref(), Some("bob"));
        assert!(!reference.is_running);
    }

    #[test]
    fn a_lock_of_the_reference_engine_is_checked_by_its_process_number_on_this_host() {
        let text = "process 7 of bob@here holds the stack since 2026-01-02T03:04:05Z";
        assert_eq!(seen(7, "here", None, None), Some((text.to_owned(), false)));
        assert_eq!(seen(8, "here", None, None), None);
        assert!(seen(8, "there", None, None).is_some());
    }
}

//! What a lock file says of its owner, and what can be known of that process.

use super::{HostFacts, ProcessState};
use crate::runtime::Timestamp;

/// What follows the user's name in this engine's lock files. Other programs show it to those who are about to break a lock: a
/// journal beside the checkpoint may have what the checkpoint has not.
pub(super) const USERNAME_SUFFIX: &str = " (stackwright: open the stack with it first)";

/// What a lock file says of its owner.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Owner {
    pub(super) pid: u32,
    pub(super) username: String,
    pub(super) hostname: String,
    pub(super) timestamp: Timestamp,
    /// [`HostFacts::system`] of the owner. Only this engine's locks have it; the reference engine passes it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
    /// What it does with the stack: `update`, `refresh`, `destroy`, `import`, `removal`. Likewise only in this engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) operation: Option<String>,
}

impl Owner {
    /// Returns the user's name without what is said to users of other programs.
    pub(super) fn user(&self) -> &str {
        let name = self.username.as_str();
        name.strip_suffix(USERNAME_SUFFIX).unwrap_or(name)
    }

    /// Says in words who holds the stack and what for, where the lock tells more than its line does.
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

    /// Returns when the lock was taken.
    pub(super) fn since(&self) -> impl std::fmt::Display {
        self.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ")
    }

    /// Tells whether process numbers of the owner are those of this process, as far as the lock says it.
    fn is_of_this_system(&self, facts: &HostFacts) -> bool {
        self.hostname == facts.hostname && self.system.as_ref() == Some(&facts.system)
    }

    /// Tells whether the owner can no longer come back to release its lock.
    ///
    /// The lock of the reference engine does not name the system that its process number belongs to. It is never replaced: whether
    /// its owner has ended is not known.
    ///
    /// Only asked while this process holds the store's own lock of the stack, which no other lock of this very process
    /// can survive.
    pub(super) fn is_gone(&self, facts: &HostFacts) -> bool {
        self.is_of_this_system(facts) && (self.pid == facts.pid || self.has_ended(facts))
    }

    /// Tells whether no process of this host can be the owner. That means something only for owners of this host.
    fn has_ended(&self, facts: &HostFacts) -> bool {
        match facts.processes.state(self.pid) {
            ProcessState::Gone => true,
            // The id went to another process. Start times are known to the second.
            ProcessState::Running(Some(started)) => started.as_second() > self.timestamp.as_second() + 1,
            ProcessState::Running(None) | ProcessState::Unknown => false,
        }
    }

    /// Returns the owner as the holder of a stack that this process has not locked; `None` when it has ended.
    ///
    /// Unlike [`Self::is_gone`] this decides about no lock, only about what is said. A lock without a system, as the reference
    /// engine writes it, is therefore judged by its process number when it names this host.
    pub(super) fn holder(&self, facts: &HostFacts) -> Option<Holder> {
        let names_this_host = self.hostname == facts.hostname;
        let is_comparable = self.system.is_none() || self.system.as_ref() == Some(&facts.system);
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

/// The owner of a stack's lock, as one that reads the stack without a lock sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Says which process holds the stack, what for and since when, without a full stop.
    pub text: String,
    /// Whether its process runs; otherwise nothing is known of it.
    pub is_alive: bool,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::Processes;

    /// Process 7 runs since 1970, process 9 started in 2100, no other runs.
    struct Table;

    impl Processes for Table {
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
            processes: Arc::new(Table),
        };
        let owner = Owner {
            pid,
            username: format!("bob{USERNAME_SUFFIX}"),
            hostname: hostname.to_owned(),
            timestamp: "2026-01-02T03:04:05Z".parse().unwrap(),
            system: system.map(str::to_owned),
            operation: operation.map(str::to_owned),
        };
        let holder = owner.holder(&facts)?;
        Some((holder.text, holder.is_alive))
    }

    #[test]
    fn a_process_that_runs_holds_the_stack_and_one_that_has_ended_does_not() {
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
    fn nothing_is_known_of_processes_of_other_systems() {
        let other = "the update that process 8 of bob@there began at 2026-01-02T03:04:05Z holds the stack";
        assert_eq!(
            seen(8, "there", Some("boot"), Some("update")),
            Some((other.to_owned(), false))
        );
        let container = seen(8, "here", Some("another"), Some("update"));
        assert!(!container.unwrap().1);
    }

    #[test]
    fn a_lock_of_the_reference_engine_is_judged_by_its_process_number_on_this_host() {
        let text = "process 7 of bob@here holds the stack since 2026-01-02T03:04:05Z";
        assert_eq!(seen(7, "here", None, None), Some((text.to_owned(), false)));
        assert_eq!(seen(8, "here", None, None), None);
        assert!(seen(8, "there", None, None).is_some());
    }
}

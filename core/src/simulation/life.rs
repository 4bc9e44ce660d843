//! The moments of a run at which it can be killed, and whether it was.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts the moments of a run, and ends it at a given one: no later call and no later write has an effect.
#[derive(Debug, Default)]
pub(super) struct Life(Mutex<Moments>);

#[derive(Debug, Default)]
struct Moments {
    /// The moment at which the run is killed, counted from 0.
    fatal: Option<u64>,
    passed: u64,
    /// What the run was killed at; `None` while it lives.
    death: Option<String>,
}

impl Life {
    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a new run, which is killed at a moment.
    pub(super) fn begin(&self, fatal: Option<u64>) {
        *self.moments() = Moments {
            fatal,
            ..Moments::default()
        };
    }

    /// Counts a moment, and returns whether the run still lives.
    pub(super) fn pass(&self, describe: impl FnOnce() -> String) -> bool {
        let mut moments = self.moments();
        if moments.death.is_some() {
            return false;
        }
        let number = moments.passed;
        moments.passed += 1;
        if moments.fatal == Some(number) {
            moments.death = Some(describe());
            return false;
        }
        true
    }

    /// Kills the run.
    pub(super) fn kill(&self, at: String) {
        self.moments().death.get_or_insert(at);
    }

    /// Returns what the run was killed at.
    pub(super) fn death(&self) -> Option<String> {
        self.moments().death.clone()
    }

    /// Returns how many moments have passed.
    pub(super) fn passed(&self) -> u64 {
        self.moments().passed
    }
}

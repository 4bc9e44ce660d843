//! Leases: the locks of remote stores. A holder renews its lease; one that no longer does loses it to the next one.
//!
//! No clock of another host is read. A lease has expired when an observer has seen its record unchanged for the lease's length by
//! its own monotonic clock. Until another one has taken over, a holder that was suspended renews its lease and goes on.

mod abandoned;
mod holder;
mod observer;
mod record;

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use super::{
    Condition, HostFacts, LockGuard, LockPurpose, ProcessIdentity, Version, locked, pace::REWRITE_INTERVAL,
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};
use abandoned::Abandoned;
use holder::{Held, LeaseGuard, State};
pub(super) use record::LeaseRecords;
use record::{Record, encoded};

/// The length of a lease by default.
pub(super) const DEFAULT_LENGTH: Duration = Duration::from_secs(30);

/// The lengths that a lease may have: at least two renewals.
pub(super) const LENGTHS: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(3600);

/// How often a lease is renewed within its length, unless that is more often than an object may be written.
const RENEWALS: u32 = 3;

/// How often an observer looks at a lease within its length.
const LOOKS: u32 = 30;

/// The limit of attempts to take a lease that others take and release meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// The leases of a store.
#[derive(Clone)]
pub(super) struct Leases {
    records: Arc<dyn LeaseRecords>,
    runtime: Runtime,
    length: Duration,
    /// This process, its user and its host.
    holder: ProcessIdentity,
    facts: HostFacts,
    held: Arc<Mutex<BTreeMap<String, Arc<Held>>>>,
    /// The records that nothing holds: their writes or their releases have failed.
    abandoned: Arc<Abandoned>,
}

impl std::fmt::Debug for Leases {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Leases").finish_non_exhaustive()
    }
}

impl Leases {
    pub(in crate::store) fn new(
        records: Arc<dyn LeaseRecords>,
        runtime: Runtime,
        length: Duration,
        facts: &HostFacts,
    ) -> Self {
        Self {
            records,
            runtime,
            length,
            holder: ProcessIdentity::in_system(facts.pid, &facts.system),
            facts: facts.clone(),
            held: Arc::default(),
            abandoned: Arc::default(),
        }
    }

    /// Returns the time between two renewals.
    pub(in crate::store) fn interval(&self) -> Duration {
        (self.length / RENEWALS).max(REWRITE_INTERVAL)
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether this process holds one of the leases.
    pub(in crate::store) fn are_held(&self) -> bool {
        !self.held().is_empty()
    }

    /// Returns the time since the start of this system, in milliseconds, as records have it.
    fn since_boot(&self) -> Option<u64> {
        let since = self.runtime.clock.since_boot()?;
        u64::try_from(since.as_millis()).ok()
    }

    /// Takes a lease for an operation. Waits, no longer than its length and than the purpose allows, until the holder is known to be alive
    /// or to have ended.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when another one holds it, which is named, or may hold it.
    pub(in crate::store) async fn take(
        &self,
        name: &str,
        purpose: Option<LockPurpose<'_>>,
    ) -> Result<Box<dyn LockGuard>> {
        if self.held().contains_key(name) {
            return Err(locked(name));
        }
        let max_wait = purpose.and_then(|purpose| purpose.max_wait);
        let deadline = max_wait.map(|max_wait| self.runtime.clock.elapsed().saturating_add(max_wait));
        for _ in 0..MAX_ATTEMPTS {
            let (condition, is_unfenced) = match self.records.read(name).await? {
                None => (Condition::Absent, false),
                Some(object) => match self.outlasted(name, object, deadline).await? {
                    Some(ended) => (Condition::Match(ended.version), ended.is_unfenced),
                    None => continue,
                },
            };
            match self.begin(name, purpose, condition, is_unfenced).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                taken => return taken,
            }
        }
        Err(locked(name))
    }

    async fn begin(
        &self,
        name: &str,
        purpose: Option<LockPurpose<'_>>,
        condition: Condition,
        is_unfenced: bool,
    ) -> Result<Box<dyn LockGuard>> {
        let record = Record {
            mark: self.runtime.random.uuid(),
            renewals: 0,
            length: u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX),
            holder: self.holder.clone(),
            renewed: self.since_boot(),
            user: self.facts.username.clone(),
            host: self.facts.hostname.clone(),
            operation: purpose.map(|purpose| purpose.operation.to_owned()),
            run: purpose.and_then(|purpose| purpose.run).map(str::to_owned),
            is_released: false,
            is_unfenced: is_unfenced && !self.records.checks_writes(),
        };
        let renewed = self.runtime.clock.elapsed();
        let text = encoded(&record)?;
        let unconfirmed = Unconfirmed {
            leases: self,
            name,
            mark: Some(record.mark.clone()),
        };
        let written = self.records.write(name, &record.mark, text, condition).await;
        let version = match written {
            Ok(version) => Ok(version),
            Err(error) => self.read_back(name, &record.mark, error).await,
        };
        unconfirmed.settle();
        let version = version?;
        let held = Arc::new(Held {
            name: name.to_owned(),
            mark: record.mark.clone(),
            is_lost: AtomicBool::new(false),
            is_unfenced: AtomicBool::new(record.is_unfenced),
            state: tokio::sync::Mutex::new(State {
                record,
                version,
                renewed,
            }),
        });
        self.held().insert(name.to_owned(), Arc::clone(&held));
        self.keep_alive(Arc::downgrade(&held));
        Ok(Box::new(LeaseGuard {
            leases: self.clone(),
            held: Some(held),
        }))
    }

    /// Returns the version of a record that was written although the write has failed: its answer was lost.
    ///
    /// # Errors
    /// The error of the write. A record that may still arrive is released then.
    async fn read_back(&self, name: &str, mark: &str, error: Error) -> Result<Version> {
        match self.records.read(name).await {
            Ok(Some(object)) if Record::of(&object).is_some_and(|record| record.mark == mark) => {
                Ok(object.version)
            }
            Ok(_) if error.kind() == ErrorKind::Conflict => Err(error),
            _ => {
                self.abandon(name, mark, None);
                Err(error)
            }
        }
    }
}

/// A record that is being written. Dropped before its end is known, as by the cancellation of what waits for the lock, the record is released
/// as soon as it is found.
struct Unconfirmed<'a> {
    leases: &'a Leases,
    name: &'a str,
    /// The record's mark until the end of the write is known.
    mark: Option<String>,
}

impl Unconfirmed<'_> {
    fn settle(mut self) {
        self.mark = None;
    }
}

impl Drop for Unconfirmed<'_> {
    fn drop(&mut self) {
        if let Some(mark) = &self.mark {
            self.leases.abandon(self.name, mark, None);
        }
    }
}

#[cfg(test)]
mod tests;

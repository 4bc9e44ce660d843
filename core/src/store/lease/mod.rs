//! Leases: the locks of remote stores. A holder renews its lease; one that no longer does loses it to the next one.
//!
//! No clock of another host is read. A lease has expired when an observer has seen its record unchanged for the lease's length by
//! its own monotonic clock. Until another one has taken over, a holder that was suspended renews its lease and goes on.

mod holder;
mod observer;
mod record;

use std::{
    collections::{BTreeMap, BTreeSet},
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
    /// The marks of records that may be written although their writes have failed: nothing holds them.
    abandoned: Arc<Mutex<BTreeSet<String>>>,
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

    /// Takes a lease for an operation. Waits, no longer than its length, until the holder is known to be alive or to have ended.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when another one holds it, which is named.
    pub(in crate::store) async fn take(
        &self,
        name: &str,
        purpose: Option<LockPurpose<'_>>,
    ) -> Result<Box<dyn LockGuard>> {
        if self.held().contains_key(name) {
            return Err(locked(name));
        }
        for _ in 0..MAX_ATTEMPTS {
            let (condition, is_unfenced) = match self.records.read(name).await? {
                None => (Condition::Absent, false),
                Some(object) => match self.outlasted(name, object).await? {
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
                self.abandon(name, mark);
                Err(error)
            }
        }
    }

    /// Releases a record that nothing holds, as soon as it is found: its holder would seem to be alive as long as this process is.
    fn abandon(&self, name: &str, mark: &str) {
        let mut abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.insert(mark.to_owned());
        drop(abandoned);
        let (leases, name, mark) = (self.clone(), name.to_owned(), mark.to_owned());
        drop(self.runtime.spawner.spawn(async move {
            for _ in 0..MAX_ATTEMPTS {
                leases.runtime.clock.wait(leases.length / RENEWALS).await;
                let Ok(Some(object)) = leases.records.read(&name).await else {
                    continue;
                };
                let own = Record::of(&object).filter(|record| record.mark == mark);
                let Some(Ok(released)) = own.map(|record| encoded(&record.released())) else {
                    continue;
                };
                let release = leases.records.release(&name, &mark, released, &object.version);
                if release.await.is_ok() {
                    return;
                }
            }
        }));
    }

    fn is_abandoned(&self, record: &Record) -> bool {
        let abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.contains(&record.mark)
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
            self.leases.abandon(self.name, mark);
        }
    }
}

#[cfg(test)]
mod tests;

//! Leases: the locks of remote stores. A holder renews its lease; one that no longer does loses it to the next one.
//!
//! No clock of another host is read. A lease has expired when an observer has seen its record unchanged for the lease's length by
//! its own monotonic clock. Until another one has taken over, a holder that was suspended renews its lease and goes on.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    Condition, HostFacts, LockGuard, LockOwner, Object, ProcessIdentity, StackName, Version, layout, locked,
    pace::REWRITE_INTERVAL, repeated,
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

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

/// Where leases are recorded.
#[async_trait]
pub(super) trait LeaseRecords: Send + Sync + 'static {
    /// Reads the record of a lease.
    async fn read(&self, name: &str) -> Result<Option<Object>>;

    /// Writes the record of a lease. `mark` is that of its holder.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the condition does not hold.
    async fn write(&self, name: &str, mark: &str, record: Bytes, condition: Condition) -> Result<Version>;

    /// Ends a lease whose record has this version: removes the record, or, where the store cannot remove under a condition, replaces
    /// it by `released`. `mark` is that of its holder.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the record has another version, which stays.
    async fn release(&self, name: &str, mark: &str, released: Bytes, version: &Version) -> Result<()>;
}

/// The record of a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// Distinguishes each taking of a lease from all others.
    mark: String,
    /// Makes each record different from the one before.
    renewals: u64,
    /// In milliseconds.
    length: u64,
    holder: ProcessIdentity,
    /// The user and the host of the holder, for messages.
    #[serde(default)]
    user: String,
    #[serde(default)]
    host: String,
    /// The operation that holds the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    /// Whether the holder has released the lease: the next one takes it at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_released: bool,
}

impl Record {
    fn of(object: &Object) -> Option<Self> {
        serde_json::from_slice(&object.bytes).ok()
    }

    /// Returns the record of the holder that has released the lease.
    fn released(&self) -> Self {
        Self {
            renewals: self.renewals + 1,
            is_released: true,
            ..self.clone()
        }
    }

    /// The error of another one that wants the lease.
    fn conflict(&self, name: &str) -> Error {
        let operation = self.operation.as_deref().unwrap_or("operation");
        let text = format!(
            "the lease of {name} is held by the {operation} of process {} of {}@{}",
            self.holder.pid, self.user, self.host
        );
        Error::new(ErrorKind::Conflict, text)
    }
}

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

/// A lease that this process has taken.
struct Held {
    name: String,
    mark: String,
    is_lost: AtomicBool,
    state: tokio::sync::Mutex<State>,
}

struct State {
    record: Record,
    version: Version,
    /// When the last renewal began, by the monotonic clock.
    renewed: Duration,
}

impl Leases {
    pub(super) fn new(
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

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a lease for an operation. Waits, no longer than its length, until the holder is known to be alive or to have ended.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when another one holds it, which is named.
    pub(super) async fn take(&self, name: &str, operation: Option<&str>) -> Result<Box<dyn LockGuard>> {
        if self.held().contains_key(name) {
            return Err(locked(name));
        }
        for _ in 0..MAX_ATTEMPTS {
            let condition = match self.records.read(name).await? {
                None => Condition::Absent,
                Some(object) => match self.outlasted(name, object).await? {
                    Some(version) => Condition::Match(version),
                    None => continue,
                },
            };
            match self.begin(name, operation, condition).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                taken => return taken,
            }
        }
        Err(locked(name))
    }

    async fn begin(
        &self,
        name: &str,
        operation: Option<&str>,
        condition: Condition,
    ) -> Result<Box<dyn LockGuard>> {
        let record = Record {
            mark: self.runtime.random.uuid(),
            renewals: 0,
            length: u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX),
            holder: self.holder.clone(),
            user: self.facts.username.clone(),
            host: self.facts.hostname.clone(),
            operation: operation.map(str::to_owned),
            is_released: false,
        };
        let renewed = self.runtime.clock.elapsed();
        let written = self
            .records
            .write(name, &record.mark, encoded(&record)?, condition)
            .await;
        let version = match written {
            Ok(version) => version,
            Err(error) => self.read_back(name, &record.mark, error).await?,
        };
        let held = Arc::new(Held {
            name: name.to_owned(),
            mark: record.mark.clone(),
            is_lost: AtomicBool::new(false),
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

    /// Observes a lease of another holder. Returns its version once it has expired or was released; `None` when it is gone.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the holder is alive.
    async fn outlasted(&self, name: &str, first: Object) -> Result<Option<Version>> {
        let record = Record::of(&first);
        if let Some(record) = &record {
            if record.is_released || record.holder.has_ended() || self.is_abandoned(record) {
                return Ok(Some(first.version));
            }
            // Of a process elsewhere only the renewals are seen.
            if record.holder.is_of_this_system() && !record.holder.is_suspended() {
                return Err(record.conflict(name));
            }
        }
        let length = record.map_or(self.length, |record| Duration::from_millis(record.length));
        let begin = self.runtime.clock.elapsed();
        loop {
            self.runtime.clock.wait(length / LOOKS).await;
            match self.records.read(name).await? {
                None => return Ok(None),
                Some(object) if object.version != first.version => {
                    return match Record::of(&object) {
                        Some(record) if record.is_released => Ok(Some(object.version)),
                        Some(record) => Err(record.conflict(name)),
                        None => Err(locked(name)),
                    };
                }
                // The look itself came after the end of the lease.
                Some(_) if self.runtime.clock.elapsed().saturating_sub(begin) >= length => {
                    tracing::info!(name, "taking over a lease that its holder has not renewed");
                    return Ok(Some(first.version));
                }
                Some(_) => {}
            }
        }
    }

    /// Ends the lease of an owner, who finds it taken over, and returns whether the owner held it.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn break_held(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(object) = self.records.read(name).await? else {
                return Ok(false);
            };
            let is_owner = |record: &Record| owner.is(&record.user, &record.host, record.holder.pid);
            let Some(record) = Record::of(&object).filter(|record| !record.is_released && is_owner(record))
            else {
                return Ok(false);
            };
            // The holder takes another mark for that of a successor.
            let broken = Record {
                mark: self.runtime.random.uuid(),
                renewals: record.renewals + 1,
                is_released: true,
                ..record
            };
            let released = encoded(&broken)?;
            match self
                .records
                .release(name, &broken.mark, released, &object.version)
                .await
            {
                // It was renewed meanwhile.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                broken => return broken.map(|()| true),
            }
        }
        Err(locked(name))
    }

    /// Renews a lease until its guard is dropped, or it is lost.
    fn keep_alive(&self, held: Weak<Held>) {
        let leases = self.clone();
        let interval = (self.length / RENEWALS).max(REWRITE_INTERVAL);
        drop(self.runtime.spawner.spawn(async move {
            loop {
                leases.runtime.clock.wait(interval).await;
                let Some(held) = held.upgrade() else {
                    return;
                };
                match leases.renew(&held).await {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::Conflict => return,
                    Err(error) => tracing::warn!(%error, name = held.name, "a lease was not renewed"),
                }
            }
        }));
    }

    /// Writes the record again.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when another holder has taken over.
    async fn renew(&self, held: &Held) -> Result<()> {
        let mut state = held.state.lock().await;
        if held.is_lost.load(Ordering::SeqCst) {
            return Err(taken_over(&held.name));
        }
        let mut record = state.record.clone();
        record.renewals += 1;
        let renewed = self.runtime.clock.elapsed();
        let condition = Condition::Match(state.version.clone());
        match self
            .records
            .write(&held.name, &held.mark, encoded(&record)?, condition)
            .await
        {
            Ok(version) => {
                *state = State {
                    record,
                    version,
                    renewed,
                };
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                // An earlier renewal of ours may have been done, and its answer been lost.
                if let Some(object) = self.records.read(&held.name).await?
                    && let Some(found) = Record::of(&object)
                    && found.mark == held.mark
                {
                    *state = State {
                        record: found,
                        version: object.version,
                        renewed,
                    };
                    return Ok(());
                }
                held.is_lost.store(true, Ordering::SeqCst);
                Err(taken_over(&held.name))
            }
            Err(error) => Err(error),
        }
    }

    /// Checks that this process still has the lease of an object's stack where it has taken it, by the record and not by its clock: that
    /// of a host that was suspended does not show how long that took. Nothing is written.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub(super) async fn confirm(&self, key: &str) -> Result<()> {
        let Some(held) = self.held_over(key) else {
            return Ok(());
        };
        let found = self.records.read(&held.name).await?;
        let record = found.as_ref().and_then(Record::of);
        if record.is_some_and(|record| record.mark == held.mark) && !held.is_lost.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(self.lose(&held.name))
    }

    /// Returns the lease that this process has taken over the stack of an object.
    fn held_over(&self, key: &str) -> Option<Arc<Held>> {
        let held = self.held();
        let over = held.values().filter(|held| covers(&held.name, key));
        over.max_by_key(|held| held.name.len()).cloned()
    }

    /// Checks, before an object is written, the lease of its stack where this process has taken it. A lease whose length has passed
    /// is renewed first. Returns the lease's name and the holder's mark.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when another holder has taken over, and those of the store.
    pub(super) async fn check(&self, key: &str) -> Result<Option<(String, String)>> {
        let Some(held) = self.held_over(key) else {
            return Ok(None);
        };
        if held.is_lost.load(Ordering::SeqCst) {
            return Err(taken_over(&held.name));
        }
        let renewed = held.state.lock().await.renewed;
        if self.runtime.clock.elapsed().saturating_sub(renewed) >= self.length {
            self.renew(&held).await?;
        }
        Ok(Some((held.name.clone(), held.mark.clone())))
    }

    /// Notes that a write was refused because another holder has taken over.
    pub(super) fn lose(&self, name: &str) -> Error {
        if let Some(held) = self.held().get(name) {
            held.is_lost.store(true, Ordering::SeqCst);
        }
        taken_over(name)
    }

    /// Releases a lease. A failed attempt is repeated: until the lease has expired, the next holder would wait for nothing.
    async fn release(&self, held: &Held) -> Result<()> {
        let state = held.state.lock().await;
        let released = match held.is_lost.load(Ordering::SeqCst) {
            true => Ok(()),
            false => repeated(&self.runtime, || self.end(held, &state)).await,
        };
        // No renewal follows.
        held.is_lost.store(true, Ordering::SeqCst);
        self.held().remove(&held.name);
        released
    }

    async fn end(&self, held: &Held, state: &State) -> Result<()> {
        let released = encoded(&state.record.released())?;
        let release = self
            .records
            .release(&held.name, &held.mark, released, &state.version);
        match release.await {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            released => return released,
        }
        // The answer to the last renewal may have been lost.
        let found = self.records.read(&held.name).await?;
        let own = found.and_then(|object| Some((Record::of(&object)?, object.version)));
        match own.filter(|(record, _)| record.mark == held.mark && !record.is_released) {
            Some((record, version)) => {
                let released = encoded(&record.released())?;
                self.records
                    .release(&held.name, &held.mark, released, &version)
                    .await
            }
            // The new holder's record stays.
            None => Ok(()),
        }
    }
}

/// Returns whether the lease of a stack covers the object `key`.
fn covers(name: &str, key: &str) -> bool {
    let Some(stack) = name
        .strip_prefix(layout::ORGANIZATION)
        .and_then(|name| name.strip_prefix('/'))
        .and_then(|name| StackName::parse(name).ok())
    else {
        return false;
    };
    let journal = stack.journal();
    let journals = journal.trim_end_matches("journal");
    key.starts_with(&stack.checkpoint_prefix())
        || key.starts_with(journals)
        || key.starts_with(&stack.history())
}

fn encoded(record: &Record) -> Result<Bytes> {
    serde_json::to_vec(record)
        .map(Bytes::from)
        .map_err(|error| Error::internal(format!("writing a lease: {error}")))
}

fn taken_over(name: &str) -> Error {
    let text = format!(
        "another host has taken over the lease of {name}: it was not renewed in time, or it was removed"
    );
    Error::new(ErrorKind::Conflict, text).with_hint(
        "this operation writes no more; calls of providers that were in progress are pending operations of the next one",
    )
}

/// A held lease.
struct LeaseGuard {
    leases: Leases,
    held: Option<Arc<Held>>,
}

#[async_trait]
impl LockGuard for LeaseGuard {
    fn replaces_holders(&self) -> bool {
        true
    }

    async fn release(mut self: Box<Self>) {
        if let Some(held) = self.held.take()
            && let Err(error) = self.leases.release(&held).await
        {
            tracing::warn!(%error, name = held.name, "a lease could not be released; it expires");
        }
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let leases = self.leases.clone();
            drop(self.leases.runtime.spawner.spawn(async move {
                if let Err(error) = leases.release(&held).await {
                    tracing::warn!(%error, name = held.name, "a lease could not be released; it expires");
                }
            }));
        }
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;

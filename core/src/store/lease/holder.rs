//! Holding a lease: its renewals, the checks before writes, its release.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;

use super::{Leases, Record, encoded};
use crate::{
    error::{Error, ErrorKind, Result},
    store::{Condition, LockGuard, StackName, Version, ends, layout, repeated},
};

/// A lease that this process has taken.
pub(super) struct Held {
    pub name: String,
    pub mark: String,
    pub is_lost: AtomicBool,
    /// Whether conditional writes of former holders, or of this one, may still arrive and succeed.
    pub is_unfenced: AtomicBool,
    pub state: tokio::sync::Mutex<State>,
}

pub(super) struct State {
    pub record: Record,
    pub version: Version,
    /// When the last renewal began, by the monotonic clock.
    pub renewed: Duration,
}

impl Held {
    /// Returns a record as it is to be written.
    fn record(&self, record: Record) -> Record {
        Record {
            is_unfenced: self.is_unfenced.load(Ordering::SeqCst),
            ..record
        }
    }
}

impl Leases {
    /// Renews a lease until its guard is dropped, or it is lost.
    pub(super) fn keep_alive(&self, held: Weak<Held>) {
        let leases = self.clone();
        let interval = self.interval();
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
        let mut record = held.record(state.record.clone());
        record.renewals += 1;
        record.renewed = self.since_boot();
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
    pub(in crate::store) async fn confirm(&self, key: &str) -> Result<()> {
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
    pub(in crate::store) async fn check(&self, key: &str) -> Result<Option<(String, String)>> {
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
    pub(in crate::store) fn lose(&self, name: &str) -> Error {
        if let Some(held) = self.held().get(name) {
            held.is_lost.store(true, Ordering::SeqCst);
        }
        taken_over(name)
    }

    /// Notes that a checkpoint is about to be written: until its result is known, and also when the caller is dropped, it may arrive
    /// at any time. Returns whether that was so before; `None` where nothing depends on it.
    pub(in crate::store) fn expect_written(&self, key: &str) -> Option<bool> {
        if ends::journal_of(key).is_none() || self.records.checks_writes() {
            return None;
        }
        let held = self.held_over(key)?;
        Some(held.is_unfenced.swap(true, Ordering::SeqCst))
    }

    /// Notes the result of a write: after a conditional one those that were begun before can no longer succeed, a refused one will not
    /// arrive, and one whose answer was lost still may.
    pub(in crate::store) fn note_written(
        &self,
        key: &str,
        condition: &Condition,
        written: &Result<Version>,
        former: bool,
    ) {
        let is_unfenced = match (written, condition) {
            (Ok(_), Condition::Match(_)) => false,
            (Err(error), _) if error.kind() != ErrorKind::Conflict => true,
            _ => former,
        };
        if let Some(held) = self.held_over(key) {
            held.is_unfenced.store(is_unfenced, Ordering::SeqCst);
        }
    }

    /// Releases a lease. A failed attempt is repeated, later ones without the caller: until the lease has expired, the next holder would
    /// wait for nothing.
    async fn release(&self, held: &Held) {
        let state = held.state.lock().await;
        let released = match held.is_lost.load(Ordering::SeqCst) {
            true => Ok(()),
            false => repeated(&self.runtime, || self.end(held, &state)).await,
        };
        // No renewal follows.
        held.is_lost.store(true, Ordering::SeqCst);
        if let Err(error) = released {
            let name = &held.name;
            tracing::warn!(%error, name, "a lease was not released; this is repeated, and the lease expires");
            let is_unfenced = held.is_unfenced.load(Ordering::SeqCst);
            self.abandon(name, &held.mark, Some(is_unfenced));
        }
        self.held().remove(&held.name);
    }

    async fn end(&self, held: &Held, state: &State) -> Result<()> {
        let released = encoded(&held.record(state.record.released()))?;
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
                let released = encoded(&held.record(record.released()))?;
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

fn taken_over(name: &str) -> Error {
    let text = format!(
        "another host has taken over the lease of {name}: it was not renewed in time, or it was removed"
    );
    Error::new(ErrorKind::Conflict, text).with_hint(
        "this operation writes no more; calls of providers that were in progress are pending operations of the next one",
    )
}

/// A held lease.
pub(super) struct LeaseGuard {
    pub leases: Leases,
    pub held: Option<Arc<Held>>,
}

#[async_trait]
impl LockGuard for LeaseGuard {
    fn replaces_holders(&self) -> bool {
        true
    }

    fn is_unfenced(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.is_unfenced.load(Ordering::SeqCst))
    }

    async fn release(mut self: Box<Self>) {
        if let Some(held) = self.held.take() {
            self.leases.release(&held).await;
        }
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let leases = self.leases.clone();
            let release = async move { leases.release(&held).await };
            drop(self.leases.runtime.spawner.spawn(release));
        }
    }
}

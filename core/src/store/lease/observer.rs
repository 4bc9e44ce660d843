//! Looking at the lease of another holder, until it has ended, and ending it.

use std::time::Duration;

use super::{LOOKS, Leases, MAX_ATTEMPTS, Record, encoded};
use crate::{
    error::{ErrorKind, Result},
    store::{LockOwner, Object, Version, locked},
};

/// The lease of a holder that has ended.
pub(super) struct Ended {
    pub version: Version,
    /// Whether writes of the holder may still arrive.
    pub is_unfenced: bool,
}

impl Ended {
    /// The lease of a holder that has written no more, except for what its record states.
    fn released(version: Version, record: &Record) -> Self {
        Self {
            version,
            is_unfenced: record.is_unfenced,
        }
    }

    fn unreleased(version: Version) -> Self {
        Self {
            version,
            is_unfenced: true,
        }
    }
}

impl Leases {
    /// Observes a lease of another holder, until `deadline` where there is one. Returns it once it has expired or was released; `None` when
    /// it is gone.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the holder is alive, and when that is not known at the deadline.
    pub(super) async fn outlasted(
        &self,
        name: &str,
        first: Object,
        deadline: Option<Duration>,
    ) -> Result<Option<Ended>> {
        let record = Record::of(&first);
        if let Some(record) = &record {
            if record.is_released {
                return Ok(Some(Ended::released(first.version, record)));
            }
            if let Some(is_unfenced) = self.abandoned.is_unfenced(record) {
                let version = first.version;
                return Ok(Some(Ended { version, is_unfenced }));
            }
            if self.is_neighbour(record) {
                if record.holder.has_ended() {
                    return Ok(Some(Ended::unreleased(first.version)));
                }
                if self.was_renewed(record) && !record.holder.is_suspended() {
                    return Err(record.conflict(name));
                }
            }
        }
        let conflict = || {
            record
                .as_ref()
                .map_or_else(|| locked(name), |it| it.conflict(name))
        };
        let length = record
            .as_ref()
            .map_or(self.length, |record| Duration::from_millis(record.length));
        let begin = self.runtime.clock.elapsed();
        loop {
            let now = self.runtime.clock.elapsed();
            let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_sub(now));
            if left.is_zero() {
                return Err(conflict());
            }
            self.runtime.clock.wait(left.min(length / LOOKS)).await;
            match self.records.read(name).await? {
                None => return Ok(None),
                Some(object) if object.version != first.version => {
                    return match Record::of(&object) {
                        Some(record) if record.is_released => {
                            Ok(Some(Ended::released(object.version, &record)))
                        }
                        Some(record) => Err(record.conflict(name)),
                        None => Err(locked(name)),
                    };
                }
                // The look itself came after the end of the lease.
                Some(_) if self.runtime.clock.elapsed().saturating_sub(begin) >= length => {
                    tracing::info!(name, "taking over a lease that its holder has not renewed");
                    return Ok(Some(Ended::unreleased(first.version)));
                }
                Some(_) => {}
            }
        }
    }

    /// Returns whether the holder is a process of this system, whose number shows whether it has ended. Of a process elsewhere only the
    /// renewals are seen.
    fn is_neighbour(&self, record: &Record) -> bool {
        record.holder.is_of_this_system() && record.host == self.facts.hostname
    }

    /// Returns whether the record of a process of this system was renewed within its length, by the clock that both share. A process
    /// that runs need not hold the lease any more: its release may have failed.
    fn was_renewed(&self, record: &Record) -> bool {
        let age = record
            .renewed
            .zip(self.since_boot())
            .and_then(|(renewed, now)| now.checked_sub(renewed));
        age.is_some_and(|age| age < record.length)
    }

    /// Ends the lease of a holder that does nothing with it any more, and returns whether there was one. Waits, no longer than its
    /// length, until the holder is known to be alive or to have ended.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::store) async fn break_ended(&self, name: &str) -> Result<bool> {
        for _ in 0..MAX_ATTEMPTS {
            if self.held().contains_key(name) {
                return Ok(false);
            }
            let Some(object) = self.records.read(name).await? else {
                return Ok(false);
            };
            let Some(record) = Record::of(&object).filter(|record| !record.is_released) else {
                return Ok(false);
            };
            let ended = match self.outlasted(name, object, None).await {
                Ok(Some(ended)) => ended,
                Ok(None) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Conflict => return Ok(false),
                Err(error) => return Err(error),
            };
            match self.end_record(name, record, &ended).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                broken => return broken.map(|()| true),
            }
        }
        Err(locked(name))
    }

    /// Releases the record of another holder, who finds the lease taken over: the record gets another mark.
    async fn end_record(&self, name: &str, record: Record, ended: &Ended) -> Result<()> {
        let broken = Record {
            mark: self.runtime.random.uuid(),
            renewals: record.renewals + 1,
            is_released: true,
            is_unfenced: ended.is_unfenced,
            ..record
        };
        let released = encoded(&broken)?;
        self.records
            .release(name, &broken.mark, released, &ended.version)
            .await
    }

    /// Ends the lease of an owner, who finds it taken over, and returns whether the owner held it.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::store) async fn break_held(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(object) = self.records.read(name).await? else {
                return Ok(false);
            };
            let is_owner = |record: &Record| owner.is(&record.user, &record.host, record.holder.pid);
            let Some(record) = Record::of(&object).filter(|record| !record.is_released && is_owner(record))
            else {
                return Ok(false);
            };
            let broken = Ended::unreleased(object.version);
            match self.end_record(name, record, &broken).await {
                // It was renewed meanwhile.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                broken => return broken.map(|()| true),
            }
        }
        Err(locked(name))
    }
}

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
    /// Observes a lease of another holder. Returns it once it has expired or was released; `None` when it is gone.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the holder is alive.
    pub(super) async fn outlasted(&self, name: &str, first: Object) -> Result<Option<Ended>> {
        let record = Record::of(&first);
        if let Some(record) = &record {
            if record.is_released || self.is_abandoned(record) {
                return Ok(Some(Ended::released(first.version, record)));
            }
            if record.holder.has_ended() {
                return Ok(Some(Ended::unreleased(first.version)));
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
            // The holder takes another mark for that of a successor.
            let broken = Record {
                mark: self.runtime.random.uuid(),
                renewals: record.renewals + 1,
                is_released: true,
                is_unfenced: true,
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
}

//! Records that nothing holds, because their writes or their releases have failed: they are released as soon as that succeeds.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use super::{LeaseRecords, Leases, MAX_ATTEMPTS, Record, encoded};
use crate::{
    error::{ErrorKind, Result},
    runtime::Runtime,
    store::Object,
};

/// The marks of such records.
#[derive(Default)]
pub(super) struct Abandoned(Mutex<BTreeMap<String, Mark>>);

/// What is known of an abandoned record.
#[derive(Clone, Copy)]
struct Mark {
    /// Whether writes of the holder may still arrive.
    is_unfenced: bool,
    /// Whether the record was written. Otherwise it may still arrive.
    was_written: bool,
}

impl Abandoned {
    fn marks(&self) -> MutexGuard<'_, BTreeMap<String, Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.marks().is_empty()
    }

    /// Returns whether writes of the former holder of a record may still arrive; `None` for a record that may be held.
    pub(super) fn is_unfenced(&self, record: &Record) -> Option<bool> {
        let mark = self.marks().get(&record.mark).copied()?;
        Some(mark.is_unfenced || record.is_unfenced)
    }
}

impl Leases {
    /// Releases a record that nothing holds, as soon as that succeeds: this process takes it for free at once, and others need not wait
    /// until it has expired. `held` states of one that was held whether writes may still arrive; another one may not have been
    /// written yet.
    pub(super) fn abandon(&self, name: &str, mark: &str, held: Option<bool>) {
        let known = Mark {
            is_unfenced: held.unwrap_or_default(),
            was_written: held.is_some(),
        };
        self.abandoned.marks().insert(mark.to_owned(), known);
        let repeated = Repeated {
            records: Arc::clone(&self.records),
            runtime: self.runtime.clone(),
            pause: self.interval(),
            abandoned: Arc::downgrade(&self.abandoned),
            name: name.to_owned(),
            mark: mark.to_owned(),
            known,
        };
        drop(self.runtime.spawner.spawn(repeated.run()));
    }
}

/// The release of an abandoned record, until it is done. It ends with the leases of the engine.
struct Repeated {
    records: Arc<dyn LeaseRecords>,
    runtime: Runtime,
    pause: Duration,
    abandoned: Weak<Abandoned>,
    name: String,
    mark: String,
    known: Mark,
}

impl Repeated {
    async fn run(self) {
        // How often a record that may still arrive was not there.
        let mut misses = 0;
        while misses < MAX_ATTEMPTS {
            self.runtime.clock.wait(self.pause).await;
            if self.abandoned.strong_count() == 0 {
                return;
            }
            let found = match self.records.read(&self.name).await {
                Ok(found) => found.and_then(|object| self.own(object)),
                Err(error) if error.kind() == ErrorKind::Cancelled => return,
                Err(_) => continue,
            };
            match found {
                Some((record, object)) => match self.release(&record, &object).await {
                    Ok(()) => break,
                    Err(error) => {
                        tracing::debug!(%error, name = self.name, "an abandoned lease was not released");
                    }
                },
                None if self.known.was_written => break,
                None => misses += 1,
            }
        }
        if misses < MAX_ATTEMPTS
            && let Some(abandoned) = self.abandoned.upgrade()
        {
            abandoned.marks().remove(&self.mark);
        }
    }

    /// Returns the record, unless it is that of a successor or was released.
    fn own(&self, object: Object) -> Option<(Record, Object)> {
        let record = Record::of(&object)?;
        (record.mark == self.mark && !record.is_released).then_some((record, object))
    }

    async fn release(&self, record: &Record, object: &Object) -> Result<()> {
        let released = Record {
            is_unfenced: record.is_unfenced || self.known.is_unfenced,
            ..record.released()
        };
        let released = encoded(&released)?;
        self.records
            .release(&self.name, &self.mark, released, &object.version)
            .await
    }
}

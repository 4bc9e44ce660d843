//! Sinks: make journal entries durable.

use std::sync::Arc;
#[cfg(test)]
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::{error::Result, state::JournalEntry};

/// Makes journal entries durable.
#[async_trait]
pub(crate) trait JournalSink: Send + Sync + 'static {
    /// Makes a batch durable, in order. Calls do not overlap.
    ///
    /// # Errors
    /// After any error nothing more is written.
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()>;

    /// Returns whether entries that change nothing worth a write are appended, too.
    fn wants_elided_writes(&self) -> bool {
        false
    }
}

/// Discards all entries, for previews.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

#[async_trait]
impl JournalSink for NoJournal {
    async fn append(&self, _entries: &[Arc<JournalEntry>]) -> Result<()> {
        Ok(())
    }
}

/// Keeps the entries in memory, elided ones included.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct MemoryJournal(Mutex<Vec<Arc<JournalEntry>>>);

#[cfg(test)]
impl MemoryJournal {
    /// Returns the entries so far.
    #[must_use]
    pub(crate) fn entries(&self) -> Vec<Arc<JournalEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
#[async_trait]
impl JournalSink for MemoryJournal {
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(entries);
        Ok(())
    }

    fn wants_elided_writes(&self) -> bool {
        true
    }
}

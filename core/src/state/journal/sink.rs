//! Sinks: where journal entries go to become durable.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::{error::Result, state::JournalEntry};

/// Makes journal entries durable.
#[async_trait]
pub trait JournalSink: Send + Sync + 'static {
    /// Makes a batch durable, in order. Batches come one after another, never two at once.
    ///
    /// # Errors
    /// Any error ends the journal: nothing is written after it.
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()>;

    /// Tells whether entries that change nothing worth a write are wanted, too.
    fn wants_elided(&self) -> bool {
        false
    }
}

/// Keeps nothing: for previews.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

#[async_trait]
impl JournalSink for NoJournal {
    async fn append(&self, _entries: &[Arc<JournalEntry>]) -> Result<()> {
        Ok(())
    }
}

/// Keeps the entries in memory, elided ones included: for tests, and for hosts that want to look at them afterwards.
#[derive(Debug, Default)]
pub struct MemoryJournal(Mutex<Vec<Arc<JournalEntry>>>);

impl MemoryJournal {
    /// Returns the entries so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Arc<JournalEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl JournalSink for MemoryJournal {
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(entries);
        Ok(())
    }

    fn wants_elided(&self) -> bool {
        true
    }
}

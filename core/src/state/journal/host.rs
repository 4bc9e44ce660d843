//! The host's journal: each entry is passed to a callback, which acknowledges it before the engine continues.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    error::Result,
    state::{JournalEntry, journal::JournalSink},
};

/// Receives journal entries one by one; the host implements it.
#[async_trait]
pub trait JournalReceiver: Send + Sync + 'static {
    /// Receives an entry. The engine continues when the returned future ends.
    ///
    /// # Errors
    /// An error refuses the entry: the operation fails with it, and no further entry is sent.
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()>;
}

/// Passes every entry, elided ones included, to a receiver and then to another sink, if there is one.
pub(crate) struct HostJournal {
    receiver: Arc<dyn JournalReceiver>,
    then: Option<Arc<dyn JournalSink>>,
}

impl HostJournal {
    /// Creates a sink over a receiver alone.
    #[must_use]
    pub(crate) fn new(receiver: Arc<dyn JournalReceiver>) -> Self {
        Self { receiver, then: None }
    }

    /// Adds `sink`, to which acknowledged entries are written as well.
    #[must_use]
    pub(crate) fn then(self, sink: Arc<dyn JournalSink>) -> Self {
        Self {
            then: Some(sink),
            ..self
        }
    }
}

#[async_trait]
impl JournalSink for HostJournal {
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()> {
        let mut acknowledged = 0;
        let mut result = Ok(());
        for entry in entries {
            result = self.receiver.receive(entry).await;
            if result.is_err() {
                break;
            }
            acknowledged += 1;
        }
        if let Some(sink) = &self.then {
            let written = &entries[..acknowledged];
            if sink.wants_elided_writes() {
                sink.append(written).await?;
            } else {
                let written: Vec<_> = written
                    .iter()
                    .filter(|entry| !entry.record.elides_write())
                    .cloned()
                    .collect();
                if !written.is_empty() {
                    sink.append(&written).await?;
                }
            }
        }
        result
    }

    fn wants_elided_writes(&self) -> bool {
        true
    }
}

//! The journal in a store: an object beside the checkpoint that comes to be with the first entry.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use futures::{FutureExt as _, future::Shared};

use super::{JournalSink, codec, header::JournalHeader};
use crate::{
    error::Result,
    runtime::Task,
    secrets::SecretsManager,
    state::JournalEntry,
    store::{Condition, Store},
};

/// Appends entries to an object of a store. An operation that changes nothing leaves no trace.
pub struct StoreJournal {
    store: Arc<dyn Store>,
    key: String,
    header: JournalHeader,
    /// The hash that the header is to name, when it is not known yet.
    checkpoint: Option<Shared<Task<String>>>,
    secrets: Option<Arc<dyn SecretsManager>>,
    created: AtomicBool,
}

impl StoreJournal {
    /// Creates a sink for the object `key`, which must not exist; `secrets` encrypts what the header says it does.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        key: impl Into<String>,
        header: JournalHeader,
        secrets: Option<Arc<dyn SecretsManager>>,
    ) -> Self {
        Self {
            store,
            key: key.into(),
            header,
            checkpoint: None,
            secrets,
            created: AtomicBool::new(false),
        }
    }

    /// Lets the header name a checkpoint whose hash is still being made: that of a large one takes its time, and nobody
    /// needs it before there is something to write.
    #[must_use]
    pub(crate) fn over(self, checkpoint: Task<String>) -> Self {
        Self {
            checkpoint: Some(checkpoint.shared()),
            ..self
        }
    }

    async fn header(&self) -> Result<Vec<u8>> {
        let Some(checkpoint) = &self.checkpoint else {
            return codec::encode_header(&self.header);
        };
        codec::encode_header(&JournalHeader {
            checkpoint: checkpoint.clone().await?,
            ..self.header.clone()
        })
    }

    /// Tells whether there is an object to fold and to discard.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.created.load(Ordering::Acquire)
    }

    /// Notes, before the checkpoint is replaced, which one will hold everything (its
    /// [`crate::state::deployment::content_hash`]). Does nothing when there is no object.
    ///
    /// # Errors
    /// That of the store.
    pub async fn fold(&self, checkpoint: &str) -> Result<()> {
        if self.exists() {
            self.store
                .append(&self.key, codec::encode_folded(checkpoint)?.into())
                .await?;
        }
        Ok(())
    }

    /// Removes the object, after the checkpoint was replaced.
    ///
    /// # Errors
    /// That of the store; the next opening then finds a journal that is folded already.
    pub async fn discard(&self) -> Result<()> {
        if self.exists() {
            self.store.delete(&self.key).await?;
            self.created.store(false, Ordering::Release);
        }
        Ok(())
    }
}

#[async_trait]
impl JournalSink for StoreJournal {
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()> {
        let lines = codec::encode_entries(entries, self.secrets.as_deref()).await?;
        if self.exists() {
            return self.store.append(&self.key, lines.into()).await;
        }
        let mut object = self.header().await?;
        object.extend_from_slice(&lines);
        // A journal that is there already has not been recovered: it must not be lost.
        self.store
            .put(&self.key, object.into(), Condition::Absent)
            .await?;
        self.created.store(true, Ordering::Release);
        Ok(())
    }
}

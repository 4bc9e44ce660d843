//! What an operation has of its stack: the state that it starts from, the journal that it writes, the commit at its end.

mod exchange;
mod load;
mod refresh;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::value::RawValue;

pub(crate) use load::LoadedStack;
pub(crate) use refresh::Refreshing;
use tokio::sync::Mutex;

use super::{HistoryEntry, StackStorage, StoreJournal, StoredStack, stack::Head};
use crate::{
    config::Config,
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    runtime::Timestamp,
    secrets::SecretsManager,
    state::{
        Snapshot,
        deployment::{SecretsShown, content_hash, write_checkpoint},
        journal::{JournalHeader, JournalSink},
    },
};
use load::Leftover;

/// What checkpoints and journals name as their writer.
const WRITER: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// An operation's hold on the state of its stack. Whoever has it also holds the stack's lock.
pub(crate) struct StackSession {
    storage: StackStorage,
    head: Mutex<Head>,
    refreshed: refresh::Progress,
    notes: Vec<Diagnostic>,
    journal: Arc<StoreJournal>,
    secrets: Option<Arc<dyn SecretsManager>>,
}

/// What history keeps of an operation.
#[derive(Clone, Debug)]
pub(crate) struct HistoryRecord {
    /// `update`, `refresh`, `destroy`, `import`…
    pub kind: &'static str,
    /// What the user said about it.
    pub message: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Whether it did all that it was to do.
    pub succeeded: bool,
    /// How many resources each kind of step concerned.
    pub changes: BTreeMap<&'static str, u64>,
    /// The configuration that it ran with.
    pub config: Config,
}

impl StackSession {
    /// Begins an operation of `kind` over a state that was loaded under the lock. `snapshot` is that state, perhaps with
    /// a secrets manager that it did not have.
    ///
    /// An interrupted operation is completed first; the manifest of `snapshot` has the time of that.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Conflict`] when the checkpoint is no longer the one that was loaded.
    pub(crate) async fn begin(
        storage: &StackStorage,
        loaded: LoadedStack,
        snapshot: &mut Snapshot,
        kind: &str,
    ) -> Result<Self> {
        let StoredStack {
            checkpoint,
            base,
            journal,
            ..
        } = loaded.stored;
        let mut head = Head::new(base);
        let mut notes = Vec::new();
        let mut written = checkpoint;
        if let Some(journal) = journal {
            match loaded.leftover {
                Leftover::Discard => storage.discard_journal(&journal).await?,
                Leftover::SetAside { is_adopted } => {
                    let aside = storage.copy_journal_aside(&journal).await?;
                    if is_adopted {
                        written = checkpoint_of(storage, snapshot).await?.into();
                        let hash = content_hash(&written);
                        storage.replace(&mut head, written.clone(), hash).await?;
                        head = Head::new(head.into_base());
                    }
                    storage.discard_journal(&journal).await?;
                    notes.push(Diagnostic::warning(format!(
                        "the journal of the interrupted operation is kept as {aside} in {}",
                        storage.store().url()
                    )));
                }
                Leftover::Fold { end, is_rebased } => {
                    if is_rebased {
                        head = Head::within_operation(head.into_base());
                    }
                    written = checkpoint_of(storage, snapshot).await?.into();
                    let (store, key) = (Arc::clone(storage.store()), storage.name().journal());
                    let journal = StoreJournal::resume(store, key, journal, end);
                    storage.commit(&mut head, written.clone(), &journal).await?;
                    head = Head::new(head.into_base());
                }
            }
        }
        let now = storage.runtime().clock.now();
        let header = JournalHeader::new(String::new(), kind, now, WRITER, snapshot.secrets.as_ref());
        let hash = move || content_hash(&written);
        let hash = storage.runtime().spawner.spawn_blocking(hash);
        let journal = StoreJournal::new(
            Arc::clone(storage.store()),
            storage.name().journal(),
            header,
            snapshot.secrets.clone(),
        )
        .over(hash);
        Ok(Self {
            storage: storage.clone(),
            head: Mutex::new(head),
            refreshed: refresh::Progress::default(),
            notes,
            journal: Arc::new(journal),
            secrets: snapshot.secrets.clone(),
        })
    }

    /// Returns what people should know about the beginning of the operation.
    #[must_use]
    pub(crate) fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// Returns where the operation's journal entries become durable.
    #[must_use]
    pub(crate) fn sink(&self) -> Arc<dyn JournalSink> {
        Arc::clone(&self.journal) as _
    }

    /// Makes `snapshot` the stack's state; its manifest tells then who has written it, and when. At every moment either
    /// the previous checkpoint with the journal, or the new one tell the state.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the checkpoint is no longer the one that was loaded, or the journal is another writer's;
    /// then the journal stays.
    pub(crate) async fn commit(&self, snapshot: &mut Snapshot) -> Result<()> {
        let bytes = checkpoint_of(&self.storage, snapshot).await?;
        let mut head = self.head.lock().await;
        self.storage.commit(&mut head, bytes.into(), &self.journal).await
    }

    /// Removes the journal of an operation that changed nothing in the end.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn discard(&self) -> Result<()> {
        self.journal.discard().await
    }

    /// Adds the operation to the stack's history, with a copy of the checkpoint.
    ///
    /// # Errors
    /// Those of the store, and of the secrets manager when the configuration holds plaintext secrets.
    pub(crate) async fn record_history(&self, record: HistoryRecord) -> Result<()> {
        let mut config = record.config;
        if let Some(manager) = &self.secrets {
            config.seal(&**manager).await?;
        }
        let config = RawValue::from_string(config.to_json()?)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("writing history: {error}")))?;
        let changes = record
            .changes
            .iter()
            .map(|(op, count)| ((*op).to_owned(), *count));
        let entry = HistoryEntry {
            kind: record.kind.to_owned(),
            start_time: record.started.as_second(),
            message: record.message,
            environment: BTreeMap::new(),
            config,
            version: 0,
            result: if record.succeeded { "succeeded" } else { "failed" }.to_owned(),
            end_time: record.ended.as_second(),
            resource_changes: Some(changes.collect()),
        };
        self.storage.record(&entry).await
    }
}

/// Writes a checkpoint, and sets its writer and its time in `snapshot`.
async fn checkpoint_of(storage: &StackStorage, snapshot: &mut Snapshot) -> Result<Vec<u8>> {
    snapshot.manifest.time = Some(storage.runtime().clock.now());
    WRITER.clone_into(&mut snapshot.manifest.version);
    write_checkpoint(&storage.name().qualified(), snapshot, SecretsShown::Encrypted).await
}

#[cfg(test)]
mod tests;

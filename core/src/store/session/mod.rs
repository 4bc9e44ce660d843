//! An operation's session with its stack: the initial state, the journal, and the commit at the end.

mod exchange;
mod forget;
mod interrupted;
mod load;
mod refresh;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::value::RawValue;

pub(crate) use exchange::{Replaced, Replacement};
pub(crate) use forget::forget_pending;
pub(crate) use load::LoadedStack;
pub(crate) use refresh::Refreshing;
use tokio::sync::Mutex;

use super::{
    HistoryEntry, StackStorage, StoreJournal, StoredStack,
    stack::{CheckpointBase, Head, copy_journal_aside, discard_journal},
};
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

/// The writer that checkpoints and journals name.
const WRITER: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// An operation's access to the state of its stack. The caller also holds the stack's lock.
pub(crate) struct StackSession {
    storage: StackStorage,
    head: Mutex<Head>,
    refreshed: refresh::Progress,
    notes: Vec<Diagnostic>,
    journal: Arc<StoreJournal>,
    secrets: Option<Arc<dyn SecretsManager>>,
    /// The checkpoint at the begin.
    former: CheckpointBase,
    started: Timestamp,
}

/// The history record of an operation.
#[derive(Clone, Debug)]
pub(crate) struct HistoryRecord {
    /// `update`, `refresh`, `destroy`, `import`…
    pub kind: &'static str,
    /// The user's message.
    pub message: String,
    /// The start time.
    pub started: Timestamp,
    /// The end time.
    pub ended: Timestamp,
    /// Whether the operation succeeded.
    pub succeeded: bool,
    /// The number of resources for each kind of step.
    pub changes: BTreeMap<&'static str, u64>,
    /// The operation's configuration.
    pub config: Config,
    /// Facts of the host about the environment.
    pub environment: BTreeMap<String, String>,
}

impl StackSession {
    /// Begins an operation of `kind` on a state that was loaded under the lock. `snapshot` is that state, possibly with
    /// another secrets manager.
    ///
    /// The journal of an interrupted operation is merged first; the manifest of `snapshot` has the time of that write, and the
    /// history has the operation as one in progress.
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
            let is_merged = matches!(
                loaded.leftover,
                Leftover::Merge { .. } | Leftover::SetAside { is_adopted: true }
            );
            if is_merged {
                written = checkpoint_of(storage, snapshot).await?.into();
            }
            if let Some(interrupted) = loaded.interrupted {
                // Before the journal is removed, so that a crash loses no record.
                notes.extend(interrupted.record(storage, &written).await);
            }
            match loaded.leftover {
                Leftover::Discard => discard_journal(storage, &journal).await?,
                Leftover::SetAside { is_adopted } => {
                    let aside = copy_journal_aside(storage, &journal).await?;
                    if is_adopted {
                        let hash = content_hash(&written);
                        head.replace(storage, written.clone(), hash).await?;
                        head = Head::new(head.into_base());
                    }
                    discard_journal(storage, &journal).await?;
                    notes.push(Diagnostic::warning(format!(
                        "the journal of the interrupted operation is kept as {aside} in {}",
                        storage.store().url()
                    )));
                }
                Leftover::Merge { end, is_rebased } => {
                    if is_rebased {
                        head = Head::within_operation(head.into_base());
                    }
                    let (store, key) = (Arc::clone(storage.store()), storage.name().journal());
                    let journal = StoreJournal::resume(store, key, journal, end);
                    head.commit(storage, written.clone(), &journal).await?;
                    head = Head::new(head.into_base());
                }
            }
        }
        let now = storage.runtime().clock.now();
        let header = JournalHeader::new(String::new(), kind, now, WRITER);
        let hash = move || content_hash(&written);
        let hash = storage.runtime().spawner.spawn_blocking(hash);
        let journal = StoreJournal::new(
            Arc::clone(storage.store()),
            storage.name().journal(),
            header,
            snapshot.secrets.clone(),
        )
        .over(hash)
        .metered(storage.runtime().meter.clone());
        Ok(Self {
            storage: storage.clone(),
            former: head.base().clone(),
            head: Mutex::new(head),
            refreshed: refresh::Progress::default(),
            notes,
            journal: Arc::new(journal),
            secrets: snapshot.secrets.clone(),
            started: now,
        })
    }

    /// Returns the time of the operation's begin, which its journal has.
    #[must_use]
    pub(crate) const fn started(&self) -> Timestamp {
        self.started
    }

    /// Returns the diagnostics of the operation's begin.
    #[must_use]
    pub(crate) fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// Returns the sink of the operation's journal entries.
    #[must_use]
    pub(crate) fn sink(&self) -> Arc<dyn JournalSink> {
        Arc::clone(&self.journal) as _
    }

    /// Makes `snapshot` the stack's state, and sets writer and time in its manifest. At every moment either the
    /// previous checkpoint with the journal, or the new checkpoint defines the state.
    ///
    /// The journal, which announces the checkpoint, stays until [`Self::conclude`] or [`Self::discard`].
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the checkpoint is no longer the loaded one, or the journal belongs to another
    /// writer.
    pub(crate) async fn commit(&self, snapshot: &mut Snapshot) -> Result<()> {
        let checkpoint = checkpoint_of(&self.storage, snapshot).await?;
        let mut head = self.head.lock().await;
        let checkpoint = checkpoint.into();
        head.commit_beside(&self.storage, checkpoint, &self.journal).await
    }

    /// Makes an edited `snapshot` the stack's state. Its manifest has the writer and the time of the last operation, as before.
    ///
    /// An edit has no history record, so that its journal is removed.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub(crate) async fn commit_edit(&self, snapshot: &mut Snapshot) -> Result<()> {
        let checkpoint = self.edited_checkpoint(snapshot).await?;
        self.commit_checkpoint(checkpoint).await
    }

    /// Writes `snapshot` as [`Self::commit_edit`] does, and returns the checkpoint without storing it.
    ///
    /// # Errors
    /// Those of the secrets manager.
    pub(crate) async fn edited_checkpoint(&self, snapshot: &mut Snapshot) -> Result<Vec<u8>> {
        if snapshot.manifest.version.is_empty() {
            // It is the first state of the stack.
            return checkpoint_of(&self.storage, snapshot).await;
        }
        let stack = self.storage.name().qualified();
        write_checkpoint(&stack, snapshot, SecretsShown::Encrypted).await
    }

    /// Makes a written checkpoint the stack's state, as [`Self::commit_edit`] does.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub(crate) async fn commit_checkpoint(&self, bytes: Vec<u8>) -> Result<()> {
        let mut head = self.head.lock().await;
        let checkpoint = self.storage.unlike_former(bytes.into());
        head.commit(&self.storage, checkpoint, &self.journal).await
    }

    /// Returns the hash of the checkpoint at the begin.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] when its computation failed.
    pub(crate) async fn base_hash(&self) -> Result<String> {
        self.journal.base_hash().await
    }

    /// Returns whether a failed commit has left the checkpoint of the session's begin.
    ///
    /// # Errors
    /// Those of the store; [`ErrorKind::Conflict`] when the checkpoint is neither that one nor the committed one.
    pub(crate) async fn is_unchanged(&self) -> Result<bool> {
        let mut head = self.head.lock().await;
        head.settle(&self.storage).await?;
        Ok(*head.base() == self.former)
    }

    /// Adds a committed operation to the stack's history, and then removes its journal: when the process ends in between, or before, the
    /// next session finds the journal and adds a missing record. The journal of an operation whose record could not be written is removed,
    /// too: what other programs write from then on would contradict it.
    ///
    /// # Errors
    /// Those of [`Self::discard`] and of [`Self::record_history`], in this order.
    pub(crate) async fn conclude(&self, record: HistoryRecord) -> Result<()> {
        let recorded = self.record_history(record).await;
        self.discard().await.and(recorded)
    }

    /// Removes the journal of an operation that has changed nothing, or whose changes are committed.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn discard(&self) -> Result<()> {
        self.journal.discard().await
    }

    /// Adds the operation to the stack's history, with a copy of the checkpoint.
    ///
    /// # Errors
    /// Those of the store, and of the secrets manager when the configuration contains plaintext secrets.
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
            environment: record.environment,
            config,
            version: 0,
            result: if record.succeeded { "succeeded" } else { "failed" }.to_owned(),
            end_time: record.ended.as_second(),
            resource_changes: Some(changes.collect()),
        };
        let checkpoint = self.head.lock().await.base().key().to_owned();
        self.storage.record_with(Some(&checkpoint), &entry).await
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

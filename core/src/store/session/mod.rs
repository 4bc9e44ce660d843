//! What an operation has of its stack: the state that it starts from, the journal that it writes, the commit at its end.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::value::RawValue;

use super::{CheckpointBase, HistoryEntry, StackStorage, StoredStack};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    project::Config,
    runtime::Timestamp,
    secrets::{SecretsManager, SecretsProvider},
    state::{
        Snapshot,
        deployment::{
            Layout, SecretsAccess, SecretsShown, content_hash, read_checkpoint, read_deployment,
            write_checkpoint, write_deployment,
        },
        integrity,
        journal::{JournalHeader, JournalSink, Recovery, StoreJournal, codec, recover},
    },
    urn::Urn,
};

/// What checkpoints and journals name as their writer.
const WRITER: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// A stack's state, with what an interrupted operation left in its journal.
#[derive(Debug)]
pub struct LoadedStack {
    /// The state, which has been checked.
    pub snapshot: Snapshot,
    /// What people should know about it.
    pub warnings: Vec<Diagnostic>,
    stored: StoredStack,
    leftover: Leftover,
}

/// What has to be done with a journal that was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// There is none.
    Nothing,
    /// It holds nothing that the checkpoint does not.
    Discard,
    /// It is part of the loaded state and must become part of the checkpoint.
    Fold,
    /// It belongs to another checkpoint.
    SetAside,
}

/// An operation's hold on the state of its stack. Whoever has it also holds the stack's lock.
pub struct StackSession {
    storage: StackStorage,
    base: Mutex<CheckpointBase>,
    journal: Arc<StoreJournal>,
    secrets: Option<Arc<dyn SecretsManager>>,
}

/// What history keeps of an operation.
#[derive(Clone, Debug)]
pub struct HistoryRecord {
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

impl StackStorage {
    /// Reads the state; entries that an interrupted operation left in its journal are part of it. Writes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the stack does not exist, [`ErrorKind::State`] when its state is damaged,
    /// [`ErrorKind::Decrypt`] when a secret cannot be decrypted.
    pub async fn load(&self, secrets: &dyn SecretsProvider) -> Result<LoadedStack> {
        let stored = self.read().await?;
        let mut warnings = Vec::new();
        let recovery = match &stored.journal {
            Some(journal) => Some(recover(Some(&stored.checkpoint), journal, secrets).await?),
            None => None,
        };
        let (leftover, recovered) = match recovery {
            None => (Leftover::Nothing, None),
            Some(Recovery::Empty | Recovery::AlreadyFolded) => (Leftover::Discard, None),
            Some(Recovery::Extends(recovered)) => {
                let snapshot = recovered.snapshot()?;
                // What is folded replaces the checkpoint, so that it must be sound before and not after.
                integrity::verify(&snapshot).map_err(|error| self.unsound_journal(&error))?;
                (Leftover::Fold, Some(snapshot))
            }
            Some(Recovery::Orphan(header)) => {
                warnings.push(Diagnostic::warning(format!(
                    "the journal of an interrupted {} of stack '{}' (started {}) does not belong to its checkpoint, \
                     which somebody else has changed or restored since; its changes are not part of the state",
                    header.operation,
                    self.name().stack(),
                    header.started,
                )));
                (Leftover::SetAside, None)
            }
        };
        let snapshot = match recovered {
            Some(snapshot) => snapshot,
            None => read_checkpoint(&stored.checkpoint, SecretsAccess::Open(secrets), true)
                .await?
                .snapshot
                .unwrap_or_default(),
        };
        Ok(LoadedStack {
            snapshot,
            warnings,
            stored,
            leftover,
        })
    }

    /// Begins an operation of `kind` over a state that was loaded under the lock. `snapshot` is that state, perhaps with
    /// a secrets manager that it did not have.
    ///
    /// What was left of an interrupted operation is brought to its end first.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Conflict`] when the checkpoint is no longer the one that was loaded.
    pub async fn begin(&self, loaded: LoadedStack, snapshot: &Snapshot, kind: &str) -> Result<StackSession> {
        let StoredStack { checkpoint, base, .. } = loaded.stored;
        let mut base = base;
        let mut hash = content_hash(&checkpoint);
        match loaded.leftover {
            Leftover::Nothing => {}
            Leftover::Discard => self.discard_journal().await?,
            Leftover::SetAside => {
                let aside = self.set_aside_journal().await?;
                tracing::warn!(%aside, "set aside a journal that does not belong to the checkpoint");
            }
            Leftover::Fold => {
                let bytes = self.checkpoint_of(snapshot).await?;
                hash = content_hash(&bytes);
                let folded = codec::encode_folded(&hash)?;
                base = self.commit(&base, bytes.into(), Some(folded.into())).await?;
            }
        }
        let now = self.runtime().clock.now();
        let header = JournalHeader::new(hash, kind, now, WRITER, snapshot.secrets.as_ref());
        let journal = StoreJournal::new(
            Arc::clone(self.store()),
            self.name().journal(),
            header,
            snapshot.secrets.clone(),
        );
        Ok(StackSession {
            storage: self.clone(),
            base: Mutex::new(base),
            journal: Arc::new(journal),
            secrets: snapshot.secrets.clone(),
        })
    }

    /// Returns the state as a deployment document. Without showing secrets, no key is needed unless an operation was
    /// interrupted.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub async fn export(&self, secrets: &dyn SecretsProvider, show_secrets: bool) -> Result<Vec<u8>> {
        if !show_secrets {
            let stored = self.read().await?;
            if stored.journal.is_none() {
                let checkpoint = read_checkpoint(&stored.checkpoint, SecretsAccess::Sealed, false).await?;
                let snapshot = checkpoint.snapshot.unwrap_or_default();
                return write_deployment(&snapshot, SecretsShown::Sealed, Layout::Pretty).await;
            }
        }
        let loaded = self.load(secrets).await?;
        let shown = if show_secrets {
            SecretsShown::Plaintext
        } else {
            SecretsShown::Encrypted
        };
        write_deployment(&loaded.snapshot, shown, Layout::Pretty).await
    }

    fn unsound_journal(&self, error: &Error) -> Error {
        let text = format!(
            "the journal {} of an interrupted operation leads to an invalid state: {error}",
            self.name().journal()
        );
        Error::new(ErrorKind::State, text)
            .with_hint("checkpoint and journal are as they were; importing a state replaces both".to_owned())
    }

    /// Replaces the state by a deployment document; what is there need not be readable.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the document is none, its state is invalid or another stack's, [`ErrorKind::Conflict`] while somebody
    /// holds the stack; the state is as it was then.
    pub async fn import(&self, secrets: &dyn SecretsProvider, document: &[u8]) -> Result<()> {
        let mut imported = read_deployment(document, SecretsAccess::Open(secrets), true).await?;
        self.refuse_foreign(&imported)?;
        let lock = self.lock().await?;
        let result = async {
            let loaded = match self.load(secrets).await {
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::State | ErrorKind::Secrets | ErrorKind::Decrypt
                    ) =>
                {
                    self.unread().await?
                }
                loaded => loaded?,
            };
            let mut current = loaded.snapshot.clone();
            if imported.secrets.is_none() {
                imported.secrets = match current.secrets.take() {
                    Some(manager) => Some(manager),
                    None => Some(secrets.create().await?),
                };
                current.secrets.clone_from(&imported.secrets);
            }
            let session = self.begin(loaded, &current, "import").await?;
            session.commit(&imported).await
        }
        .await;
        let released = lock.release().await;
        result.and(released)
    }

    /// Refuses another stack's state: the next update would take all that is in it for left over, and delete it.
    fn refuse_foreign(&self, imported: &Snapshot) -> Result<()> {
        let name = self.name();
        let foreign = |urn: &&Urn| urn.stack() != name.stack() || urn.project() != name.project();
        match imported.resources.iter().map(|record| &record.urn).find(foreign) {
            None => Ok(()),
            Some(urn) => Err(Error::new(
                ErrorKind::State,
                format!(
                    "resource {urn} belongs to stack '{}/{}', not to '{}/{}'",
                    urn.project(),
                    urn.stack(),
                    name.project(),
                    name.stack()
                ),
            )
            .with_urn(urn.clone())
            .with_hint("a state can be moved to another stack once all its URNs name that stack")),
        }
    }

    /// Returns an empty state in the place of one that cannot be read, with the journal beside it to be set aside.
    async fn unread(&self) -> Result<LoadedStack> {
        let stored = self.read().await?;
        let leftover = match &stored.journal {
            Some(_) => Leftover::SetAside,
            None => Leftover::Nothing,
        };
        Ok(LoadedStack {
            snapshot: Snapshot::default(),
            warnings: Vec::new(),
            stored,
            leftover,
        })
    }

    async fn checkpoint_of(&self, snapshot: &Snapshot) -> Result<Vec<u8>> {
        let mut written = snapshot.clone();
        written.manifest.time = Some(self.runtime().clock.now());
        WRITER.clone_into(&mut written.manifest.version);
        write_checkpoint(&self.name().qualified(), &written, SecretsShown::Encrypted).await
    }
}

impl StackSession {
    /// Returns where the operation's journal entries become durable.
    #[must_use]
    pub fn sink(&self) -> Arc<dyn JournalSink> {
        Arc::clone(&self.journal) as _
    }

    /// Makes `snapshot` the stack's state. At every moment either the previous checkpoint with the journal, or the new
    /// one tell the state.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when somebody else has changed the checkpoint; then the journal stays.
    pub async fn commit(&self, snapshot: &Snapshot) -> Result<()> {
        let bytes = self.storage.checkpoint_of(snapshot).await?;
        self.journal.fold(&content_hash(&bytes)).await?;
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let next = self.storage.replace(&base, bytes.into()).await?;
        *self.base.lock().unwrap_or_else(PoisonError::into_inner) = next;
        self.journal.discard().await
    }

    /// Removes the journal of an operation that changed nothing in the end.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn discard(&self) -> Result<()> {
        self.journal.discard().await
    }

    /// Adds the operation to the stack's history, with a copy of the checkpoint.
    ///
    /// # Errors
    /// Those of the store, and of the secrets manager when the configuration holds plaintext secrets.
    pub async fn record_history(&self, record: HistoryRecord) -> Result<()> {
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

#[cfg(test)]
mod tests;

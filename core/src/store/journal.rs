//! The journal in a store: an object beside the checkpoint, created with the first entry, with one writer.

use std::sync::{
    Arc, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt as _, future::Shared};
use tokio::sync::Mutex;

use super::{Condition, Object, Store, Version};
use crate::{
    error::{Error, ErrorKind, Result},
    metrics::Meter,
    runtime::Task,
    secrets::SecretsManager,
    state::{
        JournalEntry, JournalRecord, OperationId, Rebase,
        journal::{Chain, JournalEnd, JournalHeader, JournalSecrets, JournalSink, codec},
    },
};

/// Appends entries to an object of a store. An operation without changes creates no object.
///
/// The object has one writer. When it is removed, replaced or extended by another process, every later write fails with
/// [`ErrorKind::Conflict`].
pub(crate) struct StoreJournal {
    store: Arc<dyn Store>,
    key: String,
    header: Option<JournalHeader>,
    /// The pending computation of the checkpoint hash for the header.
    checkpoint: Option<Shared<Task<String>>>,
    secrets: Option<Arc<dyn SecretsManager>>,
    /// Whether the object names the manager. A new manager has no state until its key is derived; entries without secrets
    /// do not wait for that.
    names_secrets: AtomicBool,
    tail: Mutex<Tail>,
    /// The lines that a shortened journal would keep; `None` where it stays whole.
    retained: std::sync::Mutex<Option<Vec<Retained>>>,
    meter: Meter,
}

/// The line of an entry that no written checkpoint is known to contain.
struct Retained {
    sequence: u64,
    operation: OperationId,
    is_begin: bool,
    text: Bytes,
}

/// The limit of retained lines: a journal that is not shortened before stays whole.
const MAX_RETAINED: usize = 20_000;

/// What the header of a shortened journal names as its checkpoint: it extends none without a rebase.
const SHORTENED: &str = "shortened";

/// The end of the object as far as the writer knows it.
enum Tail {
    /// There is no object.
    Absent,
    /// The object ends with an intact line.
    Intact(End),
    /// An incomplete line follows the intact lines.
    Torn {
        /// The version of the whole object.
        version: Version,
        intact: Bytes,
        chain: Chain,
    },
    /// A write failed: the length of `tried` that follows `before` is unknown.
    Unknown { before: Option<End>, tried: Bytes },
    /// A replacement of the whole object failed: it may have been done.
    Replaced {
        before: End,
        content: Bytes,
        chain: Chain,
    },
    /// The object belongs to another writer.
    Lost(Error),
}

#[derive(Clone)]
struct End {
    version: Version,
    length: usize,
    chain: Chain,
}

impl StoreJournal {
    /// Creates a sink for the object `key`, which must not exist. `secrets` is the manager that the journal names once its
    /// state is known.
    #[must_use]
    pub(crate) fn new(
        store: Arc<dyn Store>,
        key: impl Into<String>,
        header: JournalHeader,
        secrets: Option<Arc<dyn SecretsManager>>,
    ) -> Self {
        let retained = store.shortens_journals().then(Vec::new);
        Self {
            retained: std::sync::Mutex::new(retained),
            meter: Meter::default(),
            store,
            key: key.into(),
            header: Some(header),
            checkpoint: None,
            secrets,
            names_secrets: AtomicBool::new(false),
            tail: Mutex::new(Tail::Absent),
        }
    }

    /// Resumes a journal that was read and recovered. It takes no more entries, but can announce a checkpoint and be
    /// discarded.
    pub(super) fn resume(store: Arc<dyn Store>, key: String, journal: Object, end: JournalEnd) -> Self {
        let tail = if journal.bytes.len() == end.length {
            Tail::Intact(End {
                version: journal.version,
                length: end.length,
                chain: end.chain,
            })
        } else {
            Tail::Torn {
                version: journal.version,
                intact: journal.bytes.slice(..end.length),
                chain: end.chain,
            }
        };
        Self {
            store,
            key,
            header: None,
            checkpoint: None,
            secrets: None,
            names_secrets: AtomicBool::new(false),
            tail: Mutex::new(tail),
            retained: std::sync::Mutex::new(None),
            meter: Meter::default(),
        }
    }

    /// Sets the task that computes the hash of the header's checkpoint. It is awaited before the first write only, as
    /// the hash of a large checkpoint takes time.
    #[must_use]
    pub(crate) fn over(self, checkpoint: Task<String>) -> Self {
        Self {
            checkpoint: Some(checkpoint.shared()),
            ..self
        }
    }

    /// Sets what counts the entries and bytes that are written.
    #[must_use]
    pub(crate) fn metered(self, meter: Meter) -> Self {
        Self { meter, ..self }
    }

    /// Returns the hash of the checkpoint that the header names.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] when its computation failed, or the journal was recovered.
    pub(super) async fn base_hash(&self) -> Result<String> {
        match &self.checkpoint {
            Some(hash) => hash.clone().await,
            None => Err(Error::internal(
                "a recovered journal has no checkpoint of its own",
            )),
        }
    }

    async fn encode_header(&self, secrets: Option<JournalSecrets>, chain: &mut Chain) -> Result<Vec<u8>> {
        let Some(header) = &self.header else {
            return Err(Error::internal("a recovered journal takes no entries"));
        };
        let mut header = header.clone();
        if let Some(checkpoint) = &self.checkpoint {
            header.checkpoint = checkpoint.clone().await?;
        }
        header.secrets = secrets;
        codec::encode_header(&header, chain)
    }

    /// Returns the manager, unless the key of a new one is still being derived.
    fn named_secrets(&self) -> Result<Option<JournalSecrets>> {
        let Some(manager) = &self.secrets else {
            return Ok(None);
        };
        match manager.ready().now_or_never() {
            None => Ok(None),
            Some(ready) => ready.map(|()| Some(JournalSecrets::new(&**manager))),
        }
    }

    /// Writes, before the checkpoint is replaced, the [`crate::state::deployment::content_hash`] of the one that will
    /// contain all entries. Does nothing when there is no object.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Conflict`] when the object belongs to another writer.
    pub(crate) async fn announce_checkpoint(&self, checkpoint: &str) -> Result<()> {
        let mut tail = self.tail.lock().await;
        let Some(end) = self.settle(&mut tail).await? else {
            return Ok(());
        };
        let mut chain = end.chain;
        let line = codec::encode_final_checkpoint(checkpoint, &mut chain)?;
        self.write(&mut tail, Some(end), line.into(), chain).await
    }

    /// Writes, before the checkpoint is replaced, the rebase of the one that will contain part of the entries. Does
    /// nothing, and returns `false`, when there is no object.
    ///
    /// # Errors
    /// Those of [`Self::announce_checkpoint`].
    pub(crate) async fn rebase(&self, rebase: &Rebase) -> Result<bool> {
        let mut tail = self.tail.lock().await;
        let Some(end) = self.settle(&mut tail).await? else {
            return Ok(false);
        };
        let mut chain = end.chain;
        let line = codec::encode_rebase(rebase, &mut chain)?;
        self.write(&mut tail, Some(end), line.into(), chain).await?;
        Ok(true)
    }

    /// Removes the entries that a checkpoint contains which was written during the operation, where the store keeps them as objects.
    /// Those of steps in flight stay.
    ///
    /// # Errors
    /// Those of [`Self::announce_checkpoint`]. The journal is as it was, or shortened.
    pub(crate) async fn shorten(&self, rebase: &Rebase) -> Result<()> {
        let mut tail = self.tail.lock().await;
        if !self.retain_from(rebase) {
            return Ok(());
        }
        let Some(end) = self.settle(&mut tail).await? else {
            return Ok(());
        };
        let mut chain = Chain::default();
        let content = self.shortened(rebase, &mut chain)?;
        *tail = Tail::Replaced {
            before: end.clone(),
            content: content.clone(),
            chain,
        };
        let length = content.len();
        let condition = Condition::Match(end.version);
        match self.store.put(&self.key, content, condition).await {
            Ok(version) => {
                *tail = Tail::Intact(End {
                    version,
                    length,
                    chain,
                });
                Ok(())
            }
            Err(error) => Err(self.note_conflict(&mut tail, error)),
        }
    }

    fn retained(&self) -> MutexGuard<'_, Option<Vec<Retained>>> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retains the lines that a shortened journal keeps. Returns whether there are others.
    fn retain_from(&self, rebase: &Rebase) -> bool {
        let mut retained = self.retained();
        let Some(lines) = &mut *retained else {
            return false;
        };
        let count = lines.len();
        lines.retain(|line| {
            line.sequence >= rebase.sequence || (line.is_begin && rebase.begun.contains(&line.operation))
        });
        lines.len() < count
    }

    /// Returns the lines of a shortened journal.
    fn shortened(&self, rebase: &Rebase, chain: &mut Chain) -> Result<Bytes> {
        let secrets = self.secrets.as_ref();
        let secrets = secrets.filter(|_| self.names_secrets.load(Ordering::Relaxed));
        let Some(header) = &self.header else {
            return Err(Error::internal("a recovered journal is not shortened"));
        };
        let header = JournalHeader {
            checkpoint: SHORTENED.to_owned(),
            secrets: secrets.map(|manager| JournalSecrets::new(&**manager)),
            ..header.clone()
        };
        let rebase = Rebase {
            // This one is known to be written.
            written: rebase.sequence,
            ..rebase.clone()
        };
        let mut lines = codec::encode_header(&header, chain)?;
        lines.extend_from_slice(&codec::encode_rebase(&rebase, chain)?);
        let retained = self.retained();
        let texts = retained.iter().flatten().map(|line| &line.text[..]);
        lines.extend_from_slice(&codec::encode_texts(texts, chain));
        Ok(lines.into())
    }

    /// Retains the lines of entries that were written; after a failure it is not known which were.
    fn retain(&self, entries: &[Arc<JournalEntry>], lines: Option<&Bytes>) {
        let mut retained = self.retained();
        let Some(known) = &mut *retained else {
            return;
        };
        let Some(lines) = lines.filter(|_| known.len() + entries.len() <= MAX_RETAINED) else {
            *retained = None;
            return;
        };
        known.extend(
            entries
                .iter()
                .zip(codec::texts(lines))
                .map(|(entry, text)| Retained {
                    sequence: entry.sequence,
                    operation: entry.operation,
                    is_begin: matches!(entry.record, JournalRecord::Begin { .. }),
                    text: lines.slice_ref(text),
                }),
        );
    }

    /// Removes the object, after the checkpoint was replaced.
    ///
    /// # Errors
    /// Those of the store. The next open then finds a journal whose checkpoint was written.
    pub(crate) async fn discard(&self) -> Result<()> {
        let mut tail = self.tail.lock().await;
        if let Some(end) = self.settle(&mut tail).await? {
            self.store.delete_version(&self.key, &end.version).await?;
            *tail = Tail::Absent;
        }
        Ok(())
    }

    /// Determines the end of the object, and truncates an incomplete line; `None` when there is no object.
    async fn settle(&self, tail: &mut Tail) -> Result<Option<End>> {
        if let Tail::Unknown { before, tried } = tail {
            let object = self.store.get(&self.key).await?;
            *tail = find_end(before.as_ref(), tried, object).unwrap_or_else(|| Tail::Lost(taken(&self.key)));
        }
        if let Tail::Replaced { .. } = tail {
            self.settle_replacement(tail).await?;
        }
        let (version, intact, chain) = match &*tail {
            Tail::Absent => return Ok(None),
            Tail::Intact(end) => return Ok(Some(end.clone())),
            Tail::Lost(error) => return Err(error.clone()),
            Tail::Unknown { .. } | Tail::Replaced { .. } => {
                return Err(Error::internal("the end of the journal is not known"));
            }
            Tail::Torn {
                version,
                intact,
                chain,
            } => (version.clone(), intact.clone(), *chain),
        };
        let length = intact.len();
        // As one put, so that a failure leaves a readable object.
        match self.store.put(&self.key, intact, Condition::Match(version)).await {
            Ok(version) => {
                let end = End {
                    version,
                    length,
                    chain,
                };
                *tail = Tail::Intact(end.clone());
                Ok(Some(end))
            }
            Err(error) => Err(self.note_conflict(tail, error)),
        }
    }

    /// Determines whether a replacement of the whole object was done, and does it where it was not: it may arrive later, and would remove
    /// what is written until then.
    async fn settle_replacement(&self, tail: &mut Tail) -> Result<()> {
        let Tail::Replaced {
            before,
            content,
            chain,
        } = &*tail
        else {
            return Ok(());
        };
        let (version, content, chain) = (before.version.clone(), content.clone(), *chain);
        let known = |version| {
            let length = content.len();
            Tail::Intact(End {
                version,
                length,
                chain,
            })
        };
        let found = self.store.get(&self.key).await?;
        let is_open = found.as_ref().is_some_and(|object| object.version == version);
        let found = match is_open {
            false => found,
            true => {
                let condition = Condition::Match(version);
                match self.store.put(&self.key, content.clone(), condition).await {
                    Ok(version) => {
                        *tail = known(version);
                        return Ok(());
                    }
                    // The first one has arrived meanwhile.
                    Err(error) if error.kind() == ErrorKind::Conflict => self.store.get(&self.key).await?,
                    Err(error) => return Err(error),
                }
            }
        };
        *tail = match found {
            Some(object) if object.bytes == content => known(object.version),
            _ => Tail::Lost(taken(&self.key)),
        };
        Ok(())
    }

    /// Appends lines after `before`, or writes them as a new object.
    async fn write(&self, tail: &mut Tail, before: Option<End>, lines: Bytes, chain: Chain) -> Result<()> {
        // Holds also when the caller is dropped during the write.
        *tail = Tail::Unknown {
            before: before.clone(),
            tried: lines.clone(),
        };
        let added = lines.len();
        let length = before.as_ref().map_or(0, |end| end.length) + added;
        let written = match before {
            Some(end) => {
                let condition = Condition::Match(end.version);
                self.store.append(&self.key, lines, condition).await
            }
            // An existing journal has not been recovered, and must not be lost.
            None => self.store.put(&self.key, lines, Condition::Absent).await,
        };
        match written {
            Ok(version) => {
                self.meter.journal_bytes(added);
                *tail = Tail::Intact(End {
                    version,
                    length,
                    chain,
                });
                Ok(())
            }
            Err(error) => Err(self.note_conflict(tail, error)),
        }
    }

    fn note_conflict(&self, tail: &mut Tail, error: Error) -> Error {
        if error.kind() != ErrorKind::Conflict {
            return error;
        }
        // A store with leases knows more.
        let taken = taken(&self.key).with_hint(error.message());
        *tail = Tail::Lost(taken.clone());
        taken
    }
}

/// Determines the end after a failed write; `None` when another writer has changed the object.
fn find_end(before: Option<&End>, tried: &Bytes, object: Option<Object>) -> Option<Tail> {
    let Some(object) = object else {
        return before.is_none().then_some(Tail::Absent);
    };
    let (length, mut chain) = before.map_or((0, Chain::default()), |end| (end.length, end.chain));
    let (known, written) = object.bytes.split_at_checked(length)?;
    let is_known = before.is_none() || chain.continues(known);
    // Reserved blocks that were never written are read as zeros.
    let zeros = written.iter().rev().take_while(|byte| **byte == 0).count();
    let written = &written[..written.len() - zeros];
    if !is_known || !tried.starts_with(written) {
        return None;
    }
    let length = length + chain.follow(written);
    Some(if length == object.bytes.len() {
        Tail::Intact(End {
            version: object.version,
            length,
            chain,
        })
    } else {
        Tail::Torn {
            version: object.version,
            intact: object.bytes.slice(..length),
            chain,
        }
    })
}

fn taken(key: &str) -> Error {
    let text = format!(
        "the journal {key} was removed, replaced or extended by another process during the operation"
    );
    Error::new(ErrorKind::Conflict, text).with_hint(
        "the stack's lock was broken while the operation ran; open the stack again to see its state",
    )
}

#[async_trait]
impl JournalSink for StoreJournal {
    async fn append(&self, entries: &[Arc<JournalEntry>]) -> Result<()> {
        let mut tail = self.tail.lock().await;
        let before = self.settle(&mut tail).await?;
        let mut chain = before.as_ref().map_or_else(Chain::default, |end| end.chain);
        // Secrets wait for the key, so entries that have some never precede the name of their manager.
        let ciphertexts = codec::encrypt_entries(entries, self.secrets.as_deref()).await?;
        let secrets = match self.names_secrets.load(Ordering::Relaxed) {
            true => None,
            false => self.named_secrets()?,
        };
        let names_secrets = secrets.is_some();
        let mut lines = match (&before, secrets) {
            (None, secrets) => self.encode_header(secrets, &mut chain).await?,
            (Some(_), Some(secrets)) => codec::encode_secrets(&secrets, &mut chain)?,
            (Some(_), None) => Vec::new(),
        };
        let encoded = Bytes::from(codec::encode_entries(entries, &ciphertexts, &mut chain)?);
        let lines = match lines.is_empty() {
            true => encoded.clone(),
            false => {
                lines.extend_from_slice(&encoded);
                lines.into()
            }
        };
        if let Err(error) = self.write(&mut tail, before, lines, chain).await {
            self.retain(entries, None);
            return Err(error);
        }
        self.meter.journal_entries(entries.len());
        self.retain(entries, Some(&encoded));
        if names_secrets {
            self.names_secrets.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

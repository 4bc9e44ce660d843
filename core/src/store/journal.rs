//! The journal in a store: an object beside the checkpoint that comes to be with the first entry, and has one writer.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt as _, future::Shared};
use tokio::sync::Mutex;

use super::{Condition, Object, Store, Version};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Task,
    secrets::SecretsManager,
    state::{
        JournalEntry, Rebase,
        journal::{Chain, JournalEnd, JournalHeader, JournalSink, codec},
    },
};

/// Appends entries to an object of a store. An operation that changes nothing leaves no trace.
///
/// The object has one writer. When it is removed, replaced or extended by another process, every later write fails with
/// [`ErrorKind::Conflict`].
pub(crate) struct StoreJournal {
    store: Arc<dyn Store>,
    key: String,
    header: Option<JournalHeader>,
    /// The hash that the header is to name, when it is not known yet.
    checkpoint: Option<Shared<Task<String>>>,
    secrets: Option<Arc<dyn SecretsManager>>,
    tail: Mutex<Tail>,
}

/// What the writer knows of the object's end.
enum Tail {
    /// There is no object.
    Absent,
    /// The object ends with an intact line.
    Intact(End),
    /// Behind the intact lines stands the beginning of another.
    Torn {
        /// The version of the whole object.
        version: Version,
        intact: Bytes,
        chain: Chain,
    },
    /// A write failed: how much of `tried` is behind `before` is not known.
    Unknown { before: Option<End>, tried: Bytes },
    /// The object is another writer's.
    Lost(Error),
}

#[derive(Clone)]
struct End {
    version: Version,
    length: usize,
    chain: Chain,
}

impl StoreJournal {
    /// Creates a sink for the object `key`, which must not exist; `secrets` encrypts what the header says it does.
    #[must_use]
    pub(crate) fn new(
        store: Arc<dyn Store>,
        key: impl Into<String>,
        header: JournalHeader,
        secrets: Option<Arc<dyn SecretsManager>>,
    ) -> Self {
        Self {
            store,
            key: key.into(),
            header: Some(header),
            checkpoint: None,
            secrets,
            tail: Mutex::new(Tail::Absent),
        }
    }

    /// Goes on with a journal that was read and recovered. It takes no more entries, but can be folded and discarded.
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
            tail: Mutex::new(tail),
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

    async fn encode_header(&self, chain: &mut Chain) -> Result<Vec<u8>> {
        let Some(header) = &self.header else {
            return Err(Error::internal("a recovered journal takes no entries"));
        };
        let mut header = header.clone();
        if let Some(checkpoint) = &self.checkpoint {
            header.checkpoint = checkpoint.clone().await?;
        }
        if let (Some(named), Some(manager)) = (&mut header.secrets, &self.secrets) {
            manager.ready().await?;
            named.state = manager.state();
        }
        codec::encode_header(&header, chain)
    }

    /// Notes, before the checkpoint is replaced, which one will hold everything (its
    /// [`crate::state::deployment::content_hash`]). Does nothing when there is no object.
    ///
    /// # Errors
    /// That of the store; [`ErrorKind::Conflict`] when the object is another writer's.
    pub(crate) async fn fold(&self, checkpoint: &str) -> Result<()> {
        let mut tail = self.tail.lock().await;
        let Some(end) = self.settle(&mut tail).await? else {
            return Ok(());
        };
        let mut chain = end.chain;
        let line = codec::encode_folded(checkpoint, &mut chain)?;
        self.write(&mut tail, Some(end), line.into(), chain).await
    }

    /// Notes, before the checkpoint is replaced, which one will hold part of the entries. Does nothing, and returns `false`,
    /// when there is no object.
    ///
    /// # Errors
    /// As for [`Self::fold`].
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

    /// Removes the object, after the checkpoint was replaced.
    ///
    /// # Errors
    /// That of the store; the next opening then finds a journal that is folded already.
    pub(crate) async fn discard(&self) -> Result<()> {
        let mut tail = self.tail.lock().await;
        if let Some(end) = self.settle(&mut tail).await? {
            self.store.delete_version(&self.key, &end.version).await?;
            *tail = Tail::Absent;
        }
        Ok(())
    }

    /// Finds out where the object ends, and cuts off what stands behind its intact lines; `None` when there is none.
    async fn settle(&self, tail: &mut Tail) -> Result<Option<End>> {
        if let Tail::Unknown { before, tried } = tail {
            let object = self.store.get(&self.key).await?;
            *tail = find_end(before.as_ref(), tried, object).unwrap_or_else(|| Tail::Lost(taken(&self.key)));
        }
        let (version, intact, chain) = match &*tail {
            Tail::Absent => return Ok(None),
            Tail::Intact(end) => return Ok(Some(end.clone())),
            Tail::Lost(error) => return Err(error.clone()),
            Tail::Unknown { .. } => return Err(Error::internal("the end of the journal is not known")),
            Tail::Torn {
                version,
                intact,
                chain,
            } => (version.clone(), intact.clone(), *chain),
        };
        let length = intact.len();
        // As a whole, so that a failure on the way leaves what can be read.
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

    /// Writes lines behind `end`, or as a new object.
    async fn write(&self, tail: &mut Tail, before: Option<End>, lines: Bytes, chain: Chain) -> Result<()> {
        // Also when the caller goes away in the middle of the write.
        *tail = Tail::Unknown {
            before: before.clone(),
            tried: lines.clone(),
        };
        let length = before.as_ref().map_or(0, |end| end.length) + lines.len();
        let written = match before {
            Some(end) => {
                let condition = Condition::Match(end.version);
                self.store.append(&self.key, lines, condition).await
            }
            // A journal that is there already has not been recovered: it must not be lost.
            None => self.store.put(&self.key, lines, Condition::Absent).await,
        };
        match written {
            Ok(version) => {
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
        let taken = taken(&self.key);
        *tail = Tail::Lost(taken.clone());
        taken
    }
}

/// Finds out what a failed write left behind; `None` when another writer has been there.
fn find_end(before: Option<&End>, tried: &Bytes, object: Option<Object>) -> Option<Tail> {
    let Some(object) = object else {
        return before.is_none().then_some(Tail::Absent);
    };
    let (length, mut chain) = before.map_or((0, Chain::default()), |end| (end.length, end.chain));
    let (known, written) = object.bytes.split_at_checked(length)?;
    let is_known = before.is_none() || chain.continues(known);
    // Blocks that were reserved and never written read as zeros.
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
        let mut lines = match before {
            Some(_) => Vec::new(),
            None => self.encode_header(&mut chain).await?,
        };
        let entries = codec::encode_entries(entries, self.secrets.as_deref(), &mut chain).await?;
        if lines.is_empty() {
            lines = entries;
        } else {
            lines.extend_from_slice(&entries);
        }
        self.write(&mut tail, before, lines.into(), chain).await
    }
}

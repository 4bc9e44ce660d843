//! A stack in a store: its checkpoint, its journal, its lock and its history.

mod both_locks;
mod commit;
mod fence;
mod leftover;
mod list;
mod moving;
mod rekey;
mod remove;
mod rename;
#[cfg(test)]
mod run_tests;
mod summary;
mod tags;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::OptionFuture;

use super::{
    Condition, HistoryEntry, HistoryPage, HistoryPoint, Holder, HostFacts, LockOwner, LockPurpose, Md5Digest,
    Object, ReservedLock, StackLock, StackName, Store, Version,
    compression::expand,
    history::{self, CheckpointCopy},
    layout::{CHECKPOINT_ENDINGS, META},
    lock_file::{self, Holders, Refused},
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
    state::deployment::content_hash,
};

/// The time before the second attempt to lock a stack that is locked elsewhere, which doubles, and the longest one.
const LOCK_WAIT: Duration = Duration::from_millis(100);
const MAX_LOCK_WAIT: Duration = Duration::from_secs(2);

/// How long an operation without a limit of its own waits for one of the same run of which only a lock file is left: its process, on
/// another host or before a restart of this one, may run or may have died.
const UNSEEN_RUN_WAIT: Duration = Duration::from_secs(60);

const UNSEEN_RUN_ADVICE: &str = "the holder has the same run id, and nothing shows whether its process still runs: the store's own lock is \
     free, and only the lock file names it. When that process has ended, the stack's `break_lock` with its user@host:process frees the \
     stack, and the same run can be requested again";

pub(crate) use both_locks::BothLocks;
pub(super) use commit::Head;
pub(super) use leftover::{copy_journal_aside, discard_journal};
use leftover::{discard_removed, left_journal};
use list::check_layout;
pub(crate) use list::list_stacks;
pub(crate) use moving::{Moving, Settled, is_in_memory, is_one_store};
pub(crate) use rekey::Rekeying;
pub(crate) use remove::remove_stack;
pub(crate) use rename::{Rename, refuse_former_config, refuse_renaming, settle_renaming};
pub(crate) use summary::summarize_stacks;
pub use summary::{LastUpdate, StackSummary};
use tags::StackTags;

/// The limit of attempts to read a stack that changes meanwhile.
const MAX_READ_ATTEMPTS: usize = 16;

/// A stack in a store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StackStorage {
    store: Arc<dyn Store>,
    name: StackName,
    facts: HostFacts,
    runtime: Runtime,
    lock_limit: Duration,
}

/// A stack as it was read.
#[derive(Clone, Debug)]
pub(crate) struct StoredStack {
    /// The checkpoint, decompressed.
    pub checkpoint: Bytes,
    /// The identity of the checkpoint.
    pub base: CheckpointBase,
    /// The checkpoint as it is stored, with its recorded digest, if there is one.
    pub(in crate::store) recorded: Option<(Bytes, Md5Digest)>,
    /// The journal; `None` when there is none.
    pub journal: Option<Object>,
}

impl StoredStack {
    /// Returns whether there is a non-empty journal.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal
            .as_ref()
            .is_some_and(|journal| !journal.bytes.is_empty())
    }
}

/// The identity of the checkpoint on which a change is based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointBase {
    key: String,
    version: Version,
}

impl CheckpointBase {
    pub(in crate::store) fn key(&self) -> &str {
        &self.key
    }
}

impl StackStorage {
    /// Creates a handle of a stack, without reading or writing. `facts` are written to its lock files.
    #[must_use]
    pub(crate) fn new(store: Arc<dyn Store>, name: StackName, facts: HostFacts, runtime: Runtime) -> Self {
        Self {
            store,
            name,
            facts,
            runtime,
            lock_limit: Duration::ZERO,
        }
    }

    /// Returns the same stack, whose locks are waited for while they are held elsewhere.
    #[must_use]
    pub(crate) fn waiting_for_lock(&self, limit: Duration) -> Self {
        Self {
            lock_limit: limit,
            ..self.clone()
        }
    }

    /// Returns how long its locks are waited for.
    #[must_use]
    pub(crate) const fn lock_limit(&self) -> Duration {
        self.lock_limit
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the stack's name.
    #[must_use]
    pub(crate) fn name(&self) -> &StackName {
        &self.name
    }

    /// Returns the store.
    #[must_use]
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the stack of another name in the same store.
    #[must_use]
    pub(crate) fn named(&self, name: StackName) -> Self {
        Self { name, ..self.clone() }
    }

    /// Returns the tags of the stack.
    #[must_use]
    pub(crate) const fn tags(&self) -> StackTags<'_> {
        StackTags(self)
    }

    /// Returns the hash of the checkpoint; `None` when there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn hash(&self) -> Result<Option<String>> {
        let Some(key) = self.checkpoint_key().await? else {
            return Ok(None);
        };
        let Some(object) = self.store.get(&key).await? else {
            return Ok(None);
        };
        Ok(Some(content_hash(&expand(&key, object.bytes)?)))
    }

    /// Returns whether the stack exists.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn exists(&self) -> Result<bool> {
        check_layout(&self.store).await?;
        Ok(self.checkpoint_key().await?.is_some())
    }

    /// Creates the stack, empty.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when it exists.
    pub(crate) async fn create(&self) -> Result<()> {
        let empty = serde_json::json!({ "version": 3, "checkpoint": { "stack": self.name.qualified() } });
        self.create_as(empty.to_string().into()).await
    }

    /// Creates the stack with a checkpoint.
    pub(in crate::store) async fn create_as(&self, checkpoint: Bytes) -> Result<()> {
        let exists = || {
            Error::new(
                ErrorKind::Conflict,
                format!("stack '{}' already exists", self.name.qualified()),
            )
            .with_hint("select_stack() selects it")
            .with_hint("create_or_select_stack() selects a stack that exists and creates one that does not")
        };
        if !check_layout(&self.store).await? {
            match self
                .store
                .put(META, "version: 1\n".into(), Condition::Absent)
                .await
            {
                Err(error) if error.kind() != ErrorKind::Conflict => return Err(error),
                _ => {}
            }
        }
        let left = left_journal(self).await?;
        if self.checkpoint_key().await?.is_some() {
            return Err(exists());
        }
        if let Some(left) = left {
            discard_removed(self, &left).await?;
        }
        let key = self.name.checkpoint(CHECKPOINT_ENDINGS[0]);
        let checkpoint = self.unlike_former(checkpoint);
        match self.store.put(&key, checkpoint, Condition::Absent).await {
            Err(error) if error.kind() == ErrorKind::Conflict => Err(exists()),
            other => other.map(drop),
        }
    }

    /// Returns the key of the checkpoint: the one written last when there are several forms.
    pub(in crate::store) async fn checkpoint_key(&self) -> Result<Option<String>> {
        let keys = CHECKPOINT_ENDINGS.map(|ending| self.name.checkpoint(ending));
        let objects = self.store.find(&self.name.checkpoint_prefix(), &keys).await?;
        Ok(objects
            .into_iter()
            // Of equally old ones the uncompressed, which is first.
            .rev()
            .max_by_key(|object| object.modified)
            .map(|object| object.key))
    }

    /// Reads the checkpoint and the journal.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the stack does not exist; [`ErrorKind::Conflict`] when checkpoint and journal cannot be read
    /// together, since operations begin and end all the time.
    pub(crate) async fn read(&self) -> Result<StoredStack> {
        let missing = || {
            Error::new(
                ErrorKind::NotFound,
                format!("no stack named '{}' found", self.name),
            )
        };
        let mut layout = Some(check_layout(&self.store));
        for _ in 0..MAX_READ_ATTEMPTS {
            // Each read of a remote store takes a round trip.
            let (known, before, key) = futures::join!(
                OptionFuture::from(layout.take()),
                self.journal(),
                self.checkpoint_key()
            );
            known.transpose()?;
            let before = before?;
            let key = key?.ok_or_else(missing)?;
            let read = self.store.get_with_digest(&key).await?;
            let (Object { bytes, version }, digest) = read.ok_or_else(missing)?;
            let journal = self.journal().await?;
            // Without the lock, an operation may end or begin between these reads. A journal that has only grown
            // belongs to this checkpoint or announces it; otherwise both are read again.
            let steady = match (&before, &journal) {
                (Some(before), Some(journal)) => journal.bytes.starts_with(&before.bytes),
                (None, None) => true,
                _ => false,
            };
            if steady {
                return Ok(StoredStack {
                    recorded: digest.map(|digest| (bytes.clone(), digest)),
                    checkpoint: expand(&key, bytes)?,
                    base: CheckpointBase { key, version },
                    journal,
                });
            }
        }
        let text = format!(
            "operations on the stack '{}' began or ended during each of {MAX_READ_ATTEMPTS} attempts to read it",
            self.name
        );
        Err(Error::new(ErrorKind::Conflict, text).with_hint("read it again when fewer operations run"))
    }

    /// Returns the keys of the stack's history. Those of other files in its folder are none.
    async fn own_history(&self) -> Result<Vec<String>> {
        let stem = self.name.history_stem();
        let listed = self.store.list(&self.name.history()).await?;
        let keys = listed.into_iter().map(|object| object.key);
        Ok(keys.filter(|key| key.starts_with(&stem)).collect())
    }

    async fn journal(&self) -> Result<Option<Object>> {
        self.store.get(&self.name.journal()).await
    }

    /// Locks the stack against this engine and the reference engine.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], which names the holders, when it is locked elsewhere.
    #[cfg(test)]
    pub(crate) async fn lock(&self) -> Result<StackLock> {
        self.reserve(None).await?.publish().await
    }

    /// Locks the stack against this engine and the reference engine for `operation`, `update` for instance, which conflicts of
    /// other lockers name. Waits as [`Self::waiting_for_lock`] states.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], which names the holders, when it is locked elsewhere, and for a stack with an interrupted move of resources, or an interrupted renaming.
    pub(crate) async fn lock_for(&self, operation: &str) -> Result<StackLock> {
        self.lock_within(LockPurpose::of(operation), self.lock_limit, |_| {})
            .await
    }

    /// Locks the stack as [`Self::lock_for`] does, and waits while it is locked elsewhere: within the limit, and for an operation of the
    /// same run until it has ended. Where nothing shows whether that one still runs, because only a lock file names its process of another
    /// host or of an earlier boot, it is waited for within the limit, too, or [`UNSEEN_RUN_WAIT`] without one. `waits` gets the first
    /// conflict.
    ///
    /// # Errors
    /// Those of [`Self::lock_for`].
    pub(crate) async fn lock_within(
        &self,
        purpose: LockPurpose<'_>,
        limit: Duration,
        waits: impl Fn(&Error),
    ) -> Result<StackLock> {
        let lock = |max_wait| async move {
            let purpose = LockPurpose { max_wait, ..purpose };
            Ok(self.reserve(Some(purpose)).await?.publish().await?)
        };
        let lock = self.repeat_locking(purpose.run, limit, waits, lock).await?;
        let settled = match futures::join!(self.refuse_unsettled(), Rekeying::of(self)) {
            // After another change of the state it could not be distinguished from one that is done.
            (Ok(()), rekeying) => Rekeying::forget_undone(self, rekeying).await,
            (refused, _) => refused,
        };
        if let Err(error) = settled {
            drop(lock.release().await);
            return Err(error);
        }
        Ok(lock)
    }

    /// Repeats `lock` while it conflicts, as [`Self::lock_within`] states. It gets how long it may observe a holder.
    async fn repeat_locking<L, F: Future<Output = std::result::Result<L, Refused>>>(
        &self,
        run: Option<&str>,
        limit: Duration,
        waits: impl Fn(&Error),
        lock: impl Fn(Option<Duration>) -> F,
    ) -> Result<L> {
        let clock = &self.runtime.clock;
        let begin = clock.elapsed();
        let mut pause = LOCK_WAIT;
        // Since when only a lock file names an operation of the same run.
        let mut unseen = None;
        let mut was_gone = false;
        let mut wait = None;
        // An operation without a limit observes a lock until it is free, or its holder is known to run.
        let mut max_wait = (!limit.is_zero()).then_some(limit);
        loop {
            let Refused { error, is_held } = match lock(max_wait).await {
                Err(refused) if refused.error.kind() == ErrorKind::Conflict => refused,
                Ok(locked) => {
                    self.runtime.meter.lock_taken();
                    return Ok(locked);
                }
                Err(refused) => return Err(refused.into()),
            };
            let holders = match run {
                Some(run) => Holders::of(&self.store, &self.name, run).await?,
                None => Holders::Others,
            };
            // The holder has ended after the conflict.
            if holders == Holders::None && !was_gone {
                was_gone = true;
                continue;
            }
            was_gone = false;
            let is_own_run = holders == Holders::OwnRun;
            if limit.is_zero() && !is_own_run {
                return Err(error);
            }
            let now = clock.elapsed();
            let (since, limit) = match (is_own_run, is_held) {
                (true, true) => (now, Duration::MAX),
                (true, false) if limit.is_zero() => (*unseen.get_or_insert(now), UNSEEN_RUN_WAIT),
                _ => (begin, limit),
            };
            if is_held || !is_own_run {
                unseen = None;
            }
            let left = limit.saturating_sub(now.saturating_sub(since));
            if left.is_zero() {
                let text = format!("it stayed locked for the {limit:?} that this operation has waited");
                let error = error.with_hint(text);
                return Err(match is_own_run {
                    true => error.with_hint(UNSEEN_RUN_ADVICE),
                    false => error,
                });
            }
            if pause == LOCK_WAIT {
                waits(&error);
            }
            let pausing = pause.min(left);
            max_wait = (limit != Duration::MAX).then(|| left.saturating_sub(pausing));
            wait.get_or_insert_with(|| {
                tracing::info!(target: "stackwright::store", stack = %self.name, "waiting for the lock of a stack");
                self.runtime.meter.lock_wait(|| clock.elapsed())
            });
            clock.wait(pausing).await;
            pause = (pause * 2).min(MAX_LOCK_WAIT);
        }
    }

    /// Locks the stack against this engine, also with an interrupted move of resources or an interrupted renaming. Where it is taken over
    /// from another holder, that one's checkpoints can no longer be written.
    async fn reserve(&self, purpose: Option<LockPurpose<'_>>) -> std::result::Result<ReservedLock, Refused> {
        let lock = ReservedLock::take(&self.store, &self.name, &self.facts, &self.runtime, purpose).await?;
        if lock.is_unfenced() {
            self.fence().await?;
        }
        Ok(lock)
    }

    /// Refuses a stack with an interrupted move of resources or an interrupted renaming, as [`Self::lock_for`] does.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] for such a stack; those of the store.
    pub(crate) async fn refuse_unsettled(&self) -> Result<()> {
        let (moving, renaming) = futures::join!(self.refuse_moving(), refuse_renaming(self, None));
        moving.and(renaming)
    }

    /// Refuses a stack with an interrupted move of resources, which its next opening finishes.
    ///
    /// # Errors
    /// Those of [`Self::refuse_unsettled`].
    pub(crate) async fn refuse_moving(&self) -> Result<()> {
        match Moving::of(self).await? {
            Some(moving) => Err(moving.unfinished()),
            None => Ok(()),
        }
    }

    /// Returns the holder of the stack, for callers without the lock. Lock files of ended processes do not count.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn holder(&self) -> Result<Option<Holder>> {
        lock_file::holder(&self.store, &self.name, &self.facts).await
    }

    /// Removes every lock file of the stack, including those of other programs, and returns their number. Where the store's own lock is
    /// that of an operation that has ended, it becomes free, too, and counts as one with its file.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn break_locks(&self) -> Result<usize> {
        let is_freed = self.store.break_ended_lock(&self.name.qualified()).await?;
        let locks = self.store.list(&self.name.locks()).await?;
        for lock in &locks {
            self.store.delete(&lock.key).await?;
        }
        Ok(locks.len().max(usize::from(is_freed)))
    }

    /// Removes the locks of an owner, and returns how many there were. Where the store's own lock can be taken from its holder, that
    /// is done: the holder's later writes fail.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], which names the holders, when only others have locks; those of the store.
    pub(crate) async fn break_locks_of(&self, owner: &LockOwner) -> Result<usize> {
        // First, so that its holder does not write without a lock file.
        let is_broken = self.store.break_lock(&self.name.qualified(), owner).await?;
        match lock_file::remove_of(&self.store, &self.name, &self.facts, owner).await {
            Err(error) if is_broken && error.kind() == ErrorKind::Conflict => Ok(1),
            removed => Ok(removed?.max(usize::from(is_broken))),
        }
    }

    /// Records a finished operation together with a copy of the checkpoint.
    #[cfg(test)]
    pub(crate) async fn record(&self, entry: &HistoryEntry) -> Result<()> {
        let checkpoint = self.checkpoint_key().await?;
        self.record_with(checkpoint.as_deref(), entry).await
    }

    /// Records a finished operation together with a copy of the checkpoint, which has this key.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::store) async fn record_with(
        &self,
        checkpoint: Option<&str>,
        entry: &HistoryEntry,
    ) -> Result<()> {
        let now = self.runtime.clock.now();
        let checkpoint = checkpoint.map_or(CheckpointCopy::None, CheckpointCopy::Of);
        history::write(&self.store, &self.name, checkpoint, entry, now).await
    }

    /// Records an operation that was interrupted, together with the checkpoint that is to replace the present one.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::store) async fn record_recovered(
        &self,
        checkpoint: &Bytes,
        entry: &HistoryEntry,
    ) -> Result<()> {
        let now = self.runtime.clock.now();
        let checkpoint = CheckpointCopy::Content(checkpoint);
        history::write(&self.store, &self.name, checkpoint, entry, now).await
    }

    /// Returns the key of the newest copy of the checkpoint in the history.
    pub(in crate::store) async fn newest_copy(&self) -> Result<Option<String>> {
        history::newest_copy(&self.store, &self.name).await
    }

    /// Reads the checkpoint that the history has of a point, decompressed.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it has none.
    pub(crate) async fn read_copy(&self, point: &HistoryPoint) -> Result<Bytes> {
        let key = history::copy_at(&self.store, &self.name, point).await?;
        let gone = || Error::new(ErrorKind::NotFound, format!("the copy {key} of a state is gone"));
        let object = self.store.get(&key).await?.ok_or_else(gone)?;
        expand(&key, object.bytes)
    }

    /// Returns the records of finished operations, the newest first.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::State`] when one is malformed.
    #[cfg(test)]
    pub(crate) async fn history(&self) -> Result<Vec<HistoryEntry>> {
        self.history_page(HistoryPage::default()).await
    }

    /// Returns a part of the records of finished operations, the newest first.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::State`] when one of them is malformed.
    pub(crate) async fn history_page(&self, page: HistoryPage) -> Result<Vec<HistoryEntry>> {
        history::read(&self.store, &self.name, page).await
    }
}

impl fmt::Debug for StackStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in {}", self.name, self.store.url())
    }
}

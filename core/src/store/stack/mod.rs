//! A stack in a store: its checkpoint, its journal, its lock and its history.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Condition, HistoryEntry, HostFacts, Object, StackLock, StackName, Store, Version,
    compression::expand,
    history,
    layout::{CHECKPOINT_ENDINGS, META, STACKS},
};
use crate::{
    error::{Error, ErrorKind, Result},
    project::yaml::{Node, Resolved},
    runtime::Runtime,
};

/// As often is a stack read again that changes while it is read.
const MOST_ATTEMPTS: usize = 16;

/// A stack in a store. Cheap to clone.
#[derive(Clone)]
pub struct StackStorage {
    store: Arc<dyn Store>,
    name: StackName,
    facts: HostFacts,
    runtime: Runtime,
}

/// A stack as it was read.
#[derive(Clone, Debug)]
pub struct StoredStack {
    /// The checkpoint, decompressed.
    pub checkpoint: Bytes,
    /// Which checkpoint it is, for [`StackStorage::commit`].
    pub base: CheckpointBase,
    /// The journal beside it; `None` when there is none.
    pub journal: Option<Bytes>,
}

/// Names the checkpoint that a change is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointBase {
    key: String,
    version: Version,
}

/// Returns the stacks of a store, of one project or of all, in the order of their names.
///
/// # Errors
/// Those of the store, and [`ErrorKind::State`] when the store has a layout that this engine does not know.
pub async fn list_stacks(store: &Arc<dyn Store>, project: Option<&str>) -> Result<Vec<StackName>> {
    check_layout(store).await?;
    let prefix = match project {
        Some(project) => format!("{STACKS}{project}/"),
        None => STACKS.to_owned(),
    };
    let mut names: Vec<_> = store
        .list(&prefix)
        .await?
        .iter()
        .filter_map(|object| StackName::of_checkpoint(&object.key))
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Refuses stores whose layout is not the one with projects; tells whether the store is marked as having it.
async fn check_layout(store: &Arc<dyn Store>) -> Result<bool> {
    let unknown =
        |what: String| Error::new(ErrorKind::State, format!("the store {} has {what}", store.url()));
    let Some(meta) = store.get(META).await? else {
        let legacy = store.list(STACKS).await?.iter().any(|object| {
            let name = &object.key[STACKS.len()..];
            !name.contains('/') && CHECKPOINT_ENDINGS.iter().any(|ending| name.ends_with(ending))
        });
        if legacy {
            return Err(unknown("the old layout, without projects".to_owned())
                .with_hint("`pulumi state upgrade` brings it up to date"));
        }
        return Ok(false);
    };
    let version = std::str::from_utf8(&meta.bytes)
        .ok()
        .and_then(|text| Node::parse(text).ok())
        .and_then(|node| node.as_mapping()?.get("version")?.resolved());
    match version {
        Some(Resolved::Integer(1)) => Ok(true),
        Some(Resolved::Integer(0)) => Err(unknown("the old layout, without projects".to_owned())
            .with_hint("`pulumi state upgrade` brings it up to date")),
        _ => Err(unknown(format!("a layout that is not known here ({META})"))),
    }
}

impl StackStorage {
    /// Names a stack in a store; nothing is read or written. `facts` go into its lock files.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, name: StackName, facts: HostFacts, runtime: Runtime) -> Self {
        Self {
            store,
            name,
            facts,
            runtime,
        }
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the stack's name.
    #[must_use]
    pub fn name(&self) -> &StackName {
        &self.name
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Tells whether the stack exists.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn exists(&self) -> Result<bool> {
        check_layout(&self.store).await?;
        Ok(self.checkpoint_key().await?.is_some())
    }

    /// Creates the stack, empty.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when it exists.
    pub async fn create(&self) -> Result<()> {
        let exists = || {
            Error::new(
                ErrorKind::Conflict,
                format!("stack '{}' already exists", self.name.qualified()),
            )
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
        if self.checkpoint_key().await?.is_some() {
            return Err(exists());
        }
        let empty = serde_json::json!({ "version": 3, "checkpoint": { "stack": self.name.qualified() } });
        let key = self.name.checkpoint(CHECKPOINT_ENDINGS[0]);
        match self
            .store
            .put(&key, empty.to_string().into(), Condition::Absent)
            .await
        {
            Err(error) if error.kind() == ErrorKind::Conflict => Err(exists()),
            other => other.map(drop),
        }
    }

    /// Returns the key of the checkpoint: the one that was written last when there are several forms.
    async fn checkpoint_key(&self) -> Result<Option<String>> {
        let keys = CHECKPOINT_ENDINGS.map(|ending| self.name.checkpoint(ending));
        let objects = self.store.list(&self.name.checkpoint_prefix()).await?;
        Ok(objects
            .into_iter()
            .filter(|object| keys.contains(&object.key))
            // Of equally old ones the uncompressed: it stands first.
            .rev()
            .max_by_key(|object| object.modified)
            .map(|object| object.key))
    }

    /// Reads the checkpoint and the journal beside it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the stack does not exist.
    pub async fn read(&self) -> Result<StoredStack> {
        check_layout(&self.store).await?;
        let missing = || {
            Error::new(
                ErrorKind::NotFound,
                format!("no stack named '{}' found", self.name.stack()),
            )
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            let before = self.journal().await?;
            let key = self.checkpoint_key().await?.ok_or_else(missing)?;
            let Object { bytes, version } = self.store.get(&key).await?.ok_or_else(missing)?;
            let journal = self.journal().await?;
            // Without the lock, an operation may end or begin between these readings. Where the journal has only grown
            // it belongs to this checkpoint or says that it is part of it; otherwise look again.
            let steady = match (&before, &journal) {
                (Some(before), Some(journal)) => journal.starts_with(before),
                (None, None) => true,
                _ => false,
            };
            if steady || attempts == MOST_ATTEMPTS {
                return Ok(StoredStack {
                    checkpoint: expand(&key, bytes)?,
                    base: CheckpointBase { key, version },
                    journal,
                });
            }
        }
    }

    async fn journal(&self) -> Result<Option<Bytes>> {
        let object = self.store.get(&self.name.journal()).await?;
        Ok(object
            .map(|object| object.bytes)
            .filter(|bytes| !bytes.is_empty()))
    }

    /// Locks the stack against this engine and the reference engine.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], with the reference engine's text, when somebody else holds it.
    pub async fn lock(&self) -> Result<StackLock> {
        StackLock::take(&self.store, &self.name, &self.facts, &self.runtime).await
    }

    /// Removes every lock file of the stack, whoever wrote it, and returns how many there were.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn break_locks(&self) -> Result<usize> {
        let locks = self.store.list(&self.name.locks()).await?;
        for lock in &locks {
            self.store.delete(&lock.key).await?;
        }
        Ok(locks.len())
    }

    /// Adds lines to the journal; they are durable on return.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn append_journal(&self, lines: Bytes) -> Result<()> {
        self.store.append(&self.name.journal(), lines).await
    }

    /// Makes `checkpoint` the stack's state, keeps a copy of the previous one, and ends the journal.
    ///
    /// `folded` is the journal's last line, which says that its entries are part of the new checkpoint. It is written
    /// before the checkpoint and the journal is removed after it, so that at every moment either the old checkpoint
    /// and the journal, or the new checkpoint alone tell the state. Without a journal it is `None`. The caller holds
    /// the stack's lock.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the checkpoint is no longer the one that was read.
    pub async fn commit(
        &self,
        base: &CheckpointBase,
        checkpoint: Bytes,
        folded: Option<Bytes>,
    ) -> Result<CheckpointBase> {
        let journaled = folded.is_some();
        if let Some(folded) = folded {
            self.append_journal(folded).await?;
        }
        let next = self.replace(base, checkpoint).await?;
        if journaled {
            self.discard_journal().await?;
        }
        Ok(next)
    }

    /// Puts a checkpoint in the place of another, of which a copy stays behind.
    pub(super) async fn replace(&self, base: &CheckpointBase, checkpoint: Bytes) -> Result<CheckpointBase> {
        self.store.copy(&base.key, &format!("{}.bak", base.key)).await?;
        let key = self.name.checkpoint(CHECKPOINT_ENDINGS[0]);
        let condition = if key == base.key {
            Condition::Match(Arc::clone(&base.version))
        } else {
            self.check_base(base).await?;
            Condition::Any
        };
        let version = self.store.put(&key, checkpoint, condition).await?;
        if key != base.key {
            // The compressed form is older now and would only be taken for the state by mistake.
            self.store.delete(&base.key).await?;
        }
        Ok(CheckpointBase { key, version })
    }

    /// Checks that a checkpoint of another form is still the one that was read.
    async fn check_base(&self, base: &CheckpointBase) -> Result<()> {
        match self.store.get(&base.key).await? {
            Some(object) if object.version == base.version => Ok(()),
            _ => Err(super::changed(&base.key)),
        }
    }

    /// Removes the journal: its entries are known to be part of the checkpoint.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn discard_journal(&self) -> Result<()> {
        self.store.delete(&self.name.journal()).await
    }

    /// Sets aside a journal that does not extend the checkpoint, and returns its new key.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn set_aside_journal(&self) -> Result<String> {
        let journal = self.name.journal();
        let taken = self.store.list(&format!("{journal}.orphan-")).await?;
        let number = taken
            .iter()
            .filter_map(|object| object.key.rsplit_once('-')?.1.parse::<usize>().ok())
            .max()
            .map_or(1, |last| last + 1);
        let aside = self.name.orphan(number);
        self.store.copy(&journal, &aside).await?;
        self.store.delete(&journal).await?;
        Ok(aside)
    }

    /// Records a finished operation together with a copy of the checkpoint.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn record(&self, entry: &HistoryEntry) -> Result<()> {
        let checkpoint = self.checkpoint_key().await?;
        let now = self.runtime.clock.now();
        history::write(&self.store, &self.name, checkpoint.as_deref(), entry, now).await
    }

    /// Returns the records of finished operations, the newest first.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::State`] when one cannot be understood.
    pub async fn history(&self) -> Result<Vec<HistoryEntry>> {
        history::read(&self.store, &self.name).await
    }

    /// Removes the stack with its history; a copy of the checkpoint stays behind.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Conflict`] when somebody holds it, or when it has resources
    /// and `force` is false.
    pub async fn remove(&self, force: bool) -> Result<()> {
        let lock = self.lock().await?;
        let result = self.remove_locked(force).await;
        let released = lock.release().await;
        result.and(released)
    }

    async fn remove_locked(&self, force: bool) -> Result<()> {
        let stored = self.read().await?;
        if !force && (stored.journal.is_some() || has_resources(&stored.checkpoint)?) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "'{}' still has resources; removal rejected",
                    self.name.qualified()
                ),
            )
            .with_hint("destroy the stack first, or force the removal, which forgets its resources"));
        }
        let base = &stored.base.key;
        self.store.copy(base, &format!("{base}.bak")).await?;
        for ending in CHECKPOINT_ENDINGS {
            self.store.delete(&self.name.checkpoint(ending)).await?;
        }
        self.store.delete(&self.name.journal()).await?;
        self.store.delete(&self.name.tags()).await?;
        for object in self.store.list(&self.name.history()).await? {
            self.store.delete(&object.key).await?;
        }
        Ok(())
    }
}

/// Tells whether a checkpoint lists resources, without building them.
fn has_resources(checkpoint: &[u8]) -> Result<bool> {
    use serde::de::IgnoredAny;

    #[derive(serde::Deserialize)]
    struct File {
        #[serde(default)]
        checkpoint: Checkpoint,
    }
    #[derive(Default, serde::Deserialize)]
    struct Checkpoint {
        latest: Option<Latest>,
    }
    #[derive(serde::Deserialize)]
    struct Latest {
        #[serde(default)]
        resources: Option<Vec<IgnoredAny>>,
    }
    let file: File = serde_json::from_slice(checkpoint).map_err(|error| {
        Error::new(
            ErrorKind::State,
            format!("the checkpoint cannot be read: {error}"),
        )
    })?;
    let resources = file.checkpoint.latest.and_then(|latest| latest.resources);
    Ok(resources.is_some_and(|resources| !resources.is_empty()))
}

impl std::fmt::Debug for StackStorage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} in {}", self.name, self.store.url())
    }
}

#[cfg(test)]
mod tests;

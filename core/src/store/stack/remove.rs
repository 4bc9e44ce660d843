//! Removing a stack from its store.

use serde::{Deserialize, de::IgnoredAny};

use super::{
    CheckpointBase, StackStorage,
    leftover::{copy_journal_aside, discard_journal},
};
use crate::{
    error::{Error, ErrorKind, Result},
    store::{
        Condition, Object, StackName, StoredStack,
        layout::{BACKUP_ENDING, CHECKPOINT_ENDINGS},
    },
};

/// Removes the stack with its history. A copy of the checkpoint is kept.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Conflict`] when it is locked elsewhere, or when it has
/// resources and `force` is false.
pub(crate) async fn remove_stack(storage: &StackStorage, force: bool) -> Result<()> {
    let lock = storage.lock_for("removal").await?;
    if let Err(error) = remove_locked(storage, force).await {
        // The error of the removal is reported, not that of the release.
        drop(lock.release().await);
        return Err(error);
    }
    lock.retire().await?;
    storage.store.tidy(&storage.name.locks()).await;
    Ok(())
}

async fn remove_locked(storage: &StackStorage, force: bool) -> Result<()> {
    let stored = storage.read().await?;
    if !force {
        refuse_in_use(&storage.name, &stored)?;
    }
    let StackStorage { store, name, .. } = storage;
    // A process that is suspended in the removal, and whose lock is taken over meanwhile, removes nothing that its successor writes.
    let history = store.list(&name.history()).await?;
    let CheckpointBase { key: base, version } = &stored.base;
    // The copy must be durable before the original is removed.
    if let Some(object) = store.get(base).await? {
        let copy = format!("{base}{BACKUP_ENDING}");
        store.put(&copy, object.bytes, Condition::Any).await?;
    }
    if let Some(journal) = stored
        .journal
        .as_ref()
        .filter(|journal| !journal.bytes.is_empty())
    {
        let aside = copy_journal_aside(storage, journal).await?;
        tracing::info!(
            aside,
            "kept the journal of an interrupted operation of a stack that is removed"
        );
    }
    store.delete_version(base, version).await?;
    for ending in CHECKPOINT_ENDINGS {
        let key = name.checkpoint(ending);
        if key != *base {
            store.delete(&key).await?;
        }
    }
    remove_journal(storage, stored.journal.as_ref()).await?;
    // Those of a stack that has been created since are its own. They are set without the lock, so that their version shows nothing.
    if storage.checkpoint_key().await?.is_none() {
        store.delete(&name.tags()).await?;
    }
    // A stack that is created under the name has no part in an interrupted change of this one.
    store.delete(&name.rekeying()).await?;
    store.delete(&name.renaming()).await?;
    for object in history {
        store.delete(&object.key).await?;
    }
    // The folder of the journals may contain those of other stacks.
    store.tidy(&name.history()).await;
    store.tidy(&name.journals()).await;
    Ok(())
}

/// Removes the journal that was read with the checkpoint, and what ended journals have left. The journal of another process, which has
/// taken over the lock, stays.
///
/// # Errors
/// [`ErrorKind::Conflict`] when the journal that was read has changed since.
async fn remove_journal(storage: &StackStorage, read: Option<&Object>) -> Result<()> {
    if let Some(journal) = read {
        discard_journal(storage, journal).await?;
    }
    storage.store.sweep_journal(&storage.name.journal()).await
}

/// Refuses the removal of a stack that has resources, or may have some: a journal cannot be read without the key of
/// its secrets.
fn refuse_in_use(name: &StackName, stored: &StoredStack) -> Result<()> {
    let name = name.qualified();
    let Contents { resources, pending } = contents(&stored.checkpoint)?;
    let (text, hint) = if resources {
        let hint = "destroy the stack first, or force the removal, which forgets its resources";
        (format!("'{name}' still has resources; removal rejected"), hint)
    } else if stored.has_journal() {
        let hint =
            "refresh or destroy the stack first, which recovers what the operation did, or force the removal";
        let text = format!("'{name}' has the journal of an interrupted operation; removal rejected");
        (text, hint)
    } else if pending {
        let hint = "check whether what they were to create exists, and remove each with forget_pending(), or all with the option clear_pending_creates of a refresh; a forced removal forgets them, too";
        let text = format!("'{name}' has pending operations; removal rejected");
        (text, hint)
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Conflict, text).with_hint(hint))
}

/// Whether a checkpoint has resources or pending operations.
pub(super) struct Contents {
    /// Whether there are resources.
    pub(super) resources: bool,
    /// Whether there are pending operations, whose results are unknown.
    pub(super) pending: bool,
}

/// Reads the contents of a checkpoint, without building its records.
pub(super) fn contents(checkpoint: &[u8]) -> Result<Contents> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        checkpoint: Checkpoint,
    }
    #[derive(Default, Deserialize)]
    struct Checkpoint {
        latest: Option<Latest>,
    }
    #[derive(Default, Deserialize)]
    struct Latest {
        #[serde(default)]
        resources: Option<Vec<IgnoredAny>>,
        #[serde(default)]
        pending_operations: Option<Vec<IgnoredAny>>,
    }
    let file: File = serde_json::from_slice(checkpoint).map_err(|error| {
        Error::new(
            ErrorKind::State,
            format!("the checkpoint cannot be read: {error}"),
        )
    })?;
    let latest = file.checkpoint.latest.unwrap_or_default();
    let lists = |list: Option<Vec<IgnoredAny>>| list.is_some_and(|list| !list.is_empty());
    Ok(Contents {
        resources: lists(latest.resources),
        pending: lists(latest.pending_operations),
    })
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use super::*;
    use crate::{
        runtime::Runtime,
        store::{FileStore, HostFacts, SystemProcesses},
    };

    fn stack(folder: &Path, name: &str) -> StackStorage {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store = Arc::new(FileStore::new(folder, runtime.clone()).unwrap());
        let facts = HostFacts {
            pid: std::process::id(),
            username: "me".into(),
            hostname: "here".into(),
            system: "boot 1".into(),
            processes: Arc::new(SystemProcesses),
        };
        StackStorage::new(store, StackName::parse(name).unwrap(), facts, runtime)
    }

    /// Returns all files and empty folders below a folder, sorted.
    fn leaves(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            let entries: Vec<_> = next
                .read_dir()
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            for path in entries {
                let empty = path.is_dir() && path.read_dir().unwrap().next().is_none();
                if path.is_dir() && !empty {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(folder).unwrap().display().to_string());
                }
            }
        }
        // The set of write locks depends on the keys.
        found.retain(|path| !path.starts_with(".stackwright-locks/.writes/"));
        found.sort();
        found
    }

    #[tokio::test]
    async fn a_removal_keeps_a_copy_of_the_checkpoint_and_shared_files() {
        let folder = tempfile::tempdir().unwrap();
        let (dev, prod) = (
            stack(folder.path(), "shop/dev"),
            stack(folder.path(), "shop/prod"),
        );
        dev.create().await.unwrap();
        prod.create().await.unwrap();
        let held = prod.lock().await.unwrap();
        let before = leaves(folder.path());
        remove_stack(&dev, false).await.unwrap();
        let gone = [
            ".pulumi/stacks/shop/dev.json",
            ".pulumi/stacks/shop/dev.json.attrs",
            ".stackwright-locks/organization/shop/dev.lock",
        ];
        let mut expected: Vec<_> = before
            .into_iter()
            .filter(|path| !gone.contains(&path.as_str()))
            .collect();
        expected.push(".pulumi/stacks/shop/dev.json.bak".to_owned());
        expected.push(".pulumi/stacks/shop/dev.json.bak.attrs".to_owned());
        expected.retain(|path| !path.starts_with(".pulumi/locks/organization/shop/dev"));
        expected.sort();
        assert_eq!(leaves(folder.path()), expected);
        held.release().await.unwrap();
        remove_stack(&prod, false).await.unwrap();
        let last = [
            ".pulumi/meta.yaml",
            ".pulumi/stacks/shop/dev.json.bak",
            ".pulumi/stacks/shop/dev.json.bak.attrs",
            ".pulumi/stacks/shop/prod.json.bak",
            ".pulumi/stacks/shop/prod.json.bak.attrs",
        ];
        assert_eq!(leaves(folder.path()), last);
    }

    #[tokio::test]
    async fn a_removal_removes_the_notes_of_interrupted_changes() {
        let folder = tempfile::tempdir().unwrap();
        let dev = stack(folder.path(), "shop/dev");
        dev.create().await.unwrap();
        let renaming = r#"{"from":"shop/old","to":"shop/dev","old":"","new":"","config":true,"stored":true}"#;
        for (key, note) in [(dev.name.rekeying(), "{}"), (dev.name.renaming(), renaming)] {
            dev.store.put(&key, note.into(), Condition::Any).await.unwrap();
        }
        remove_stack(&dev, false).await.unwrap();
        let left = dev.store.list(".pulumi/journals/").await.unwrap();
        assert!(left.is_empty(), "{left:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn stacks_of_one_project_are_created_and_removed_concurrently() {
        let folder = tempfile::tempdir().unwrap();
        let rounds = (0..4).map(|number| {
            // Each as in another process, and two of them for the same stack.
            let stack = stack(folder.path(), &format!("shop/stack-{}", number / 2));
            tokio::spawn(async move {
                for _ in 0..20 {
                    for outcome in [stack.create().await, remove_stack(&stack, false).await] {
                        if let Err(error) = outcome {
                            let kind = error.kind();
                            assert!(
                                matches!(kind, ErrorKind::Conflict | ErrorKind::NotFound),
                                "{error}"
                            );
                        }
                    }
                }
            })
        });
        for round in rounds.collect::<Vec<_>>() {
            round.await.unwrap();
        }
    }
}

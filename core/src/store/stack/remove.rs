//! Removing a stack from its store.

use serde::{Deserialize, de::IgnoredAny};

use super::StackStorage;
use crate::{
    error::{Error, ErrorKind, Result},
    store::layout::CHECKPOINT_ENDINGS,
};

impl StackStorage {
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
pub(super) fn has_resources(checkpoint: &[u8]) -> Result<bool> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        checkpoint: Checkpoint,
    }
    #[derive(Default, Deserialize)]
    struct Checkpoint {
        latest: Option<Latest>,
    }
    #[derive(Deserialize)]
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

//! The note of a change of the secrets manager, while the state has the new one and the configuration the former.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StackStorage;
use crate::{
    config::RekeyedConfig,
    error::{Error, ErrorKind, Result},
    secrets::SecretsManager,
    state::deployment::secrets_of_checkpoint,
    store::Condition,
};

/// A change of the secrets manager that has begun. It has ciphertexts only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rekeying {
    /// Hex SHA-256 of the checkpoint with the former manager.
    checkpoint: Option<String>,
    /// The kind of the new manager.
    kind: String,
    /// Its state.
    state: Option<Value>,
    /// The change of the configuration.
    pub(crate) config: RekeyedConfig,
}

impl Rekeying {
    /// Writes the note, before the checkpoint is replaced. The caller holds the lock.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn note(
        storage: &StackStorage,
        manager: &dyn SecretsManager,
        config: RekeyedConfig,
    ) -> Result<()> {
        let rekeying = Self {
            checkpoint: storage.hash().await?,
            kind: manager.kind().to_owned(),
            state: manager.state(),
            config,
        };
        let note = serde_json::to_vec(&rekeying)
            .map_err(|error| Error::internal(format!("writing a change of the secrets manager: {error}")))?;
        let key = storage.name.rekeying();
        storage
            .store
            .put(&key, note.into(), Condition::Any)
            .await
            .map(drop)
    }

    /// Returns the note of a stack; `None` when there is none.
    ///
    /// # Errors
    /// Those of the store; [`ErrorKind::State`] for a note that cannot be read.
    pub(crate) async fn of(storage: &StackStorage) -> Result<Option<Self>> {
        let key = storage.name.rekeying();
        let Some(note) = storage.store.get(&key).await? else {
            return Ok(None);
        };
        serde_json::from_slice(&note.bytes).map(Some).map_err(|error| {
            let text = format!(
                "the note {key} of an interrupted change of the secrets manager cannot be read: {error}"
            );
            Error::new(ErrorKind::State, text)
        })
    }

    /// Returns whether the state has the new manager.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn is_written(&self, storage: &StackStorage) -> Result<bool> {
        let hash = storage.hash().await?;
        if hash.is_none() || hash == self.checkpoint {
            return Ok(false);
        }
        let named = secrets_of_checkpoint(&storage.read().await?.checkpoint);
        Ok(named.is_some_and(|(kind, state)| kind == self.kind && state == self.state))
    }

    /// Forgets a change, as [`Self::of`] found it, that has written nothing but its note. The caller holds the lock. A note that
    /// cannot be read stays: the next opening with the settings file reports it.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn forget_undone(storage: &StackStorage, found: Result<Option<Self>>) -> Result<()> {
        match found {
            Ok(Some(rekeying)) if rekeying.checkpoint == storage.hash().await? => Self::forget(storage).await,
            Err(error) if error.kind() != ErrorKind::State => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the note.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn forget(storage: &StackStorage) -> Result<()> {
        storage.store.delete(&storage.name.rekeying()).await?;
        storage.store.tidy(&storage.name.journals()).await;
        Ok(())
    }
}

//! The key of a stack's secrets: whether it is that with which the stack was opened.

use crate::{
    error::{Error, ErrorKind, Result},
    secrets::{SecretsProvider, kind},
    state::{deployment::secrets_of_checkpoint, journal::secrets_of_journal},
    store::{StackStorage, StoredStack},
};

/// The hint for a passphrase or key that is not the stack's.
pub(crate) const WRONG_KEY: &str = "open the stack with the passphrase that its secrets were encrypted with";

/// Adds the hint for a key that is not the stack's. That of a key service names what is missing already.
pub(crate) fn with_way_out(error: Error, kind: &str) -> Error {
    match kind {
        kind::KEY_SERVICE => error,
        _ => error.with_hint(WRONG_KEY),
    }
}

/// Returns kind and state of the manager that a state names.
pub(crate) fn recorded_manager(stored: &StoredStack) -> Option<(String, Option<serde_json::Value>)> {
    // The first operation of a stack may have been interrupted before the checkpoint named a manager.
    let of_journal = || secrets_of_journal(&stored.journal.as_ref()?.bytes);
    secrets_of_checkpoint(&stored.checkpoint).or_else(of_journal)
}

/// Fails when the stack's secrets were encrypted with another key. An unreadable state is not an error here.
pub(crate) async fn verify_key(storage: &StackStorage, secrets: &dyn SecretsProvider) -> Result<()> {
    if !secrets.verifies_key() {
        return Ok(());
    }
    let Ok(stored) = storage.read().await else {
        return Ok(());
    };
    let Some((kind, state)) = recorded_manager(&stored) else {
        return Ok(());
    };
    match secrets.open(&kind, state.as_ref()).await {
        Err(error) if error.kind() == ErrorKind::Decrypt => {
            Err(with_way_out(error.of_stack(storage.name()), &kind))
        }
        // An unknown secrets provider is not an error here: not every call needs secrets.
        _ => Ok(()),
    }
}

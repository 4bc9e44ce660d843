//! The fence: after a takeover, conditional writes of the former holder that still arrive find another checkpoint.

use super::{StackStorage, commit::stored_form};
use crate::{
    error::{ErrorKind, Result},
    store::{Condition, changed, compression::expand},
};

/// The limit of attempts to change a checkpoint that is written meanwhile.
const MAX_ATTEMPTS: usize = 4;

impl StackStorage {
    /// Changes the bytes of the checkpoint, and not what they mean, in a store with late writes. A write that was begun before, under the condition that the checkpoint is unchanged, fails then.
    ///
    /// # Errors
    /// Those of the store; [`ErrorKind::Conflict`] when the checkpoint changes at each attempt.
    pub(super) async fn fence(&self) -> Result<()> {
        let mut refused = None;
        for _ in 0..MAX_ATTEMPTS {
            let Some(key) = self.checkpoint_key().await? else {
                return Ok(());
            };
            let Some(object) = self.store.get(&key).await? else {
                continue;
            };
            // What cannot be read is no base of a change, and stays for its repair.
            let Ok(checkpoint) = expand(&key, object.bytes) else {
                return Ok(());
            };
            let stored = stored_form(self, &key, checkpoint).await?;
            let condition = Condition::Match(object.version);
            match self.store.put(&key, stored.clone(), condition).await {
                Err(error) if error.kind() == ErrorKind::Conflict => refused = Some(error),
                Err(error) => {
                    let found = self.store.get(&key).await?;
                    return match found.is_some_and(|found| found.bytes == stored) {
                        true => Ok(()),
                        false => Err(error),
                    };
                }
                Ok(_) => {
                    tracing::info!(key, "changed the checkpoint after a takeover");
                    return Ok(());
                }
            }
        }
        Err(refused.unwrap_or_else(|| changed(&self.name.qualified())))
    }
}

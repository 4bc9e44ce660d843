//! The fence: after a takeover, conditional writes of the former holder that still arrive find another checkpoint.

use bytes::{Bytes, BytesMut};

use super::{StackStorage, commit::stored_form};
use crate::{
    error::{ErrorKind, Result},
    runtime::Runtime,
    store::{Condition, changed, compression::expand},
};

/// The limit of attempts to change a checkpoint that is written meanwhile.
const MAX_ATTEMPTS: usize = 4;

/// What JSON ignores at its end.
const BLANKS: [u8; 4] = *b" \t\n\r";

impl StackStorage {
    /// Returns a checkpoint whose time is not that of its write, and which may be equal to a former one: in a store with late writes, with
    /// bytes that no former one has. A write that was begun before, under the condition that a former one is unchanged, fails then.
    pub(in crate::store) fn unlike_former(&self, checkpoint: Bytes) -> Bytes {
        match self.store.has_late_writes() {
            true => marked(checkpoint, &self.runtime),
            false => checkpoint,
        }
    }

    /// Changes the bytes of the checkpoint, and not what they mean, after a takeover in a store with late writes. A write that was begun
    /// before, under the condition that the checkpoint is unchanged, fails then.
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
            let stored = stored_form(&self.runtime, &key, marked(checkpoint, &self.runtime)).await?;
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

/// Returns a checkpoint with other blanks at its end, which do not change what it means.
fn marked(checkpoint: Bytes, runtime: &Runtime) -> Bytes {
    let unique = runtime.random.uuid();
    let digits = unique.chars().filter_map(|digit| digit.to_digit(16));
    let blanks = digits.flat_map(|digit| [digit >> 2, digit & 3].map(|index| BLANKS[index as usize]));
    let mut marked = checkpoint
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    marked.truncate(marked.trim_ascii_end().len());
    marked.extend(blanks);
    marked.freeze()
}

//! The locks of two stacks, taken in the order of their names.

use std::time::Duration;

use futures::future::join;

use super::StackStorage;
use crate::{
    error::Result,
    store::{LockPurpose, StackLock, lock_file::Refused},
};

/// The locks of two stacks.
pub(crate) struct BothLocks {
    from: StackLock,
    to: StackLock,
}

impl BothLocks {
    /// Locks two stacks for `operation`, which conflicts of other lockers name. All callers have the same order, so that of two
    /// that lock the same stacks in a store with locks of its own one succeeds. Two hosts that see only the lock files of each
    /// other can both fail.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when one of them is locked elsewhere, or has an interrupted move of resources.
    pub(crate) async fn take(from: &StackStorage, to: &StackStorage, operation: &str) -> Result<Self> {
        let locks = Self::take_unsettled(from, to, operation).await?;
        for storage in [from, to] {
            if let Err(error) = storage.refuse_moving().await {
                drop(locks.release().await);
                return Err(error);
            }
        }
        Ok(locks)
    }

    /// Locks two stacks for `operation`, also ones with an interrupted move of resources, in the order of [`Self::take`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when one of them is locked elsewhere.
    pub(crate) async fn take_unsettled(
        from: &StackStorage,
        to: &StackStorage,
        operation: &str,
    ) -> Result<Self> {
        let limit = from.lock_limit.max(to.lock_limit);
        let lock = |max_wait| Self::take_at_once(from, to, operation, max_wait);
        from.repeat_locking(None, limit, |_| {}, lock).await
    }

    async fn take_at_once(
        from: &StackStorage,
        to: &StackStorage,
        operation: &str,
        max_wait: Option<Duration>,
    ) -> std::result::Result<Self, Refused> {
        let place = |storage: &StackStorage| (storage.name.clone(), storage.store.url());
        let is_first = place(from) < place(to);
        let (first, second) = if is_first { (from, to) } else { (to, from) };
        let purpose = LockPurpose {
            max_wait,
            ..LockPurpose::of(operation)
        };
        let reserved = first.reserve(Some(purpose)).await?;
        let other = second.reserve(Some(purpose)).await?;
        let (held, other) = match join(reserved.publish(), other.publish()).await {
            (Ok(held), Ok(other)) => (held, other),
            (Ok(held), Err(error)) | (Err(error), Ok(held)) => {
                drop(held.release().await);
                return Err(error.into());
            }
            (Err(error), Err(_)) => return Err(error.into()),
        };
        let (from, to) = if is_first { (held, other) } else { (other, held) };
        Ok(Self { from, to })
    }

    /// Releases both locks.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn release(self) -> Result<()> {
        let (from, to) = join(self.from.release(), self.to.release()).await;
        from.and(to)
    }

    /// Releases both locks, and removes the traces of the one of the stack that is gone, the first.
    ///
    /// # Errors
    /// Those of [`Self::release`].
    pub(crate) async fn retire(self) -> Result<()> {
        let (from, to) = join(self.from.retire(), self.to.release()).await;
        from.and(to)
    }
}

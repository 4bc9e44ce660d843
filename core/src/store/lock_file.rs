//! Lock files: the mutual exclusion of this engine and the reference engine on a stack.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    Condition, HostFacts, LockGuard, LockOwner, LockPurpose, ObjectInfo, StackName, Store,
    lock_owner::{Holder, Owner, USERNAME_SUFFIX},
    repeated,
};
use crate::{
    error::{Error, ErrorKind, Result},
    message::stack_locked,
    runtime::Runtime,
};

/// The number of attempts to read the lock file of a stack's holder, and the time between them.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_ATTEMPT_INTERVAL: Duration = Duration::from_millis(10);

/// The lock of a stack, released on drop. [`Self::release`] also waits for the release.
pub(crate) struct StackLock(Mutex<Option<Held>>);

struct Held {
    store: Arc<dyn Store>,
    key: String,
    runtime: Runtime,
    guard: Box<dyn LockGuard>,
}

impl Held {
    /// Removes the lock file, where it may still be.
    async fn remove_file(&self) -> Result<()> {
        let removed = repeated(&self.runtime, || self.store.delete(&self.key)).await;
        removed.map_err(|error| {
            let text = format!(
                "the lock file {}/{} could not be removed and stays: {error}; what was written is complete. The next operation of this \
                 engine on this host removes the file; until then, or until the stack's `unlock` removes it, other programs find the \
                 stack locked",
                self.store.url(),
                self.key
            );
            Error::new(error.kind(), text)
        })
    }

    async fn release(self) -> Result<()> {
        let result = self.remove_file().await;
        // Only now may another process of this engine read the lock files.
        self.guard.release().await;
        result
    }

    async fn retire(self) -> Result<()> {
        let result = self.remove_file().await;
        self.guard.retire().await;
        result
    }
}

/// The error of a stack that could not be locked.
pub(super) struct Refused {
    pub(super) error: Error,
    /// Whether the store's own lock is held, which ends with its holder. Of a lock file alone nothing shows whether its owner still
    /// runs, unless that is a process of this host.
    pub(super) is_held: bool,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let is_held = false;
        Self { error, is_held }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// A stack that is locked against this engine, and not yet against the reference engine.
pub(super) struct ReservedLock {
    name: StackName,
    facts: HostFacts,
    operation: Option<String>,
    run: Option<String>,
    held: Held,
}

impl ReservedLock {
    /// Locks a stack against this engine. Locks whose owners died on this host are removed.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], which names the holders and their operations, when the stack is locked elsewhere.
    pub(super) async fn take(
        store: &Arc<dyn Store>,
        name: &StackName,
        facts: &HostFacts,
        runtime: &Runtime,
        purpose: Option<LockPurpose<'_>>,
    ) -> std::result::Result<Self, Refused> {
        let qualified = name.qualified();
        let locking = match purpose {
            Some(purpose) => store.lock_for(&qualified, purpose).await,
            None => store.lock(&qualified).await,
        };
        let guard = match locking {
            Ok(guard) => guard,
            Err(error_of_store) if error_of_store.kind() == ErrorKind::Conflict => {
                let holders = Others::holders(store, name, runtime).await?;
                let error = match holders.0.is_empty() {
                    // Only the store's own lock knows the holder, whose lock file was removed.
                    true => {
                        let held = format!(
                            "\n  {}: {}, whose operation goes on without its lock file",
                            store.url(),
                            error_of_store.message()
                        );
                        holders.conflict_with(&held, store, name, facts).with_hint(
                            "there is no lock file to remove: cancel the operation in the process that runs it, end that process, or wait for its end",
                        )
                    }
                    false => holders.conflict(store, name, facts),
                };
                let error = error_of_store
                    .hints()
                    .iter()
                    .cloned()
                    .fold(error, Error::with_hint);
                let is_held = true;
                return Err(Refused { error, is_held });
            }
            Err(error) => return Err(error.into()),
        };
        let mut others = Others::read(store, name, "").await?;
        others.sweep(store, facts, guard.replaces_holders()).await?;
        if !others.0.is_empty() {
            return Err(others.conflict(store, name, facts).into());
        }
        Ok(Self {
            name: name.clone(),
            facts: facts.clone(),
            operation: purpose.map(|purpose| purpose.operation.to_owned()),
            run: purpose.and_then(|purpose| purpose.run).map(str::to_owned),
            held: Held {
                store: Arc::clone(store),
                key: format!("{}{}.json", name.locks(), runtime.random.uuid()),
                runtime: runtime.clone(),
                guard,
            },
        })
    }

    /// Returns whether conditional writes of former holders may still arrive, which would succeed unless the object has changed.
    pub(super) fn is_unfenced(&self) -> bool {
        self.held.guard.is_unfenced()
    }

    /// Locks the stack against the reference engine, too.
    ///
    /// # Errors
    /// Those of [`Self::take`]; the stack is free then.
    pub(super) async fn publish(self) -> Result<StackLock> {
        let Self {
            name,
            facts,
            operation,
            run,
            held,
        } = self;
        let (store, key) = (Arc::clone(&held.store), held.key.clone());
        let owner = Owner {
            pid: facts.pid,
            username: format!("{}{USERNAME_SUFFIX}", facts.username),
            hostname: facts.hostname.clone(),
            timestamp: held.runtime.clock.now(),
            system: Some(facts.system.clone()),
            operation,
            run,
        };
        let text = serde_json::to_vec(&owner)
            .map_err(|error| Error::internal(format!("writing a lock: {error}")))?;
        let lock = StackLock(Mutex::new(Some(held)));
        if let Err(error) = store.put(&key, text.into(), Condition::Absent).await {
            // It may have been written nevertheless. The lock is free before the error is returned.
            drop(lock.release().await);
            return Err(error);
        }
        // A process that wrote its lock since the first read sees this one as well, and both fail.
        match Others::read(&store, &name, &key).await {
            Ok(others) if others.0.is_empty() => Ok(lock),
            Ok(others) => {
                lock.release().await?;
                Err(others.conflict(&store, &name, &facts))
            }
            Err(error) => {
                drop(lock.release().await);
                Err(error)
            }
        }
    }
}

impl StackLock {
    /// Releases the lock and waits until that is done.
    ///
    /// # Errors
    /// Those of the store, after several attempts; the lock file then remains, and is removed when the next lock is taken on this host.
    pub(crate) async fn release(self) -> Result<()> {
        match self.take_held() {
            Some(held) => held.release().await,
            None => Ok(()),
        }
    }

    /// Releases the lock of a removed stack, and removes all its traces.
    ///
    /// # Errors
    /// Those of [`Self::release`].
    pub(super) async fn retire(self) -> Result<()> {
        match self.take_held() {
            Some(held) => held.retire().await,
            None => Ok(()),
        }
    }

    fn take_held(&self) -> Option<Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for StackLock {
    fn drop(&mut self) {
        if let Some(held) = self.take_held() {
            let spawner = held.runtime.spawner.clone();
            drop(spawner.spawn(async move {
                if let Err(error) = held.release().await {
                    tracing::warn!(%error, "a stack's lock file could not be removed");
                }
            }));
        }
    }
}

/// Returns the holder of a stack that is read without its lock; `None` when no lock file belongs to a process that may
/// still run.
pub(super) async fn holder(
    store: &Arc<dyn Store>,
    name: &StackName,
    facts: &HostFacts,
) -> Result<Option<Holder>> {
    let others = Others::read(store, name, "").await?;
    let owners = others.0.iter().filter_map(|(_, owner)| owner.as_ref());
    let holders = owners.filter_map(|owner| owner.holder(facts));
    Ok(holders.max_by_key(|holder| holder.is_alive))
}

/// Whom the lock files of a stack name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holders {
    /// There is no lock file.
    None,
    /// An operation of the same run is among them.
    OwnRun,
    /// Other operations.
    Others,
}

impl Holders {
    /// Reads the lock files of a stack for an operation of `run`.
    pub(super) async fn of(store: &Arc<dyn Store>, name: &StackName, run: &str) -> Result<Self> {
        let others = Others::read(store, name, "").await?;
        let mut owners = others.0.iter().filter_map(|(_, owner)| owner.as_ref());
        Ok(match owners.any(|owner| owner.run.as_deref() == Some(run)) {
            true => Self::OwnRun,
            false if others.0.is_empty() => Self::None,
            false => Self::Others,
        })
    }
}

/// Removes the lock files of an owner, and returns their number.
///
/// # Errors
/// [`ErrorKind::Conflict`], which names the holders, when there are only lock files of others; those of the store.
pub(super) async fn remove_of(
    store: &Arc<dyn Store>,
    name: &StackName,
    facts: &HostFacts,
    broken: &LockOwner,
) -> Result<usize> {
    let others = Others::read(store, name, "").await?;
    let is_owner = |owner: &Owner| broken.is(owner.user(), &owner.hostname, owner.pid);
    let own: Vec<&String> = others
        .0
        .iter()
        .filter(|(_, owner)| owner.as_ref().is_some_and(is_owner))
        .map(|(key, _)| key)
        .collect();
    if own.is_empty() && !others.0.is_empty() {
        let error = others.conflict(store, name, facts);
        return Err(error.with_hint(format!("{broken} has no lock of the stack")));
    }
    for key in &own {
        store.delete(key).await?;
    }
    Ok(own.len())
}

impl std::fmt::Debug for StackLock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StackLock").finish_non_exhaustive()
    }
}

/// The lock files of a stack with their owners; `None` for a malformed one.
struct Others(Vec<(String, Option<Owner>)>);

impl Others {
    /// Reads the holders of a stack that could not be locked. Waits for the lock file of a holder that has just begun.
    async fn holders(store: &Arc<dyn Store>, name: &StackName, runtime: &Runtime) -> Result<Self> {
        for _ in 1..LOCK_ATTEMPTS {
            let holders = Self::read(store, name, "").await?;
            if !holders.0.is_empty() {
                return Ok(holders);
            }
            runtime.clock.wait(LOCK_ATTEMPT_INTERVAL).await;
        }
        Self::read(store, name, "").await
    }

    async fn read(store: &Arc<dyn Store>, name: &StackName, own: &str) -> Result<Self> {
        let mut others = Vec::new();
        for ObjectInfo { key, .. } in store.list(&name.locks()).await? {
            if key == own || !key.ends_with(".json") {
                continue;
            }
            // A missing one was just released.
            if let Some(object) = store.get(&key).await? {
                let owner = serde_json::from_slice(&object.bytes).ok();
                others.push((key, owner));
            }
        }
        Ok(Self(others))
    }

    /// Removes the lock files whose owners have ended; with `replaces_holders`, those of all owners of this engine.
    async fn sweep(
        &mut self,
        store: &Arc<dyn Store>,
        facts: &HostFacts,
        replaces_holders: bool,
    ) -> Result<()> {
        let mut alive = Vec::new();
        for (key, owner) in self.0.drain(..) {
            let is_without_meaning =
                |owner: &Owner| owner.is_gone(facts) || (replaces_holders && owner.is_of_this_engine());
            if owner.as_ref().is_some_and(is_without_meaning) {
                tracing::info!(%key, "removing the lock of a process that no longer holds the stack");
                store.delete(&key).await?;
            } else {
                alive.push((key, owner));
            }
        }
        self.0 = alive;
        Ok(())
    }

    fn conflict(&self, store: &Arc<dyn Store>, name: &StackName, facts: &HostFacts) -> Error {
        self.conflict_with("", store, name, facts)
    }

    /// The same, with a line about a holder without a lock file.
    fn conflict_with(
        &self,
        held: &str,
        store: &Arc<dyn Store>,
        name: &StackName,
        facts: &HostFacts,
    ) -> Error {
        let url = store.url();
        let mut lines = held.to_owned();
        for (key, owner) in &self.0 {
            lines.push_str(&match owner {
                Some(owner) => format!(
                    "\n  {url}/{key}: created by {}@{} (pid {}) at {}",
                    owner.user(),
                    owner.hostname,
                    owner.pid,
                    owner.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
                ),
                None => format!("\n  {url}/{key}: its owner is unknown"),
            });
        }
        // The holder of the store's own lock counts as one, also without a lock file.
        let count = self.0.len().max(1);
        let text = stack_locked(count, &lines);
        let error = Error::new(ErrorKind::Conflict, text);
        let error = error.with_hint(format!("the locked stack is {name} in {url}"));
        let owners = self.0.iter().filter_map(|(_, owner)| owner.as_ref());
        owners
            .filter_map(|owner| owner.described(facts))
            .fold(error, Error::with_hint)
    }
}

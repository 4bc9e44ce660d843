//! A store whose process kills itself at a given write. The tests of remote stores use it, too.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use rustix::process::{Signal, getpid, kill_process};
use stackwright::{
    Result,
    store::{Condition, LockGuard, LockOwner, LockPurpose, Md5Digest, Object, ObjectInfo, Store, Version},
};

/// The time of the process's death relative to the given write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The write is not done.
    Before,
    /// The first half of an append is done. Only appends count.
    Within,
    /// The write is done, no later one is.
    After,
}

/// The write at which the process dies, counted from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub(crate) write: usize,
    pub(crate) moment: Moment,
}

impl Death {
    /// Reads the text form.
    pub(crate) fn parse(text: &str) -> Self {
        let (moment, write) = text.split_once(' ').unwrap();
        let moment = [Moment::Before, Moment::Within, Moment::After]
            .into_iter()
            .find(|known| format!("{known:?}") == moment);
        Self {
            write: write.parse().unwrap(),
            moment: moment.unwrap(),
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}", self.moment, self.write)
    }
}

/// A store that counts its writes and kills its own process at one of them.
pub(crate) struct MortalStore {
    inner: Arc<dyn Store>,
    death: Death,
    writes: AtomicUsize,
}

impl MortalStore {
    pub(crate) fn new(inner: Arc<dyn Store>, death: Death) -> Self {
        Self {
            inner,
            death,
            writes: AtomicUsize::new(0),
        }
    }

    /// Counts a write and returns whether it is the given one.
    fn is_chosen(&self) -> bool {
        self.writes.fetch_add(1, Ordering::SeqCst) == self.death.write
    }

    async fn write<T>(&self, work: impl Future<Output = T>) -> T {
        if self.death.moment == Moment::Within {
            return work.await;
        }
        let is_chosen = self.is_chosen();
        if is_chosen && self.death.moment == Moment::Before {
            die();
        }
        let done = work.await;
        if is_chosen {
            die();
        }
        done
    }
}

/// Kills the own process with SIGKILL.
fn die() {
    kill_process(getpid(), Signal::KILL).unwrap();
    unreachable!("the process is killed");
}

#[async_trait]
impl Store for MortalStore {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        self.inner.get_with_digest(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.write(self.inner.put(key, bytes, condition)).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if self.death.moment == Moment::Within && self.is_chosen() {
            let half = bytes.slice(..bytes.len() / 2);
            self.inner.append(key, half, condition.clone()).await?;
            die();
        }
        self.write(self.inner.append(key, bytes, condition)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.write(self.inner.delete(key)).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.write(self.inner.delete_version(key, version)).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        self.write(self.inner.put_keeping(key, bytes, condition, kept))
            .await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.write(self.inner.copy(from, to)).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }

    async fn lock_for(&self, name: &str, purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.inner.lock_for(name, purpose).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.inner.break_lock(name, owner).await
    }

    async fn break_ended_lock(&self, name: &str) -> Result<bool> {
        self.inner.break_ended_lock(name).await
    }

    fn holds_locks(&self) -> bool {
        self.inner.holds_locks()
    }

    fn shortens_journals(&self) -> bool {
        self.inner.shortens_journals()
    }

    fn has_sidecars(&self) -> bool {
        self.inner.has_sidecars()
    }

    fn rewrite_interval(&self) -> Duration {
        self.inner.rewrite_interval()
    }

    fn cancellation_interval(&self) -> Duration {
        self.inner.cancellation_interval()
    }

    async fn tidy(&self, prefix: &str) {
        self.inner.tidy(prefix).await;
    }
}

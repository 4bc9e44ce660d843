//! The store of a simulation: one in memory that outlives the engine, and whose writes end with the run that is killed.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::Simulation;
use crate::{
    error::{Error, ErrorKind, Result},
    store::{Condition, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version},
};

/// The text of all errors of a run that was killed.
pub(super) const KILLED: &str = "a fault of the test has killed this run";

/// A handle of the simulation's store.
pub(super) struct SimulatedStore {
    pub(super) inner: MemoryStore,
    pub(super) simulation: Simulation,
}

fn killed() -> Error {
    // Not a kind that is tried again.
    Error::new(ErrorKind::Cancelled, KILLED).with_hint(
        "nothing has an effect until another run begins: restart() of the simulated stack begins one",
    )
}

/// Returns the name of an object's kind for users.
fn kind_of(key: &str) -> &'static str {
    match key {
        _ if key.contains("/journals/") => "the journal",
        _ if key.contains("/history/") => "the history",
        _ if key.contains("/locks/") => "a lock",
        _ if key.contains("/backups/") => "a backup",
        _ if key.contains("/stacks/") => "the checkpoint",
        _ => "the store",
    }
}

impl SimulatedStore {
    fn pass(&self, place: &str, verb: &str, key: &str) -> Result<()> {
        let life = &self.simulation.0.life;
        match life.pass(|| format!("{place} {verb} {}", kind_of(key))) {
            true => Ok(()),
            false => Err(killed()),
        }
    }

    /// Does a write between two moments.
    async fn write<T>(
        &self,
        verb: &str,
        key: &str,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.pass("before", verb, key)?;
        let written = work.await;
        self.pass("after", verb, key)?;
        written
    }
}

#[async_trait]
impl Store for SimulatedStore {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.write("writing", key, self.inner.put(key, bytes, condition))
            .await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.pass("before", "appending to", key)?;
        if let Err(killed) = self.pass("in the middle of", "appending to", key) {
            let half = bytes.slice(..bytes.len() / 2);
            self.inner.append(key, half, condition).await?;
            return Err(killed);
        }
        let written = self.inner.append(key, bytes, condition).await;
        self.pass("after", "appending to", key)?;
        written
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.write("removing", key, self.inner.delete(key)).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.write("writing", to, self.inner.copy(from, to)).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}

impl Simulation {
    /// Returns the store: the same one for each engine.
    pub(crate) fn store(&self, runtime: &crate::runtime::Runtime) -> Arc<dyn Store> {
        let inner = self.0.store.get_or_init(|| MemoryStore::new(runtime.clone()));
        Arc::new(SimulatedStore {
            inner: inner.clone(),
            simulation: self.clone(),
        })
    }
}

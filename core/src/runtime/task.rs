//! Spawning: tasks on the host's Tokio runtime, and blocking work beside it.

use std::{future::Future, pin::Pin, task::Poll};

use crate::error::{Error, Result};

/// Starts tasks on one Tokio runtime, from any thread.
#[derive(Clone, Debug)]
pub struct Spawner(tokio::runtime::Handle);

impl Spawner {
    /// Creates a spawner over a runtime that the host owns.
    #[must_use]
    pub fn new(handle: tokio::runtime::Handle) -> Self {
        Self(handle)
    }

    /// Returns the runtime's handle, for code that must block on a future from outside it.
    #[must_use]
    pub fn handle(&self) -> &tokio::runtime::Handle {
        &self.0
    }

    /// Returns the number of worker threads: the useful number of parts for divided work.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.metrics().num_workers()
    }

    /// Starts a task that continues when the returned [`Task`] is dropped.
    pub fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Task(self.0.spawn(future))
    }

    /// Runs blocking work on the runtime's pool of blocking threads.
    pub fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        Task(self.0.spawn_blocking(work))
    }
}

/// A started task; awaiting it returns its value, or an [`crate::ErrorKind::Internal`] error when it panicked.
#[derive(Debug)]
pub struct Task<T>(tokio::task::JoinHandle<T>);

impl<T> Task<T> {
    /// Requests that the runtime drops the task at its next await.
    pub fn abort(&self) {
        self.0.abort();
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map_err(|error| Error::internal(format!("a task of the engine died: {error}")))
    }
}

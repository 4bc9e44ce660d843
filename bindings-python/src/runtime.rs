//! The Tokio runtime of one engine object. It is unusable after a fork and ends without waiting.

use std::{
    mem::ManuallyDrop,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::prelude::*;
use stackwright::{Error, ErrorKind};
use tokio::{
    runtime::{Builder, Handle},
    sync::watch,
};

use crate::{completions::PendingCompletion, errors::to_exception};

/// A runtime with its threads; the last clone of the surrounding `Arc` ends it.
pub(crate) struct Runtime {
    owned: Mutex<Option<tokio::runtime::Runtime>>,
    handle: Handle,
    process: u32,
    /// Becomes true before the threads end.
    ended: watch::Sender<bool>,
}

impl Runtime {
    /// Starts a runtime with `threads` threads.
    pub(crate) fn start(threads: usize) -> stackwright::Result<Arc<Self>> {
        let owned = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("stackwright")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(
                    ErrorKind::Unavailable,
                    "could not start the threads of the engine",
                )
                .with_source(error)
            })?;
        let handle = owned.handle().clone();
        Ok(Arc::new(Self {
            owned: Mutex::new(Some(owned)),
            handle,
            process: std::process::id(),
            ended: watch::Sender::new(false),
        }))
    }

    /// Returns the handle, unless the process has forked since: threads do not survive a fork.
    pub(crate) fn handle(&self, py: Python<'_>) -> PyResult<&Handle> {
        if self.process == std::process::id() {
            return Ok(&self.handle);
        }
        Err(to_exception(
            py,
            &Error::invalid("this engine was made before the process forked; make one in each process"),
        ))
    }

    /// Completes a call with the outcome of `work`; `convert` makes the Python value.
    pub(crate) fn settle<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl Future<Output = stackwright::Result<T>> + Send + 'static,
        completion: PendingCompletion,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<()> {
        drop(self.handle(py)?.spawn(async move {
            let outcome = work.await;
            completion.settle(outcome, convert);
        }));
        Ok(())
    }

    /// Returns what becomes true before the threads end.
    pub(crate) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Ends the threads without waiting for them; tasks end at their next await.
    pub(crate) fn shut_down(&self) {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(owned) = owned else { return };
        if self.process == std::process::id() {
            self.ended.send_replace(true);
            owned.shutdown_background();
        } else {
            // The threads exist in the parent only, and their locks are never released here: leak the runtime.
            let _forgotten = ManuallyDrop::new(owned);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shut_down();
    }
}

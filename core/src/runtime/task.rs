//! Spawning: tasks on the host's Tokio runtime, and blocking work beside it.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::error::{Error, Result};

tokio::task_local! {
    /// There while a future of [`in_place`] is polled.
    static IN_PLACE: ();
}

/// Runs a future on a thread that may block, as that which waits for it: its brief work on files is done at once instead of on
/// another thread. Tasks that the future starts are not concerned.
pub async fn in_place<T>(future: impl Future<Output = T>) -> T {
    IN_PLACE.scope((), future).await
}

/// Starts tasks on one Tokio runtime, from any thread.
#[derive(Clone, Debug)]
pub struct Spawner {
    handle: tokio::runtime::Handle,
    /// Whether blocking work has no threads of its own.
    is_single: bool,
}

impl Spawner {
    /// Creates a spawner over a runtime that the host owns.
    #[must_use]
    pub fn new(handle: tokio::runtime::Handle) -> Self {
        Self {
            handle,
            is_single: false,
        }
    }

    /// Creates a spawner that has no threads for blocking work: it runs as tasks, in the order of its start. On a runtime
    /// of one thread the order of all work is then the same in each run, as simulations need it.
    #[must_use]
    pub fn single_threaded(handle: tokio::runtime::Handle) -> Self {
        Self {
            handle,
            is_single: true,
        }
    }

    /// Returns the runtime's handle, for code that must block on a future from outside it.
    #[must_use]
    pub fn handle(&self) -> &tokio::runtime::Handle {
        &self.handle
    }

    /// Returns the number of worker threads: the useful number of parts for divided work.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.handle.metrics().num_workers()
    }

    /// Starts a task that continues when the returned [`Task`] is dropped.
    pub fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Task(Stage::Spawned(self.handle.spawn(future)))
    }

    /// Works on a task as far as it gets on the calling thread, which need not belong to the runtime, and starts the rest
    /// as [`Self::spawn`] does. A task that never waits costs no change of threads.
    pub fn begin<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let mut future = Box::pin(future);
        let polled = {
            let _entered = self.handle.enter();
            let mut context = Context::from_waker(Waker::noop());
            catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)))
        };
        match polled {
            // The task polls again, which registers its own waker.
            Ok(Poll::Pending) => self.spawn(future),
            Ok(Poll::Ready(value)) => Task(Stage::Ended(Some(Ok(value)))),
            Err(_) => Task(Stage::Ended(Some(Err(died(&"it panicked"))))),
        }
    }

    /// Runs brief blocking work, which waits for nothing but files: within [`in_place`] at once, else as [`Self::spawn_blocking`] does.
    pub fn spawn_brief<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        if IN_PLACE.try_with(|()| ()).is_err() {
            return self.spawn_blocking(work);
        }
        let ended = catch_unwind(AssertUnwindSafe(work)).map_err(|_| died(&"it panicked"));
        Task(Stage::Ended(Some(ended)))
    }

    /// Runs blocking work on the runtime's pool of blocking threads, if it has one.
    pub fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        Task(Stage::Spawned(if self.is_single {
            self.handle.spawn(async move { work() })
        } else {
            self.handle.spawn_blocking(work)
        }))
    }
}

/// A started task; awaiting it returns its value, or an [`crate::ErrorKind::Internal`] error when it panicked.
#[derive(Debug)]
pub struct Task<T>(Stage<T>);

#[derive(Debug)]
enum Stage<T> {
    Spawned(tokio::task::JoinHandle<T>),
    /// Over before it was spawned; `None` once the value was taken.
    Ended(Option<Result<T>>),
}

impl<T> Task<T> {
    /// Requests that the runtime drops the task at its next await.
    pub fn abort(&self) {
        if let Stage::Spawned(handle) = &self.0 {
            handle.abort();
        }
    }
}

// The value is moved out, never pinned.
impl<T> Unpin for Task<T> {}

impl<T> Future for Task<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Stage::Spawned(handle) => Pin::new(handle).poll(context).map_err(|error| died(&error)),
            Stage::Ended(value) => match value.take() {
                Some(value) => Poll::Ready(value),
                None => Poll::Pending,
            },
        }
    }
}

fn died(reason: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("a task of the engine died: {reason}"))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn spawner() -> (tokio::runtime::Runtime, Spawner) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let spawner = Spawner::new(runtime.handle().clone());
        (runtime, spawner)
    }

    #[test]
    fn a_task_that_never_waits_ends_on_the_calling_thread() {
        let (_runtime, spawner) = spawner();
        let task = spawner.begin(async { std::thread::current().id() });
        let thread = task.now_or_never().expect("the task has ended").unwrap();
        assert_eq!(thread, std::thread::current().id());
    }

    #[test]
    fn brief_work_changes_the_thread_only_where_the_thread_must_not_block() {
        let (runtime, spawner) = spawner();
        let current = || std::thread::current().id();
        let own = current();
        let beside = spawner.clone();
        runtime.block_on(async {
            assert_ne!(spawner.spawn_brief(current).await.unwrap(), own);
            let (here, in_a_task, outcome) = in_place(async {
                let task = beside.clone();
                let started =
                    beside.spawn(async move { (current(), task.spawn_brief(current).await.unwrap()) });
                let outcome = beside.spawn_brief(|| assert_eq!(1, 2, "it breaks")).await;
                (
                    beside.spawn_brief(current).await.unwrap(),
                    started.await.unwrap(),
                    outcome,
                )
            })
            .await;
            assert_eq!(here, own);
            assert_ne!(in_a_task.0, in_a_task.1);
            assert_eq!(outcome.unwrap_err().kind(), crate::ErrorKind::Internal);
        });
    }

    #[test]
    fn a_task_that_waits_goes_on_when_it_is_dropped() {
        let (_runtime, spawner) = spawner();
        let (sender, receiver) = std::sync::mpsc::channel();
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let task = spawner.begin(async move {
            released.await.unwrap();
            sender.send(std::thread::current().id()).unwrap();
        });
        drop(task);
        release.send(()).unwrap();
        let thread = receiver.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
        assert_ne!(thread, std::thread::current().id());
    }

    #[test]
    fn a_panic_becomes_the_error_of_the_task() {
        let (runtime, spawner) = spawner();
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let task = spawner.begin(async { panic!("on purpose") });
        std::panic::set_hook(quiet);
        let error: Error = runtime.block_on(task).map(|(): ()| ()).unwrap_err();
        assert_eq!(error.message(), "a task of the engine died: it panicked");
    }
}

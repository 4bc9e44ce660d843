//! One call of a Python provider's method: on a thread of the pool, or as a task of the providers' event loop.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{prelude::*, types::PyTuple};
use stackwright::provider::{ProviderError, ProviderResult, ProviderStatus};
use tokio::sync::oneshot;

use super::{pool::Pending, responses};
use crate::{completions::Queue, host::HostContext};

/// A bound method of a provider.
pub(crate) struct Method {
    callable: Arc<Py<PyAny>>,
    is_async: bool,
}

impl Method {
    pub(crate) fn new(callable: Py<PyAny>, is_async: bool) -> Self {
        Self {
            callable: Arc::new(callable),
            is_async,
        }
    }
}

/// Builds the arguments once the interpreter's lock is held.
pub(crate) type Build = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyTuple>> + Send>;

/// The event loop on which asynchronous methods run.
#[derive(Clone)]
pub(crate) struct ProviderLoop {
    /// The loop's queue.
    pub(crate) queue: Arc<Queue>,
    /// `start(method, arguments, reply)`: starts a task that answers `reply`, and returns it.
    pub(crate) start: Arc<Py<PyAny>>,
}

/// Makes the error of a call of what its method raised.
pub(crate) type Fail<E> = fn(Python<'_>, &'static str, &PyErr) -> E;

/// Reads what a method returned.
pub(crate) trait Read<T>: FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static {}

impl<T, F: FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static> Read<T> for F {}

/// Gets calls to where they run.
pub(crate) struct Caller {
    context: HostContext,
    /// The class that the methods belong to, as people know it.
    class: Arc<str>,
}

impl Caller {
    pub(crate) fn new(class: &str, context: &HostContext) -> Self {
        Self {
            context: context.clone(),
            class: class.into(),
        }
    }

    /// Calls `method` with `request` and reads what it returns.
    pub(super) async fn call<R, T>(
        &self,
        name: &'static str,
        method: &Method,
        request: R,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> ProviderResult<T>
    where
        R: Send + 'static + pyo3::PyClass + Into<PyClassInitializer<R>>,
        T: Send + 'static,
    {
        let build: Build = Box::new(move |py| {
            let request = Bound::new(py, request)?;
            PyTuple::new(py, [request]).map(Bound::unbind)
        });
        self.ask(name, method, build, read).await
    }

    /// Calls `method` with a text and reads what it returns.
    pub(super) async fn call_with_text<T: Send + 'static>(
        &self,
        name: &'static str,
        method: &Method,
        text: String,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> ProviderResult<T> {
        let build: Build = Box::new(move |py| PyTuple::new(py, [text]).map(Bound::unbind));
        self.ask(name, method, build, read).await
    }

    /// Calls `method` without arguments.
    pub(super) async fn notify(&self, name: &'static str, method: &Method) -> ProviderResult<()> {
        let build: Build = Box::new(|py| Ok(PyTuple::empty(py).unbind()));
        self.ask(name, method, build, |_| Ok(())).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        name: &'static str,
        method: &Method,
        build: Build,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> ProviderResult<T> {
        let class = Arc::clone(&self.class);
        let read = move |returned: &Bound<'_, PyAny>| {
            Ok(read(returned).map_err(|error| {
                let error = responses::unreadable(&class, name, returned, error);
                let failure = responses::failure(returned.py(), name, &error);
                let id = match name {
                    "create" => responses::created_id(returned),
                    _ => String::new(),
                };
                ProviderError::unreadable(id, failure.message)
            }))
        };
        let answer = self.run(name, method, build, read, responses::failure).await;
        answer
            .map(|answer| answer.and_then(|read| read))
            .unwrap_or_else(|| {
                Err(ProviderError::without_answer(
                    ProviderStatus::Unavailable,
                    format!("the provider was closed before its {name}() answered"),
                ))
            })
    }

    /// Calls `method` with what `build` makes; `None` when it was given up before it answered.
    pub(crate) async fn run<T: Send + 'static, E: Send + 'static>(
        &self,
        name: &'static str,
        method: &Method,
        build: Build,
        read: impl Read<T>,
        fail: Fail<E>,
    ) -> Option<Result<T, E>> {
        let (sender, receiver) = oneshot::channel();
        let callable = Arc::clone(&method.callable);
        if method.is_async {
            let _guard = self.run_as_task(name, callable, build, sender, read, fail);
            return receiver.await.ok();
        }
        let pending = self.run_on_thread(name, callable, build, sender, read, fail);
        let answer = receiver.await.ok();
        pending.answered();
        answer
    }

    fn run_on_thread<T: Send + 'static, E: Send + 'static>(
        &self,
        name: &'static str,
        callable: Arc<Py<PyAny>>,
        build: Build,
        sender: oneshot::Sender<Result<T, E>>,
        read: impl Read<T>,
        fail: Fail<E>,
    ) -> Pending {
        let work = move |py: Python<'_>| {
            let answer = build(py)
                .and_then(|arguments| callable.bind(py).call1(arguments.bind(py)))
                .and_then(|returned| read(&returned))
                .map_err(|raised| fail(py, name, &raised));
            // Nobody is interested any more when the engine gave the call up.
            let _delivered = sender.send(answer);
        };
        self.context.pool.push(Box::new(work))
    }

    fn run_as_task<T: Send + 'static, E: Send + 'static>(
        &self,
        name: &'static str,
        callable: Arc<Py<PyAny>>,
        build: Build,
        sender: oneshot::Sender<Result<T, E>>,
        read: impl Read<T>,
        fail: Fail<E>,
    ) -> GiveUp {
        let progress = Arc::new(Mutex::new(Progress::Queued));
        let guard = GiveUp {
            queue: Arc::clone(&self.context.provider_loop.queue),
            progress: Arc::clone(&progress),
        };
        let start = Arc::clone(&self.context.provider_loop.start);
        self.context.provider_loop.queue.push(move |py| {
            if matches!(*lock(&progress), Progress::GivenUp) {
                return Ok(());
            }
            let deliver = move |py: Python<'_>, returned: PyResult<Bound<'_, PyAny>>| {
                let answer = returned
                    .and_then(|returned| read(&returned))
                    .map_err(|raised| fail(py, name, &raised));
                let _delivered = sender.send(answer);
            };
            let arguments = build(py)?;
            let reply = Bound::new(py, Reply(Mutex::new(Some(Box::new(deliver)))))?;
            let task = start.bind(py).call1((&*callable, arguments, reply))?;
            let mut progress = lock(&progress);
            if !matches!(*progress, Progress::GivenUp) {
                *progress = Progress::Running(task.unbind());
                return Ok(());
            }
            drop(progress);
            task.call_method0("cancel").map(drop)
        });
        guard
    }
}

/// How far a call has come that runs as a task.
enum Progress {
    Queued,
    Running(Py<PyAny>),
    GivenUp,
}

fn lock(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cancels the task when the engine drops the call.
struct GiveUp {
    queue: Arc<Queue>,
    progress: Arc<Mutex<Progress>>,
}

impl Drop for GiveUp {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *lock(&self.progress), Progress::GivenUp);
        if let Progress::Running(task) = before {
            // To cancel a task that has answered already does nothing.
            self.queue
                .push(move |py| task.call_method0(py, "cancel").map(drop));
        }
    }
}

type Deliver = Box<dyn FnOnce(Python<'_>, PyResult<Bound<'_, PyAny>>) + Send>;

/// Takes the answer of one asynchronous call; only the first counts.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Reply(Mutex<Option<Deliver>>);

impl Reply {
    fn deliver(&self, py: Python<'_>, answer: PyResult<Bound<'_, PyAny>>) {
        let deliver = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(deliver) = deliver {
            deliver(py, answer);
        }
    }
}

#[pymethods]
impl Reply {
    /// Answers with what the method returned.
    fn succeed(&self, value: Bound<'_, PyAny>) {
        self.deliver(value.py(), Ok(value.clone()));
    }

    /// Answers with what the method raised.
    fn fail(&self, raised: Bound<'_, PyAny>) {
        let py = raised.py();
        self.deliver(py, Err(PyErr::from_value(raised)));
    }
}

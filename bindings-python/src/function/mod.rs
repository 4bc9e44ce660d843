//! Calls of Python functions and methods: blocking ones on a thread of a pool, asynchronous ones on an event loop.

mod pool;
mod registered_hooks;

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyDict, PyTuple},
};
use stackwright::{Error, ErrorKind};
use tokio::{runtime::Handle, sync::oneshot};

use self::pool::Pending;
pub(crate) use self::{
    pool::{Pool, Worker},
    registered_hooks::RegisteredHooks,
};
use crate::{
    completions::{Completions, Queue},
    errors::Raised,
};

/// Where code of the host runs: blocking functions on the threads of a pool, asynchronous ones on an event loop.
#[derive(Clone)]
pub(crate) struct HostContext {
    pub(crate) pool: Arc<Pool>,
    pub(crate) provider_loop: ProviderLoop,
    pub(crate) handle: Handle,
    /// The hooks that programs have registered.
    pub(crate) hooks: Arc<RegisteredHooks>,
}

impl HostContext {
    /// Reads the members of settings that describe the threads: `provider_threads`, `start_thread`, `provider_queue` and
    /// `start_task`.
    pub(crate) fn read(py: Python<'_>, settings: &Bound<'_, PyDict>, handle: Handle) -> PyResult<Self> {
        let member = |name: &str| {
            let member = settings.get_item(name)?;
            member.ok_or_else(|| crate::errors::misuse("a setting of the threads is missing"))
        };
        let start_thread = member("start_thread")?.unbind().clone_ref(py);
        Ok(Self {
            pool: Pool::new(
                member("provider_threads")?.extract()?,
                handle.clone(),
                start_thread,
            ),
            provider_loop: ProviderLoop {
                queue: Arc::clone(&member("provider_queue")?.cast::<Completions>()?.get().queue),
                start: Arc::new(member("start_task")?.unbind()),
            },
            handle,
            hooks: Arc::default(),
        })
    }
}

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

/// Converts the exception that a method raised to the error of its call.
pub(crate) type Fail<E> = fn(Python<'_>, &'static str, &PyErr) -> E;

/// Reads what a method returned.
pub(crate) trait Read<T>: FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static {}

impl<T, F: FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static> Read<T> for F {}

/// Runs methods of one class on the pool or the event loop.
pub(crate) struct Caller {
    context: HostContext,
    /// The name of the class that the methods belong to, for error messages.
    class: Arc<str>,
}

impl Caller {
    pub(crate) fn new(class: &str, context: &HostContext) -> Self {
        Self {
            context: context.clone(),
            class: class.into(),
        }
    }

    /// Returns where the methods run.
    pub(crate) fn context(&self) -> &HostContext {
        &self.context
    }

    /// Returns the name of the class that the methods belong to.
    pub(crate) fn class(&self) -> &Arc<str> {
        &self.class
    }

    /// Calls `method` with the arguments from `build`. Returns `None` when it was abandoned before it answered.
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
            let provider_loop = &self.context.provider_loop;
            let _guard = provider_loop.run_as_task(name, callable, build, sender, read, fail);
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
            // The receiver is gone when the engine has dropped the call.
            let _delivered = sender.send(answer);
        };
        self.context.pool.push(Box::new(work))
    }
}

impl ProviderLoop {
    /// Starts a task that calls `callable` with the arguments from `build` and sends its answer; dropping the result cancels it.
    pub(crate) fn run_as_task<T: Send + 'static, E: Send + 'static>(
        &self,
        name: &'static str,
        callable: Arc<Py<PyAny>>,
        build: Build,
        sender: oneshot::Sender<Result<T, E>>,
        read: impl Read<T>,
        fail: Fail<E>,
    ) -> CancelOnDrop {
        let progress = Arc::new(Mutex::new(Progress::Queued));
        let guard = CancelOnDrop {
            queue: Arc::clone(&self.queue),
            progress: Arc::clone(&progress),
        };
        let start = Arc::clone(&self.start);
        self.queue.push(move |py| {
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
            let reply = Bound::new(py, Reply::new(deliver))?;
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

/// The state of a call that runs as a task.
enum Progress {
    Queued,
    Running(Py<PyAny>),
    GivenUp,
}

fn lock(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cancels the task when the engine drops the call.
pub(crate) struct CancelOnDrop {
    queue: Arc<Queue>,
    progress: Arc<Mutex<Progress>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *lock(&self.progress), Progress::GivenUp);
        if let Progress::Running(task) = before {
            // Cancelling a finished task has no effect.
            self.queue
                .push(move |py| task.call_method0(py, "cancel").map(drop));
        }
    }
}

type Deliver = Box<dyn FnOnce(Python<'_>, PyResult<Bound<'_, PyAny>>) + Send>;

/// Receives the answer of one asynchronous call; later ones are ignored.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Reply(Mutex<Option<Deliver>>);

impl Reply {
    /// Creates a reply whose answer `deliver` receives.
    pub(crate) fn new(deliver: impl FnOnce(Python<'_>, PyResult<Bound<'_, PyAny>>) + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(deliver))))
    }

    fn deliver(&self, py: Python<'_>, answer: PyResult<Bound<'_, PyAny>>) {
        let deliver = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(deliver) = deliver {
            deliver(py, answer);
        }
    }
}

#[pymethods]
impl Reply {
    /// Answers with the method's return value.
    fn succeed(&self, value: Bound<'_, PyAny>) {
        self.deliver(value.py(), Ok(value.clone()));
    }

    /// Answers with the exception that the method raised.
    fn fail(&self, raised: Bound<'_, PyAny>) {
        let py = raised.py();
        self.deliver(py, Err(PyErr::from_value(raised)));
    }
}

/// A function of the host.
pub(crate) struct HostFunction {
    name: &'static str,
    caller: Caller,
    method: Method,
}

impl HostFunction {
    /// Reads `(function, whether it is asynchronous)`.
    pub(crate) fn read(
        name: &'static str,
        described: &Bound<'_, PyAny>,
        context: &HostContext,
    ) -> PyResult<Self> {
        let (function, is_async): (Py<PyAny>, bool) = described.extract()?;
        Ok(Self::new(name, function, is_async, context))
    }

    pub(crate) fn new(
        name: &'static str,
        function: Py<PyAny>,
        is_async: bool,
        context: &HostContext,
    ) -> Self {
        Self {
            name,
            caller: Caller::new(name, context),
            method: Method::new(function, is_async),
        }
    }

    /// Calls it with one argument. An exception of this package becomes an error of the same kind, any other one an
    /// error of `kind`.
    pub(crate) async fn call<A, T>(
        &self,
        argument: A,
        read: impl Read<T>,
        kind: ErrorKind,
    ) -> stackwright::Result<T>
    where
        A: for<'py> IntoPyObject<'py> + Send + 'static,
        T: Send + 'static,
    {
        let build = Box::new(move |py: Python<'_>| {
            let argument = argument.into_py_any(py)?;
            PyTuple::new(py, [argument]).map(Bound::unbind)
        });
        let answer = self
            .caller
            .run(self.name, &self.method, build, read, |py, _, raised| {
                Raised::read(py, raised)
            })
            .await;
        match answer {
            Some(Ok(value)) => Ok(value),
            Some(Err(raised)) => Err(raised.into_error(kind)),
            None => Err(Error::new(
                ErrorKind::Unavailable,
                format!("the engine was closed before the {} answered", self.name),
            )),
        }
    }
}

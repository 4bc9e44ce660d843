//! Completions: results of engine calls on their way back into Python. The engine's threads never wait for the
//! interpreter's lock: they push jobs into a queue, and the thread that owns the queue runs them in batches.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pyo3::prelude::*;
use stackwright::Error;

use crate::{errors::to_exception, gate};

/// How many batches one `drain` runs before it returns to the event loop.
const MAX_BATCHES: usize = 16;

type Job = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// The state that the engine's threads and the owning thread share.
pub(crate) struct Queue {
    jobs: Mutex<Jobs>,
    filled: Condvar,
    /// Behind an `Arc`: a thread may still use it after `close`, and calls it without the lock.
    waker: Mutex<Arc<Waker>>,
}

/// The jobs to run. None are added after `close`.
#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    closed: bool,
}

/// Wakes an event loop that waits for the queue.
enum Waker {
    /// A pipe that the loop watches; waking does not need the interpreter's lock.
    Pipe {
        read: std::os::fd::OwnedFd,
        write: std::os::fd::OwnedFd,
    },
    /// A function that is called from any thread, for loops that cannot watch a pipe.
    Call(Py<PyAny>),
    /// No wake-up: the owner only waits in [`Completions::wait`].
    Silent,
}

impl Waker {
    fn wake(&self) {
        match self {
            Self::Pipe { write, .. } => {
                // A full pipe is readable already; a closed one has no reader.
                let _written = rustix::io::write(write, &[1]);
            }
            Self::Call(wake) => {
                let _called = gate::attach(|py| {
                    if let Err(error) = wake.call0(py) {
                        error.write_unraisable(py, None);
                    }
                });
            }
            Self::Silent => {}
        }
    }

    fn clear(&self) {
        if let Self::Pipe { read, .. } = self {
            let mut buffer = [0_u8; 64];
            while matches!(rustix::io::read(read, &mut buffer), Ok(count) if count == buffer.len()) {}
        }
    }
}

impl Queue {
    /// Queues `job` for the thread that owns the queue, which runs it with the interpreter's lock held. A closed queue
    /// drops it.
    pub(crate) fn push(&self, job: impl FnOnce(Python<'_>) -> PyResult<()> + Send + 'static) {
        let was_empty = {
            let mut jobs = self.jobs();
            if jobs.closed {
                return;
            }
            jobs.waiting.push(Box::new(job));
            jobs.waiting.len() == 1
        };
        if was_empty {
            self.filled.notify_one();
            self.waker().wake();
        }
    }

    fn take(&self) -> Vec<Job> {
        mem::take(&mut self.jobs().waiting)
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A queue of finished work, owned by one thread.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Completions {
    pub(crate) queue: Arc<Queue>,
}

#[pymethods]
impl Completions {
    /// Creates a queue. `wake` is a function to be called when it fills; without one `fileno()` becomes readable,
    /// and with `silent` only `wait()` notices.
    #[new]
    #[pyo3(signature = (wake=None, *, silent=false))]
    fn new(wake: Option<Py<PyAny>>, silent: bool) -> PyResult<Self> {
        let waker = match wake {
            Some(wake) => Waker::Call(wake),
            None if silent => Waker::Silent,
            None => Self::pipe()?,
        };
        Ok(Self {
            queue: Arc::new(Queue {
                jobs: Mutex::default(),
                filled: Condvar::new(),
                waker: Mutex::new(Arc::new(waker)),
            }),
        })
    }

    /// Returns the file descriptor that is readable while the queue has work.
    fn fileno(&self) -> PyResult<i32> {
        match &*self.queue.waker() {
            Waker::Pipe { read, .. } => {
                use std::os::fd::AsRawFd as _;
                Ok(read.as_raw_fd())
            }
            Waker::Call(_) | Waker::Silent => Err(crate::errors::misuse("this queue has no file descriptor")),
        }
    }

    /// Queues a function without parameters; may be called on any thread.
    fn push(&self, job: Py<PyAny>) {
        self.queue.push(move |py| job.call0(py).map(drop));
    }

    /// Runs the queued jobs and returns their number.
    fn drain(&self, py: Python<'_>) -> usize {
        let mut count = 0;
        // Jobs pushed meanwhile have woken the loop again: run them now and clear that wake-up.
        for _ in 0..MAX_BATCHES {
            self.queue.waker().clear();
            let jobs = self.queue.take();
            if jobs.is_empty() {
                break;
            }
            count += jobs.len();
            for job in jobs {
                if let Err(error) = job(py) {
                    error.write_unraisable(py, None);
                }
            }
        }
        count
    }

    /// Closes the queue and its pipe; waiting and later jobs are dropped.
    ///
    /// A waiting job may own the queue, through an event loop for instance: only this breaks that reference cycle.
    fn close(&self) {
        let waiting = {
            let mut jobs = self.queue.jobs();
            jobs.closed = true;
            mem::take(&mut jobs.waiting)
        };
        let silent = Arc::new(Waker::Silent);
        let waker = {
            let mut waker = self.queue.waker.lock().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *waker, silent)
        };
        // Dropping these may run Python code, so no lock is held here.
        drop((waiting, waker));
        self.queue.filled.notify_all();
    }

    /// Waits for a job, at most `seconds`, and returns whether there is one. Releases the interpreter's lock.
    /// A closed queue is an error.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let queue = &*self.queue;
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let (filled, closed) = py.detach(|| {
            let (jobs, _) = queue
                .filled
                .wait_timeout_while(queue.jobs(), limit, |jobs| {
                    jobs.waiting.is_empty() && !jobs.closed
                })
                .unwrap_or_else(PoisonError::into_inner);
            (!jobs.waiting.is_empty(), jobs.closed)
        });
        if closed {
            return Err(crate::errors::misuse(
                "the run has ended: calls are no longer answered",
            ));
        }
        Ok(filled)
    }
}

impl Completions {
    fn pipe() -> PyResult<Waker> {
        use rustix::pipe::{PipeFlags, pipe_with};
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|error| PyErr::from(std::io::Error::from(error)))?;
        Ok(Waker::Pipe { read, write })
    }
}

/// One pending call, completed exactly once by `callback(value, None)` or `callback(None, exception)`.
pub(crate) struct PendingCompletion {
    queue: Arc<Queue>,
    callback: Option<Py<PyAny>>,
}

impl PendingCompletion {
    /// Creates a pending call whose `callback` runs on the thread that owns `completions`.
    pub(crate) fn new(completions: &Completions, callback: Py<PyAny>) -> Self {
        Self {
            queue: Arc::clone(&completions.queue),
            callback: Some(callback),
        }
    }

    /// Completes the call; `convert` makes the Python value, with the interpreter's lock held.
    pub(crate) fn settle<T: Send + 'static>(
        mut self,
        outcome: stackwright::Result<T>,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) {
        let Some(callback) = self.callback.take() else {
            return;
        };
        self.queue.push(move |py| {
            let answer = match outcome {
                Ok(value) => convert(py, value),
                Err(error) => Err(to_exception(py, &error)),
            };
            match answer {
                Ok(value) => callback.call1(py, (value, py.None())),
                Err(error) => callback.call1(py, (py.None(), error)),
            }
            .map(drop)
        });
    }
}

impl Drop for PendingCompletion {
    fn drop(&mut self) {
        // The callback is left only after a panic or when the runtime ends: the caller gets an error.
        let Some(callback) = self.callback.take() else {
            return;
        };
        self.queue.push(move |py| {
            let error = to_exception(py, &Error::internal("the engine ended before the call completed"));
            callback.call1(py, (py.None(), error)).map(drop)
        });
    }
}

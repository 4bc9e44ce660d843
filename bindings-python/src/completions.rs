//! Completions: the one way from the engine's threads back into Python. The engine's threads never wait for the
//! interpreter's lock: they put work into a queue, and the thread that owns the queue runs all of it at once.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pyo3::prelude::*;
use stackwright::Error;

use crate::{errors::to_exception, gate};

/// How often the owner looks for more work before its other work gets its turn.
const ROUNDS: usize = 16;

type Job = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// What the two sides share.
pub(crate) struct Queue {
    jobs: Mutex<Jobs>,
    filled: Condvar,
    /// Behind an `Arc`, so that nobody rings what has been closed meanwhile, and no lock is held while it rings.
    bell: Mutex<Arc<Bell>>,
}

/// What waits to be run, until nobody runs anything any more.
#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    closed: bool,
}

/// Wakes an event loop that waits for the queue.
enum Bell {
    /// A pipe that the loop watches: ringing needs no interpreter.
    Pipe {
        read: std::os::fd::OwnedFd,
        write: std::os::fd::OwnedFd,
    },
    /// A function that may be called from any thread, for loops that can not watch a pipe.
    Call(Py<PyAny>),
    /// Nobody waits but in [`Completions::wait`].
    Silent,
}

impl Bell {
    fn ring(&self) {
        match self {
            Self::Pipe { write, .. } => {
                // A full pipe has rung already, and a closed one has nobody to wake.
                let _rung = rustix::io::write(write, &[1]);
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

    fn hush(&self) {
        if let Self::Pipe { read, .. } = self {
            let mut buffer = [0_u8; 64];
            while matches!(rustix::io::read(read, &mut buffer), Ok(count) if count == buffer.len()) {}
        }
    }
}

impl Queue {
    /// Has `job` run by the thread that owns the queue, with the interpreter's lock held; drops it when the queue is
    /// closed.
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
            self.bell().ring();
        }
    }

    fn take(&self) -> Vec<Job> {
        mem::take(&mut self.jobs().waiting)
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell.lock().unwrap_or_else(PoisonError::into_inner))
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
        let bell = match wake {
            Some(wake) => Bell::Call(wake),
            None if silent => Bell::Silent,
            None => Self::pipe()?,
        };
        Ok(Self {
            queue: Arc::new(Queue {
                jobs: Mutex::default(),
                filled: Condvar::new(),
                bell: Mutex::new(Arc::new(bell)),
            }),
        })
    }

    /// Returns the file descriptor that is readable while the queue has work.
    fn fileno(&self) -> PyResult<i32> {
        match &*self.queue.bell() {
            Bell::Pipe { read, .. } => {
                use std::os::fd::AsRawFd as _;
                Ok(read.as_raw_fd())
            }
            Bell::Call(_) | Bell::Silent => Err(crate::errors::misuse("this queue has no file descriptor")),
        }
    }

    /// Runs all that has finished and returns how much that was.
    fn drain(&self, py: Python<'_>) -> usize {
        let mut count = 0;
        // What comes while jobs run has rung again: run it now, and the loop need not come back for it.
        for _ in 0..ROUNDS {
            self.queue.bell().hush();
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

    /// Says that nobody will run anything any more: what waits is dropped, as is what comes later, and the pipe is closed.
    ///
    /// What waits may hold on to the queue, through an event loop for instance: nothing else would ever free the two.
    fn close(&self) {
        let waiting = {
            let mut jobs = self.queue.jobs();
            jobs.closed = true;
            mem::take(&mut jobs.waiting)
        };
        let silent = Arc::new(Bell::Silent);
        let bell = {
            let mut bell = self.queue.bell.lock().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *bell, silent)
        };
        // Code of Python may run when these go, so no lock is held by now.
        drop((waiting, bell));
        self.queue.filled.notify_all();
    }

    /// Waits until something has finished, at most `seconds`; tells whether something has. Releases the lock of the
    /// interpreter.
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
                "the run has ended: nothing is answered any more",
            ));
        }
        Ok(filled)
    }
}

impl Completions {
    fn pipe() -> PyResult<Bell> {
        use rustix::pipe::{PipeFlags, pipe_with};
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|error| PyErr::from(std::io::Error::from(error)))?;
        Ok(Bell::Pipe { read, write })
    }
}

/// One call that will be answered exactly once: `callback(value, None)` or `callback(None, exception)`.
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    callback: Option<Py<PyAny>>,
}

impl Ticket {
    /// Creates a ticket whose `callback` runs on the thread that owns `completions`.
    pub(crate) fn new(completions: &Completions, callback: Py<PyAny>) -> Self {
        Self {
            queue: Arc::clone(&completions.queue),
            callback: Some(callback),
        }
    }

    /// Answers with what `convert` makes of the value once the interpreter's lock is held.
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

impl Drop for Ticket {
    fn drop(&mut self) {
        // Only a panic or the end of the runtime gets here with a callback left: nobody may wait for ever.
        let Some(callback) = self.callback.take() else {
            return;
        };
        self.queue.push(move |py| {
            let error = to_exception(py, &Error::internal("the engine ended before it answered"));
            callback.call1(py, (py.None(), error)).map(drop)
        });
    }
}

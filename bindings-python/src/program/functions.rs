//! Functions of a program that the engine calls: ordinary ones on a thread of the pool, asynchronous ones on an event loop.

use std::sync::Arc;

use pyo3::prelude::*;
use stackwright::{Error, ErrorKind};
use tokio::sync::oneshot;

use crate::{
    completions::{Completions, Queue},
    errors::Raised,
    function::{HostContext, HostFunction, ProviderLoop, Reply},
};

/// Reads what a function has returned.
type Read<T> = fn(&Bound<'_, PyAny>) -> PyResult<T>;

/// A function of a program: a transform or a hook.
pub(super) struct ProgramFunction {
    function: HostFunction,
    /// The queue of the program's own thread or event loop, on which its outputs become known.
    program: Arc<Queue>,
}

/// What a function has returned.
enum Returned<T> {
    Known(T),
    /// It contains outputs that are not known yet: a function that answers a reply when they are, to be called on the
    /// program's own thread.
    Awaiting(Py<PyAny>),
}

impl ProgramFunction {
    /// Reads `(function, whether it is asynchronous, the queue of the event loop that it then runs on, the queue of the
    /// program)`, from `stackwright._functions`.
    pub(super) fn read(
        name: &'static str,
        described: &Bound<'_, PyAny>,
        host: &HostContext,
    ) -> PyResult<Self> {
        let (function, is_async, functions, program): (
            Py<PyAny>,
            bool,
            Bound<'_, Completions>,
            Bound<'_, Completions>,
        ) = described.extract()?;
        let host = HostContext {
            provider_loop: ProviderLoop {
                queue: Arc::clone(&functions.get().queue),
                start: Arc::clone(&host.provider_loop.start),
            },
            ..host.clone()
        };
        Ok(Self {
            function: HostFunction::new(name, function, is_async, &host),
            program: Arc::clone(&program.get().queue),
        })
    }

    /// Calls the function with one argument, and waits until all that it returns is known.
    ///
    /// # Cancel safety
    /// Dropping the future cancels an asynchronous function; an ordinary one runs on, and its result is dropped.
    pub(super) async fn call<A, T>(&self, argument: A, read: Read<T>) -> stackwright::Result<T>
    where
        A: for<'py> IntoPyObject<'py> + Send + 'static,
        T: Send + 'static,
    {
        let read_now = move |returned: &Bound<'_, PyAny>| {
            if returned.is_callable() {
                return Ok(Returned::Awaiting(returned.clone().unbind()));
            }
            read(returned).map(Returned::Known)
        };
        match self.function.call(argument, read_now, ErrorKind::Program).await? {
            Returned::Known(value) => Ok(value),
            Returned::Awaiting(resolve) => self.resolved(resolve, read).await,
        }
    }

    /// Has the program answer with what is not known yet.
    async fn resolved<T: Send + 'static>(&self, resolve: Py<PyAny>, read: Read<T>) -> stackwright::Result<T> {
        let (sender, receiver) = oneshot::channel();
        let deliver = move |py: Python<'_>, answer: PyResult<Bound<'_, PyAny>>| {
            let answer = answer.and_then(|value| read(&value));
            // The receiver is gone when the engine has dropped the call.
            let _delivered = sender.send(answer.map_err(|raised| Raised::read(py, &raised)));
        };
        self.program.push(move |py| {
            let reply = Bound::new(py, Reply::new(deliver))?;
            resolve.call1(py, (reply,)).map(drop)
        });
        match receiver.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(raised)) => Err(raised.into_error(ErrorKind::Program)),
            Err(_) => Err(Error::new(
                ErrorKind::Cancelled,
                "the program has ended before the outputs that the function returned were known",
            )),
        }
    }
}

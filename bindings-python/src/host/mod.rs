//! What a host supplies as Python functions beside providers: journals, readers of stacks, secrets, fetchers, names.

mod autonamer;
mod fetch;
mod journal;
mod secrets;
mod stacks;

use std::{fmt, sync::Arc};

use pyo3::{IntoPyObjectExt as _, prelude::*, types::PyTuple};
use stackwright::{Error, ErrorKind};
use tokio::runtime::Handle;

use crate::{
    errors::text_with_causes,
    provider::{Caller, Method, Pool, ProviderLoop},
};

pub(crate) use self::{
    autonamer::PythonAutonamer, fetch::PythonFetch, journal::PythonJournal, secrets::python_secrets,
    stacks::PythonStacks,
};

/// Where code of the host runs: blocking functions on the threads of a pool, asynchronous ones on an event loop.
#[derive(Clone)]
pub(crate) struct HostContext {
    pub(crate) pool: Arc<Pool>,
    pub(crate) provider_loop: ProviderLoop,
    pub(crate) handle: Handle,
}

/// A function of the host.
pub(crate) struct HostFunction {
    name: &'static str,
    caller: Caller,
    method: Method,
}

impl HostFunction {
    /// Takes `(function, whether it is asynchronous)`.
    pub(crate) fn read(
        name: &'static str,
        described: &Bound<'_, PyAny>,
        context: &HostContext,
    ) -> PyResult<Self> {
        let (function, is_async): (Py<PyAny>, bool) = described.extract()?;
        Ok(Self::new(name, function, is_async, context))
    }

    fn new(name: &'static str, function: Py<PyAny>, is_async: bool, context: &HostContext) -> Self {
        Self {
            name,
            caller: Caller::new(name, context),
            method: Method::new(function, is_async),
        }
    }

    /// Calls it with one argument. What it raises becomes the error: of the same kind when it is one of this package,
    /// otherwise of `kind`.
    pub(crate) async fn call<A, T>(
        &self,
        argument: A,
        read: fn(&Bound<'_, PyAny>) -> PyResult<T>,
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

/// What a function of the host raised, with its text: to show it must not need the interpreter.
pub(crate) struct Raised {
    kind: Option<ErrorKind>,
    message: String,
    exception: Py<PyAny>,
}

impl Raised {
    fn read(py: Python<'_>, raised: &PyErr) -> Self {
        let value = raised.value(py);
        let text = |name: &str| -> Option<String> { value.getattr(name).ok()?.extract().ok() };
        let kind = text("kind").and_then(|name| ErrorKind::ALL.iter().find(|kind| kind.name() == name));
        let own = kind
            .and_then(|_| text("message"))
            .filter(|message| !message.is_empty());
        let message = own.unwrap_or_else(|| {
            let own = value.str().ok().map(|text| text.to_string());
            let own = own
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| raised.to_string());
            text_with_causes(py, raised, own)
        });
        Self {
            kind: kind.copied(),
            message,
            exception: value.clone().into_any().unbind(),
        }
    }

    fn into_error(self, kind: ErrorKind) -> Error {
        Error::new(self.kind.unwrap_or(kind), self.message.clone()).with_source(self)
    }

    /// The exception itself.
    pub(crate) fn exception(&self) -> &Py<PyAny> {
        &self.exception
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl fmt::Debug for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Raised {}

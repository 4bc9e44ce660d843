//! The host's say in which provider serves a package, as a Python function, `async` or not.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};
use stackwright::{
    Error, ErrorKind,
    provider::{Resolution, Resolver},
};
use tokio::runtime::Handle;

use super::{
    PythonProvider,
    call::{Caller, Method, ProviderLoop},
    pool::Pool,
};

/// Which plugin is needed.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct ResolutionRequest(stackwright::provider::ResolutionRequest);

#[pymethods]
impl ResolutionRequest {
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn version(&self) -> Option<String> {
        self.0.version.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn download_url(&self) -> &str {
        &self.0.download_url
    }

    #[getter]
    fn checksums(&self) -> BTreeMap<String, String> {
        self.0.checksums.clone()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A resolver written in Python.
pub(crate) struct PythonResolver {
    caller: Caller,
    method: Method,
    pool: Arc<Pool>,
    provider_loop: ProviderLoop,
    handle: Handle,
}

impl PythonResolver {
    /// Takes `(function, whether it is asynchronous)`; the function returns nothing, an address, or a provider's
    /// description.
    pub(crate) fn read(
        resolver: &Bound<'_, PyAny>,
        pool: Arc<Pool>,
        provider_loop: ProviderLoop,
        handle: Handle,
    ) -> PyResult<Self> {
        let (function, is_async): (Py<PyAny>, bool) = resolver.extract()?;
        Ok(Self {
            caller: Caller::new(Arc::clone(&pool), provider_loop.clone(), handle.clone()),
            method: Method::new(function, is_async),
            pool,
            provider_loop,
            handle,
        })
    }
}

/// What the function returned.
enum Answer {
    Default,
    Address(String),
    Provider(Py<PyAny>),
}

fn read(returned: &Bound<'_, PyAny>) -> PyResult<Answer> {
    if returned.is_none() {
        return Ok(Answer::Default);
    }
    if let Ok(address) = returned.cast::<PyString>() {
        return Ok(Answer::Address(address.to_str()?.to_owned()));
    }
    Ok(Answer::Provider(
        returned.cast::<PyTuple>()?.clone().into_any().unbind(),
    ))
}

#[async_trait]
impl Resolver for PythonResolver {
    async fn resolve(
        &self,
        request: stackwright::provider::ResolutionRequest,
    ) -> stackwright::Result<Resolution> {
        let name = request.name.clone();
        let answer = self
            .caller
            .call("resolver", &self.method, ResolutionRequest(request), read)
            .await
            .map_err(|error| Error::new(ErrorKind::Plugin, error.message).with_provider(name.as_str()))?;
        let description = match answer {
            Answer::Default => return Ok(Resolution::Default),
            Answer::Address(address) => return Ok(Resolution::Address(address)),
            Answer::Provider(description) => description,
        };
        let (pool, provider_loop, handle) = (
            Arc::clone(&self.pool),
            self.provider_loop.clone(),
            self.handle.clone(),
        );
        let read = self.handle.spawn_blocking(move || {
            Python::try_attach(|py| {
                PythonProvider::read(description.bind(py), pool, provider_loop, handle)
                    .map_err(|error| error.to_string())
            })
        });
        match read.await {
            Ok(Some(Ok(provider))) => Ok(Resolution::InProcess(Arc::new(provider))),
            Ok(Some(Err(message))) => Err(Error::new(ErrorKind::Plugin, message).with_provider(name)),
            Ok(None) | Err(_) => Err(Error::new(ErrorKind::Unavailable, "the interpreter is ending")),
        }
    }
}

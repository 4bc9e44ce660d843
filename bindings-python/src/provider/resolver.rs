//! The host's resolver of packages to providers, as a blocking or asynchronous Python function.

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

use super::{PythonProvider, shown::Shown};
use crate::{
    function::{HostContext, HostFunction},
    gate,
};

/// The plugin that the engine needs.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct ResolutionRequest(pub(super) stackwright::provider::ResolutionRequest);

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

    /// For policy packs: the pack's path from the options.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// For policy packs: the settings by policy, as JSON.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.0.config)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (text,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = Shown::new(py, "ResolutionRequest").member("kind", self.kind())?;
        let shown = shown
            .member("name", self.name())?
            .member("version", self.version())?;
        let shown = shown.member("download_url", self.download_url())?;
        let shown = shown
            .member("checksums", self.checksums())?
            .member("path", self.path())?;
        let config = self.0.config.keys().map(String::as_str);
        Ok(shown.names("config", Some(config))?.text())
    }
}

/// A resolver written in Python.
pub(crate) struct PythonResolver {
    function: HostFunction,
    /// Runs the methods of the returned providers.
    providers: HostContext,
}

impl PythonResolver {
    /// Reads `(function, whether it is asynchronous)`; the function returns `None`, an address, or a provider's
    /// description.
    pub(crate) fn read(
        resolver: &Bound<'_, PyAny>,
        context: &HostContext,
        providers: HostContext,
    ) -> PyResult<Self> {
        Ok(Self {
            function: HostFunction::read("resolver", resolver, context)?,
            providers,
        })
    }
}

/// The function's return value.
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
            .function
            .call(ResolutionRequest(request), read, ErrorKind::Plugin)
            .await
            .map_err(|error| error.with_provider(name.as_str()))?;
        let description = match answer {
            Answer::Default => return Ok(Resolution::Default),
            Answer::Address(address) => return Ok(Resolution::Address(address)),
            Answer::Provider(description) => description,
        };
        let providers = self.providers.clone();
        let read = self.providers.handle.spawn_blocking(move || {
            gate::attach(|py| {
                PythonProvider::read(description.bind(py), &providers).map_err(|error| error.to_string())
            })
        });
        match read.await {
            Ok(Some(Ok(provider))) => Ok(Resolution::InProcess(Arc::new(provider))),
            Ok(Some(Err(message))) => Err(Error::new(ErrorKind::Plugin, message).with_provider(name)),
            Ok(None) | Err(_) => Err(Error::new(ErrorKind::Unavailable, "the interpreter is ending")),
        }
    }
}

//! The host's installer of missing plugins, as blocking or asynchronous Python functions.

use async_trait::async_trait;
use pyo3::prelude::*;
use stackwright::{
    ErrorKind,
    provider::{Installation, PluginInstaller},
};

use super::ResolutionRequest;
use crate::function::{HostContext, HostFunction};

/// An installer written in Python. Calls without a function are answered without entering Python.
pub(crate) struct PythonInstaller {
    is_installed: Option<HostFunction>,
    latest_version: Option<HostFunction>,
    install: Option<HostFunction>,
}

impl PythonInstaller {
    /// Reads the descriptions of the three functions; each is optional.
    pub(crate) fn read(described: &Bound<'_, PyAny>, context: &HostContext) -> PyResult<Self> {
        type Given<'py> = Option<Bound<'py, PyAny>>;
        let (is_installed, latest_version, install): (Given<'_>, Given<'_>, Given<'_>) =
            described.extract()?;
        let function = |name, described: Given<'_>| {
            described
                .map(|described| HostFunction::read(name, &described, context))
                .transpose()
        };
        Ok(Self {
            is_installed: function("installer", is_installed)?,
            latest_version: function("installer", latest_version)?,
            install: function("installer", install)?,
        })
    }
}

#[async_trait]
impl PluginInstaller for PythonInstaller {
    async fn is_installed(
        &self,
        plugin: stackwright::provider::ResolutionRequest,
    ) -> stackwright::Result<bool> {
        let Some(function) = &self.is_installed else {
            return Ok(false);
        };
        let read = |returned: &Bound<'_, PyAny>| returned.extract();
        function
            .call(ResolutionRequest(plugin), read, ErrorKind::Plugin)
            .await
    }

    async fn latest_version(
        &self,
        plugin: stackwright::provider::ResolutionRequest,
    ) -> stackwright::Result<Option<semver::Version>> {
        let Some(function) = &self.latest_version else {
            return Ok(None);
        };
        let read = |returned: &Bound<'_, PyAny>| returned.extract::<Option<String>>();
        let answer = function
            .call(ResolutionRequest(plugin.clone()), read, ErrorKind::Plugin)
            .await?;
        answer.map(|text| plugin.latest(&text)).transpose()
    }

    async fn install(
        &self,
        plugin: stackwright::provider::ResolutionRequest,
    ) -> stackwright::Result<Installation> {
        let Some(function) = &self.install else {
            return Ok(Installation::Declined);
        };
        let read = |returned: &Bound<'_, PyAny>| returned.extract::<bool>();
        let done = function
            .call(ResolutionRequest(plugin), read, ErrorKind::Plugin)
            .await?;
        Ok(if done {
            Installation::Done
        } else {
            Installation::Declined
        })
    }
}

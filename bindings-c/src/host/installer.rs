//! The host's functions for missing plugins.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use stackwright::{
    ErrorKind,
    property::json::to_vec,
    provider::{Installation, PluginInstaller, ResolutionRequest},
};

use super::{Host, ResolutionDocument, read};
use crate::provider::sw_call_t;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Presence {
    installed: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Latest {
    version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Installed {
    declined: bool,
}

impl Host {
    pub(crate) fn installer(self: &Arc<Self>) -> Option<Arc<dyn PluginInstaller>> {
        let table = &self.functions;
        let any = [table.is_installed, table.latest_version, table.install];
        any.iter().any(Option::is_some).then(|| Arc::clone(self) as _)
    }

    /// Calls a function with a plugin; without it, or for an empty response, the result is the default.
    async fn ask_about_plugin<T: Default + for<'de> Deserialize<'de>>(
        &self,
        function: sw_call_t,
        plugin: &ResolutionRequest,
        what: &str,
    ) -> stackwright::Result<T> {
        if function.is_none() {
            return Ok(T::default());
        }
        let document = to_vec(&ResolutionDocument::from(plugin))?;
        let answer = self.ask(function, document, ErrorKind::Plugin, what).await?;
        if answer.is_empty() {
            return Ok(T::default());
        }
        read(&answer, what)
    }
}

#[async_trait]
impl PluginInstaller for Host {
    async fn is_installed(&self, plugin: ResolutionRequest) -> stackwright::Result<bool> {
        let function = self.functions.is_installed;
        let presence: Presence = self.ask_about_plugin(function, &plugin, "is_installed").await?;
        Ok(presence.installed)
    }

    async fn latest_version(
        &self,
        plugin: ResolutionRequest,
    ) -> stackwright::Result<Option<semver::Version>> {
        let function = self.functions.latest_version;
        let latest: Latest = self.ask_about_plugin(function, &plugin, "latest_version").await?;
        latest.version.map(|text| plugin.latest(&text)).transpose()
    }

    async fn install(&self, plugin: ResolutionRequest) -> stackwright::Result<Installation> {
        let function = self.functions.install;
        if function.is_none() {
            return Ok(Installation::Declined);
        }
        let installed: Installed = self.ask_about_plugin(function, &plugin, "install").await?;
        Ok(if installed.declined {
            Installation::Declined
        } else {
            Installation::Done
        })
    }
}

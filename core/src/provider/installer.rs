//! The host's say in plugins that are missing: whether one is installed, which version is the latest, and installing it.

use async_trait::async_trait;

use crate::{
    error::{Error, Result},
    provider::ResolutionRequest,
};

/// What became of a wish to have a plugin installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// It is where the engine looks for plugins.
    Done,
    /// The host does not install this one. It is missing, as it would be without the host's say.
    Declined,
}

/// Installs plugins. Each method is optional and can do without the others.
///
/// Asked for what neither the host's providers and resolver nor the look-up in the folders of
/// [`crate::plugin::PluginSettings`] give: first whether it is installed, then for its latest version when none is wanted,
/// then to install it. After that the engine looks once more. However many resources and operations need a plugin, it is
/// asked for once at a time; different plugins are asked for CONCURRENTLY. Before an operation begins its work it is asked
/// for the plugins that recorded providers and the program require, also where there is a resolver. A future is dropped when no operation waits for the
/// plugin any more.
///
/// What a method fails with reaches people unchanged.
#[async_trait]
pub trait PluginInstaller: Send + Sync + 'static {
    /// Tells whether a plugin is installed, in any version when none is wanted. One that is can be found by now.
    ///
    /// # Errors
    /// Any; the plugin is not loaded.
    async fn is_installed(&self, _plugin: ResolutionRequest) -> Result<bool> {
        Ok(false)
    }

    /// Returns the latest version of a plugin; `None` leaves it to [`Self::install`] which one that is.
    ///
    /// # Errors
    /// Any; the plugin is not loaded.
    async fn latest_version(&self, _plugin: ResolutionRequest) -> Result<Option<semver::Version>> {
        Ok(None)
    }

    /// Puts a plugin where the engine looks for it: its executable `pulumi-resource-NAME` into one of the folders that are
    /// searched, or into `resource-NAME-vVERSION` in the folder of installed plugins.
    ///
    /// # Errors
    /// Any; the plugin is not loaded.
    async fn install(&self, _plugin: ResolutionRequest) -> Result<Installation> {
        Ok(Installation::Declined)
    }
}

impl ResolutionRequest {
    /// Reads what a host says to be the latest version of this plugin, with or without a `v` before it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when it is no version; the plugin is named.
    pub fn latest(&self, text: &str) -> Result<semver::Version> {
        semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).map_err(|error| {
            Error::invalid(format!(
                "the latest version of the {} plugin '{}' is {text:?}, which is no version: {error}",
                self.kind.name(),
                self.name
            ))
        })
    }
}

//! The host's hooks for missing plugins: whether one is installed, its latest version, and its installation.

use async_trait::async_trait;

use crate::{
    error::{Error, Result},
    provider::ResolutionRequest,
};

/// The result of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// The plugin is installed where the engine searches for plugins.
    Done,
    /// The host does not install this plugin; it is reported as missing.
    Declined,
}

/// Installs plugins. All methods are optional and independent.
///
/// Called for plugins that neither the host's providers and resolver nor the search in the folders of
/// [`crate::plugin::PluginSettings`] provide: first [`Self::is_installed`], then [`Self::latest_version`] if no version
/// is requested, then [`Self::install`]. The engine then searches again. Concurrent requests for the same plugin share
/// one installation; different plugins are installed CONCURRENTLY. Before an operation runs, the plugins that recorded
/// providers and the program require are installed, also if there is a resolver. A future is dropped when no operation
/// waits for it.
///
/// Errors of a method are reported unchanged.
#[async_trait]
pub trait PluginInstaller: Send + Sync + 'static {
    /// Returns whether a plugin is installed, in any version if none is requested. If so, the engine searches again.
    ///
    /// # Errors
    /// Any; the plugin is not loaded.
    async fn is_installed(&self, _plugin: ResolutionRequest) -> Result<bool> {
        Ok(false)
    }

    /// Returns the latest version of a plugin; `None` leaves the choice to [`Self::install`].
    ///
    /// # Errors
    /// Any; the plugin is not loaded.
    async fn latest_version(&self, _plugin: ResolutionRequest) -> Result<Option<semver::Version>> {
        Ok(None)
    }

    /// Installs a plugin where the engine searches for it: its executable `pulumi-resource-NAME` in one of the
    /// configured folders, or in `resource-NAME-vVERSION` in the folder of installed plugins.
    ///
    /// # Errors
    /// Any; the plugin is not loaded.
    async fn install(&self, _plugin: ResolutionRequest) -> Result<Installation> {
        Ok(Installation::Declined)
    }
}

impl ResolutionRequest {
    /// Parses the latest version of this plugin, with or without a leading `v`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if it is not a version; the message names the plugin.
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

//! The installed plugins of an engine: those in its folder of plugins.

use super::Engine;
use crate::{
    error::{Error, Result},
    plugin::{InstalledPlugin, PluginCache, PluginInstallation, PluginSelection, ProgressSink},
};

impl Engine {
    /// Lists the plugins that are installed in the folder of [`crate::plugin::PluginSettings::cache`], sorted by name, kind and
    /// version. A folder that does not exist has none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if the engine has no such folder; those of [`PluginCache::list`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, plugin::{PluginSelection, PluginSettings}, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store).secrets(Arc::new(Base64Provider));
    /// let settings = PluginSettings {
    ///     cache: Some("/nowhere/plugins".into()),
    ///     ..PluginSettings::default()
    /// };
    /// let engine = builder.plugins(settings).build()?;
    /// assert!(engine.plugins(PluginSelection::default()).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn plugins(&self, selection: PluginSelection) -> Result<Vec<InstalledPlugin>> {
        self.plugin_cache()?.list(selection).await
    }

    /// Installs a plugin into that folder, safely also while other processes do; `progress` receives its progress. One that is
    /// installed stays as it is, unless [`PluginInstallation::reinstall`] is set.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if the engine has no such folder; those of [`PluginCache::install`].
    ///
    /// # Cancel safety
    /// A dropped future ends the installation soon; the plugin is installed as a whole, or not at all.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, runtime::Runtime};
    /// # use stackwright::plugin::{PluginArchive, PluginInstallation, PluginKind, PluginSettings};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store).secrets(Arc::new(Base64Provider));
    /// # let folder = std::env::temp_dir().join("stackwright-no-plugins");
    /// # let settings = PluginSettings { cache: Some(folder), ..PluginSettings::default() };
    /// # let engine = builder.plugins(settings).build()?;
    /// let installation = PluginInstallation {
    ///     kind: PluginKind::Resource,
    ///     name: "files".to_owned(),
    ///     version: "1.0.0".parse().unwrap(),
    ///     archive: PluginArchive::File("/nowhere/pulumi-resource-files.tar.gz".into()),
    ///     checksum: None,
    ///     reinstall: false,
    /// };
    /// let error = engine.install_plugin(installation, None).await.unwrap_err();
    /// assert_eq!(error.kind().name(), "not_found");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn install_plugin(
        &self,
        installation: PluginInstallation,
        progress: Option<ProgressSink>,
    ) -> Result<InstalledPlugin> {
        self.plugin_cache()?.install(installation, progress).await
    }

    /// Removes the plugins of a selection from that folder, and returns them. Processes of plugins that run are not ended.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if the engine has no such folder; those of [`PluginCache::remove`].
    ///
    /// # Cancel safety
    /// A dropped future leaves each plugin as a whole or not at all; those that follow stay.
    pub async fn remove_plugins(&self, selection: PluginSelection) -> Result<Vec<InstalledPlugin>> {
        self.plugin_cache()?.remove(selection).await
    }

    /// Returns the server from which plugins are downloaded.
    pub(crate) fn plugin_server(&self) -> Option<&str> {
        self.0.loader.plugin_settings().server.as_deref()
    }

    fn plugin_cache(&self) -> Result<PluginCache> {
        let folder = self.0.loader.plugin_settings().cache.as_deref().ok_or_else(|| {
            Error::invalid("the engine has no folder of installed plugins")
                .with_hint("give the engine one in the setting `cache` of its plugins")
        })?;
        Ok(PluginCache::new(folder, self.0.runtime.clone()))
    }
}

//! Downloading plugins that are not found, where the settings allow that.

use std::sync::Arc;

use super::{
    LoaderParts, ResolutionRequest,
    installing::{InstallationSink, also_tried, look_again},
};
use crate::{
    error::{Error, Result},
    plugin::{FoundPlugin, PluginArchive, PluginCache, PluginInstallation, ProgressSink, platform},
};

/// Downloads a plugin into the folder of installed plugins, and finds it. Without permission it is missing.
pub(super) async fn download(
    parts: &Arc<LoaderParts>,
    request: &ResolutionRequest,
    missing: Error,
    progress: Option<InstallationSink>,
) -> Result<FoundPlugin> {
    let settings = &parts.plugins;
    if !settings.download {
        return Err(missing);
    }
    let refused = |reason: &str| Err(also_tried(&missing, &format!("downloads: {reason}")));
    let Some(cache) = &settings.cache else {
        return refused("the engine has no folder of installed plugins (cache)");
    };
    let Some(version) = &request.version else {
        return refused("neither the program nor the state names a version");
    };
    let server = match request.download_url.as_str() {
        "" => settings.server.as_deref(),
        url => Some(url),
    };
    let Some(server) = server else {
        return refused("neither the package nor the engine (server) names an address");
    };
    let installation = PluginInstallation {
        kind: request.kind,
        name: request.name.clone(),
        version: version.clone(),
        archive: PluginArchive::Server(server.to_owned()),
        checksum: request.checksums.get(&platform()).cloned(),
        reinstall: false,
    };
    let cache = PluginCache::new(cache, parts.runtime.clone());
    let sink = progress.map(|progress| -> ProgressSink {
        let request = request.clone();
        Arc::new(move |reported| progress(&request, reported))
    });
    let installed = cache.install(installation, sink).await;
    installed.map_err(|error| error.with_provider(request.name.as_str()).with_phase("load"))?;
    look_again(parts, request, "was downloaded").await
}

//! The installation of plugins, by a command or on demand: where they are downloaded from, and what is written.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use regex_lite::Regex;
use stackwright::{
    Error, ErrorKind,
    plugin::{
        InstallProgress, InstalledPlugin, PluginArchive, PluginCache, PluginInstallation, ProgressSink,
        platform,
    },
    provider::{Installation, PluginInstaller, ResolutionRequest},
    runtime::Runtime,
};
use tokio::runtime::Handle;

use crate::{
    failure::{Failure, Result},
    home::Home,
    invocation::{Invocation, Output},
};

/// Servers in place of those of plugins: pairs of a pattern and an address, separated by commas.
pub(crate) const OVERRIDES: &str = "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES";
/// Whether missing plugins are not downloaded on demand.
const DISABLED: &str = "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION";
/// How often the engine tries a download.
const DOWNLOAD_ATTEMPTS: u32 = 5;

/// Returns the folder of installed plugins of an invocation.
pub(crate) fn cache(handle: &Handle, invocation: &Invocation) -> Result<PluginCache> {
    let runtime = Runtime::system(handle.clone());
    Ok(PluginCache::new(Home::of(invocation)?.plugins(), runtime))
}

/// The servers that the environment names in place of those of plugins.
pub(crate) struct Servers(Vec<(Regex, String)>);

impl Servers {
    /// What is missing when no server is known.
    pub(crate) const MISSING: &str = "no server of its archive is known; pass --file or --server, or set PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES";

    /// Reads the servers of an environment.
    pub(crate) fn of(invocation: &Invocation) -> Result<Self> {
        let pairs = invocation.variable(OVERRIDES).unwrap_or_default().split(',');
        let servers = pairs.filter(|pair| !pair.trim().is_empty()).map(|pair| {
            let wrong = |reason: &str| Failure::new(format!("{OVERRIDES}: {pair:?} {reason}"));
            let (pattern, url) = pair
                .trim()
                .split_once('=')
                .ok_or_else(|| wrong("is no pair of a pattern and an address, as in `^aws$=https://…`"))?;
            let pattern = Regex::new(pattern).map_err(|error| wrong(&format!("has no pattern: {error}")))?;
            Ok((pattern, url.to_owned()))
        });
        servers.collect::<Result<_>>().map(Self)
    }

    /// Returns the server of a plugin: that of the first pattern which matches its own address or, without one, its name; else its
    /// own address.
    pub(crate) fn of_plugin(&self, name: &str, own: &str) -> Option<String> {
        let text = if own.is_empty() { name } else { own };
        let found = self.0.iter().find(|(pattern, _)| pattern.is_match(text));
        let server = found.map_or(own, |(_, url)| url);
        (!server.is_empty()).then(|| server.to_owned())
    }
}

/// Returns what installs missing plugins on demand; `None` where the environment does not allow that.
pub(crate) fn on_demand(
    handle: &Handle,
    invocation: &Invocation,
) -> Result<Option<Arc<dyn PluginInstaller>>> {
    if invocation.is_enabled(DISABLED) {
        return Ok(None);
    }
    Ok(Some(Arc::new(OnDemand {
        cache: cache(handle, invocation)?,
        servers: Servers::of(invocation)?,
        stderr: Arc::clone(&invocation.stderr),
    })))
}

/// Downloads missing plugins whose version and server are known.
struct OnDemand {
    cache: PluginCache,
    servers: Servers,
    stderr: Output,
}

#[async_trait]
impl PluginInstaller for OnDemand {
    async fn install(&self, plugin: ResolutionRequest) -> stackwright::Result<Installation> {
        let server = self.servers.of_plugin(&plugin.name, &plugin.download_url);
        // Addresses of other protocols are those of services, which this engine does not know.
        let server = server.filter(|server| server.starts_with("https://") || server.starts_with("http://"));
        let (Some(server), Some(version)) = (server, plugin.version) else {
            return Ok(Installation::Declined);
        };
        let installation = PluginInstallation {
            kind: plugin.kind,
            name: plugin.name,
            version,
            archive: PluginArchive::Server(server),
            checksum: plugin.checksums.get(&platform()).cloned(),
            reinstall: false,
        };
        match install_one(&self.stderr, &self.cache, installation).await {
            Ok(_) => Ok(Installation::Done),
            Err(failure) => Err(Error::new(ErrorKind::Unavailable, failure.message)),
        }
    }
}

/// Installs a plugin, and writes what happens as the reference engine does.
pub(crate) async fn install_one(
    stderr: &Output,
    cache: &PluginCache,
    installation: PluginInstallation,
) -> Result<InstalledPlugin> {
    let named = format!("{}-{}", installation.name, installation.version);
    let label = format!("[{} plugin {named}]", installation.kind.name());
    let origin = match &installation.archive {
        PluginArchive::File(file) => format!("installing from {}", file.display()),
        PluginArchive::Url(url) | PluginArchive::Server(url) => format!("downloading from {url}"),
    };
    let sink = reporter(stderr, &label);
    let installed = cache.install(installation, Some(sink)).await;
    installed.map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::Unavailable => {
                format!("failed to download plugin: {named}: failed all {DOWNLOAD_ATTEMPTS} attempts")
            }
            _ => error.message().to_owned(),
        };
        Failure::new(format!("{label} {origin}: {reason}"))
    })
}

/// Writes that a plugin is installed once something is done for that, and each download that failed.
fn reporter(stderr: &Output, label: &str) -> ProgressSink {
    let (note, label) = (Arc::clone(stderr), label.to_owned());
    let is_begun = AtomicBool::new(false);
    Arc::new(move |progress| {
        if !is_begun.swap(true, Ordering::Relaxed) {
            note(&format!("{label} installing\n"));
        }
        if let InstallProgress::Retrying {
            attempt,
            attempts,
            pause,
            reason,
        } = progress
        {
            note(&format!("warning: Error downloading plugin: {reason}\n"));
            note(&format!(
                "Will retry in {}ms [{attempt}/{attempts}]\n",
                pause.as_millis()
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Result<Servers> {
        let mut invocation = Invocation::new([""; 0], "/");
        invocation
            .environment
            .insert(OVERRIDES.to_owned(), text.to_owned());
        Servers::of(&invocation)
    }

    #[test]
    fn the_first_pattern_that_matches_the_address_or_the_name_decides() {
        let servers = servers("^shop$=http://a, ^https://example=http://b,=http://c")
            .ok()
            .unwrap();
        for (name, own, expected) in [
            ("shop", "", "http://a"),
            ("shops", "", "http://c"),
            ("shop", "https://example.com", "http://b"),
        ] {
            assert_eq!(
                servers.of_plugin(name, own).as_deref(),
                Some(expected),
                "{name} {own}"
            );
        }
    }

    #[test]
    fn without_a_pattern_a_plugin_has_its_own_address() {
        let servers = servers("").ok().unwrap();
        assert_eq!(
            servers.of_plugin("shop", "https://own").as_deref(),
            Some("https://own")
        );
        assert_eq!(servers.of_plugin("shop", ""), None);
    }

    #[test]
    fn pairs_that_are_none_are_named() {
        for (text, named) in [("https://a", "is no pair"), ("(=https://a", "has no pattern")] {
            let failure = servers(text).err().unwrap();
            assert!(failure.message.contains(named), "{}", failure.message);
        }
    }
}

//! Installing plugins through the host's hooks, else by a download; concurrent requests for one plugin share an installation.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::{BoxFuture, FutureExt as _, Shared, WeakShared, join_all};

use super::{
    Installation, LoaderParts, ProviderLoader, ProviderSpec, ResolutionRequest, builtin,
    downloading::download, loader::look_up,
};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    plugin::{FoundPlugin, InstallProgress, PluginKind},
};

/// A shared installation. Dropped, and thereby cancelled, with its last waiter.
type InstallFuture = Shared<BoxFuture<'static, Result<FoundPlugin>>>;

/// The running installations of one engine.
#[derive(Default)]
pub(crate) struct Installations(Mutex<Vec<RunningInstallation>>);

struct RunningInstallation {
    request: ResolutionRequest,
    installation: WeakShared<BoxFuture<'static, Result<FoundPlugin>>>,
}

/// Receives the progress of the installation of a plugin.
pub(crate) type InstallationSink = Arc<dyn Fn(&ResolutionRequest, InstallProgress) + Send + Sync>;

/// Whether `is_installed` has been called already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InstalledCheck {
    Pending,
    Done,
}

impl Installations {
    /// Returns the running installation of this plugin and version with its request, or starts one.
    fn join(
        &self,
        parts: &Arc<LoaderParts>,
        request: &ResolutionRequest,
        check: InstalledCheck,
        progress: Option<&InstallationSink>,
    ) -> (ResolutionRequest, InstallFuture) {
        // Declared first, so that it is dropped last: dropping an installation runs the host's code, which must not run
        // under the lock.
        let mut held = Vec::new();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = |known: &RunningInstallation| {
            let installation = known.installation.upgrade()?;
            held.push(installation.clone());
            installation.peek().is_none().then_some(installation)
        };
        all.retain(|known| running(known).is_some());
        let same = |known: &&RunningInstallation| {
            let known = &known.request;
            (known.kind, &known.name, &known.version) == (request.kind, &request.name, &request.version)
        };
        if let Some(known) = all.iter().find(same)
            && let Some(installation) = running(known)
        {
            return (known.request.clone(), installation);
        }
        let installation = work(Arc::clone(parts), request.clone(), check, progress.cloned());
        let installation = installation.boxed().shared();
        if let Some(weak) = installation.downgrade() {
            all.push(RunningInstallation {
                request: request.clone(),
                installation: weak,
            });
        }
        (request.clone(), installation)
    }
}

/// Installs a plugin that was not found, and finds it. `progress` receives the progress of a download, unless that is running.
pub(super) fn install(
    parts: &Arc<LoaderParts>,
    request: ResolutionRequest,
    progress: Option<InstallationSink>,
) -> BoxFuture<'static, Result<FoundPlugin>> {
    join_or_begin(Arc::clone(parts), request, InstalledCheck::Pending, progress)
}

fn join_or_begin(
    parts: Arc<LoaderParts>,
    request: ResolutionRequest,
    check: InstalledCheck,
    progress: Option<InstallationSink>,
) -> BoxFuture<'static, Result<FoundPlugin>> {
    async move {
        loop {
            let (joined, installation) = parts
                .installations
                .join(&parts, &request, check, progress.as_ref());
            let found = installation.await;
            // The joined installation may have failed because of another download address.
            if found.is_ok() || joined == request {
                return found;
            }
        }
    }
    .boxed()
}

async fn work(
    parts: Arc<LoaderParts>,
    request: ResolutionRequest,
    check: InstalledCheck,
    progress: Option<InstallationSink>,
) -> Result<FoundPlugin> {
    // A previous installation may have ended in the meantime.
    let missing = match look_up(&parts, &request).await {
        Err(error) if error.kind() == ErrorKind::Plugin => error,
        found => return found,
    };
    let Some(installer) = &parts.installer else {
        return download(&parts, &request, missing, progress).await;
    };
    if check == InstalledCheck::Pending && installer.is_installed(request.clone()).await? {
        return look_again(&parts, &request, "is reported as installed by the host").await;
    }
    if request.version.is_none()
        && let Some(latest) = installer.latest_version(request.clone()).await?
    {
        let versioned = ResolutionRequest {
            version: Some(latest),
            ..request.clone()
        };
        // The same version may be installing already.
        join_or_begin(Arc::clone(&parts), versioned, InstalledCheck::Done, progress).await?;
        return look_again(&parts, &request, "was installed by the host").await;
    }
    match installer.install(request.clone()).await? {
        Installation::Done => look_again(&parts, &request, "was installed by the host").await,
        Installation::Declined => {
            let declined = "the installer of the host: it declined to install the plugin";
            download(&parts, &request, also_tried(&missing, declined), progress).await
        }
    }
}

/// Adds a place where the plugin was searched, with the reason why it is not there.
pub(super) fn also_tried(missing: &Error, place: &str) -> Error {
    let tried = |text: &str| format!("{text}\n  {place}");
    missing
        .clone()
        .with_text(missing.text().map(str::to_owned, tried))
}

pub(super) async fn look_again(
    parts: &Arc<LoaderParts>,
    request: &ResolutionRequest,
    claim: &str,
) -> Result<FoundPlugin> {
    let missing = match look_up(parts, request).await {
        Err(error) if error.kind() == ErrorKind::Plugin => error,
        found => return found,
    };
    let (kind, name) = (request.kind.name(), &request.name);
    let version = request.version.as_ref();
    let at_version = version.map(|version| format!(" at version v{version}"));
    let text = format!(
        "the {kind} plugin '{name}'{} {claim}, but is not where the engine looks for plugins",
        at_version.unwrap_or_default()
    );
    // The searched places follow the first line of the message.
    let places = missing
        .message()
        .split_once('\n')
        .map_or("", |(_, places)| places);
    let text = Text::pair(text.clone(), format!("{text}:\n{places}"));
    let folder = version.map_or_else(String::new, |version| format!("-v{version}"));
    Err(Error::new(ErrorKind::Plugin, text)
        .with_provider(name.as_str())
        .with_phase("load")
        .with_hint(format!(
            "its executable pulumi-{kind}-{name} belongs into a folder that the engine searches, or into \
             {kind}-{name}{folder} in its folder of installed plugins"
        ))
        .with_source(missing))
}

impl ProviderSpec {
    /// Returns the request to the host's hooks.
    pub(super) fn request(&self) -> ResolutionRequest {
        ResolutionRequest {
            kind: PluginKind::Resource,
            name: self.plugin.clone(),
            version: self.version.clone(),
            download_url: self.download_url.clone(),
            checksums: self.checksums.clone(),
            path: String::new(),
            config: BTreeMap::new(),
        }
    }
}

impl ProviderLoader {
    /// Returns whether plugins are installed before they are needed. Independent of a resolver: the host decides in
    /// each hook which plugins it handles.
    pub(crate) fn installs_beforehand(&self) -> bool {
        self.parts().installs()
    }

    /// Installs missing plugins before they are needed. Failures are not reported here, but when the plugin is loaded.
    pub(super) async fn install_beforehand(
        &self,
        specs: &[ProviderSpec],
        progress: Option<&InstallationSink>,
    ) {
        if !self.installs_beforehand() {
            return;
        }
        let parts = self.parts();
        let mut requests: Vec<ResolutionRequest> = Vec::new();
        for spec in specs {
            let request = spec.request();
            let is_ours = [spec.package(), &spec.plugin]
                .iter()
                .any(|name| *name == builtin::PACKAGE || parts.in_process.contains_key(*name));
            if !is_ours && !requests.contains(&request) {
                requests.push(request);
            }
        }
        let installing = requests.into_iter().map(|request| async move {
            let name = request.name.clone();
            if let Err(error) = install(parts, request, progress.cloned()).await {
                // Not the host's text, which may contain secrets.
                tracing::debug!(plugin = name, kind = ?error.kind(), "a plugin could not be installed beforehand");
            }
        });
        join_all(installing).await;
    }
}

#[cfg(test)]
#[path = "installing_tests.rs"]
mod tests;

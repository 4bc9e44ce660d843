//! Installing plugins through the host's hooks: each once at a time, for all who wait for it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::{BoxFuture, FutureExt as _, Shared, WeakShared, join_all};

use super::{
    Installation, LoaderParts, ProviderLoader, ProviderWish, ResolutionRequest, builtin, loader::look_up,
};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    plugin::{FoundPlugin, PluginKind},
};

/// An installation under way. It belongs to those who wait for it: nothing is left of it when the last one is gone.
type Flight = Shared<BoxFuture<'static, Result<FoundPlugin>>>;

/// The installations of one engine that are under way.
#[derive(Default)]
pub(crate) struct Installations(Mutex<Vec<Underway>>);

struct Underway {
    request: ResolutionRequest,
    flight: WeakShared<BoxFuture<'static, Result<FoundPlugin>>>,
}

/// Whether the host is still to be asked if the plugin is installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Open,
    Answered,
}

impl Installations {
    /// Returns the installation of this plugin in this version that is under way, and what was wanted of it; or begins one.
    fn join(
        &self,
        parts: &Arc<LoaderParts>,
        request: &ResolutionRequest,
        question: Question,
    ) -> (ResolutionRequest, Flight) {
        // Declared first, so that it is dropped last: the end of a flight is the host's code, which must not run under the
        // lock.
        let mut held = Vec::new();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut under_way = |known: &Underway| {
            let flight = known.flight.upgrade()?;
            held.push(flight.clone());
            flight.peek().is_none().then_some(flight)
        };
        all.retain(|known| under_way(known).is_some());
        let same = |known: &&Underway| {
            let known = &known.request;
            (known.kind, &known.name, &known.version) == (request.kind, &request.name, &request.version)
        };
        if let Some(known) = all.iter().find(same)
            && let Some(flight) = under_way(known)
        {
            return (known.request.clone(), flight);
        }
        let flight = work(Arc::clone(parts), request.clone(), question)
            .boxed()
            .shared();
        if let Some(weak) = flight.downgrade() {
            all.push(Underway {
                request: request.clone(),
                flight: weak,
            });
        }
        (request.clone(), flight)
    }
}

/// Has a plugin installed that was not found, and finds it.
pub(super) fn install(
    parts: &Arc<LoaderParts>,
    request: ResolutionRequest,
) -> BoxFuture<'static, Result<FoundPlugin>> {
    join_or_begin(Arc::clone(parts), request, Question::Open)
}

fn join_or_begin(
    parts: Arc<LoaderParts>,
    request: ResolutionRequest,
    question: Question,
) -> BoxFuture<'static, Result<FoundPlugin>> {
    async move {
        loop {
            let (wanted, flight) = parts.installations.join(&parts, &request, question);
            let found = flight.await;
            // Somebody else may have wanted it from elsewhere, where it is not to be had.
            if found.is_ok() || wanted == request {
                return found;
            }
        }
    }
    .boxed()
}

async fn work(
    parts: Arc<LoaderParts>,
    request: ResolutionRequest,
    question: Question,
) -> Result<FoundPlugin> {
    // Whoever comes late finds what the others had installed.
    let missing = match look_up(&parts, &request).await {
        Err(error) if error.kind() == ErrorKind::Plugin => error,
        found => return found,
    };
    let Some(installer) = &parts.installer else {
        return Err(missing);
    };
    if question == Question::Open && installer.is_installed(request.clone()).await? {
        return look_again(&parts, &request, "is installed, as the host says").await;
    }
    if request.version.is_none()
        && let Some(latest) = installer.latest_version(request.clone()).await?
    {
        let versioned = ResolutionRequest {
            version: Some(latest),
            ..request.clone()
        };
        // Somebody else may be installing this very version.
        join_or_begin(Arc::clone(&parts), versioned, Question::Answered).await?;
        return look_again(&parts, &request, "was installed by the host").await;
    }
    match installer.install(request.clone()).await? {
        Installation::Done => look_again(&parts, &request, "was installed by the host").await,
        Installation::Declined => {
            let declined = |text: &str| {
                format!("{text}\n  the installer of the host: it declined to install the plugin")
            };
            let text = missing.text().map(str::to_owned, declined);
            Err(missing.with_text(text))
        }
    }
}

async fn look_again(
    parts: &Arc<LoaderParts>,
    request: &ResolutionRequest,
    said: &str,
) -> Result<FoundPlugin> {
    let missing = match look_up(parts, request).await {
        Err(error) if error.kind() == ErrorKind::Plugin => error,
        found => return found,
    };
    let (kind, name) = (request.kind.name(), &request.name);
    let version = request.version.as_ref();
    let at_version = version.map(|version| format!(" at version v{version}"));
    let text = format!(
        "the {kind} plugin '{name}'{} {said}, but is not where the engine looks for plugins",
        at_version.unwrap_or_default()
    );
    // The places that were searched stand below its first line.
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

impl ProviderWish {
    /// Returns how the host is asked for the plugin.
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
    /// Tells whether plugins are installed before they are needed. The installer is asked beside a resolver, too: the two
    /// are separate, and the host decides in each what it is for.
    pub(crate) fn installs_beforehand(&self) -> bool {
        self.parts().installer.is_some()
    }

    /// Has those plugins installed that are missing, before anybody needs them. One that cannot be is told of when it is
    /// needed, which may be never.
    pub(super) async fn install_beforehand(&self, wishes: &[ProviderWish]) {
        if !self.installs_beforehand() {
            return;
        }
        let parts = self.parts();
        let mut requests: Vec<ResolutionRequest> = Vec::new();
        for wish in wishes {
            let request = wish.request();
            let is_ours = [wish.package(), &wish.plugin]
                .iter()
                .any(|name| *name == builtin::PACKAGE || parts.in_process.contains_key(*name));
            if !is_ours && !requests.contains(&request) {
                requests.push(request);
            }
        }
        let installing = requests.into_iter().map(|request| async move {
            let name = request.name.clone();
            if let Err(error) = install(parts, request).await {
                // Not its text, which is the host's and may hold anything.
                tracing::debug!(plugin = name, kind = ?error.kind(), "a plugin could not be installed beforehand");
            }
        });
        join_all(installing).await;
    }
}

#[cfg(test)]
#[path = "installing_tests.rs"]
mod tests;

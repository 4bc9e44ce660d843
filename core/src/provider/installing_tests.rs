//! Tests of the host's hooks for missing plugins: which are called, how often, and when installations are shared.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use semver::Version;
use stackwright_testkit::fake::FakeProvider;
use tokio::sync::Semaphore;

use super::*;
use crate::{
    plugin::{PluginOrigin, PluginSettings},
    provider::{
        EngineEndpoint, EngineEndpoints, PluginContext, PluginInstaller, PoolSettings, ProviderPool,
        Resolution, Resolver, grpc::ViewTokens,
    },
    runtime::Runtime,
};

/// Installs plugins into a cache, as configured by its fields.
struct Host {
    cache: PathBuf,
    asked: Mutex<Vec<String>>,
    /// Installations wait for a permit.
    gate: Semaphore,
    latest: Option<&'static str>,
    /// A hook and the error that it fails with.
    fails: Option<(&'static str, &'static str)>,
    /// The result of [`PluginInstaller::is_installed`].
    installed: bool,
    installation: Installation,
    /// Installs nothing, but reports success.
    idle: bool,
    /// The installed executable; `None` installs an empty executable file.
    program: Option<PathBuf>,
}

impl Host {
    fn new(cache: &Path) -> Self {
        Self {
            cache: cache.to_owned(),
            asked: Mutex::default(),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            latest: Some("1.2.0"),
            fails: None,
            installed: false,
            installation: Installation::Done,
            idle: false,
            program: None,
        }
    }

    fn note(&self, hook: &str, plugin: &ResolutionRequest) -> Result<()> {
        let version = plugin.version.as_ref().map(|version| format!("@{version}"));
        let of = format!("{}{}", plugin.name, version.unwrap_or_default());
        self.asked.lock().unwrap().push(format!("{hook} {of}"));
        match self.fails {
            Some((failing, why)) if failing == hook => Err(Error::new(ErrorKind::Unavailable, why)),
            _ => Ok(()),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl PluginInstaller for Host {
    async fn is_installed(&self, plugin: ResolutionRequest) -> Result<bool> {
        self.note("installed?", &plugin)?;
        Ok(self.installed)
    }

    async fn latest_version(&self, plugin: ResolutionRequest) -> Result<Option<Version>> {
        self.note("latest", &plugin)?;
        Ok(self.latest.map(|text| Version::parse(text).unwrap()))
    }

    async fn install(&self, plugin: ResolutionRequest) -> Result<Installation> {
        self.note("install", &plugin)?;
        let _admitted = self.gate.acquire().await.unwrap();
        if plugin.download_url == "https://nowhere" {
            return Err(Error::new(ErrorKind::Unavailable, "there is nothing at nowhere"));
        }
        if self.idle || self.installation == Installation::Declined {
            return Ok(self.installation);
        }
        let version = plugin.version.map(|version| format!("-v{version}"));
        let folder = format!("resource-{}{}", plugin.name, version.unwrap_or_default());
        let place = self.cache.join(folder);
        fs::create_dir_all(&place).unwrap();
        let place = place.join(format!("pulumi-resource-{}", plugin.name));
        match &self.program {
            Some(program) => std::os::unix::fs::symlink(program, place).unwrap(),
            None => runnable(&place, ""),
        }
        Ok(Installation::Done)
    }
}

/// Installs a plugin without progress.
fn install(parts: &Arc<LoaderParts>, request: ResolutionRequest) -> BoxFuture<'static, Result<FoundPlugin>> {
    super::install(parts, request, None)
}

fn runnable(place: &Path, text: &str) {
    fs::write(place, text).unwrap();
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
}

struct Nowhere;

#[async_trait]
impl EngineEndpoints for Nowhere {
    async fn process_endpoint(&self) -> Result<Arc<EngineEndpoint>> {
        Ok(Arc::new(EngineEndpoint {
            address: "127.0.0.1:9".into(),
            serves_packages: false,
            tokens: ViewTokens::default(),
            route: Arc::default(),
            _listening: Box::new(()),
        }))
    }

    async fn address_endpoint(&self, _address: &str) -> Result<Arc<EngineEndpoint>> {
        self.process_endpoint().await
    }
}

/// A loader whose cache is empty at first.
struct Fixture {
    folder: tempfile::TempDir,
    host: Arc<Host>,
    parts: Arc<LoaderParts>,
}

fn fixture(change: impl FnOnce(&mut Host)) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::new(folder.path());
    change(&mut host);
    let host = Arc::new(host);
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let parts = LoaderParts {
        pool: ProviderPool::new(PoolSettings::default(), runtime.clone()),
        runtime,
        in_process: BTreeMap::new(),
        substitute: None,
        resolver: None,
        installer: Some(Arc::clone(&host) as _),
        installations: Arc::default(),
        plugins: PluginSettings {
            cache: Some(folder.path().to_owned()),
            ..PluginSettings::default()
        },
        engine: Arc::new(Nowhere),
    };
    Fixture {
        folder,
        host,
        parts: Arc::new(parts),
    }
}

fn spec(version: Option<&str>) -> ProviderSpec {
    ProviderSpec {
        plugin: "files".into(),
        version: version.map(|text| Version::parse(text).unwrap()),
        ..ProviderSpec::default()
    }
}

async fn installed(fixture: &Fixture, version: Option<&str>) -> Result<FoundPlugin> {
    install(&fixture.parts, spec(version).request()).await
}

/// Starts an installation, and returns when the hook `install` has been called.
async fn begun(fixture: &Fixture, version: Option<&str>) -> tokio::task::JoinHandle<Result<FoundPlugin>> {
    let installing = tokio::spawn(install(&fixture.parts, spec(version).request()));
    while !fixture
        .host
        .asked()
        .iter()
        .any(|hook| hook.starts_with("install "))
    {
        tokio::task::yield_now().await;
    }
    installing
}

#[tokio::test]
async fn a_missing_plugin_is_installed_in_its_latest_version_and_loaded() {
    let port = FakeProvider::greeting(true).serve().await;
    let script = tempfile::tempdir().unwrap();
    let program = script.path().join("plugin");
    runnable(&program, &format!("#!/bin/sh\necho {port}\nexec sleep 600\n"));
    let fixture = fixture(|host| host.program = Some(program));
    let loader = ProviderLoader::new((*fixture.parts).clone());
    for _ in 0..2 {
        let loaded = loader.load(&spec(None), &PluginContext::default()).await.unwrap();
        assert!(loaded.capabilities.accept_secrets);
    }
    assert_eq!(
        fixture.host.asked(),
        ["installed? files", "latest files", "install files@1.2.0"]
    );
    fixture.parts.pool.close_all().await;
}

#[tokio::test]
async fn no_hook_is_called_for_a_plugin_that_is_found() {
    let fixture = fixture(|_| {});
    let folder = fixture.folder.path().join("resource-files-v1.0.0");
    fs::create_dir(&folder).unwrap();
    runnable(&folder.join("pulumi-resource-files"), "");
    let found = installed(&fixture, None).await.unwrap();
    assert_eq!(
        (found.origin, found.version),
        (PluginOrigin::Cache, Some(Version::new(1, 0, 0)))
    );
    assert!(fixture.host.asked().is_empty());
    // Another version is not installed.
    installed(&fixture, Some("2.0.0")).await.unwrap();
    assert_eq!(
        fixture.host.asked(),
        ["installed? files@2.0.0", "install files@2.0.0"]
    );
}

#[tokio::test]
async fn without_a_latest_version_the_installation_has_no_version() {
    let fixture = fixture(|host| host.latest = None);
    assert_eq!(installed(&fixture, None).await.unwrap().version, None);
    assert_eq!(
        fixture.host.asked(),
        ["installed? files", "latest files", "install files"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_for_a_plugin_share_one_installation() {
    let fixture = fixture(|host| host.gate = Semaphore::new(0));
    let first = begun(&fixture, None).await;
    let others: Vec<_> = (0..19)
        .map(|number| {
            // Including requests for the version that turns out to be the latest.
            let version = (number % 2 == 0).then_some("1.2.0");
            tokio::spawn(install(&fixture.parts, spec(version).request()))
        })
        .collect();
    fixture.host.gate.add_permits(20);
    for waiting in others.into_iter().chain([first]) {
        assert_eq!(
            waiting.await.unwrap().unwrap().version,
            Some(Version::new(1, 2, 0))
        );
    }
    let asked = fixture.host.asked();
    let installs = asked.iter().filter(|hook| hook.starts_with("install "));
    assert_eq!(installs.count(), 1, "{asked:?}");
    assert!(!fixture.parts.installations.0.lock().unwrap().is_empty());
    let _next = installed(&fixture, Some("7.0.0")).await;
    let kept = fixture.parts.installations.0.lock().unwrap().len();
    assert_eq!(kept, 1, "ended installations are removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_is_cancelled_with_its_last_waiter() {
    let fixture = fixture(|host| host.gate = Semaphore::new(0));
    let first = begun(&fixture, Some("1.0.0")).await;
    let request = spec(Some("1.0.0")).request();
    let mut second = Box::pin(install(&fixture.parts, request.clone()));
    assert!(futures::poll!(&mut second).is_pending());
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert!(futures::poll!(&mut second).is_pending());
    assert!(
        fixture.parts.installations.0.lock().unwrap()[0]
            .installation
            .upgrade()
            .is_some()
    );
    drop(second);
    assert!(
        fixture.parts.installations.0.lock().unwrap()[0]
            .installation
            .upgrade()
            .is_none()
    );
    // A later request starts a new installation.
    fixture.host.gate.add_permits(1);
    install(&fixture.parts, request).await.unwrap();
}

#[tokio::test]
async fn the_error_of_a_hook_is_returned_unchanged() {
    for hook in ["installed?", "latest", "install"] {
        let fixture = fixture(|host| host.fails = Some((hook, "The mirror is Down.")));
        let error = installed(&fixture, None).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Unavailable, "The mirror is Down.")
        );
        assert!(fixture.host.asked().last().unwrap().starts_with(hook));
    }
}

#[tokio::test]
async fn an_installation_without_an_executable_is_an_error() {
    let idle = fixture(|host| host.idle = true);
    let error = installed(&idle, None).await.unwrap_err();
    assert_eq!(
        error.text().reference(),
        "the resource plugin 'files' at version v1.2.0 was installed by the host, but is not where the engine looks for \
         plugins"
    );
    assert_eq!(
        (error.kind(), error.provider()),
        (ErrorKind::Plugin, Some("files"))
    );
    assert!(error.hints()[0].contains("pulumi-resource-files"));
    assert!(error.hints()[0].contains("resource-files-v1.2.0"));

    let reported = fixture(|host| host.installed = true);
    let error = installed(&reported, None).await.unwrap_err();
    assert_eq!(
        error.text().reference(),
        "the resource plugin 'files' is reported as installed by the host, but is not where the engine looks for \
         plugins"
    );
    assert_eq!(reported.host.asked(), ["installed? files"]);
}

#[tokio::test]
async fn a_plugin_that_the_host_declines_to_install_is_missing() {
    let fixture = fixture(|host| {
        host.latest = None;
        host.installation = Installation::Declined;
    });
    let error = installed(&fixture, None).await.unwrap_err();
    assert_eq!(
        error.reference_message(),
        "no resource plugin 'pulumi-resource-files' found in the workspace or on your $PATH"
    );
    let last = error.message().lines().last();
    assert_eq!(
        last,
        Some("  the installer of the host: it declined to install the plugin")
    );
}

#[tokio::test]
async fn a_request_with_another_download_address_does_not_share_a_failure() {
    let fixture = fixture(|host| host.gate = Semaphore::new(0));
    let bad = ResolutionRequest {
        download_url: "https://nowhere".into(),
        ..spec(Some("1.0.0")).request()
    };
    let mut bad = Box::pin(install(&fixture.parts, bad));
    while !fixture
        .host
        .asked()
        .iter()
        .any(|hook| hook.starts_with("install "))
    {
        assert!(futures::poll!(&mut bad).is_pending());
        tokio::task::yield_now().await;
    }
    let good = tokio::spawn(install(&fixture.parts, spec(Some("1.0.0")).request()));
    fixture.host.gate.add_permits(2);
    assert_eq!(bad.await.unwrap_err().message(), "there is nothing at nowhere");
    assert_eq!(good.await.unwrap().unwrap().version, Some(Version::new(1, 0, 0)));
}

struct Refuses;

#[async_trait]
impl Resolver for Refuses {
    async fn resolve(&self, _request: ResolutionRequest) -> Result<Resolution> {
        Err(Error::internal(
            "the resolver is called only when an instance is needed",
        ))
    }
}

#[tokio::test]
async fn plugins_are_installed_beforehand_with_and_without_a_resolver() {
    let fixture = fixture(|_| {});
    let builtin = ProviderSpec {
        plugin: "pulumi".into(),
        ..ProviderSpec::default()
    };
    let specs = [spec(Some("1.0.0")), spec(Some("1.0.0")), builtin];
    let mut parts = (*fixture.parts).clone();
    ProviderLoader::new(parts.clone())
        .install_beforehand(&specs, None)
        .await;
    let asked = ["installed? files@1.0.0", "install files@1.0.0"];
    assert_eq!(fixture.host.asked(), asked);
    let other = [spec(Some("2.0.0"))];
    parts.resolver = Some(Arc::new(Refuses));
    ProviderLoader::new(parts).install_beforehand(&other, None).await;
    assert_eq!(
        fixture.host.asked()[2..],
        ["installed? files@2.0.0", "install files@2.0.0"]
    );
}

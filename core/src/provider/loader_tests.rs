//! Tests of the order in which providers are found, and of the reuse of processes.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use stackwright_testkit::fake::FakeProvider;

use super::*;
use crate::{
    plugin::{PluginCommand, PluginKind},
    property::PropertyMap,
    provider::{
        Call, CheckRequest, ConfigureRequest, CreateRequest, CreateResponse, DeleteRequest, PoolSettings,
        Provider, ProviderResult, ProviderStatus, grpc::ViewTokens,
    },
    urn::Urn,
};

#[path = "loader_parameter_tests.rs"]
mod parameter;

/// Counts the opened endpoints.
#[derive(Default)]
struct Engine(AtomicUsize);

#[async_trait]
impl EngineEndpoints for Engine {
    async fn process_endpoint(&self) -> Result<Arc<EngineEndpoint>> {
        self.0.fetch_add(1, Ordering::Relaxed);
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

struct InProcess;

impl Provider for InProcess {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse::default())
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

struct Answer(Result<Resolution>);

#[async_trait]
impl Resolver for Answer {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        assert_eq!(
            (request.kind, request.name.as_str()),
            (PluginKind::Resource, "files")
        );
        self.0.clone()
    }
}

fn parts(engine: Arc<Engine>, pool: PoolSettings) -> LoaderParts {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    LoaderParts {
        pool: ProviderPool::new(pool, runtime.clone()),
        runtime,
        in_process: BTreeMap::new(),
        substitute: None,
        resolver: None,
        installer: None,
        installations: Arc::default(),
        plugins: PluginSettings::default(),
        engine,
    }
}

/// Parts in which `files` is a process that reports `port`.
pub(in crate::provider) fn with_process(port: u16, pool: PoolSettings) -> LoaderParts {
    let mut parts = parts(Arc::default(), pool);
    let command = PluginCommand {
        program: "/bin/sh".into(),
        arguments: vec![
            "-c".into(),
            format!("echo {port}; exec sleep 600").into(),
            "plugin".into(),
        ],
        ..PluginCommand::default()
    };
    parts.plugins.commands = [("files".to_owned(), command)].into();
    parts
}

fn spec() -> ProviderSpec {
    ProviderSpec {
        plugin: "files".into(),
        ..ProviderSpec::default()
    }
}

async fn load(parts: &LoaderParts) -> Result<PreparedProvider> {
    ProviderLoader::new(parts.clone())
        .load(&spec(), &PluginContext::default())
        .await
}

async fn failure(parts: &LoaderParts) -> Error {
    match load(parts).await {
        Ok(_) => panic!("a provider was loaded"),
        Err(error) => error,
    }
}

pub(in crate::provider) fn configuration(region: &str) -> ConfigureRequest {
    ConfigureRequest {
        urn: Urn::parse("urn:pulumi:dev::shop::pulumi:providers:files::default").unwrap(),
        name: "default".into(),
        id: "1".into(),
        inputs: [("region", region.into())].into_iter().collect(),
    }
}

pub(in crate::provider) fn check() -> CheckRequest {
    CheckRequest {
        urn: Urn::parse("urn:pulumi:dev::shop::files:index:File::a").unwrap(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        olds: None,
        old_outputs: None,
        news: PropertyMap::new(),
        random_seed: vec![],
        preview: false,
        autonaming: None,
    }
}

/// A provider with handshake, configuration and checks.
pub(in crate::provider) fn fake() -> (FakeProvider, Arc<Mutex<Vec<&'static str>>>) {
    let fake = FakeProvider {
        check: Some(Box::new(|_| {
            Ok(stackwright_proto::pulumirpc::CheckResponse::default())
        })),
        cancel: Some(Box::new(|()| Ok(()))),
        ..FakeProvider::greeting(true)
    };
    let calls = Arc::clone(&fake.calls);
    (fake, calls)
}

pub(in crate::provider) fn count(calls: &Mutex<Vec<&'static str>>, name: &str) -> usize {
    calls.lock().unwrap().iter().filter(|call| **call == name).count()
}

/// Loads, configures, uses and releases a provider.
async fn run(parts: &LoaderParts, region: &str) {
    let prepared = load(parts).await.unwrap();
    prepared
        .provider
        .call(Call::Configure(configuration(region)))
        .await
        .unwrap();
    prepared.provider.call(Call::Check(check())).await.unwrap();
    prepared.release().await;
}

#[tokio::test]
async fn code_of_the_host_is_loaded_without_an_engine_service() {
    let engine = Arc::new(Engine::default());
    let mut parts = parts(Arc::clone(&engine), PoolSettings::default());
    let provider: Arc<dyn ProviderBackend> = Arc::new(InProcess);
    parts.in_process.insert("files".into(), Arc::clone(&provider));
    let prepared = load(&parts).await.unwrap();
    assert!(prepared.shared && Arc::ptr_eq(&prepared.provider, &provider));
    assert_eq!(engine.0.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn the_error_of_a_resolver_is_returned_unchanged() {
    let mut parts = parts(Arc::default(), PoolSettings::default());
    parts.in_process.insert("files".into(), Arc::new(InProcess));
    let refusal = Error::new(ErrorKind::NotFound, "Files are not for you.");
    parts.resolver = Some(Arc::new(Answer(Err(refusal))));
    let error = failure(&parts).await;
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::NotFound, "Files are not for you.")
    );
}

#[tokio::test]
async fn a_resolved_address_receives_attach_and_the_handshake() {
    let (fake, calls) = fake();
    let address = format!("127.0.0.1:{}", fake.serve().await);
    let mut parts = parts(Arc::default(), PoolSettings::default());
    parts.resolver = Some(Arc::new(Answer(Ok(Resolution::Address(address)))));
    let prepared = load(&parts).await.unwrap();
    assert!(prepared.capabilities.accept_secrets && !prepared.shared);
    prepared.release().await;
    assert_eq!(*calls.lock().unwrap(), ["handshake", "attach", "cancel"]);
    assert_eq!(parts.pool.idle_count(), 0);
}

#[tokio::test]
async fn a_resolver_may_defer_to_the_engine_which_reports_a_missing_plugin() {
    let mut parts = parts(Arc::default(), PoolSettings::default());
    parts.resolver = Some(Arc::new(Answer(Ok(Resolution::Default))));
    let error = failure(&parts).await;
    assert_eq!(
        error.reference_message(),
        "no resource plugin 'pulumi-resource-files' found in the workspace or on your $PATH"
    );
    assert_eq!(
        (error.kind(), error.provider()),
        (ErrorKind::Plugin, Some("files"))
    );
}

#[tokio::test]
async fn a_process_is_reused_without_being_configured_again() {
    let (fake, calls) = fake();
    let parts = with_process(fake.serve().await, PoolSettings::default());
    run(&parts, "north").await;
    assert_eq!(parts.pool.idle_count(), 1);
    run(&parts, "north").await;
    // The second GetPluginInfo shows that the process answers.
    let expected = [
        "handshake",
        "get_plugin_info",
        "configure",
        "check",
        "get_plugin_info",
        "check",
    ];
    assert_eq!(*calls.lock().unwrap(), expected);
    parts.pool.close_all().await;
    assert_eq!((parts.pool.idle_count(), count(&calls, "cancel")), (0, 1));
}

#[tokio::test]
async fn another_configuration_gets_a_process_of_its_own() {
    let (fake, calls) = fake();
    let parts = with_process(fake.serve().await, PoolSettings::default());
    run(&parts, "north").await;
    run(&parts, "south").await;
    assert_eq!((count(&calls, "handshake"), count(&calls, "configure")), (2, 2));
    // Independent of the order of leases.
    run(&parts, "north").await;
    run(&parts, "south").await;
    assert_eq!((count(&calls, "handshake"), count(&calls, "configure")), (2, 2));
    assert_eq!(parts.pool.idle_count(), 2);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_has_one_user_at_a_time() {
    let (fake, calls) = fake();
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let (first, second) = tokio::join!(load(&parts), load(&parts));
    assert_eq!(count(&calls, "handshake"), 2);
    drop((first, second));
    assert_eq!(parts.pool.idle_count(), 2);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_cancelled_process_is_not_reused() {
    let (fake, calls) = fake();
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let prepared = load(&parts).await.unwrap();
    prepared.provider.cancel().await;
    let provider = Arc::clone(&prepared.provider);
    prepared.release().await;
    assert_eq!((parts.pool.idle_count(), count(&calls, "cancel")), (0, 2));
    let error = provider.call(Call::Check(check())).await.unwrap_err();
    assert_eq!(error.message, "provider files is closed");
}

#[tokio::test]
async fn a_process_that_refused_its_configuration_is_not_reused() {
    let (mut fake, _calls) = fake();
    fake.configure = Some(Box::new(|_| {
        Err(tonic::Status::invalid_argument("no such region"))
    }));
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let prepared = load(&parts).await.unwrap();
    prepared
        .provider
        .call(Call::Configure(configuration("nowhere")))
        .await
        .unwrap();
    let error = prepared.provider.call(Call::Check(check())).await.unwrap_err();
    assert_eq!(
        (error.status, error.message.as_str()),
        (ProviderStatus::InvalidArgument, "no such region")
    );
    prepared.release().await;
    assert_eq!(parts.pool.idle_count(), 0);
}

#[tokio::test]
async fn the_pool_is_limited_by_its_capacity_and_empty_if_disabled() {
    let (fake, calls) = fake();
    let settings = PoolSettings {
        capacity: 1,
        ..PoolSettings::default()
    };
    let port = fake.serve().await;
    let parts = with_process(port, settings);
    let (first, second) = tokio::join!(load(&parts), load(&parts));
    first.unwrap().release().await;
    second.unwrap().release().await;
    assert_eq!((parts.pool.idle_count(), count(&calls, "cancel")), (1, 1));
    parts.pool.close_all().await;

    let off = with_process(
        port,
        PoolSettings {
            capacity: 0,
            ..PoolSettings::default()
        },
    );
    run(&off, "north").await;
    assert_eq!((off.pool.idle_count(), count(&calls, "cancel")), (0, 3));
}

#[tokio::test]
async fn a_process_beyond_the_idle_limit_is_ended() {
    let (mut fake, calls) = fake();
    let (sender, cancelled) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    fake.cancel = Some(Box::new(move |()| {
        sender.lock().unwrap().take().map(|sender| sender.send(()));
        Ok(())
    }));
    let settings = PoolSettings {
        idle_limit: Duration::from_millis(50),
        ..PoolSettings::default()
    };
    let parts = with_process(fake.serve().await, settings);
    run(&parts, "north").await;
    cancelled.await.unwrap();
    assert_eq!((parts.pool.idle_count(), count(&calls, "cancel")), (0, 1));
}

#[tokio::test]
async fn a_plugin_older_than_requested_causes_a_warning() {
    let (mut fake, _calls) = fake();
    fake.get_plugin_info = Some(Box::new(|()| {
        Ok(stackwright_proto::pulumirpc::PluginInfo {
            version: "1.2.3".into(),
        })
    }));
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let context = PluginContext {
        sink: Some(Arc::new(move |diagnostic: Diagnostic| {
            kept.lock()
                .unwrap()
                .push(diagnostic.message.reference().to_owned());
        })),
        ..PluginContext::default()
    };
    let spec = ProviderSpec {
        version: semver::Version::parse("2.0.0").ok(),
        ..spec()
    };
    let loader = ProviderLoader::new(parts.clone());
    let prepared = loader.load(&spec, &context).await.unwrap();
    assert!(
        seen.lock().unwrap()[0]
            .starts_with("resource plugin files is expected to have version >=2.0.0, but has 1.2.3; ")
    );
    prepared.release().await;
    parts.pool.close_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_process_that_hangs_in_its_configuration_is_released_without_waiting() {
    let (mut fake, _calls) = fake();
    let (sender, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let gate = Arc::new((Mutex::new(false), std::sync::Condvar::new()));
    let held = Arc::clone(&gate);
    fake.configure = Some(Box::new(move |_| {
        sender.send(()).unwrap();
        tokio::task::block_in_place(|| {
            let open = held.0.lock().unwrap();
            drop(held.1.wait_while(open, |open| !*open).unwrap());
        });
        Ok(stackwright_proto::pulumirpc::ConfigureResponse::default())
    }));
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let prepared = load(&parts).await.unwrap();
    prepared
        .provider
        .call(Call::Configure(configuration("slow")))
        .await
        .unwrap();
    asked.recv().await.unwrap();
    prepared.release().await;
    assert_eq!(parts.pool.idle_count(), 0);
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
}

/// Code of the host that counts its close calls.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Provider for Counted {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse::default())
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn close(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_run_closes_its_own_instances_but_not_code_of_the_host() {
    use crate::provider::{ProviderSource as _, RunSource, RunSurroundings, settings::ProviderSettings};
    let (fake, calls) = fake();
    let mut parts = with_process(fake.serve().await, PoolSettings::default());
    let (host, builtin) = (Arc::new(Counted::default()), Arc::new(Counted::default()));
    let provider: Arc<dyn ProviderBackend> = Arc::clone(&host) as _;
    parts.in_process.insert("host".into(), provider);
    let loader = ProviderLoader::new(parts.clone());
    let source = RunSource::new(loader, Arc::clone(&builtin) as _, RunSurroundings::default());
    for package in ["files", "host", "pulumi"] {
        let loaded = source
            .load(ProviderSettings {
                package: package.into(),
                ..ProviderSettings::default()
            })
            .await
            .unwrap();
        source.release(loaded.provider).await;
    }
    assert_eq!(count(&calls, "handshake"), 1);
    assert_eq!(parts.pool.idle_count(), 1);
    let closed = |provider: &Counted| provider.0.load(Ordering::Relaxed);
    assert_eq!((closed(&host), closed(&builtin)), (0, 1));
    parts.pool.close_all().await;
}

//! Whole operations over each store: hosts that work after one another, hosts that are killed at any create, and hosts that are
//! suspended for longer than their lease.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use stackwright::{
    Engine, ErrorKind, Result, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, ProgramContext, from_fn},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider,
        ProviderError, ProviderResult, ProviderStatus,
    },
    secrets::Base64Provider,
    state::{Snapshot, integrity},
    store::{Store, StoreSettings, open_with},
};
use stackwright_testkit::{
    server::FakeBucket,
    wait::{Ended as _, TEST_TIMEOUT, Within as _, blocking, output},
};

use super::places;

/// The number of resources, besides the stack itself.
const RESOURCES: usize = 12;

/// The lease of the hosts.
const LEASE: Duration = Duration::from_secs(2);

/// How often hosts are killed and suspended for each store. `make test-stores` does it more often.
const KILLS: &str = "STACKWRIGHT_TEST_KILLS";
const SUSPENSIONS: &str = "STACKWRIGHT_TEST_SUSPENSIONS";

/// The arguments of a host process.
const FOLDER: &str = "STORES_FOLDER";
const PLACE: &str = "STORES_PLACE";
const DEATH: &str = "STORES_DEATH";
const PAUSE: &str = "STORES_PAUSE";

/// Creates files. Its process kills itself after a number of them, or suspends itself within one, after it has announced that.
struct Files {
    folder: PathBuf,
    death: Option<usize>,
    pause: Option<usize>,
}

fn failed(error: &std::io::Error) -> ProviderError {
    ProviderError::new(ProviderStatus::Unknown, error.to_string())
}

impl Provider for Files {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        if request.preview {
            return Ok(CreateResponse::default());
        }
        let id = format!("{}.{}", request.name, std::process::id());
        fs::File::create_new(self.folder.join(&id)).map_err(|error| failed(&error))?;
        let made = fs::read_dir(&self.folder)
            .map_err(|error| failed(&error))?
            .count();
        if self.death == Some(made) {
            // As by `kill -9`: nothing is done afterwards.
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .map_err(|error| failed(&error.into()))?;
        }
        if self.pause == Some(made) {
            announce("paused");
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)
                .map_err(|error| failed(&error.into()))?;
        }
        Ok(CreateResponse {
            id: id.into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        match fs::remove_file(self.folder.join(request.id.as_str())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(&error)),
            _ => Ok(()),
        }
    }
}

/// Writes a line that the test harness does not capture.
fn announce(line: &str) {
    use std::io::Write as _;
    let mut output = std::io::stdout().lock();
    output.write_all(format!("host: {line}\n").as_bytes()).unwrap();
    output.flush().unwrap();
}

fn program(content: &'static str) -> Arc<dyn Program> {
    from_fn(move |context| register(context, content))
}

async fn register(context: ProgramContext, content: &'static str) -> Result<()> {
    let mut before = None;
    for number in 0..RESOURCES {
        let registered = context
            .monitor
            .register(Registration {
                resource_type: "files:index:File".into(),
                name: format!("file-{number}"),
                custom: true,
                inputs: [("content", content.into())].into_iter().collect(),
                dependencies: before.take().into_iter().collect(),
                ..Registration::default()
            })
            .await?;
        // Pairs: a create runs beside others.
        before = (number % 2 == 0).then_some(registered.urn);
    }
    Ok(())
}

async fn stack(store: Arc<dyn Store>, files: Files) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("files", Arc::new(files))
        .checkpoint_interval(Some(Duration::from_millis(50)))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

fn plain(folder: &Path) -> Files {
    Files {
        folder: folder.to_owned(),
        death: None,
        pause: None,
    }
}

async fn run(stack: &Stack, kind: OperationKind, content: &'static str) -> Arc<OperationResult> {
    let program = (kind == OperationKind::Update).then(|| program(content));
    stack
        .start(kind, OperationOptions::default(), program)
        .ended()
        .await
}

async fn succeeds(stack: &Stack, kind: OperationKind, content: &'static str) {
    let result = run(stack, kind, content).await;
    assert!(
        result.error.is_none(),
        "{kind:?}: {:?} {:?}",
        result.error,
        result.diagnostics
    );
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Checks that each file is recorded or pending.
fn check_nothing_lost(snapshot: &Snapshot, folder: &Path) {
    integrity::verify(snapshot).unwrap();
    let recorded: BTreeSet<&str> = snapshot.resources.iter().map(|state| state.id.as_str()).collect();
    let pending: Vec<&str> = snapshot
        .pending_operations
        .iter()
        .map(|pending| pending.resource.urn.name())
        .collect();
    for file in files(folder) {
        let name = file.split_once('.').unwrap().0;
        assert!(
            recorded.contains(file.as_str()) || pending.contains(&name),
            "{file} is neither recorded nor pending: {pending:?}"
        );
    }
}

/// Creates, changes and destroys, each by an engine of its own, and leaves nothing behind.
async fn lives(open: impl Fn() -> Arc<dyn Store>) {
    let folder = tempfile::tempdir().unwrap();
    let first = stack(open(), plain(folder.path())).await;
    succeeds(&first, OperationKind::Update, "one").await;
    assert_eq!(files(folder.path()).len(), RESOURCES);
    let second = stack(open(), plain(folder.path())).await;
    succeeds(&second, OperationKind::Update, "one").await;
    check_nothing_lost(&second.snapshot().await.unwrap(), folder.path());
    assert_eq!(second.snapshot().await.unwrap().resources.len(), RESOURCES + 2);
    succeeds(&first, OperationKind::Destroy, "").await;
    assert!(files(folder.path()).is_empty());
    let store = open();
    for prefix in [".pulumi/locks/", ".pulumi/journals/"] {
        let left = store.list(prefix).await.unwrap();
        assert!(left.is_empty(), "{left:?}");
    }
    // A bucket keeps the object of the lease, which states that it is free.
    for object in store.list(".pulumi/leases/organization/").await.unwrap() {
        let lease = store.get(&object.key).await.unwrap().unwrap().bytes;
        let lease: serde_json::Value = serde_json::from_slice(&lease).unwrap();
        assert_eq!(lease["is_released"], true, "{lease}");
    }
    let history = store.list(".pulumi/history/shop/dev/").await.unwrap();
    assert!(history.len() >= 3, "{history:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_work_over_s3() {
    let Some(moto) = places::moto().await else { return };
    let credentials = places::aws_keys();
    let open = || {
        places::open(
            &moto.url("lives"),
            &stackwright::store::Credentials::Given(credentials.clone()),
        )
    };
    lives(open).within("the operations").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_work_over_the_fake_of_google_cloud_storage() {
    let bucket = FakeBucket::start().await;
    lives(|| places::gcs(&bucket, "lives"))
        .within("the operations")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_work_over_azure() {
    if places::azurite().await.is_none() {
        return;
    }
    let store = places::azure("lives").await.unwrap();
    lives(|| Arc::clone(&store)).within("the operations").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_work_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let open = || places::open(&postgres.url("lives"), &stackwright::store::Credentials::None);
    lives(open).within("the operations").await;
}

/// The place of a store, in a form that a host process can be given.
fn open_place(place: &str) -> Arc<dyn Store> {
    let credentials = match place.starts_with("s3:") {
        true => stackwright::store::Credentials::Given(places::aws_keys()),
        false => stackwright::store::Credentials::None,
    };
    let settings = StoreSettings {
        credentials,
        lease: LEASE,
        ..StoreSettings::default()
    };
    open_with(place, Path::new("/"), &places::runtime(), &settings).unwrap()
}

/// Not a separate test: the host process of the tests below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the host process of the other tests"]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment carries the arguments of the child process"
)]
async fn host() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let files = Files {
        folder: std::env::var(FOLDER).unwrap().into(),
        death: number(DEATH),
        pause: number(PAUSE),
    };
    let stack = stack(open_place(&std::env::var(PLACE).unwrap()), files).await;
    let result = run(&stack, OperationKind::Update, "one").await;
    let end = result
        .error
        .as_ref()
        .map(|error| format!("{} {error:?}", error.kind().name()));
    announce(&format!("ended {}", end.unwrap_or_default().replace('\n', " ")));
}

fn host_process(place: &str, folder: &Path, variable: &str, value: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "operations::host", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .env(FOLDER, folder)
        .env(variable, value.to_string());
    command
}

#[expect(clippy::disallowed_methods, reason = "the build sets the number")]
fn times(variable: &str, default: usize) -> usize {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Kills hosts after each number of creates in turn; the next host goes on.
async fn survives_kills(place: impl Fn(usize) -> String) {
    for round in 0..times(KILLS, 2) {
        let folder = tempfile::tempdir().unwrap();
        let (place, death) = (place(round), round % RESOURCES + 1);
        let mut command = host_process(&place, folder.path(), DEATH, death);
        let host = tokio::task::spawn_blocking(move || output(&mut command, TEST_TIMEOUT));
        let host = host.await.unwrap();
        assert_eq!(
            host.status.signal(),
            Some(9),
            "{}",
            String::from_utf8_lossy(&host.stdout)
        );
        let next = stack(open_place(&place), plain(folder.path())).await;
        check_nothing_lost(&next.snapshot().await.unwrap(), folder.path());
        next.refresh(OperationOptions::default()).ended().await;
        let result = run(&next, OperationKind::Update, "one").await;
        assert!(result.error.is_none(), "round {round}: {:?}", result.error);
        assert_eq!(next.snapshot().await.unwrap().resources.len(), RESOURCES + 2);
        check_nothing_lost(&next.snapshot().await.unwrap(), folder.path());
    }
}

/// Ends a child process that is still there.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Suspends hosts within a create for longer than their lease; another host takes over and goes on. Then the first one wakes, and can
/// commit nothing.
async fn survives_suspensions(place: impl Fn(usize) -> String) {
    for round in 0..times(SUSPENSIONS, 1) {
        let folder = tempfile::tempdir().unwrap();
        let (place, pause) = (place(round), round % RESOURCES + 1);
        let mut command = host_process(&place, folder.path(), PAUSE, pause);
        let mut host = Killed(
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let lines = BufReader::new(host.0.stdout.take().unwrap()).lines();
        let lines = tokio::task::spawn_blocking(move || {
            blocking("the suspension of the host", move || {
                let mut lines = lines.map_while(std::io::Result::ok);
                assert!(lines.any(|line| line.contains("host: paused")));
                lines
            })
        });
        let lines = lines.await.unwrap();
        let next = stack(open_place(&place), plain(folder.path())).await;
        let before = places::runtime().clock.elapsed();
        let result = run(&next, OperationKind::Update, "one").await;
        assert!(result.error.is_none(), "round {round}: {:?}", result.error);
        assert!(
            places::runtime().clock.elapsed() - before >= LEASE,
            "the lease was respected"
        );
        let committed = next.snapshot().await.unwrap();
        let process = rustix::process::Pid::from_child(&host.0);
        rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
        let ended = tokio::task::spawn_blocking(move || {
            blocking("the end of the host", move || {
                lines.into_iter().find(|line| line.contains("host: ended"))
            })
        });
        let ended = ended.await.unwrap().unwrap();
        assert!(ended.contains(ErrorKind::Conflict.name()), "{ended}");
        let after = next.snapshot().await.unwrap();
        assert_eq!(after.resources.len(), committed.resources.len(), "round {round}");
        assert_eq!(after.resources.len(), RESOURCES + 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_leave_a_stack_that_the_next_continues_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    survives_kills(|round| postgres.url(&format!("killed_{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_leave_a_stack_that_the_next_continues_over_s3() {
    let Some(moto) = places::moto().await else { return };
    survives_kills(|round| moto.url(&format!("killed-{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_suspended_are_taken_over_and_commit_nothing_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    survives_suspensions(|round| postgres.url(&format!("suspended_{round}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_suspended_are_taken_over_and_commit_nothing_over_s3() {
    let Some(moto) = places::moto().await else { return };
    survives_suspensions(|round| moto.url(&format!("suspended-{round}"))).await;
}

//! Whole operations over each store: hosts that work after one another.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use stackwright::{
    Engine, Result, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, ProgramContext, from_fn},
    property::PropertyValue,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider,
        ProviderError, ProviderResult, ProviderStatus,
    },
    secrets::PassphraseProvider,
    state::{Snapshot, integrity},
    store::Store,
};
use stackwright_testkit::{
    server::FakeBucket,
    wait::{Ended as _, Within as _},
};

use super::places;

/// The number of resources, besides the stack itself.
pub(crate) const RESOURCES: usize = 12;

/// Creates files. Its process kills itself after a number of them, or suspends itself within one, after it has announced that.
pub(crate) struct Files {
    pub(crate) folder: PathBuf,
    pub(crate) death: Option<usize>,
    pub(crate) pause: Option<usize>,
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
pub(crate) fn announce(line: &str) {
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
                inputs: [("content", PropertyValue::secret(secret(content).into()))]
                    .into_iter()
                    .collect(),
                dependencies: before.take().into_iter().collect(),
                ..Registration::default()
            })
            .await?;
        // Pairs: a create runs beside others.
        before = (number % 2 == 0).then_some(registered.urn);
    }
    Ok(())
}

/// Returns the secret in the content of a file.
fn secret(content: &str) -> String {
    format!("{SECRET}{content}")
}

/// The begin of all secrets.
const SECRET: &str = "opensesame-";

/// Checks that the secrets of a state are readable, and that the store does not have them as plaintext.
pub(crate) async fn check_secrets(store: &Arc<dyn Store>, snapshot: &Snapshot) {
    for state in &snapshot.resources {
        if let Some(content) = state.inputs.get("content") {
            let text = content.unwrapped().as_str().unwrap_or_default();
            assert!(content.is_secret() && text.starts_with(SECRET), "{content:?}");
        }
    }
    for object in store.list(".pulumi/").await.unwrap() {
        let Some(found) = store.get(&object.key).await.unwrap() else {
            continue;
        };
        let text = String::from_utf8_lossy(&found.bytes);
        assert!(!text.contains(SECRET), "{} has a secret", object.key);
    }
}

pub(crate) async fn stack(store: Arc<dyn Store>, files: Files) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(PassphraseProvider::new(
            "correct horse",
            places::runtime(),
        )))
        .provider("files", Arc::new(files))
        .checkpoint_interval(Some(Duration::from_millis(50)))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

pub(crate) fn plain(folder: &Path) -> Files {
    Files {
        folder: folder.to_owned(),
        death: None,
        pause: None,
    }
}

pub(crate) async fn run(stack: &Stack, kind: OperationKind, content: &'static str) -> Arc<OperationResult> {
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
pub(crate) fn check_nothing_lost(snapshot: &Snapshot, folder: &Path) {
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
async fn operations_work_over_minio() {
    let Some(minio) = places::minio().await else {
        return;
    };
    let credentials = stackwright::store::Credentials::Given(places::aws_keys());
    lives(|| places::open(&minio.url("lives"), &credentials))
        .within("the operations")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_work_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let open = || places::open(&postgres.url("lives"), &stackwright::store::Credentials::None);
    lives(open).within("the operations").await;
}

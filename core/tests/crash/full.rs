//! A real file system that is full at different points of an operation, and has free space again afterwards.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use stackwright::{
    ErrorKind, Stack,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    runtime::Runtime,
    store::FileStore,
};
use stackwright_testkit::wait::Ended as _;

use super::{check_nothing_lost, open, things::Things};

/// A file system in memory with a limited size, unmounted at the end.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts a file system; `None` without the permission.
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "stackwright-test"])
            .arg(folder.path())
            .output();
        matches!(mounted, Ok(output) if output.status.success()).then_some(Self { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Fills `size` bytes.
    fn fill(&self, size: usize) {
        if let Err(error) = fs::write(self.filler(), vec![0; size]) {
            // All free space is filled.
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
        }
    }

    /// Frees the filled space, and more.
    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
        let grown = Command::new("mount")
            .args(["-o", "remount,size=16m"])
            .arg(self.path())
            .status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.path()).status();
        assert!(matches!(unmounted, Ok(status) if status.success()) || std::thread::panicking());
    }
}

/// Registers five resources of 20 kB each. Each version creates one, deletes one, and changes the others.
fn program(version: usize) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        for number in version..version + 5 {
            let content = format!("{version}").repeat(20_000);
            let registration = Registration {
                resource_type: "things:index:Thing".into(),
                name: format!("thing-{number}"),
                custom: true,
                inputs: [("content", content.into())].into_iter().collect(),
                ..Registration::default()
            };
            context.monitor.register(registration).await?;
        }
        Ok(())
    })
}

async fn open_on(disk: &SmallDisk, things: &Path) -> Stack {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = FileStore::new(disk.path().join("state"), runtime.clone()).unwrap();
    let things = Things::new(things.to_owned(), runtime.clock, runtime.random);
    open(Arc::new(store), Arc::new(things)).await
}

async fn run(stack: &Stack, kind: OperationKind, version: usize) -> stackwright::Result<OperationResult> {
    let program = (kind != OperationKind::Destroy).then(|| program(version));
    let operation = stack.start(kind, OperationOptions::default(), program);
    (*operation.ended().await).clone().into_result()
}

/// Returns the store's folder in the path of an error: `journals`, for instance.
fn folder_in(error: &str) -> String {
    let (_, path) = error
        .split_once(".pulumi/")
        .unwrap_or_else(|| panic!("no path: {error}"));
    path.split('/').next().unwrap_or_default().to_owned()
}

/// Fills a disk, runs operations on it, frees it, and runs another. Returns the store's folders in which writes failed.
async fn round(disk: &SmallDisk, filler: usize, kinds: [OperationKind; 3]) -> BTreeSet<String> {
    let things = tempfile::tempdir().unwrap();
    let mut failures = BTreeSet::new();
    let stack = open_on(disk, things.path()).await;
    run(&stack, OperationKind::Update, 0).await.unwrap();
    disk.fill(filler);
    for (version, kind) in (1..).zip(kinds) {
        // A new engine each time, as in a new process.
        let stack = open_on(disk, things.path()).await;
        if let Err(error) = run(&stack, kind, version).await {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            failures.insert(folder_in(&error.to_string()));
        }
        let snapshot = open_on(disk, things.path()).await.snapshot().await.unwrap();
        check_nothing_lost(&snapshot, things.path());
    }
    disk.free();
    let stack = open_on(disk, things.path()).await;
    check_nothing_lost(&stack.snapshot().await.unwrap(), things.path());
    run(&stack, OperationKind::Update, 9).await.unwrap();
    let snapshot = stack.snapshot().await.unwrap();
    check_nothing_lost(&snapshot, things.path());
    let names: BTreeSet<String> = (9..14).map(|number| format!("thing-{number}")).collect();
    let known = snapshot
        .resources
        .iter()
        .filter(|state| state.custom && !state.is_provider());
    assert_eq!(
        known
            .map(|state| state.urn.name().to_owned())
            .collect::<BTreeSet<_>>(),
        names
    );
    failures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fills_up_at_any_point_and_is_freed_leaves_a_usable_stack() {
    use OperationKind::{Destroy, Refresh, Update};
    let mut failures = BTreeSet::new();
    for (number, filler) in (0..=340).step_by(10).enumerate() {
        let Some(disk) = SmallDisk::mount("760k") else {
            eprintln!("skipped: no file system can be mounted here");
            return;
        };
        let kinds = [
            [Update, Update, Update],
            [Update, Refresh, Update],
            [Destroy, Update, Update],
        ];
        failures.extend(round(&disk, filler * 1024, kinds[number % 3]).await);
    }
    for part in ["journals", "locks", "stacks"] {
        assert!(failures.contains(part), "only in {failures:?}");
    }
}

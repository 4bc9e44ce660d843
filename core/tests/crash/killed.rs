//! Hosts that are killed at every write of an update or a destroy, and hosts that open their stacks afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use stackwright::{
    Engine, Stack, StackSettings,
    operation::{OperationKind, OperationOptions},
    resource::PendingOperationKind,
    runtime::Runtime,
    secrets::Base64Provider,
    state::{Snapshot, integrity},
    store::{FileStore, Store},
};
use stackwright_testkit::wait::{Ended as _, TEST_TIMEOUT, output};

use super::{
    Essence, check_nothing_lost, essence,
    mortal::{Death, Moment, MortalStore},
    programs::Version,
    things::{Things, existing, name_of},
    update,
};

const FOLDER: &str = "CRASH_FOLDER";
const WORK: &str = "CRASH_WORK";
const DEATH: &str = "CRASH_DEATH";

/// The number of concurrent rounds.
const CONCURRENT_ROUNDS: usize = 4;

/// The interval of checkpoint refreshes: an update or destroy has several of them.
const REFRESH_INTERVAL: Duration = Duration::from_millis(10);

/// The operation of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Update,
    Destroy,
}

async fn open_in(folder: &Path, death: Option<Death>) -> Stack {
    let handle = tokio::runtime::Handle::current();
    let runtime = Runtime::system(handle.clone());
    let files = FileStore::new(folder.join("state"), runtime.clone()).unwrap();
    let store: Arc<dyn Store> = match death {
        Some(death) => Arc::new(MortalStore::new(Arc::new(files), death)),
        None => Arc::new(files),
    };
    let things = Things::new(folder.join("things"), runtime.clock, runtime.random);
    let engine = Engine::builder(handle)
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("things", Arc::new(things))
        .checkpoint_interval(Some(REFRESH_INTERVAL))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

/// Not a separate test: the host process of the tests below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the host process of the other tests"]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment carries the arguments of the child process"
)]
async fn host() {
    let folder = std::env::var(FOLDER).unwrap();
    let death = std::env::var(DEATH).ok().map(|text| Death::parse(&text));
    let work = std::env::var(WORK).unwrap();
    let stack = open_in(Path::new(&folder), death).await;
    if work == format!("{:?}", Work::Update) {
        update(&stack, Version::After).await;
    } else {
        let operation = stack.start(OperationKind::Destroy, OperationOptions::default(), None);
        (*operation.ended().await).clone().into_result().unwrap();
    }
}

/// Runs a host to its end and returns whether it was killed; otherwise it must succeed.
fn is_killed(folder: &Path, work: Work, death: Option<Death>) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "killed::host", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(WORK, format!("{work:?}"));
    if let Some(death) = death {
        command.env(DEATH, death.to_string());
    }
    let output = output(&mut command, TEST_TIMEOUT);
    let errors = String::from_utf8_lossy(&output.stderr);
    let killed = output.status.signal() == Some(rustix::process::Signal::KILL.as_raw());
    assert!(killed || output.status.success(), "the host failed: {errors}");
    killed
}

fn load(folder: &Path) -> Snapshot {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    executor.block_on(async { open_in(folder, None).await.snapshot().await.unwrap() })
}

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns the names of the files in a folder, recursively, without temporary files, which a later write removes
/// once they are old.
fn files_below(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files_below(&path)
            } else if path.extension().is_some_and(|ending| ending == "tmp") {
                Vec::new()
            } else {
                vec![path.file_name().unwrap().to_string_lossy().into_owned()]
            }
        })
        .collect()
}

/// The initial stack of all rounds, and the final state of each undisturbed operation.
struct Undisturbed {
    before: tempfile::TempDir,
    updated: Essence,
}

impl Undisturbed {
    fn prepare() -> Self {
        let before = tempfile::tempdir().unwrap();
        fs::create_dir(before.path().join("things")).unwrap();
        let executor = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        executor.block_on(async {
            let stack = open_in(before.path(), None).await;
            update(&stack, Version::Before).await;
        });
        let round = tempfile::tempdir().unwrap();
        copy(before.path(), round.path());
        assert!(!is_killed(round.path(), Work::Update, None));
        let snapshot = load(round.path());
        assert_eq!(existing(&round.path().join("things")).len(), 60);
        Self {
            before,
            updated: essence(&snapshot),
        }
    }

    fn expected(&self, work: Work) -> Essence {
        match work {
            Work::Update => self.updated.clone(),
            Work::Destroy => Essence::new(),
        }
    }
}

/// Checks the state after a successful operation.
fn check_recovery(folder: &Path, expected: &Essence, pending: &BTreeMap<String, PendingOperationKind>) {
    let snapshot = load(folder);
    integrity::verify(&snapshot).unwrap();
    assert_eq!(essence(&snapshot), *expected);
    let there = existing(&folder.join("things"));
    for state in snapshot
        .resources
        .iter()
        .filter(|state| state.custom && !state.is_provider())
    {
        let content = there.get(state.id.as_str());
        let content = content.unwrap_or_else(|| panic!("{} is not there", state.id));
        assert_eq!(state.outputs.get("content"), Some(&content.as_str().into()));
    }
    let kept = super::pending(&snapshot);
    let known: BTreeSet<&str> = snapshot.resources.iter().map(|state| state.id.as_str()).collect();
    for id in there.keys().filter(|id| !known.contains(id.as_str())) {
        // Created twice: the first creation was in flight when the host was killed, and is still pending.
        let name = name_of(id);
        assert_eq!(pending.get(name), Some(&PendingOperationKind::Creating), "{id}");
        assert_eq!(kept.get(name), Some(&PendingOperationKind::Creating), "{id}");
    }
    let pulumi = folder.join("state/.pulumi");
    assert_eq!(files_below(&pulumi.join("locks")), Vec::<String>::new());
    assert_eq!(files_below(&pulumi.join("journals")), Vec::<String>::new());
}

/// Kills hosts at each write of an operation in turn, until one ends before its write.
fn kill_at_every_write(work: Work, moment: Moment) {
    let undisturbed = Undisturbed::prepare();
    let (next, has_ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (killed, in_flight) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT_ROUNDS {
            scope.spawn(|| {
                while !has_ended.load(Ordering::SeqCst) {
                    let write = next.fetch_add(1, Ordering::SeqCst);
                    match round(&undisturbed, work, Death { write, moment }) {
                        Some(is_pending) => {
                            killed.fetch_add(1, Ordering::SeqCst);
                            in_flight.fetch_add(usize::from(is_pending), Ordering::SeqCst);
                        }
                        None => has_ended.store(true, Ordering::SeqCst),
                    }
                }
            });
        }
    });
    let (killed, in_flight) = (killed.into_inner(), in_flight.into_inner());
    assert!(
        killed > 20 && in_flight > 10,
        "{killed} killed, {in_flight} with steps in flight"
    );
}

/// Kills a host, in every third round also the next one at one of its first writes, and lets another finish. Returns
/// whether steps were in flight, or `None` when the first host ended before its write.
fn round(undisturbed: &Undisturbed, work: Work, death: Death) -> Option<bool> {
    let round = tempfile::tempdir().unwrap();
    let folder = round.path();
    copy(undisturbed.before.path(), folder);
    let killed = is_killed(folder, work, Some(death));
    let mut pending = check_nothing_lost(&load(folder), &folder.join("things"));
    let in_flight = !pending.is_empty();
    if death.write.is_multiple_of(3) {
        let write = death.write % 8;
        is_killed(folder, work, Some(Death { write, ..death }));
        pending = check_nothing_lost(&load(folder), &folder.join("things"));
    }
    assert!(!is_killed(folder, work, None));
    check_recovery(folder, &undisturbed.expected(work), &pending);
    killed.then_some(in_flight)
}

#[test]
fn hosts_killed_before_any_write_of_an_update_lose_nothing_and_the_next_finishes_it() {
    kill_at_every_write(Work::Update, Moment::Before);
}

#[test]
fn hosts_killed_within_any_append_of_an_update_lose_nothing_and_the_next_finishes_it() {
    kill_at_every_write(Work::Update, Moment::Within);
}

#[test]
fn hosts_killed_after_any_write_of_an_update_lose_nothing_and_the_next_finishes_it() {
    kill_at_every_write(Work::Update, Moment::After);
}

#[test]
fn hosts_killed_after_any_write_of_a_destroy_lose_nothing_and_the_next_finishes_it() {
    kill_at_every_write(Work::Destroy, Moment::After);
}

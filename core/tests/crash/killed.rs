//! Fifty hosts that are killed at any moment of an update, and fifty that go on where these were.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use stackwright::{
    Stack,
    resource::PendingOperationKind,
    runtime::{Clock as _, Random as _, Runtime, SeededRandom, SystemClock},
    state::{Snapshot, integrity},
    store::FileStore,
};

use super::{
    Essence, essence, open, pending,
    programs::Version,
    things::{Things, existing, name_of},
    update,
};

const FOLDER: &str = "CRASH_FOLDER";
const MOMENTS: usize = 50;

/// As many hosts are killed and followed at a time.
const LANES: usize = 4;

async fn open_in(folder: &Path) -> Stack {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = FileStore::new(folder.join("state"), runtime.clone()).unwrap();
    let things = Things::new(folder.join("things"), runtime.clock, runtime.random);
    open(Arc::new(store), Arc::new(things)).await
}

/// Not a test of its own: the host that the test below starts, and kills or awaits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the host process of the other test"]
#[expect(clippy::disallowed_methods, reason = "the test talks to its other self")]
async fn host() {
    let folder = std::env::var(FOLDER).unwrap();
    let stack = open_in(Path::new(&folder)).await;
    update(&stack, Version::After).await;
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::host", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a host come to its end, which must be a good one.
fn finish(host: Child) {
    let output = host.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the host failed: {said}");
}

fn load(folder: &Path) -> Snapshot {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    executor.block_on(async { open_in(folder).await.snapshot().await.unwrap() })
}

/// Copies a folder with all that is in it.
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

/// Returns the names of the files in a folder and below it. Temporary files do not count: whoever writes beside them
/// removes them when they have grown old.
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

/// What all rounds start from and are compared with.
struct Undisturbed {
    before: tempfile::TempDir,
    after: Essence,
    duration: Duration,
}

impl Undisturbed {
    fn measure() -> Self {
        let before = tempfile::tempdir().unwrap();
        fs::create_dir(before.path().join("things")).unwrap();
        let executor = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        executor.block_on(async {
            let stack = open_in(before.path()).await;
            update(&stack, Version::Before).await;
        });
        let round = tempfile::tempdir().unwrap();
        copy(before.path(), round.path());
        let started = SystemClock.elapsed();
        finish(start(round.path()));
        let duration = SystemClock.elapsed() - started;
        let snapshot = load(round.path());
        assert_eq!(existing(&round.path().join("things")).len(), 60);
        Self {
            before,
            after: essence(&snapshot),
            duration,
        }
    }
}

/// Checks what a killed host left: nothing real is unknown, and nothing is known that is not real.
fn check_crash(folder: &Path) -> BTreeMap<String, PendingOperationKind> {
    let snapshot = load(folder);
    integrity::verify(&snapshot).unwrap();
    let pending = pending(&snapshot);
    let there = existing(&folder.join("things"));
    let known: BTreeMap<&str, &str> = snapshot
        .resources
        .iter()
        .filter(|state| state.custom && !state.is_provider())
        .map(|state| (state.id.as_str(), state.urn.name()))
        .collect();
    for id in there.keys() {
        let creating = pending.get(name_of(id)) == Some(&PendingOperationKind::Creating);
        assert!(known.contains_key(id.as_str()) || creating, "{id} is lost");
    }
    for (id, name) in known {
        let deleting = pending.get(name) == Some(&PendingOperationKind::Deleting);
        assert!(there.contains_key(id) || deleting, "{id} is in the state only");
    }
    pending
}

/// Checks what the host that went on made of it.
fn check_recovery(
    folder: &Path,
    undisturbed: &Undisturbed,
    pending: &BTreeMap<String, PendingOperationKind>,
) {
    let snapshot = load(folder);
    integrity::verify(&snapshot).unwrap();
    assert_eq!(essence(&snapshot), undisturbed.after);
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
        // Made a second time: the first one was in flight when the host was killed, and the state still says so.
        let name = name_of(id);
        assert_eq!(pending.get(name), Some(&PendingOperationKind::Creating), "{id}");
        assert_eq!(kept.get(name), Some(&PendingOperationKind::Creating), "{id}");
    }
    let pulumi = folder.join("state/.pulumi");
    assert_eq!(files_below(&pulumi.join("locks")), Vec::<String>::new());
    assert_eq!(files_below(&pulumi.join("journals")), Vec::<String>::new());
}

#[test]
fn a_host_that_is_killed_in_an_update_loses_nothing_and_the_next_goes_on_by_itself() {
    let undisturbed = Undisturbed::measure();
    let random = SeededRandom::new(20);
    let moments: Vec<Duration> = (0..MOMENTS)
        .map(|_| {
            let mut part = [0; 4];
            random.fill(&mut part);
            undisturbed
                .duration
                .mul_f64(f64::from(u32::from_le_bytes(part)) / f64::from(u32::MAX))
        })
        .collect();
    let (next, seen) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(moment) = moments.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let pending = round(&undisturbed, *moment);
                    seen.lock().unwrap().push(pending);
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), MOMENTS);
    // Otherwise no host was killed while it worked, and the test says nothing.
    assert!(seen.iter().filter(|pending| !pending.is_empty()).count() > 5);
}

fn round(undisturbed: &Undisturbed, moment: Duration) -> BTreeMap<String, PendingOperationKind> {
    let round = tempfile::tempdir().unwrap();
    copy(undisturbed.before.path(), round.path());
    let mut host = start(round.path());
    std::thread::sleep(moment);
    host.kill().unwrap();
    host.wait().unwrap();
    let pending = check_crash(round.path());
    finish(start(round.path()));
    check_recovery(round.path(), undisturbed, &pending);
    pending
}

//! Stacks in stores: golden data of the reference engine, locks, and crashes at every write.

use std::{fs, path::Path, time::Duration};

use super::*;
use crate::{
    runtime::{Clock, Timestamp},
    store::{FileStore, MemoryStore, ProcessState, Processes, compression::compress},
};

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

fn storage(store: Arc<dyn Store>) -> StackStorage {
    StackStorage::new(store, StackName::parse("fixtures/dev").unwrap(), me(), runtime())
}

fn in_folder(folder: &Path) -> StackStorage {
    storage(Arc::new(FileStore::new(folder, runtime()).unwrap()))
}

/// A process table in which every other process has one state.
struct EveryProcess(ProcessState);

impl Processes for EveryProcess {
    fn state(&self, _pid: u32) -> ProcessState {
        self.0
    }
}

fn facts(hostname: &str, state: ProcessState) -> HostFacts {
    HostFacts {
        pid: 7,
        username: "me".into(),
        hostname: hostname.into(),
        system: "boot 1".into(),
        processes: Arc::new(EveryProcess(state)),
    }
}

fn me() -> HostFacts {
    facts("here", ProcessState::Gone)
}

fn owned_by(stack: &StackStorage, facts: &HostFacts) -> StackStorage {
    StackStorage {
        facts: facts.clone(),
        ..stack.clone()
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A folder of the reference engine after it was killed during an update.
fn killed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states/killed-with-lock/dot-pulumi");
    copy_folder(&golden, &folder.path().join(".pulumi"));
    folder
}

#[tokio::test]
async fn a_folder_of_the_reference_engine_is_read() {
    let folder = killed();
    let stack = in_folder(folder.path());
    assert!(stack.exists().await.unwrap());
    let names = list_stacks(stack.store(), None).await.unwrap();
    assert_eq!(names, [stack.name().clone()]);
    assert_eq!(
        list_stacks(stack.store(), Some("fixtures")).await.unwrap().len(),
        1
    );
    assert!(list_stacks(stack.store(), Some("fix")).await.unwrap().is_empty());
    let stored = stack.read().await.unwrap();
    let on_disk = fs::read(folder.path().join(".pulumi/stacks/fixtures/dev.json")).unwrap();
    assert_eq!(stored.checkpoint, on_disk);
    assert!(stored.journal.is_none());
    assert!(remove::contents(&stored.checkpoint).unwrap().resources);
}

#[tokio::test]
async fn history_is_read_newest_first_and_written_in_the_same_form() {
    let folder = killed();
    let stack = in_folder(folder.path());
    let history = stack.history().await.unwrap();
    let facts: Vec<_> = history
        .iter()
        .map(|entry| (entry.kind.as_str(), entry.result.as_str(), entry.end_time))
        .collect();
    assert_eq!(facts[0], ("update", "failed", 1_795_232_114));
    assert_eq!(facts[2], ("refresh", "succeeded", 1_795_232_062));
    assert_eq!(facts.len(), 6);
    // The numbers are those of `HistoryPoint::Version`; files have none.
    let versions: Vec<_> = history.iter().map(|entry| entry.version).collect();
    assert_eq!(versions, [6, 5, 4, 3, 2, 1]);
    let page = HistoryPage {
        skip: 2,
        limit: Some(1),
    };
    assert_eq!(stack.history_page(page).await.unwrap()[0].version, 4);
    let entry = HistoryEntry {
        version: 0,
        ..history[0].clone()
    };
    stack.record(&entry).await.unwrap();
    let written: Vec<_> = stack
        .store()
        .list(&stack.name().history())
        .await
        .unwrap()
        .into_iter()
        .filter(|object| !object.key.contains("-1795232"))
        .collect();
    let [checkpoint, record] = &written[..] else {
        panic!("{written:?}");
    };
    let bytes = |key: &str| fs::read(folder.path().join(key)).unwrap();
    assert_eq!(
        bytes(&record.key),
        bytes(".pulumi/history/fixtures/dev/dev-1795232114502914329.history.json")
    );
    assert_eq!(bytes(&checkpoint.key), bytes(".pulumi/stacks/fixtures/dev.json"));
    assert!(checkpoint.key.ends_with(".checkpoint.json"), "{checkpoint:?}");
    assert_eq!(stack.history().await.unwrap().len(), 7);
}

#[tokio::test]
async fn records_of_one_moment_do_not_replace_each_other() {
    struct Stopped;
    #[async_trait::async_trait]
    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
        async fn wait(&self, _duration: Duration) {}
    }
    let mut stack = storage(Arc::new(MemoryStore::new(runtime())));
    stack.runtime.clock = Arc::new(Stopped);
    stack.create().await.unwrap();
    let entry: HistoryEntry = serde_json::from_str(r#"{"kind":"update"}"#).unwrap();
    stack.record(&entry).await.unwrap();
    stack.record(&entry).await.unwrap();
    assert_eq!(stack.history().await.unwrap().len(), 2);
}

/// Adds the system, which this engine writes to its own locks, to the lock of the stack.
async fn add_system_to_lock(stack: &StackStorage, system: &str) {
    let [lock] = &stack.store().list(&stack.name().locks()).await.unwrap()[..] else {
        panic!("there is one lock");
    };
    let object = stack.store().get(&lock.key).await.unwrap().unwrap();
    let mut owner: serde_json::Value = serde_json::from_slice(&object.bytes).unwrap();
    owner["system"] = system.into();
    let bytes = serde_json::to_vec(&owner).unwrap();
    stack
        .store()
        .put(&lock.key, bytes.into(), Condition::Any)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_lock_of_the_reference_engine_is_never_removed_by_itself() {
    let folder = killed();
    let stack = owned_by(&in_folder(folder.path()), &facts("vm", ProcessState::Gone));
    assert_eq!(stack.lock().await.err().unwrap().kind(), ErrorKind::Conflict);
    assert_eq!(stack.break_locks().await.unwrap(), 1);
    stack.lock().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_lock_of_this_engine_whose_process_is_gone_is_removed() {
    let taken_at: Timestamp = "2026-11-21T03:35:38Z".parse().unwrap();
    let later = Timestamp::from_second(taken_at.as_second() + 60).unwrap();
    let earlier = Timestamp::from_second(taken_at.as_second() - 60).unwrap();
    for (facts, free) in [
        (facts("vm", ProcessState::Gone), true),
        (facts("vm", ProcessState::Running(Some(later))), true),
        (facts("vm", ProcessState::Running(Some(earlier))), false),
        (facts("vm", ProcessState::Running(None)), false),
        (facts("vm", ProcessState::Unknown), false),
        (facts("elsewhere", ProcessState::Gone), false),
        (
            HostFacts {
                system: "another container".into(),
                ..facts("vm", ProcessState::Gone)
            },
            false,
        ),
    ] {
        let folder = killed();
        let stack = in_folder(folder.path());
        add_system_to_lock(&stack, "boot 1").await;
        let lock = owned_by(&stack, &facts).lock().await;
        assert_eq!(lock.is_ok(), free, "{facts:?}");
        match lock {
            Ok(lock) => lock.release().await.unwrap(),
            Err(error) => {
                let locks = format!(
                    "file://{}/.pulumi/locks/organization/fixtures/dev",
                    folder.path().display()
                );
                assert_eq!(error.kind(), ErrorKind::Conflict);
                assert_eq!(
                    error.message(),
                    format!(
                        "the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end \
                         or, when they are dead, remove their lock files with the stack's `unlock`.\n  {locks}/11d5b3a7-4068-4093-8162-59789599fd28.json: \
                         created by root@vm (pid 16654) at 2026-11-21T03:35:38Z"
                    )
                );
            }
        }
        let left = stack.store().list(&stack.name().locks()).await.unwrap().len();
        assert_eq!(left, usize::from(!free));
        assert_eq!(stack.break_locks().await.unwrap(), left);
        stack.lock().await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn exactly_one_of_many_lockers_gets_a_stack() {
    let folder = tempfile::tempdir().unwrap();
    in_folder(folder.path()).create().await.unwrap();
    for _ in 0..8 {
        let left = in_folder(folder.path());
        let right = owned_by(&in_folder(folder.path()), &facts("there", ProcessState::Unknown));
        let (first, second) = futures::join!(left.lock_for("update"), right.lock_for("destroy"));
        let (lock, error, holder) = match (first, second) {
            (Ok(lock), Err(error)) => (lock, error, "the update that process 7 of me@here began at "),
            (Err(error), Ok(lock)) => (lock, error, "the destroy that process 7 of me@there began at "),
            other => panic!("{other:?}"),
        };
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(
            error
                .message()
                .starts_with("the stack is currently locked by 1 lock(s).")
        );
        // Also when the holder has just begun, and has not written its lock file yet.
        assert!(error.message().contains("created by me@"), "{error}");
        let hints = error.hints().join("\n");
        assert!(
            hints.contains("the locked stack is fixtures/dev in file://"),
            "{hints}"
        );
        assert!(hints.contains(holder), "{hints}");
        lock.release().await.unwrap();
        assert!(left.store().list(&left.name().locks()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_lock_file_has_an_instruction_for_users_of_other_programs() {
    let stack = storage(Arc::new(MemoryStore::new(runtime())));
    stack.create().await.unwrap();
    let lock = stack.lock_for("update").await.unwrap();
    let [file] = &stack.store().list(&stack.name().locks()).await.unwrap()[..] else {
        panic!("there is one lock");
    };
    let object = stack.store().get(&file.key).await.unwrap().unwrap();
    let owner: serde_json::Value = serde_json::from_slice(&object.bytes).unwrap();
    assert_eq!(
        owner["username"],
        "me (stackwright: open the stack with it first)"
    );
    let other = owned_by(&stack, &facts("there", ProcessState::Unknown));
    let error = other.lock().await.unwrap_err();
    let hints = error.hints().join("\n");
    assert!(error.message().contains("created by me@here"), "{error}");
    assert!(
        !format!("{error} {hints}").contains("stackwright:"),
        "{error} {hints}"
    );
    lock.release().await.unwrap();
}

#[tokio::test]
async fn a_conflict_within_one_process_names_this_process() {
    let stack = storage(Arc::new(MemoryStore::new(runtime())));
    stack.create().await.unwrap();
    let lock = stack.lock_for("import").await.unwrap();
    let error = stack.lock_for("update").await.unwrap_err();
    let hints = error.hints().join("\n");
    assert!(
        hints.contains("the import that this very process began at "),
        "{hints}"
    );
    lock.release().await.unwrap();
}

#[tokio::test]
async fn a_dropped_lock_is_released() {
    let stack = storage(Arc::new(MemoryStore::new(runtime())));
    stack.create().await.unwrap();
    drop(stack.lock().await.unwrap());
    // The release is another task on this thread: it runs when this one waits.
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
    assert!(
        stack
            .store()
            .list(&stack.name().locks())
            .await
            .unwrap()
            .is_empty()
    );
    stack.lock().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_stack_is_created_once_and_found_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let stack = in_folder(folder.path());
    assert!(!stack.exists().await.unwrap());
    let error = stack.read().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::NotFound, "no stack named 'fixtures/dev' found")
    );
    stack.create().await.unwrap();
    let error = stack.create().await.unwrap_err();
    assert_eq!(
        error.message(),
        "stack 'organization/fixtures/dev' already exists"
    );
    let text = |key: &str| fs::read_to_string(folder.path().join(key)).unwrap();
    assert_eq!(text(".pulumi/meta.yaml"), "version: 1\n");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text(".pulumi/stacks/fixtures/dev.json")).unwrap(),
        serde_json::json!({"version": 3, "checkpoint": {"stack": "organization/fixtures/dev"}})
    );
}

#[tokio::test]
async fn a_store_of_an_unknown_layout_is_left_alone() {
    for (key, text) in [
        (".pulumi/stacks/dev.json", "{}"),
        (META, "version: 0\n"),
        (META, "version: 2\n"),
        (META, "nonsense"),
    ] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime()));
        store.put(key, text.into(), Condition::Any).await.unwrap();
        let stack = storage(Arc::clone(&store));
        assert_eq!(
            stack.create().await.unwrap_err().kind(),
            ErrorKind::State,
            "{text}"
        );
        assert_eq!(
            list_stacks(&store, None).await.unwrap_err().kind(),
            ErrorKind::State
        );
        assert_eq!(store.list("").await.unwrap().len(), 1);
    }
}

async fn replace(stack: &StackStorage, head: &mut Head, text: &'static str) -> Result<()> {
    let hash = content_hash(text.as_bytes());
    head.replace(stack, text.into(), hash).await
}

#[tokio::test]
async fn a_compressed_checkpoint_stays_compressed() {
    for ending in ["gz", "zst"] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime()));
        let key = format!(".pulumi/stacks/fixtures/dev.json.{ending}");
        let old = compress(&key, "old".into()).unwrap();
        store.put(&key, old.clone(), Condition::Any).await.unwrap();
        let stack = storage(Arc::clone(&store));
        let stored = stack.read().await.unwrap();
        assert_eq!(&stored.checkpoint[..], b"old");
        let lock = stack.lock().await.unwrap();
        replace(&stack, &mut Head::new(stored.base.clone()), "new")
            .await
            .unwrap();
        assert_eq!(&stack.read().await.unwrap().checkpoint[..], b"new");
        let kept = store.get(&format!("{key}.bak")).await.unwrap().unwrap();
        assert_eq!(kept.bytes, old);
        let keys: Vec<_> = store.list(".pulumi/stacks/").await.unwrap();
        assert_eq!(keys.len(), 2, "{keys:?}");
        let error = replace(&stack, &mut Head::new(stored.base.clone()), "newer")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        lock.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_checkpoint_that_another_writer_changed_is_not_replaced() {
    let stack = storage(Arc::new(MemoryStore::new(runtime())));
    stack.create().await.unwrap();
    let lock = stack.lock().await.unwrap();
    let stored = stack.read().await.unwrap();
    let mut next = Head::new(stored.base.clone());
    replace(&stack, &mut next, "1").await.unwrap();
    let error = replace(&stack, &mut Head::new(stored.base.clone()), "2")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let mut next = Head::new(next.into_base());
    replace(&stack, &mut next, "3").await.unwrap();
    assert_eq!(&stack.read().await.unwrap().checkpoint[..], b"3");
    let backup = stack
        .store()
        .get(".pulumi/stacks/fixtures/dev.json.bak")
        .await
        .unwrap();
    assert_eq!(&backup.unwrap().bytes[..], b"1");
    lock.release().await.unwrap();
}

#[tokio::test]
async fn a_journal_of_another_checkpoint_is_set_aside_under_a_new_name() {
    let stack = storage(Arc::new(MemoryStore::new(runtime())));
    stack.create().await.unwrap();
    for number in 1..=2 {
        let key = stack.name().journal();
        let bytes = Bytes::from(number.to_string());
        stack.store().put(&key, bytes, Condition::Absent).await.unwrap();
        let journal = stack.read().await.unwrap().journal.unwrap();
        for _ in 0..2 {
            let aside = copy_journal_aside(&stack, &journal).await.unwrap();
            assert_eq!(aside, stack.name().orphan(number));
        }
        discard_journal(&stack, &journal).await.unwrap();
        let again = stack.store().put(&key, "another".into(), Condition::Absent).await;
        again.unwrap();
        let refused = discard_journal(&stack, &journal).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        stack.store().delete(&key).await.unwrap();
        assert!(stack.read().await.unwrap().journal.is_none());
    }
    let kept = stack.store().get(&stack.name().orphan(1)).await.unwrap().unwrap();
    assert_eq!(&kept.bytes[..], b"1");
}

#[tokio::test]
async fn a_new_stack_has_no_part_in_the_journal_of_one_whose_removal_was_interrupted() {
    for is_removed in [true, false] {
        let stack = storage(Arc::new(MemoryStore::new(runtime())));
        let key = stack.name().journal();
        stack.create().await.unwrap();
        let journal = Bytes::from("steps");
        stack.store().put(&key, journal, Condition::Absent).await.unwrap();
        let journal = stack.read().await.unwrap().journal.unwrap();
        if is_removed {
            copy_journal_aside(&stack, &journal).await.unwrap();
        }
        let checkpoint = stack.name().checkpoint(CHECKPOINT_ENDINGS[0]);
        stack.store().delete(&checkpoint).await.unwrap();
        stack.create().await.unwrap();
        // The steps of a stack whose checkpoint is gone are known to the next one.
        assert_eq!(stack.read().await.unwrap().journal.is_none(), is_removed);
    }
}

#[tokio::test]
async fn a_stack_with_resources_is_removed_only_by_force() {
    let folder = killed();
    let stack = in_folder(folder.path());
    stack.break_locks().await.unwrap();
    let error = remove_stack(&stack, false).await.unwrap_err();
    assert_eq!(
        error.message(),
        "'organization/fixtures/dev' still has resources; removal rejected"
    );
    remove_stack(&stack, true).await.unwrap();
    assert!(!stack.exists().await.unwrap());
    assert!(stack.history().await.unwrap().is_empty());
    assert!(
        folder
            .path()
            .join(".pulumi/stacks/fixtures/dev.json.bak")
            .exists()
    );
    stack.create().await.unwrap();
    let journal = stack.name().journal();
    let left = stack.store().put(&journal, "a line".into(), Condition::Absent);
    left.await.unwrap();
    let error = remove_stack(&stack, false).await.unwrap_err();
    assert_eq!(
        error.message(),
        "'organization/fixtures/dev' has the journal of an interrupted operation; removal rejected"
    );
    stack.store().delete(&journal).await.unwrap();
    let pending = r#"{"version":3,"checkpoint":{"stack":"organization/fixtures/dev","latest":{"manifest":{"time":"2026-01-01T00:00:00Z","magic":"","version":""},"pending_operations":[{"resource":{"urn":"urn:pulumi:dev::fixtures::a:b:C::d","custom":true,"type":"a:b:C"},"type":"creating"}]}}}"#;
    let key = stack.name().checkpoint(".json");
    stack
        .store()
        .put(&key, pending.into(), Condition::Any)
        .await
        .unwrap();
    let error = remove_stack(&stack, false).await.unwrap_err();
    assert_eq!(
        error.message(),
        "'organization/fixtures/dev' has pending operations; removal rejected"
    );
    remove_stack(&stack, true).await.unwrap();
}

/// A store in which a journal begins and ends between reads, a number of times.
struct Restless {
    inner: MemoryStore,
    journal: String,
    changes: std::sync::atomic::AtomicUsize,
}

#[async_trait::async_trait]
impl Store for Restless {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        use std::sync::atomic::Ordering::SeqCst;
        let left = self.changes.fetch_update(SeqCst, SeqCst, |left| {
            (key == self.journal).then(|| left.checked_sub(1))?
        });
        match left {
            Ok(left) if left % 2 == 0 => Ok(Some(Object {
                bytes: "{}".into(),
                version: "1".into(),
            })),
            _ => self.inner.get(key).await,
        }
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<crate::store::ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.inner.copy(from, to).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn crate::store::LockGuard>> {
        self.inner.lock(name).await
    }
}

#[tokio::test]
async fn a_checkpoint_is_never_read_with_the_journal_of_another_moment() {
    for (changes, is_read) in [(0, true), (2 * MAX_READ_ATTEMPTS - 2, true), (usize::MAX, false)] {
        let name = StackName::parse("fixtures/dev").unwrap();
        let stack = storage(Arc::new(Restless {
            inner: MemoryStore::new(runtime()),
            journal: name.journal(),
            changes: changes.into(),
        }));
        stack.create().await.unwrap();
        match stack.read().await {
            Ok(stored) => assert!(is_read && stored.journal.is_none(), "{changes}"),
            Err(error) => {
                assert!(!is_read, "{changes}: {error}");
                assert_eq!(error.kind(), ErrorKind::Conflict);
                assert_eq!(
                    error.message(),
                    "operations on the stack 'fixtures/dev' began or ended during each of 16 attempts to read it"
                );
            }
        }
    }
}

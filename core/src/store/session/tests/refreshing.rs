//! Checkpoints that are refreshed while an operation runs.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{crashes::*, orphans::real, *};
use crate::{
    runtime::{Clock as _, Spawner, VirtualClock},
    store::{
        LockGuard, Md5Digest, Object, ObjectInfo, Version,
        layer::{Layer, Layered},
        numbered::{Removal, with_journals},
    },
};

const PREVIOUS: &str = ".pulumi/stacks/shop/dev.json.bak";

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn a_refreshed_checkpoint_contains_completed_steps_and_steps_in_flight() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    run(&stack, "before", &mut Vec::new()).await.unwrap();
    {
        let (session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
        begin(&journal, "b").await;
        session.refresh(&journal).await.unwrap();
        assert_eq!(
            seen_by_others(&store, CHECKPOINT).await,
            (owned(&["a", "before"]), owned(&["b"]))
        );
        create(&journal, "c").await;
        session.refresh(&journal).await.unwrap();
        create(&journal, "d").await;
        // Killed here: the entries after the last refresh are only in the journal.
    }
    assert_eq!(
        seen_by_others(&store, CHECKPOINT).await.0,
        owned(&["a", "c", "before"])
    );
    let loaded = stack.load(&Base64Provider).await.unwrap();
    assert_eq!(names(&loaded.snapshot), ["d", "a", "c", "before"]);
    assert_eq!(loaded.snapshot.pending_operations.len(), 1);
    assert!(store.list(".pulumi/history").await.unwrap().is_empty());
    // After the recovery the copy is still the state before the operation, and the history has the recovered one.
    drop(operation(&stack).await.unwrap());
    assert_eq!(
        seen_by_others(&store, PREVIOUS).await,
        (owned(&["before"]), owned(&[]))
    );
    let copy = stack.read_copy(&HistoryPoint::Version(1)).await.unwrap();
    assert_eq!(copy, stack.read().await.unwrap().checkpoint);
    assert!(store.get(&stack.name().journal()).await.unwrap().is_none());
}

#[tokio::test]
async fn the_commit_replaces_a_refreshed_checkpoint_and_keeps_the_state_before_the_operation() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    run(&stack, "before", &mut Vec::new()).await.unwrap();
    let mut acknowledged = Vec::new();
    run_refreshing(&stack, ["a", "b"], &mut acknowledged)
        .await
        .unwrap();
    assert_eq!(
        seen_by_others(&store, CHECKPOINT).await,
        (owned(&["a", "b", "before"]), owned(&[]))
    );
    assert_eq!(
        seen_by_others(&store, PREVIOUS).await,
        (owned(&["before"]), owned(&[]))
    );
}

#[tokio::test]
async fn operations_with_refreshes_that_fail_at_any_write_one_after_another_lose_nothing() {
    for fault in Fault::ALL {
        for first in 0..64 {
            let mut ended = false;
            for second in 0..64 {
                let store = memory();
                let stack = storage(&store, "shop/dev");
                stack.create().await.unwrap();
                let case = format!("{fault:?} at writes {first} and {second}");
                let mut acknowledged = Vec::new();
                let (one, faulty_once) = faulty_storage(&store, fault, first);
                drop(run_refreshing(&faulty_once, ["a", "b"], &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                let (two, faulty_twice) = faulty_storage(&store, fault, second);
                drop(run_refreshing(&faulty_twice, ["c", "d"], &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                run_refreshing(&stack, ["e", "f"], &mut acknowledged)
                    .await
                    .unwrap();
                check(&stack, &acknowledged, fault, &case).await;
                assert!(stack.read().await.unwrap().journal.is_none(), "{case}");
                ended = first >= one.writes();
                if second >= two.writes() {
                    break;
                }
            }
            if ended {
                assert!(
                    first >= 11,
                    "{fault:?}: two refreshes and a commit are {first} writes"
                );
                break;
            }
        }
    }
}

#[tokio::test]
async fn an_operation_without_changes_refreshes_nothing() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (faulty, counted) = faulty_storage(&store, Fault::Refused, usize::MAX);
    let (session, journal) = operation(&counted).await.unwrap();
    session.refresh(&journal).await.unwrap();
    assert_eq!((faulty.writes(), session.has_refreshed()), (0, false));
    create(&journal, "a").await;
    session.refresh(&journal).await.unwrap();
    let writes = faulty.writes();
    session.refresh(&journal).await.unwrap();
    assert_eq!(faulty.writes(), writes, "nothing has changed since");
}

#[tokio::test]
async fn a_step_that_fails_after_a_refresh_is_not_pending_in_the_end() {
    let store = memory();
    let stack = storage(&store, "shop/dev");
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    let begun = begin(&journal, "a").await;
    session.refresh(&journal).await.unwrap();
    let failed = JournalRecord::Failure { op: StepOp::Create };
    journal.append(begun, failed).await.unwrap();
    let replay = journal.finish().await.unwrap();
    assert!(!replay.is_dirty() && session.has_refreshed());
    session.commit(&mut replay.to_snapshot().unwrap()).await.unwrap();
    session.discard().await.unwrap();
    assert_eq!(seen_by_others(&store, CHECKPOINT).await, (owned(&[]), owned(&[])));
}

/// A store whose objects may be written once a second. Notes when the checkpoint is.
struct Limited {
    inner: MemoryStore,
    clock: Arc<VirtualClock>,
    written: Mutex<Vec<Duration>>,
}

#[async_trait]
impl Store for Limited {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if key == CHECKPOINT {
            self.written.lock().unwrap().push(self.clock.elapsed());
        }
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }

    fn rewrite_interval(&self) -> Duration {
        Duration::from_secs(1)
    }
}

#[tokio::test]
async fn a_checkpoint_is_refreshed_no_more_often_than_the_store_allows() {
    let clock = VirtualClock::start();
    let runtime = Runtime {
        clock: Arc::clone(&clock) as _,
        spawner: Spawner::single_threaded(tokio::runtime::Handle::current()),
        ..runtime()
    };
    let store = Arc::new(Limited {
        inner: MemoryStore::new(runtime.clone()),
        clock: Arc::clone(&clock),
        written: Mutex::default(),
    });
    let name = StackName::parse("shop/dev").unwrap();
    let stack = StackStorage::new(
        Arc::clone(&store) as Arc<dyn Store>,
        name,
        HostFacts::system(),
        runtime,
    );
    stack.create().await.unwrap();
    let (session, journal) = operation(&stack).await.unwrap();
    store.written.lock().unwrap().clear();
    let session = Arc::new(session);
    let refreshing = session.refresh_in_background(journal.clone(), Duration::from_millis(10));
    for number in 0..50 {
        create(&journal, &format!("thing{number}")).await;
        clock.wait(Duration::from_millis(100)).await;
    }
    refreshing.stop().await;
    let written = store.written.lock().unwrap().clone();
    assert!(written.len() >= 4, "{written:?}");
    for pair in written.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_secs(1), "{written:?}");
    }
}

/// Returns a stack as another process sees it, in a store whose journals consist of numbered objects, which fails at the write `at`.
/// The store that is returned counts the writes.
fn numbered(objects: &Arc<dyn Store>, fault: Fault, at: usize) -> (FaultyStore, StackStorage) {
    let faulty = FaultyStore::new(Arc::clone(objects), fault, at);
    let counting = faulty.beside(Arc::clone(objects));
    let store = with_journals(faulty, &runtime(), Removal::Replacement);
    (counting, storage(&store, "shop/dev"))
}

#[tokio::test]
async fn the_objects_of_a_journal_that_a_refreshed_checkpoint_contains_are_removed() {
    let objects = memory();
    let (_, stack) = numbered(&objects, Fault::Refused, usize::MAX);
    stack.create().await.unwrap();
    let key = stack.name().journal();
    let (session, journal) = operation(&stack).await.unwrap();
    begin(&journal, "flight").await;
    for name in ["a", "b", "c"] {
        create(&journal, name).await;
    }
    let parts = async || objects.list(&format!("{key}.parts/")).await.unwrap().len();
    let length = async || objects.get(&key).await.unwrap().unwrap().bytes.len();
    assert!(parts().await >= 6, "each batch is an object");
    session.refresh(&journal).await.unwrap();
    assert_eq!(parts().await, 0);
    let shortened = length().await;
    for name in ["d", "e"] {
        create(&journal, name).await;
        session.refresh(&journal).await.unwrap();
        assert_eq!(parts().await, 0);
        assert!(
            length().await < shortened + 100,
            "it does not grow with the operation"
        );
    }
    create(&journal, "f").await;
    drop((session, journal));
    // Another process goes on after a crash.
    let (_, other) = numbered(&objects, Fault::Refused, usize::MAX);
    let loaded = other.load(&Base64Provider).await.unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let mut found = names(&loaded.snapshot);
    found.sort_unstable();
    assert_eq!(found, ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(loaded.snapshot.pending_operations.len(), 1);
    drop(operation(&other).await.unwrap());
    assert!(other.read().await.unwrap().journal.is_none());
}

#[tokio::test]
async fn steps_in_flight_of_a_shortened_journal_survive_another_program_s_checkpoint() {
    let objects = memory();
    let (_, stack) = numbered(&objects, Fault::Refused, usize::MAX);
    stack.create().await.unwrap();
    run(&stack, "before", &mut Vec::new()).await.unwrap();
    let former = objects.get(CHECKPOINT).await.unwrap().unwrap().bytes;
    let (session, journal) = operation(&stack).await.unwrap();
    begin(&journal, "flight").await;
    create_thing(&journal, real("a", "a-1")).await;
    session.refresh(&journal).await.unwrap();
    create_thing(&journal, real("b", "b-1")).await;
    drop((session, journal));
    objects.put(CHECKPOINT, former, Condition::Any).await.unwrap();
    let loaded = stack.load(&Base64Provider).await.unwrap();
    let pending = &loaded.snapshot.pending_operations;
    let mut pending: Vec<&str> = pending
        .iter()
        .map(|pending| pending.resource.urn.name())
        .collect();
    pending.sort_unstable();
    assert_eq!(pending, ["b", "flight"]);
    assert_eq!(loaded.warnings.len(), 1);
}

#[tokio::test]
async fn operations_on_numbered_objects_that_fail_at_any_write_one_after_another_lose_nothing() {
    for fault in Fault::ALL {
        for first in 0..96 {
            let mut ended = false;
            for second in 0..96 {
                let objects = memory();
                let (_, stack) = numbered(&objects, Fault::Refused, usize::MAX);
                stack.create().await.unwrap();
                let case = format!("{fault:?} at writes {first} and {second}");
                let mut acknowledged = Vec::new();
                let (one, faulty_once) = numbered(&objects, fault, first);
                drop(run_refreshing(&faulty_once, ["a", "b"], &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                let (two, faulty_twice) = numbered(&objects, fault, second);
                drop(run_refreshing(&faulty_twice, ["c", "d"], &mut acknowledged).await);
                check(&stack, &acknowledged, fault, &case).await;
                run_refreshing(&stack, ["e", "f"], &mut acknowledged)
                    .await
                    .unwrap();
                check(&stack, &acknowledged, fault, &case).await;
                assert!(stack.read().await.unwrap().journal.is_none(), "{case}");
                ended = first >= one.writes();
                if second >= two.writes() {
                    break;
                }
            }
            if ended {
                assert!(first >= 15, "{fault:?}: {first} writes");
                break;
            }
        }
    }
}

/// A store whose next replacement of a journal's first object gets no answer and is not done: it may arrive later.
struct Delaying {
    inner: Arc<dyn Store>,
    is_armed: AtomicBool,
    delayed: Mutex<Option<(String, Bytes, Condition)>>,
}

#[async_trait]
impl Layer for Delaying {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        self.inner.get_with_digest(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let replaces = key.ends_with(".journal") && matches!(condition, Condition::Match(_));
        if replaces && self.is_armed.swap(false, Ordering::SeqCst) {
            *self.delayed.lock().unwrap() = Some((key.to_owned(), bytes, condition));
            return Err(Error::new(ErrorKind::Unavailable, "no answer came"));
        }
        self.inner.put(key, bytes, condition).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        self.inner.put_keeping(key, bytes, condition, kept).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.append(key, bytes, condition).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.inner.copy(from, to).await
    }
}

#[tokio::test]
async fn a_shortened_journal_that_arrives_late_replaces_nothing_that_was_written_since() {
    for arrives_before_next_step in [false, true] {
        let objects = memory();
        let delaying = Arc::new(Layered(Delaying {
            inner: Arc::clone(&objects),
            is_armed: AtomicBool::new(false),
            delayed: Mutex::default(),
        }));
        let below: Arc<dyn Store> = delaying.clone();
        let unfailing = FaultyStore::new(below, Fault::Refused, usize::MAX);
        let store = with_journals(unfailing, &runtime(), Removal::Replacement);
        let stack = storage(&store, "shop/dev");
        stack.create().await.unwrap();
        let (session, journal) = operation(&stack).await.unwrap();
        create(&journal, "a").await;
        delaying.0.is_armed.store(true, Ordering::SeqCst);
        session.refresh(&journal).await.unwrap();
        let (key, bytes, condition) = delaying.0.delayed.lock().unwrap().take().unwrap();
        let arrive = async || objects.put(&key, bytes.clone(), condition.clone()).await;
        if arrives_before_next_step {
            arrive().await.unwrap();
        }
        create(&journal, "b").await;
        begin(&journal, "flight").await;
        let late = arrive().await;
        assert!(late.is_err(), "the first object is another one by now");
        drop((session, journal));
        let (_, other) = numbered(&objects, Fault::Refused, usize::MAX);
        let loaded = other.load(&Base64Provider).await.unwrap();
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let mut found = names(&loaded.snapshot);
        found.sort_unstable();
        assert_eq!(found, ["a", "b"]);
        assert_eq!(loaded.snapshot.pending_operations.len(), 1);
    }
}

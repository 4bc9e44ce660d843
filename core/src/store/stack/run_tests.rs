//! Locks of operations with the id of a run: how long one waits for another one of the same run.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use futures::FutureExt as _;

use super::*;
use crate::{
    runtime::VirtualClock,
    store::{MemoryStore, ObjectInfo, Objects, ProcessState, Processes, StoreSettings, shared},
};

const RUN: &str = "set/1";

/// The objects of a store that several hosts use.
struct SharedObjects(MemoryStore);

#[async_trait::async_trait]
impl Objects for SharedObjects {
    fn url(&self) -> String {
        self.0.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.0.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.0.put(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.0.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).await
    }
}

/// A process table in which every process runs, without a known start.
struct EveryProcessRuns;

impl Processes for EveryProcessRuns {
    fn state(&self, _pid: u32) -> ProcessState {
        ProcessState::Running(None)
    }
}

fn purpose(run: &str) -> LockPurpose<'_> {
    LockPurpose {
        operation: "update",
        run: Some(run),
        max_wait: None,
    }
}

/// Returns the stack as a process of a host sees it, in virtual time.
fn on(host: &str, store: &Arc<dyn Store>, runtime: &Runtime) -> StackStorage {
    let facts = HostFacts {
        pid: 7,
        username: "ann".into(),
        hostname: host.into(),
        system: format!("boot of {host}"),
        processes: Arc::new(EveryProcessRuns),
    };
    let name = StackName::parse("fixtures/dev").unwrap();
    StackStorage::new(Arc::clone(store), name, facts, runtime.clone())
}

fn in_virtual_time() -> Runtime {
    Runtime {
        clock: VirtualClock::start(),
        ..Runtime::system(tokio::runtime::Handle::current())
    }
}

fn memory(runtime: &Runtime) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(runtime.clone()))
}

/// Returns what a future returns within an hour of virtual time.
async fn soon<T>(runtime: &Runtime, future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future.fuse());
    let mut hour = runtime.clock.wait(Duration::from_secs(3600)).fuse();
    futures::select_biased! {
        ended = future => ended,
        () = hour => unreachable!("it takes longer than an hour"),
    }
}

/// Leaves the lock file of a process that can no longer release it.
async fn died_holding(stack: &StackStorage, run: &str) {
    let lock = stack
        .lock_within(purpose(run), Duration::ZERO, |_| {})
        .await
        .unwrap();
    let [file] = &stack.store().list(&stack.name().locks()).await.unwrap()[..] else {
        unreachable!("there is one lock")
    };
    let left = stack.store().get(&file.key).await.unwrap().unwrap();
    lock.release().await.unwrap();
    let written = stack.store().put(&file.key, left.bytes, Condition::Absent);
    written.await.unwrap();
}

#[tokio::test]
async fn a_run_of_which_only_the_lock_file_of_another_host_is_left_is_waited_for_within_a_limit() {
    for (limit, waited) in [
        (Duration::ZERO, UNSEEN_RUN_WAIT),
        (Duration::from_secs(5), Duration::from_secs(5)),
    ] {
        let runtime = in_virtual_time();
        let store = memory(&runtime);
        died_holding(&on("there", &store, &runtime), RUN).await;
        let here = on("here", &store, &runtime);
        let begin = runtime.clock.elapsed();
        let locking = here.lock_within(purpose(RUN), limit, |_| {});
        let error = soon(&runtime, locking).await.unwrap_err();
        assert_eq!(runtime.clock.elapsed() - begin, waited);
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let hints = error.hints().join("\n");
        assert!(hints.contains("process 7 of ann@there"), "{hints}");
        assert!(
            hints.contains("`break_lock` with its user@host:process"),
            "{hints}"
        );
        // The lock was not taken from it. Another run does not wait at all.
        assert_eq!(store.list(&here.name().locks()).await.unwrap().len(), 1);
        let begin = runtime.clock.elapsed();
        let other = here.lock_within(purpose("set/2"), Duration::ZERO, |_| {}).await;
        assert_eq!(other.unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(runtime.clock.elapsed(), begin);
        // What the error advises frees the stack.
        let owner = LockOwner::parse("ann@there:7").unwrap();
        assert_eq!(here.break_locks_of(&owner).await.unwrap(), 1);
        let locking = here.lock_within(purpose(RUN), limit, |_| {});
        soon(&runtime, locking).await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn a_run_that_holds_the_lock_of_the_store_is_waited_for_until_it_ends() {
    let runtime = in_virtual_time();
    let store = memory(&runtime);
    let there = on("there", &store, &runtime);
    let held = there
        .lock_within(purpose(RUN), Duration::ZERO, |_| {})
        .await
        .unwrap();
    let here = on("here", &store, &runtime);
    let mut waiting = std::pin::pin!(here.lock_within(purpose(RUN), Duration::from_secs(5), |_| {}));
    let hour = runtime.clock.wait(Duration::from_secs(3600));
    futures::select_biased! {
        ended = (&mut waiting).fuse() => unreachable!("it did not wait: {ended:?}"),
        () = hour.fuse() => {}
    }
    held.release().await.unwrap();
    soon(&runtime, waiting).await.unwrap().release().await.unwrap();
}

/// A store in which the holder of a stack ends just before its lock files are listed for this time.
struct Ending {
    inner: Arc<dyn Store>,
    held: std::sync::Mutex<Option<StackLock>>,
    lists: AtomicUsize,
    ends_at: usize,
}

#[async_trait::async_trait]
impl Store for Ending {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        if prefix.contains("/locks/") && self.lists.fetch_add(1, SeqCst) == self.ends_at {
            let held = self.held.lock().unwrap().take();
            held.unwrap().release().await?;
        }
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
async fn a_stack_whose_holder_ends_after_the_conflict_is_locked() {
    let runtime = in_virtual_time();
    let inner = memory(&runtime);
    let there = on("there", &inner, &runtime);
    let held = there
        .lock_within(purpose(RUN), Duration::ZERO, |_| {})
        .await
        .unwrap();
    let ending = Arc::new(Ending {
        inner,
        held: Some(held).into(),
        lists: AtomicUsize::new(0),
        // The first list is that of the conflict.
        ends_at: 1,
    });
    let store: Arc<dyn Store> = Arc::clone(&ending) as _;
    let here = on("here", &store, &runtime);
    let begin = runtime.clock.elapsed();
    let lock = here
        .lock_within(purpose(RUN), Duration::ZERO, |_| {})
        .await
        .unwrap();
    assert!(ending.lists.load(SeqCst) > 2 && ending.held.lock().unwrap().is_none());
    assert_eq!(runtime.clock.elapsed(), begin, "it is free at once");
    lock.release().await.unwrap();
}

#[tokio::test]
async fn the_limit_of_a_wait_holds_for_a_lease_whose_holder_is_not_seen() {
    let runtime = Runtime {
        clock: VirtualClock::start(),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let memory = MemoryStore::new(runtime.clone());
    let on_host = |host: &str| {
        let objects = Arc::new(SharedObjects(memory.clone()));
        let facts = HostFacts {
            hostname: host.into(),
            system: format!("boot of {host}"),
            ..HostFacts::system()
        };
        let settings = StoreSettings::default();
        let store = shared(objects, &settings, &runtime, &facts).unwrap();
        on(host, &store, &runtime)
    };
    let held = on_host("there").lock().await.unwrap();
    for limit in [1, 5].map(Duration::from_secs) {
        let begin = runtime.clock.elapsed();
        let here = on_host("here");
        let locking = here.lock_within(LockPurpose::of("update"), limit, |_| {});
        let error = locking.await.unwrap_err();
        assert!(
            error.hints().iter().any(|hint| hint.contains("stayed locked")),
            "{error:?}"
        );
        let waited = runtime.clock.elapsed() - begin;
        assert!(
            waited >= limit && waited < limit + Duration::from_millis(500),
            "{waited:?}"
        );
    }
    held.release().await.unwrap();
}

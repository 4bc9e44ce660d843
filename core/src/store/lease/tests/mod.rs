//! Leases in virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;

use super::*;
use crate::{
    runtime::{SeededRandom, VirtualClock},
    store::{LockOwner, MemoryStore, Object, Store as _},
};

mod ended;

const NAME: &str = "organization/shop/dev";
/// What the leases are taken for.
const UPDATE: LockPurpose<'static> = LockPurpose::of("update");
const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";

/// Records in memory. Those of a host whose connection is cut can be neither read nor written.
struct Records {
    store: MemoryStore,
    is_cut: AtomicBool,
    /// Whether the answer to the next write is lost.
    loses_answer: AtomicBool,
    /// Whether no write is answered.
    hangs: AtomicBool,
    /// Whether the connection is cut with that answer.
    is_cut_with_it: AtomicBool,
    /// Whether a released record stays, as in a bucket.
    keeps_released: AtomicBool,
    /// How many of the next releases fail.
    failing_releases: AtomicUsize,
    /// How often a record was written.
    writes: AtomicUsize,
}

impl Records {
    fn over(store: &MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            store: store.clone(),
            is_cut: AtomicBool::new(false),
            loses_answer: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            is_cut_with_it: AtomicBool::new(false),
            keeps_released: AtomicBool::new(false),
            failing_releases: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
        })
    }

    fn check(&self) -> Result<()> {
        match self.is_cut.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unavailable, "cut")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl LeaseRecords for Records {
    async fn read(&self, name: &str) -> Result<Option<Object>> {
        self.check()?;
        self.store.get(name).await
    }

    async fn write(&self, name: &str, _mark: &str, record: Bytes, condition: Condition) -> Result<Version> {
        self.check()?;
        self.writes.fetch_add(1, Ordering::SeqCst);
        let written = self.store.put(name, record, condition).await?;
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        match self.loses_answer.swap(false, Ordering::SeqCst) {
            true => {
                let cuts = self.is_cut_with_it.load(Ordering::SeqCst);
                self.is_cut.fetch_or(cuts, Ordering::SeqCst);
                Err(Error::new(ErrorKind::Unavailable, "no answer"))
            }
            false => Ok(written),
        }
    }

    async fn release(&self, name: &str, _mark: &str, released: Bytes, version: &Version) -> Result<()> {
        self.check()?;
        let fails = |left: usize| left.checked_sub(1);
        let (order, left) = (Ordering::SeqCst, &self.failing_releases);
        if left.fetch_update(order, order, fails).is_ok() {
            return Err(Error::new(ErrorKind::Unavailable, "refused"));
        }
        match self.keeps_released.load(Ordering::SeqCst) {
            true => self
                .store
                .put(name, released, Condition::Match(Version::clone(version)))
                .await
                .map(drop),
            false => self.store.delete_version(name, version).await,
        }
    }
}

fn runtime() -> Runtime {
    Runtime {
        clock: VirtualClock::start(),
        random: Arc::new(SeededRandom::new(1)),
        ..Runtime::system(tokio::runtime::Handle::current())
    }
}

/// Returns the leases as a host sees them that shares no process numbers with this one.
fn host(store: &MemoryStore, runtime: &Runtime, system: &str) -> (Leases, Arc<Records>) {
    let records = Records::over(store);
    let mut leases = Leases::new(
        Arc::clone(&records) as _,
        runtime.clone(),
        DEFAULT_LENGTH,
        &HostFacts::system(),
    );
    leases.holder.system = system.to_owned();
    (leases, records)
}

fn is_conflict<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::Conflict)
}

#[tokio::test]
async fn a_holder_that_is_alive_keeps_its_lease_and_is_recognised_by_a_renewal() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, _), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    runtime.clock.wait(DEFAULT_LENGTH * 5).await;
    let begin = runtime.clock.elapsed();
    assert!(is_conflict(other.take(NAME, Some(UPDATE)).await));
    assert!(
        runtime.clock.elapsed() - begin <= DEFAULT_LENGTH / 2,
        "a renewal shows it"
    );
    assert!(one.check(CHECKPOINT).await.unwrap().is_some());
    assert!(is_conflict(one.take(NAME, Some(UPDATE)).await), "also by itself");
    guard.release().await;
    let guard = other.take(NAME, Some(UPDATE)).await.unwrap();
    assert!(one.check(CHECKPOINT).await.unwrap().is_none());
    drop(guard);
    runtime.clock.wait(Duration::from_millis(1)).await;
    assert!(store.list("").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_holder_that_ended_loses_its_lease_after_its_length() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    let _guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    records.is_cut.store(true, Ordering::SeqCst);
    let begin = runtime.clock.elapsed();
    let _taken = other.take(NAME, Some(UPDATE)).await.unwrap();
    assert!(runtime.clock.elapsed() - begin >= DEFAULT_LENGTH);
    assert!(runtime.clock.elapsed() - begin <= DEFAULT_LENGTH * 2);
    records.is_cut.store(false, Ordering::SeqCst);
    // The first write after the interruption finds out, also before the next renewal.
    let error = one.check(CHECKPOINT).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("taken over"), "{error}");
    assert!(is_conflict(one.check(".pulumi/journals/shop/dev.journal").await));
    assert!(is_conflict(one.check(".pulumi/history/shop/dev/x.json").await));
    assert!(
        one.check(".pulumi/stacks/shop/prod.json")
            .await
            .unwrap()
            .is_none()
    );
    assert!(other.check(CHECKPOINT).await.unwrap().is_some());
}

#[tokio::test]
async fn a_holder_that_was_suspended_goes_on_unless_its_lease_was_taken_over() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let (one, records) = host(&store, &runtime, "one");
    let _guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    records.is_cut.store(true, Ordering::SeqCst);
    runtime.clock.wait(DEFAULT_LENGTH * 3).await;
    assert!(
        !is_conflict(one.check(CHECKPOINT).await),
        "without a connection it is not known"
    );
    records.is_cut.store(false, Ordering::SeqCst);
    assert!(one.check(CHECKPOINT).await.unwrap().is_some());
}

#[tokio::test]
async fn a_holder_whose_clock_stood_still_finds_a_takeover_when_it_confirms() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, _), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    let _guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    one.confirm(CHECKPOINT).await.unwrap();
    one.confirm(".pulumi/stacks/shop/prod.json").await.unwrap();
    // The other host has found the lease expired. The clock does not advance: the first host was suspended.
    store.delete(NAME).await.unwrap();
    let taken = other.take(NAME, Some(UPDATE)).await.unwrap();
    assert!(
        one.check(CHECKPOINT).await.unwrap().is_some(),
        "its length has not passed"
    );
    assert!(is_conflict(one.confirm(CHECKPOINT).await));
    assert!(is_conflict(one.check(CHECKPOINT).await));
    taken.release().await;
}

#[tokio::test]
async fn a_renewal_whose_answer_was_lost_is_recognised() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let (one, records) = host(&store, &runtime, "one");
    let _guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    records.loses_answer.store(true, Ordering::SeqCst);
    runtime.clock.wait(DEFAULT_LENGTH * 3).await;
    assert!(!records.loses_answer.load(Ordering::SeqCst), "an answer was lost");
    assert!(one.check(CHECKPOINT).await.unwrap().is_some());
}

#[tokio::test]
async fn an_attempt_that_is_dropped_while_its_record_is_written_leaves_no_lease() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    records.hangs.store(true, Ordering::SeqCst);
    tokio::select! {
        biased;
        _ = one.take(NAME, Some(UPDATE)) => unreachable!("the write has no answer"),
        () = std::future::ready(()) => {}
    }
    records.hangs.store(false, Ordering::SeqCst);
    assert!(store.get(NAME).await.unwrap().is_some(), "the record was written");
    one.take(NAME, Some(UPDATE)).await.unwrap().release().await;
    other.take(NAME, Some(UPDATE)).await.unwrap().release().await;
}

#[tokio::test]
async fn a_lease_whose_first_answer_was_lost_is_held() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    records.loses_answer.store(true, Ordering::SeqCst);
    let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    assert!(one.check(CHECKPOINT).await.unwrap().is_some());
    assert!(is_conflict(other.take(NAME, Some(UPDATE)).await));
    guard.release().await;
}

#[tokio::test]
async fn a_lease_that_may_have_been_taken_blocks_neither_this_process_nor_this_host() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let (one, records) = host(&store, &runtime, "one");
    // Another process of the same host, for which the holder is alive.
    let (neighbour, _) = host(&store, &runtime, &HostFacts::system().system);
    for is_own in [true, false] {
        let mut first = one.clone();
        first.holder.system.clone_from(&neighbour.holder.system);
        records.loses_answer.store(true, Ordering::SeqCst);
        records.is_cut_with_it.store(true, Ordering::SeqCst);
        let refused = first.take(NAME, Some(UPDATE)).await;
        assert!(refused.is_err_and(|error| error.kind() == ErrorKind::Unavailable));
        records.is_cut.store(false, Ordering::SeqCst);
        let begin = runtime.clock.elapsed();
        if is_own {
            first.take(NAME, Some(UPDATE)).await.unwrap().release().await;
        } else {
            assert!(is_conflict(neighbour.take(NAME, Some(UPDATE)).await));
            runtime.clock.wait(DEFAULT_LENGTH).await;
            neighbour.take(NAME, Some(UPDATE)).await.unwrap().release().await;
        }
        assert!(runtime.clock.elapsed() - begin <= DEFAULT_LENGTH);
    }
}

#[tokio::test]
async fn a_lease_is_released_although_the_answer_to_its_last_renewal_was_lost() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    for keeps in [false, true] {
        records.keeps_released.store(keeps, Ordering::SeqCst);
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        records.loses_answer.store(true, Ordering::SeqCst);
        while records.loses_answer.load(Ordering::SeqCst) {
            runtime.clock.wait(Duration::from_secs(1)).await;
        }
        guard.release().await;
        let begin = runtime.clock.elapsed();
        other.take(NAME, Some(UPDATE)).await.unwrap().release().await;
        assert_eq!(runtime.clock.elapsed(), begin, "it was released");
    }
}

#[tokio::test]
async fn a_holder_that_has_ended_on_this_host_is_replaced_at_once() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let (mut dead, records) = host(&store, &runtime, "");
    dead.holder = ProcessIdentity {
        pid: u32::MAX,
        ..ProcessIdentity::of(std::process::id())
    };
    let _guard = dead.take(NAME, Some(UPDATE)).await.unwrap();
    records.is_cut.store(true, Ordering::SeqCst);
    let next = Leases::new(
        Records::over(&store),
        runtime.clone(),
        DEFAULT_LENGTH,
        &HostFacts::system(),
    );
    let begin = runtime.clock.elapsed();
    let guard = next.take(NAME, Some(UPDATE)).await.unwrap();
    assert_eq!(runtime.clock.elapsed(), begin);
    // Another engine of this process waits for nothing either.
    let third = host(&store, &runtime, &next.holder.system).0;
    assert!(is_conflict(third.take(NAME, Some(UPDATE)).await));
    assert_eq!(runtime.clock.elapsed(), begin);
    drop(guard);
}

#[tokio::test]
async fn a_released_lease_that_stays_as_a_record_is_free_at_once() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    records.keeps_released.store(true, Ordering::SeqCst);
    one.take(NAME, Some(UPDATE)).await.unwrap().release().await;
    assert_eq!(store.list("").await.unwrap().len(), 1);
    let begin = runtime.clock.elapsed();
    let _taken = other.take(NAME, Some(UPDATE)).await.unwrap();
    assert_eq!(runtime.clock.elapsed(), begin);
    assert!(
        is_conflict(one.take(NAME, Some(UPDATE)).await),
        "it is held again"
    );
}

#[tokio::test]
async fn an_observer_takes_a_lease_that_is_released_while_it_looks() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    records.keeps_released.store(true, Ordering::SeqCst);
    let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    let begin = runtime.clock.elapsed();
    let releases = async {
        runtime.clock.wait(DEFAULT_LENGTH / 10).await;
        guard.release().await;
    };
    let (taken, ()) = futures::join!(other.take(NAME, Some(UPDATE)), releases);
    taken.unwrap();
    assert!(runtime.clock.elapsed() - begin <= DEFAULT_LENGTH / 5);
}

#[tokio::test]
async fn a_release_is_repeated_after_a_failure_and_leaves_the_lease_of_a_successor() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    for keeps in [false, true] {
        records.keeps_released.store(keeps, Ordering::SeqCst);
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        records.failing_releases.store(2, Ordering::SeqCst);
        guard.release().await;
        let begin = runtime.clock.elapsed();
        let taken = other.take(NAME, Some(UPDATE)).await.unwrap();
        assert_eq!(runtime.clock.elapsed(), begin, "it was released");
        taken.release().await;

        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        store.delete(NAME).await.unwrap();
        let taken = other.take(NAME, Some(UPDATE)).await.unwrap();
        let own = store.get(NAME).await.unwrap().unwrap().version;
        guard.release().await;
        assert_eq!(store.get(NAME).await.unwrap().unwrap().version, own);
        taken.release().await;
    }
}

#[tokio::test]
async fn a_short_lease_is_renewed_once_a_second_and_stays_with_its_holder() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let (mut one, records) = host(&store, &runtime, "one");
    let (mut other, _) = host(&store, &runtime, "other");
    (one.length, other.length) = (*LENGTHS.start(), *LENGTHS.start());
    let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    let writes = records.writes.load(Ordering::SeqCst);
    runtime.clock.wait(Duration::from_millis(10_500)).await;
    assert_eq!(records.writes.load(Ordering::SeqCst) - writes, 10);
    for _ in 0..5 {
        assert!(
            is_conflict(other.take(NAME, Some(UPDATE)).await),
            "its holder is alive"
        );
    }
    guard.release().await;
}

#[tokio::test]
async fn a_conflict_names_the_holder_whose_lease_its_owner_s_name_breaks() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    for keeps in [false, true] {
        let ((mut one, _), (other, records)) =
            (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
        records.keeps_released.store(keeps, Ordering::SeqCst);
        (one.facts.username, one.facts.hostname) = ("ann".to_owned(), "there".to_owned());
        let guard = one.take(NAME, Some(LockPurpose::of("destroy"))).await.unwrap();
        let pid = std::process::id();
        let error = other.take(NAME, Some(UPDATE)).await.map(drop).unwrap_err();
        assert_eq!(
            error.message(),
            format!("the lease of {NAME} is held by the destroy of process {pid} of ann@there")
        );
        let broken = async |owner: &str| {
            other
                .break_held(NAME, &LockOwner::parse(owner).unwrap())
                .await
                .unwrap()
        };
        assert!(!broken("bob@there").await && !broken("ann@there:1").await);
        one.confirm(CHECKPOINT).await.unwrap();
        assert!(broken(&format!("ann@there:{pid}")).await);
        assert!(!broken("ann@there").await, "it is free");
        assert!(
            is_conflict(one.confirm(CHECKPOINT).await),
            "its holder writes no more"
        );
        let begin = runtime.clock.elapsed();
        let taken = other.take(NAME, Some(UPDATE)).await.unwrap();
        assert_eq!(runtime.clock.elapsed(), begin);
        guard.release().await;
        assert!(other.check(CHECKPOINT).await.unwrap().is_some());
        taken.release().await;
    }
}

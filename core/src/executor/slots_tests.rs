//! Tests of slots, with a clock that only moves when every task waits.

use futures::{FutureExt as _, future::join_all};

use super::*;
use crate::runtime::VirtualClock;

/// Slots with their reports.
struct Fixture {
    slots: Slots,
    reports: Arc<Mutex<Vec<String>>>,
}

fn fixture(limit: usize) -> Fixture {
    let runtime = Runtime {
        clock: VirtualClock::start(),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let reports = Arc::new(Mutex::new(Vec::new()));
    let report = {
        let reports = Arc::clone(&reports);
        Arc::new(move |text| reports.lock().unwrap().push(text))
    };
    Fixture {
        slots: Slots::new(limit, runtime, report),
        reports,
    }
}

fn call(name: &str, counting: Counting) -> Call {
    Call {
        urn: Urn::parse(&format!("urn:pulumi:dev::project::test:index:Thing::{name}")).unwrap(),
        method: "create",
        counting,
    }
}

impl Fixture {
    async fn strict(&self) -> Slot {
        self.slots.acquire(call("strict", Counting::Strict)).await
    }

    async fn giving_way(&self) -> Slot {
        self.slots.acquire(call("waits", Counting::GivesWay)).await
    }

    async fn wait(&self, duration: Duration) {
        self.slots.0.runtime.clock.wait(duration).await;
    }

    /// Awaits `future` for at most `limit`.
    async fn within<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = self.wait(limit) => None,
        }
    }

    fn reports(&self) -> Vec<String> {
        self.reports.lock().unwrap().clone()
    }
}

#[test]
fn a_call_below_a_construct_in_flight_never_counts() {
    assert_eq!(Counting::of(false, false), Counting::Strict);
    assert_eq!(Counting::of(true, false), Counting::GivesWay);
    assert_eq!(Counting::of(false, true), Counting::Exempt);
    assert_eq!(Counting::of(true, true), Counting::Exempt);
}

#[tokio::test]
async fn a_slot_passes_to_the_first_in_the_queue() {
    let it = fixture(1);
    let first = it.strict().await;
    let mut second = Box::pin(it.strict());
    let mut third = Box::pin(it.strict());
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    drop(first);
    assert!((&mut third).now_or_never().is_none());
    drop(second.await);
    drop(third.await);
}

#[tokio::test]
async fn slow_calls_never_exceed_the_limit() {
    for limit in [1, 2, 16] {
        let it = fixture(limit);
        let held = join_all((0..limit).map(|_| it.strict())).await;
        let mut next = Box::pin(it.strict());
        let waited = it.within(Duration::from_secs(3600), &mut next).await;
        assert!(waited.is_none(), "{limit} slots are held for an hour");
        drop(held);
        drop(next.await);
    }
}

#[tokio::test]
async fn an_exempt_call_runs_beside_any_number_of_others() {
    let it = fixture(1);
    let _held = it.strict().await;
    let exempt = it.slots.acquire(call("child", Counting::Exempt));
    assert!(exempt.now_or_never().is_some());
    assert_eq!(it.slots.state().counting.len(), 1);
}

#[tokio::test]
async fn a_call_that_may_wait_gives_way_to_a_later_one() {
    let it = fixture(1);
    let waiting = it.giving_way().await;
    let later = it.strict().await;
    drop(later);
    drop(waiting);
    assert!(it.slots.state().counting.is_empty());
}

#[tokio::test]
async fn a_strict_call_never_gives_way_beside_one_that_does() {
    let it = fixture(2);
    let _strict = it.strict().await;
    let _waiting = it.giving_way().await;
    let _later = it.strict().await;
    let more = it.within(Duration::from_secs(3600), it.strict()).await;
    assert!(more.is_none(), "two strict calls hold both slots");
}

#[tokio::test]
async fn a_call_that_waits_for_many_later_ones_delays_only_the_first() {
    let it = fixture(1);
    let waiting = it.giving_way().await;
    for _ in 0..100 {
        drop(it.giving_way().await);
    }
    drop(waiting);
    assert_eq!(it.slots.0.runtime.clock.elapsed(), MIN_STALL_GRACE);
}

#[tokio::test]
async fn more_waiting_calls_than_slots_give_way_a_quarter_at_a_time() {
    let it = fixture(16);
    let waiting = join_all((0..24).map(|_| it.giving_way())).await;
    assert_eq!(it.slots.0.runtime.clock.elapsed(), MIN_STALL_GRACE * 3);
    drop(waiting);
}

#[tokio::test]
async fn a_stall_is_reported_once_with_the_calls_that_hold_all_slots() {
    let it = fixture(2);
    let first = it.slots.acquire(call("first", Counting::Strict)).await;
    it.wait(Duration::from_secs(10)).await;
    let _second = it.slots.acquire(call("second", Counting::Strict)).await;
    let mut third = Box::pin(it.strict());
    let wait = it.within(Duration::from_millis(29_500), &mut third);
    assert!(wait.await.is_none());
    assert_eq!(it.reports(), Vec::<String>::new());
    let wait = it.within(Duration::from_secs(300), &mut third);
    assert!(wait.await.is_none());
    let expected = "no provider call has ended for 30 s: 2 at a time may run, 1 is waiting for a slot, held by\n  \
        create of urn:pulumi:dev::project::test:index:Thing::first (40 s)\n  \
        create of urn:pulumi:dev::project::test:index:Thing::second (30 s)\n\
        where a call waits for a later registration, its provider should declare waits_for_registrations (waitsForRegistrations \
        in Node and C), or the operation have the option of that name";
    assert_eq!(it.reports(), [expected]);
    // A call ends; the next stall is another one.
    drop(first);
    let _third = third.await;
    let wait = it.within(Duration::from_secs(60), it.strict());
    assert!(wait.await.is_none());
    assert_eq!(it.reports().len(), 2);
}

#[tokio::test]
async fn slots_that_no_call_waits_for_are_not_reported() {
    let it = fixture(1);
    let _held = it.strict().await;
    let gave_up = it.within(Duration::from_secs(1), it.strict()).await;
    assert!(gave_up.is_none());
    it.wait(Duration::from_secs(3600)).await;
    assert_eq!(it.reports(), Vec::<String>::new());
    assert!(!it.slots.state().watched, "the watch has ended");
}

#[tokio::test]
async fn a_report_lists_ten_calls_at_most() {
    let it = fixture(12);
    let _held = join_all((0..12).map(|_| it.strict())).await;
    assert!(it.within(Duration::from_secs(60), it.strict()).await.is_none());
    let reports = it.reports();
    assert!(reports[0].contains("\n  and 2 more\n"), "{reports:?}");
    assert_eq!(reports[0].matches("create of").count(), MAX_LISTED_CALLS);
}

#[tokio::test]
async fn a_waiter_that_gives_up_leaves_no_slot_behind() {
    let it = fixture(1);
    let first = it.strict().await;
    let second = tokio::spawn({
        let slots = it.slots.clone();
        async move { slots.acquire(call("second", Counting::Strict)).await }
    });
    tokio::task::yield_now().await;
    second.abort();
    assert!(second.await.is_err());
    drop(first);
    drop(it.strict().await);
    assert!(it.slots.state().counting.is_empty());
}

#[tokio::test]
async fn watching_does_not_keep_the_slots() {
    let it = fixture(1);
    let held = it.strict().await;
    {
        let mut waiting = Box::pin(it.strict());
        assert!((&mut waiting).now_or_never().is_none());
    }
    let weak = Arc::downgrade(&it.slots.0);
    drop(held);
    drop(it);
    assert!(weak.upgrade().is_none());
}

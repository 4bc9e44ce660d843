//! Tests of claims.

use futures::FutureExt as _;

use super::*;
use crate::{
    resource::{Alias, ResourceState},
    state::{JournalReplay, Snapshot},
};

const TYPE: &str = "pkg:index:Thing";

fn urn(name: &str) -> Urn {
    Urn::new("dev", "shop", "", TYPE, name)
}

fn goal(name: &str, aliases: Vec<Alias>) -> Goal {
    Goal {
        resource_type: TYPE.into(),
        name: name.to_owned(),
        custom: true,
        aliases,
        ..Goal::default()
    }
}

fn base(names: &[&str]) -> Arc<PriorState> {
    let record = |name: &&str| Arc::new(ResourceState::new(urn(name), TYPE.into(), true));
    let replay = JournalReplay::new(Snapshot {
        resources: names.iter().map(record).collect(),
        ..Snapshot::default()
    });
    Arc::new(PriorState::new(replay.records().cloned().collect()).unwrap())
}

#[test]
fn no_registration_waits_for_one_whose_claim_was_refused() {
    let base = base(&["old"]);
    let claims = Arc::new(Claims::new("dev", "shop", &base, Control::default()));
    let claim = |goal: &Goal| claims.claim(goal, None);
    let former = vec![Alias::Urn(urn("old"))];
    let _first = claim(&goal("first", former.clone())).unwrap();
    // Refused because of the URN itself, and because of an alias.
    assert!(matches!(
        claim(&goal("old", Vec::new())),
        Err(ClaimError::TakenAsAlias { .. })
    ));
    assert!(matches!(
        claim(&goal("second", former)),
        Err(ClaimError::DuplicateAlias { .. })
    ));
    let last = claim(&goal("last", Vec::new())).unwrap();
    let waiting = claims.wait_for(last.urn(), vec![urn("old"), urn("second")]);
    assert_eq!(waiting.now_or_never(), Some(Ok(())));
}

#[test]
fn a_claim_that_is_dropped_before_its_work_is_withdrawn_and_later_it_has_failed() {
    let base = base(&["old"]);
    let claims = Arc::new(Claims::new("dev", "shop", &base, Control::default()));
    let claim = |name: &str| claims.claim(&goal(name, Vec::new()), None).unwrap();
    let wait = |other: &str| claims.wait_for(&urn("last"), vec![urn(other)]).now_or_never();
    let _last = claim("last");
    drop(claim("old"));
    assert!(!claims.is_seen(&urn("old")));
    let mut begun = claim("old");
    assert_eq!(begun.begin().old.unwrap().state.urn, urn("old"));
    assert_eq!(wait("old"), None);
    drop(begun);
    assert_eq!(wait("old"), Some(Err(WaitError::Failed(urn("old")))));
}

#[test]
fn every_wait_ends_with_the_run() {
    let base = base(&["old"]);
    let control = Control::default();
    let claims = Arc::new(Claims::new("dev", "shop", &base, control.clone()));
    let claim = |name: &str| claims.claim(&goal(name, Vec::new()), None).unwrap();
    let (_first, last) = (claim("first"), claim("last"));
    let records = base.records().to_vec();
    let reserving = || claims.reserve(last.urn(), || records.clone(), |_| false);
    let _reservation = reserving().now_or_never().unwrap().unwrap();
    // Once to request an end, and once to terminate.
    for ended in [false, false, true] {
        let wait = claims.wait_for(last.urn(), vec![urn("first")]);
        assert_eq!(wait.now_or_never(), ended.then_some(Err(WaitError::RunEnded)));
        let begin = claims.begin(last.urn(), &records[0], false);
        assert_eq!(begin.now_or_never().is_some_and(|begun| begun.is_err()), ended);
        assert_eq!(
            reserving().now_or_never().is_some_and(|made| made.is_err()),
            ended
        );
        control.cancel();
    }
}

#[test]
fn records_are_released_with_their_reservation() {
    let base = base(&["a", "b"]);
    let claims = Claims::new("dev", "shop", &base, Control::default());
    let records = base.records().to_vec();
    let begin = |name: &str, record| claims.begin(&urn(name), record, false).now_or_never();
    let root = urn("root");
    let reserving = claims.reserve(&root, || records.clone(), |_| false);
    let mut reservation = reserving.now_or_never().unwrap().unwrap();
    assert!(begin("a", &records[0]).is_none());
    reservation.release(&records[0], Some(vec!["size".to_owned()]));
    assert_eq!(
        begin("a", &records[0]).unwrap().unwrap(),
        Some(vec!["size".to_owned()])
    );
    assert!(begin("b", &records[1]).is_none());
    drop(reservation);
    assert_eq!(begin("b", &records[1]).unwrap().unwrap(), None);
}

#[test]
fn a_reservation_waits_for_registrations_that_have_begun_unless_they_wait_for_it() {
    let base = base(&["a", "b"]);
    let claims = Arc::new(Claims::new("dev", "shop", &base, Control::default()));
    let claim = |name: &str| claims.claim(&goal(name, Vec::new()), None).unwrap();
    let records = base.records().to_vec();
    let root = claim("root");
    let reserve = || claims.reserve(root.urn(), || records.clone(), |_| false).boxed();
    let positions = |reservation: &Reservation<'_>| {
        let records = reservation.records().iter();
        records.map(|record| record.state.urn.clone()).collect::<Vec<_>>()
    };
    let (mut a, mut b) = (claim("a"), claim("b"));
    assert!(a.begin().old.is_some() && b.begin().old.is_some());
    // Neither has begun: both registrations wait for the reservation.
    assert_eq!(
        positions(&reserve().now_or_never().unwrap().unwrap()),
        [urn("a"), urn("b")]
    );
    claims
        .begin(a.urn(), &records[0], false)
        .now_or_never()
        .unwrap()
        .unwrap();
    let mut waiting = reserve();
    assert!(waiting.as_mut().now_or_never().is_none());
    // One that fails has left its record as it was, and the other one has dealt with its own.
    claims.finish(a.urn(), false);
    claims
        .begin(b.urn(), &records[1], false)
        .now_or_never()
        .unwrap()
        .unwrap();
    assert!(waiting.as_mut().now_or_never().is_none());
    claims.finish(b.urn(), true);
    assert_eq!(positions(&waiting.now_or_never().unwrap().unwrap()), [urn("a")]);
    assert!(claims.has_failed(&records[0]) && !claims.has_failed(&records[1]));
}

#[test]
fn a_reservation_does_not_wait_for_a_registration_whose_calls_may_wait_for_later_ones() {
    let base = base(&["a"]);
    let claims = Arc::new(Claims::new("dev", "shop", &base, Control::default()));
    let records = base.records().to_vec();
    let mut a = claims.claim(&goal("a", Vec::new()), None).unwrap();
    assert!(a.begin().old.is_some());
    let root = urn("root");
    for (may_wait, reserves) in [(false, false), (true, true)] {
        claims
            .begin(a.urn(), &records[0], may_wait)
            .now_or_never()
            .unwrap()
            .unwrap();
        let reserving = claims.reserve(&root, || records.clone(), |_| false);
        assert_eq!(reserving.now_or_never().is_some(), reserves);
    }
}

#[test]
fn a_reservation_does_not_wait_for_a_registration_that_waits_for_it() {
    let base = base(&["a"]);
    let claims = Arc::new(Claims::new("dev", "shop", &base, Control::default()));
    let claim = |name: &str| claims.claim(&goal(name, Vec::new()), None).unwrap();
    let records = base.records().to_vec();
    let (root, mut a) = (claim("root"), claim("a"));
    assert!(a.begin().old.is_some());
    claims
        .begin(a.urn(), &records[0], false)
        .now_or_never()
        .unwrap()
        .unwrap();
    let mut waiting = claims.wait_for(a.urn(), vec![root.urn().clone()]).boxed();
    assert!(waiting.as_mut().now_or_never().is_none());
    let reserving = claims.reserve(root.urn(), || records.clone(), |_| false);
    let reservation = reserving.now_or_never().unwrap().unwrap();
    assert!(reservation.records().is_empty());
}

#[test]
fn an_old_copy_of_this_run_is_reserved_while_it_exists() {
    let base = base(&["a"]);
    let claims = Arc::new(Claims::new("dev", "shop", &base, Control::default()));
    let mut a = claims.claim(&goal("a", Vec::new()), None).unwrap();
    let mut copy = a.begin().old.unwrap();
    Arc::make_mut(&mut copy.state).delete = true;
    claims.finish(a.urn(), true);
    let root = urn("root");
    let reserve = |exists: bool| {
        let reserving = claims.reserve(&root, || vec![copy.clone()], |_| exists);
        reserving.now_or_never().unwrap().unwrap().records().len()
    };
    assert_eq!((reserve(true), reserve(false)), (1, 0));
    // What a kept record needs stays.
    assert!(claims.adopt_copy(copy.id));
    assert_eq!(reserve(true), 0);
}

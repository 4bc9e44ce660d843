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
    let _reservation = claims.reserve(&records).now_or_never().unwrap().unwrap();
    // Once to request an end, and once to terminate.
    for ended in [false, false, true] {
        let wait = claims.wait_for(last.urn(), vec![urn("first")]);
        assert_eq!(wait.now_or_never(), ended.then_some(Err(WaitError::RunEnded)));
        let begin = claims.begin(last.urn(), &records[0]);
        assert_eq!(begin.now_or_never().is_some_and(|begun| begun.is_err()), ended);
        let reserve = claims.reserve(&records);
        assert_eq!(reserve.now_or_never().is_some_and(|begun| begun.is_err()), ended);
        control.cancel();
    }
}

#[test]
fn records_are_released_with_their_reservation() {
    let base = base(&["a", "b"]);
    let claims = Claims::new("dev", "shop", &base, Control::default());
    let records = base.records().to_vec();
    let begin = |name: &str, record| claims.begin(&urn(name), record).now_or_never();
    let mut reservation = claims.reserve(&records).now_or_never().unwrap().unwrap();
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

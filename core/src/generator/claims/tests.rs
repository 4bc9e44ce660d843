//! Tests of claims.

use futures::FutureExt as _;

use super::*;
use crate::{
    resource::{Alias, ResourceState},
    state::{Ledger, Snapshot},
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

fn base(names: &[&str]) -> Arc<Base> {
    let record = |name: &&str| Arc::new(ResourceState::new(urn(name), TYPE.into(), true));
    let ledger = Ledger::new(Snapshot {
        resources: names.iter().map(record).collect(),
        ..Snapshot::default()
    });
    Arc::new(Base::new(ledger.records().cloned().collect()).unwrap())
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

//! Waiting for the registrations of others.

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;

use super::{Claims, Progress};
use crate::urn::Urn;

/// How waiting for other registrations ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// All have records.
    Ready,
    /// This one failed.
    Failed(Urn),
    /// This one was given back, and so was never there.
    Withdrawn(Urn),
    /// They wait for each other.
    Cycle(Urn),
}

impl Claims {
    /// Waits until every resource of this run among `urns` has a record. `urn` is the one who waits.
    pub(crate) async fn wait_for(&self, urn: &Urn, urns: Vec<Urn>) -> Awaited {
        if urns.is_empty() {
            return Awaited::Ready;
        }
        for target in urns {
            if target == *urn {
                continue;
            }
            let (turn, is_forward) = {
                let mut taken = self.taken();
                let Some(progress) = taken.registrations.get(&target) else {
                    continue;
                };
                if progress.failed {
                    return Awaited::Failed(target);
                }
                if progress.done {
                    continue;
                }
                let arrival = taken.registrations.get(urn).map(|own| own.arrival);
                let is_forward = arrival.is_none_or(|own| own < progress.arrival);
                // Along waits for earlier ones alone, which nearly all are, no circle can close.
                let may_close = is_forward || taken.forward_waits > 0;
                if may_close && leads_to(&taken.registrations, &target, urn) {
                    return Awaited::Cycle(target);
                }
                taken.forward_waits += usize::from(is_forward);
                if let Some(own) = taken.registrations.get_mut(urn) {
                    own.waits_for = Some(target.clone());
                }
                let Some(progress) = taken.registrations.get_mut(&target) else {
                    continue;
                };
                (progress.turn(), is_forward)
            };
            drop(turn.await);
            let mut taken = self.taken();
            taken.forward_waits -= usize::from(is_forward);
            if let Some(own) = taken.registrations.get_mut(urn) {
                own.waits_for = None;
            }
            match taken.registrations.get(&target) {
                None => return Awaited::Withdrawn(target),
                Some(progress) if progress.failed => return Awaited::Failed(target),
                Some(_) => {}
            }
        }
        Awaited::Ready
    }

    /// Waits for the registrations of `urns` and of all that is below the components among them; then returns the custom
    /// resources that these stand for: a component stands for what is below it, as far as the first custom resources.
    pub(crate) async fn settled(&self, urns: &[Urn]) -> Vec<Urn> {
        loop {
            let (customs, turns) = self.expand(urns);
            if turns.is_empty() {
                return customs;
            }
            for turn in turns {
                drop(turn.await);
            }
        }
    }

    fn expand(&self, urns: &[Urn]) -> (Vec<Urn>, Vec<oneshot::Receiver<()>>) {
        let mut taken = self.taken();
        let (mut customs, mut turns) = (Vec::new(), Vec::new());
        let mut pending = urns.to_vec();
        let mut seen = FxHashSet::default();
        while let Some(urn) = pending.pop() {
            let Some(progress) = taken.registrations.get_mut(&urn) else {
                continue;
            };
            if !seen.insert(urn.clone()) {
                continue;
            }
            if !progress.done {
                turns.push(progress.turn());
            }
            if progress.custom {
                customs.push(urn);
            } else {
                pending.extend(progress.children.iter().cloned());
            }
        }
        (customs, turns)
    }
}

/// Tells whether waiting for `from` means, in the end, waiting for `to`.
fn leads_to(registrations: &FxHashMap<Urn, Progress>, from: &Urn, to: &Urn) -> bool {
    let mut pending = vec![from];
    let mut visited = FxHashSet::default();
    while let Some(urn) = pending.pop() {
        if urn == to {
            return true;
        }
        if visited.insert(urn) {
            pending.extend(
                registrations
                    .get(urn)
                    .into_iter()
                    .flat_map(|progress| &progress.waits_for),
            );
        }
    }
    false
}

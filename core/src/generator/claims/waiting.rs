//! Waits for other registrations. Every wait ends with the other registration or with the run.

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;

use super::{Claims, Registration};
use crate::{generator::RunEnded, urn::Urn};

/// Why a wait for other registrations ended before all of them had records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaitError {
    /// This one failed.
    Failed(Urn),
    /// The claim of this one was withdrawn.
    Withdrawn(Urn),
    /// This one waits for the waiting registration: a cycle.
    Cycle(Urn),
    /// The run has ended.
    RunEnded,
}

/// The wait of a registration for another one, as the search for cycles sees it. It ends when the value is dropped, also
/// with the future of the waiting registration.
struct Waiting<'a> {
    claims: &'a Claims,
    urn: &'a Urn,
    is_forward: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.claims.state();
        state.forward_waits -= usize::from(self.is_forward);
        if let Some(own) = state.registrations.get_mut(self.urn) {
            own.waits_for = None;
        }
    }
}

impl Claims {
    /// Waits, for the registration of `urn`, until every resource of this run among `others` has a record.
    pub(crate) async fn wait_for(&self, urn: &Urn, others: Vec<Urn>) -> Result<(), WaitError> {
        for other in others {
            if other == *urn {
                continue;
            }
            let Some((turn, is_forward)) = self.enter_wait(urn, &other)? else {
                continue;
            };
            let waiting = Waiting {
                claims: self,
                urn,
                is_forward,
            };
            let ended = self.turn(turn).await;
            drop(waiting);
            if ended.is_err() {
                return Err(WaitError::RunEnded);
            }
            let state = self.state();
            match state.registrations.get(&other) {
                None => return Err(WaitError::Withdrawn(other)),
                Some(registration) if registration.failed => return Err(WaitError::Failed(other)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Starts the wait of `urn` for `other`; `None` when it has ended already. The flag is true when `other` arrived
    /// later than `urn`.
    fn enter_wait(&self, urn: &Urn, other: &Urn) -> Result<Option<(oneshot::Receiver<()>, bool)>, WaitError> {
        let mut state = self.state();
        let Some(registration) = state.registrations.get(other) else {
            return Ok(None);
        };
        if registration.failed {
            return Err(WaitError::Failed(other.clone()));
        }
        if registration.end.is_done {
            return Ok(None);
        }
        let is_forward = state.arrival(urn).is_none_or(|own| own < registration.arrival);
        // Waits for earlier registrations, which are nearly all, cannot close a cycle.
        let may_close = is_forward || state.forward_waits > 0;
        if may_close && leads_to(&state.registrations, other, urn) {
            return Err(WaitError::Cycle(other.clone()));
        }
        state.forward_waits += usize::from(is_forward);
        if let Some(own) = state.registrations.get_mut(urn) {
            own.waits_for = Some(other.clone());
        }
        let registration = state.registrations.get_mut(other);
        Ok(registration.map(|registration| (registration.end.turn(), is_forward)))
    }

    /// Waits for the end of a registration or reservation, or for that of the run.
    pub(super) async fn turn(&self, turn: oneshot::Receiver<()>) -> Result<(), RunEnded> {
        tokio::select! {
            biased;
            _ = turn => Ok(()),
            () = self.control.terminated() => Err(RunEnded),
        }
    }

    /// Waits for the registrations of `urns` and of everything below the components among them; returns the custom
    /// resources that these represent. A component represents the nearest custom resources below it.
    ///
    /// The caller ends the wait with the run.
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
        let mut state = self.state();
        let (mut customs, mut turns) = (Vec::new(), Vec::new());
        let mut pending = urns.to_vec();
        let mut seen = FxHashSet::default();
        while let Some(urn) = pending.pop() {
            let Some(registration) = state.registrations.get_mut(&urn) else {
                continue;
            };
            if !seen.insert(urn.clone()) {
                continue;
            }
            if !registration.end.is_done {
                turns.push(registration.end.turn());
            }
            if registration.custom {
                customs.push(urn);
            } else {
                pending.extend(registration.children.iter().cloned());
            }
        }
        (customs, turns)
    }
}

/// Returns whether a wait for `from` is, transitively, a wait for `to`. A registration waits for one other at a time.
fn leads_to(registrations: &FxHashMap<Urn, Registration>, from: &Urn, to: &Urn) -> bool {
    let mut visited = FxHashSet::default();
    let mut next = Some(from);
    while let Some(urn) = next {
        if urn == to {
            return true;
        }
        if !visited.insert(urn) {
            return false;
        }
        next = registrations.get(urn).and_then(|other| other.waits_for.as_ref());
    }
    false
}

//! Cycles through kept records: a resource must not depend on a kept record that depends on the resource.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    generator::{DependencyOrder, RunEnded, WaitError, context::Context, targets::former_urns::record_of},
    state::StateRef,
    urn::Urn,
};

/// Refuses a resource that would depend on a kept record that depends on the resource: no order of the snapshot could
/// satisfy both.
pub(in crate::generator) async fn refuse_cycles(
    context: &Context,
    urn: &Urn,
    old: Option<&StateRef>,
    needs: &[Urn],
) -> Result<(), RunEnded> {
    let claims = &context.claims;
    let former = old.map(|old| &old.state.urn).filter(|former| *former != urn);
    if !(claims.is_late(urn) || former.is_some_and(|former| claims.is_late(former))) {
        return Ok(());
    }
    for need in needs {
        let is_cycle = loop {
            match find_cycle(context, need, urn) {
                Cycle::None => break false,
                Cycle::Closed => break true,
                Cycle::DependsOn(other) => match claims.wait_for(urn, vec![other]).await {
                    Err(WaitError::Cycle(_)) => break true,
                    Err(WaitError::RunEnded) => return Err(RunEnded),
                    Ok(()) | Err(WaitError::Failed(_) | WaitError::Withdrawn(_)) => {}
                },
            }
        };
        if is_cycle {
            let text = format!(
                "resource {urn} depends on {need}, which stays as it was recorded and so needs {urn}"
            );
            return Err(context.run.bail(urn, text));
        }
    }
    Ok(())
}

/// Whether one resource depends on another, at any depth.
enum Cycle {
    None,
    Closed,
    /// It depends on this registration, which has not ended.
    DependsOn(Urn),
}

/// A search through dependencies.
#[derive(Default)]
struct Search {
    pending: Vec<Urn>,
    seen: FxHashSet<Urn>,
    /// Registrations that have not ended, with all their possible dependencies.
    unended: Vec<(Urn, Arc<[Urn]>)>,
}

/// Determines whether `from` depends on `to` once everything that arrived before `to` has ended. A wait is required
/// only where it makes a difference: the provider of the other registration may itself wait for this one.
fn find_cycle(context: &Context, from: &Urn, to: &Urn) -> Cycle {
    let mut search = Search {
        pending: vec![from.clone()],
        ..Search::default()
    };
    if search.reaches(context, to) {
        return Cycle::Closed;
    }
    while let Some((urn, needs)) = search.unended.pop() {
        search.pending.extend(needs.iter().cloned());
        if search.reaches(context, to) {
            return Cycle::DependsOn(urn);
        }
    }
    Cycle::None
}

impl Search {
    /// Follows the dependencies of ended registrations; collects the others.
    fn reaches(&mut self, context: &Context, to: &Urn) -> bool {
        let Context { base, claims, .. } = context;
        while let Some(urn) = self.pending.pop() {
            let urn = claims.current_urn(&urn);
            if urn == *to {
                return true;
            }
            if !self.seen.insert(urn.clone()) {
                continue;
            }
            let recorded = |urn: &Urn| base.live(urn).map(|record| Arc::clone(&record.state));
            let state = match claims.dependency_order(&urn, to) {
                DependencyOrder::Pending(needs) => {
                    self.unended.push((urn, needs));
                    continue;
                }
                DependencyOrder::Earlier => record_of(context, &urn).or_else(|| recorded(&urn)),
                DependencyOrder::Later(former) => recorded(&former),
            };
            if let Some(state) = state {
                state.for_each_dependency(|need| self.pending.push(need.clone()));
                self.pending.extend(state.provider_urn());
            }
        }
        false
    }
}

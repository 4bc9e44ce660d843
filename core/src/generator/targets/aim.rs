//! Whether a registration is worked on; and that nothing comes to depend on what is left out and is not there.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::Targeting;
use crate::{
    error::{Error, ErrorKind},
    generator::{
        Generator, Purpose, Unanswered,
        claims::{Awaited, Standing},
        register::{Decision, dependencies_of},
    },
    message::{Message, Text},
    resource::Goal,
    state::StateRef,
    urn::Urn,
};

impl Generator {
    /// Decides over a registration all of whose dependencies have been decided: what it comes to when it is left out,
    /// `None` when it is worked on. `recreating` says that a delete-before-replace has deleted its record.
    pub(in crate::generator) async fn aim(
        &self,
        targeting: &Targeting,
        urn: &Urn,
        old: Option<&StateRef>,
        goal: &Goal,
        recreating: Option<&[String]>,
    ) -> Result<Option<Decision>, Unanswered> {
        let needs = dependencies_of(goal);
        let worked_on = self.is_worked_on(targeting, urn, goal, &needs);
        if !worked_on && recreating.is_none() {
            self.plan_left_out(urn, goal, old.map(|old| &*old.state));
            return match old {
                Some(old) => self.leave_out(urn, old, goal).await.map(Some),
                None => self
                    .skip_create(urn, goal, None)
                    .await
                    .map(|outcome| Some(Decision::Answer(outcome))),
            };
        }
        self.refuse_what_is_not_there(targeting, urn, &needs)?;
        // What is only read keeps its needs; for the rest a refresh sees to this itself.
        if self.options.purpose != Purpose::Refresh {
            self.refuse_circles(urn, old, &needs).await?;
        }
        match (old, recreating) {
            // It was deleted for something that is worked on, so that it has to be made again, as it was.
            (Some(old), Some(keys)) if !worked_on => self.make_again(urn, old, goal, keys).await.map(Some),
            _ => Ok(None),
        }
    }

    /// The same for what is only read, which is never left out.
    pub(in crate::generator) async fn aim_read(
        &self,
        targeting: &Targeting,
        urn: &Urn,
        goal: &Goal,
    ) -> Result<(), Unanswered> {
        let needs = dependencies_of(goal);
        self.is_worked_on(targeting, urn, goal, &needs);
        self.refuse_what_is_not_there(targeting, urn, &needs)?;
        self.refuse_circles(urn, None, &needs).await
    }

    /// Tells whether targets or excludes leave a registration out.
    pub(in crate::generator) fn is_left_out(&self, urn: &Urn, goal: &Goal) -> bool {
        let targeting = self.options.targeting.as_deref();
        targeting.is_some_and(|targeting| !self.is_worked_on(targeting, urn, goal, &dependencies_of(goal)))
    }

    fn is_worked_on(&self, targeting: &Targeting, urn: &Urn, goal: &Goal, needs: &[Urn]) -> bool {
        let followed = targeting.follows_dependents().then_some(needs);
        let named = self.claims.choose(urn, targeting.names(urn), followed);
        goal.resource_type.is_provider() || urn.is_root_stack() || targeting.includes(named)
    }

    /// Refuses what needs something that was left out and does not exist. A preview goes on, and fails in the end.
    fn refuse_what_is_not_there(
        &self,
        targeting: &Targeting,
        urn: &Urn,
        needs: &[Urn],
    ) -> Result<(), Unanswered> {
        // Where the program only says how things are reached, what needs something that is not there is skipped as well.
        if self.options.purpose != Purpose::Update || !self.claims.has_skipped() {
            return Ok(());
        }
        let preview = self.executor.is_preview();
        let mut refused = None;
        for need in needs.iter().filter(|need| self.claims.is_skipped(need)) {
            let text = if targeting.targets.is_empty() {
                Text::from(format!(
                    "Resource '{urn}' depends on '{need}', which does not exist and is excluded."
                ))
            } else {
                Text::from(Message::DependencyNotTargeted {
                    urn: urn.as_str(),
                    dependency: need.as_str(),
                })
            };
            if preview {
                self.fault(Some(urn), text);
            } else {
                let text = self.tell_fault(Some(urn), text);
                let text = text.map(|_| "untargeted create".to_owned(), str::to_owned);
                refused.get_or_insert(Error::new(ErrorKind::Failed, text).with_urn(urn.clone()));
            }
        }
        match refused {
            Some(error) => Err(self.end_for(error)),
            None => Ok(()),
        }
    }

    /// Tells whether this run has to look for circles, because records may stay as they are.
    pub(in crate::generator) fn may_find_circles(&self) -> bool {
        self.options.targeting.is_some() || self.options.purpose == Purpose::Refresh
    }

    /// Refuses what would come to need something whose record stays as it is and needs it: no order could hold both.
    pub(in crate::generator) async fn refuse_circles(
        &self,
        urn: &Urn,
        old: Option<&StateRef>,
        needs: &[Urn],
    ) -> Result<(), Unanswered> {
        let former = old.map(|old| &old.state.urn).filter(|former| *former != urn);
        if !(self.claims.is_late(urn) || former.is_some_and(|former| self.claims.is_late(former))) {
            return Ok(());
        }
        for need in needs {
            let circle = loop {
                match self.way_back(need, urn) {
                    WayBack::None => break false,
                    WayBack::Some => break true,
                    WayBack::Open(other) => {
                        if let Awaited::Cycle(_) = self.claims.wait_for(urn, vec![other]).await {
                            break true;
                        }
                    }
                }
            };
            if circle {
                let text = format!(
                    "resource {urn} depends on {need}, which stays as it was recorded and so needs {urn}"
                );
                return Err(self.bail(Some(urn), text));
            }
        }
        Ok(())
    }

    /// Finds out whether `from` needs `to`, directly or not, as the records stand once all that arrived before `to` has
    /// ended. Only on what makes a difference must anybody wait: its provider may be waiting for who waits.
    fn way_back(&self, from: &Urn, to: &Urn) -> WayBack {
        let mut search = Search {
            pending: vec![from.clone()],
            ..Search::default()
        };
        if self.reaches(&mut search, to) {
            return WayBack::Some;
        }
        while let Some((urn, needs)) = search.ahead.pop() {
            search.pending.extend(needs.iter().cloned());
            if self.reaches(&mut search, to) {
                return WayBack::Open(urn);
            }
        }
        WayBack::None
    }

    /// Follows what is certain; sets aside what has not ended.
    fn reaches(&self, search: &mut Search, to: &Urn) -> bool {
        while let Some(urn) = search.pending.pop() {
            let urn = self.claims.current_urn(&urn);
            if urn == *to {
                return true;
            }
            if !search.seen.insert(urn.clone()) {
                continue;
            }
            let recorded = |urn: &Urn| self.base.live(urn).map(|record| Arc::clone(&record.state));
            let state = match self.claims.standing(&urn, to) {
                Standing::Ahead(needs) => {
                    search.ahead.push((urn, needs));
                    continue;
                }
                Standing::Decided => self.record_of(&urn).or_else(|| recorded(&urn)),
                Standing::Recorded(former) => recorded(&former),
            };
            if let Some(state) = state {
                state.for_each_dependency(|need| search.pending.push(need.clone()));
                search.pending.extend(state.provider_urn());
            }
        }
        false
    }
}

/// How far the way from one resource to another has been followed.
#[derive(Default)]
struct Search {
    pending: Vec<Urn>,
    seen: FxHashSet<Urn>,
    /// What has not ended, with all that it may turn out to need.
    ahead: Vec<(Urn, Arc<[Urn]>)>,
}

/// Whether one resource needs another, directly or not.
enum WayBack {
    None,
    Some,
    /// It depends on what becomes of this one.
    Open(Urn),
}

//! Which of the condemned records go, and which stay: for they were left out, or something that was needs them.

use std::sync::PoisonError;

use rustc_hash::FxHashSet;

use super::{Targeting, leave_out::untargeted};
use crate::{
    error::{Error, ErrorKind},
    generator::{Generator, deletion::Condemned, destroy::Removal},
    message::Message,
    state::{EdgeKind, StateId},
    step::StepOp,
    urn::Urn,
};

impl Generator {
    /// Returns what is to be deleted of the base and of what the program has registered, after what is left of the base
    /// has been taken over as it is. `None` when something would have to go that nobody named, or the run ends.
    pub(in crate::generator) async fn spare(
        &self,
        condemned: Vec<Condemned>,
        removals: Vec<Removal>,
    ) -> Option<(Vec<Condemned>, Vec<Removal>)> {
        let targeting = self.options.targeting.as_deref();
        match targeting.filter(|targeting| targeting.is_limited()) {
            None => Some((condemned, removals)),
            // Rare, and much to hold.
            Some(targeting) => Box::pin(self.spare_others(targeting, condemned, removals)).await,
        }
    }

    async fn spare_others(
        &self,
        targeting: &Targeting,
        condemned: Vec<Condemned>,
        removals: Vec<Removal>,
    ) -> Option<(Vec<Condemned>, Vec<Removal>)> {
        let named = self.named_records(targeting);
        let mut doomed = Doomed::new(self, targeting, &named, condemned, removals);
        doomed.spare_what_is_needed(self);
        if !targeting.targets.is_empty() && !targeting.target_dependents {
            let left = doomed.condemned.iter().filter(|(position, record, op)| {
                // Of what a former run has deleted only a reminder goes. What this one has was the program's to make.
                let is_reminder = *op == StepOp::RemovePendingReplace && record.state.pending_replacement;
                !named[*position] && !is_reminder
            });
            let left = left.map(|(_, record, _)| &record.state.urn);
            let registered = doomed.removals.iter().map(|removal| &removal.record.state.urn);
            let unnamed = left.chain(registered.filter(|urn| !targeting.names(urn)));
            self.refuse_unnamed(unnamed)?;
        }
        let forgone = self.claims.forgone();
        for position in self.left_as_they_are(&doomed.goes) {
            let record = &self.base.records()[position];
            let record = forgone.get(&record.id).unwrap_or(record);
            self.take_over_provider(position).await.ok()?;
            if let Some(mut step) = untargeted(record, &record.state) {
                self.plan_steps(std::slice::from_ref(&step)).ok()?;
                self.executor.run_step(&mut step).await.ok()?;
            }
        }
        Some((doomed.condemned, doomed.removals))
    }

    /// Refuses to delete what nobody named; `None` when the run ends because of it.
    fn refuse_unnamed<'a>(&self, unnamed: impl Iterator<Item = &'a Urn>) -> Option<()> {
        let preview = self.executor.is_preview();
        let mut refused = None;
        for urn in unnamed {
            let text = Message::DeletionNotTargeted { urn: urn.as_str() };
            if preview {
                // It goes on, so that everything is seen that would have to be named; it fails in the end.
                self.fault(Some(urn), text);
            } else {
                let text = self.tell_fault(Some(urn), text);
                let text = text.map(|_| "delete untargeted resource".to_owned(), str::to_owned);
                refused.get_or_insert(Error::new(ErrorKind::Failed, text).with_urn(urn.clone()));
            }
        }
        match refused {
            Some(error) => {
                self.end_for(error);
                None
            }
            None => Some(()),
        }
    }

    /// Tells of each record of the base whether the user named it, by its own URN or by that which it has now.
    fn named_records(&self, targeting: &Targeting) -> Vec<bool> {
        let named = self.base.records().iter().map(|record| {
            let urn = &record.state.urn;
            targeting.names(urn) || targeting.names(&self.claims.current_urn(urn))
        });
        named.collect()
    }

    /// Tells of each record of the base whether targets and excludes let it be deleted.
    fn deletable(&self, targeting: &Targeting, named: &[bool]) -> Vec<bool> {
        let graph = self.base.graph();
        let roots: Vec<usize> = (0..named.len()).filter(|position| named[*position]).collect();
        let by_targets = !targeting.targets.is_empty();
        let mut reached = roots.clone();
        if by_targets || targeting.exclude_dependents {
            reached.extend(graph.transitive_dependents(&roots, true));
        }
        if !by_targets {
            reached.extend(graph.transitive_dependencies(&reached));
        }
        let mut deletable = vec![!by_targets; named.len()];
        for position in reached {
            deletable[position] = by_targets;
        }
        deletable
    }

    /// Returns the positions of the records that this run does not deal with, where those that go are told. Old copies,
    /// and what was deleted for a replacement, are no resources of their own; views belong to others.
    fn left_as_they_are(&self, goes: &[bool]) -> Vec<usize> {
        let records = self.base.records().iter().zip(goes).enumerate();
        let left = records.filter(|(_, (record, goes))| {
            let state = &record.state;
            !**goes && !state.delete && state.view_of.is_none() && !self.claims.is_operated(record.id)
        });
        left.map(|(position, _)| position).collect()
    }

    /// Tells of each record of the base whether the records at `users`, as they are, need it, directly or not.
    fn needed_by(&self, users: &[usize]) -> Vec<bool> {
        let records = self.base.records();
        let replaced = self.replaced_records();
        let mut needed = vec![false; records.len()];
        let mut pending = users.to_vec();
        while let Some(user) = pending.pop() {
            for (need, kind) in self.base.graph().dependencies(user) {
                let record = &records[need];
                let is_copy = record.state.delete || replaced.contains(&record.id);
                let is_meant = if kind == EdgeKind::Provider {
                    // Providers are referred to by their ids, too: an old copy is another one.
                    let reference = records[user].state.provider.rsplit_once("::");
                    reference.is_some_and(|(_, id)| id == record.state.id.as_str())
                } else {
                    !is_copy || !self.is_live(&record.state.urn)
                };
                if is_meant && !std::mem::replace(&mut needed[need], true) {
                    pending.push(need);
                }
            }
        }
        needed
    }

    /// Tells whether a URN has a record besides its old copies.
    pub(in crate::generator) fn is_live(&self, urn: &Urn) -> bool {
        let urn = self.claims.current_urn(urn);
        self.base.live(&urn).is_some() || (self.claims.is_seen(&urn) && !self.claims.is_skipped(&urn))
    }

    fn replaced_records(&self) -> FxHashSet<StateId> {
        let replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.iter().map(|record| record.id).collect()
    }
}

/// What is to be deleted, as far as it has been found out.
struct Doomed {
    condemned: Vec<Condemned>,
    removals: Vec<Removal>,
    /// Of each record of the base, whether it goes: itself, or what the program has made of it.
    goes: Vec<bool>,
    /// What the program has registered and that stays.
    staying: Vec<Removal>,
}

impl Doomed {
    /// Takes out what targets and excludes do not let go.
    fn new(
        generator: &Generator,
        targeting: &Targeting,
        named: &[bool],
        mut condemned: Vec<Condemned>,
        removals: Vec<Removal>,
    ) -> Self {
        let deletable = generator.deletable(targeting, named);
        condemned.retain(|(position, ..)| deletable[*position]);
        let (removals, staying) =
            removals
                .into_iter()
                .partition(|removal| match position_of(generator, removal) {
                    Some(position) => deletable[position],
                    None => targeting.includes(targeting.names(&removal.record.state.urn)),
                });
        let mut doomed = Self {
            condemned,
            removals,
            goes: vec![false; named.len()],
            staying,
        };
        let registered = doomed
            .removals
            .iter()
            .filter_map(|removal| position_of(generator, removal));
        let positions: Vec<_> = doomed
            .condemned
            .iter()
            .map(|(position, ..)| *position)
            .chain(registered)
            .collect();
        for position in positions {
            doomed.goes[position] = true;
        }
        doomed
    }

    /// Takes out what is needed by what stays, as it was recorded or as the program has it now.
    fn spare_what_is_needed(&mut self, generator: &Generator) {
        loop {
            let mut users = generator.left_as_they_are(&self.goes);
            users.extend(
                generator
                    .claims
                    .left_out()
                    .into_iter()
                    .filter(|position| !self.goes[*position]),
            );
            users.extend(
                self.staying
                    .iter()
                    .filter_map(|removal| position_of(generator, removal)),
            );
            let needed = generator.needed_by(&users);
            let goes = &mut self.goes;
            self.condemned.retain(|(position, ..)| !needed[*position]);
            for (goes, needed) in goes.iter_mut().zip(&needed) {
                *goes &= !needed;
            }
            let mut wanted = FxHashSet::default();
            for removal in &self.staying {
                removal.record.state.for_each_dependency(|urn| {
                    wanted.insert(urn.clone());
                });
                wanted.extend(removal.record.state.provider_urn());
            }
            let (stay, go) = std::mem::take(&mut self.removals)
                .into_iter()
                .partition(|removal| {
                    position_of(generator, removal).is_some_and(|position| needed[position])
                        || wanted.contains(&removal.record.state.urn)
                });
            let more: Vec<Removal> = stay;
            self.removals = go;
            if more.is_empty() {
                return;
            }
            for position in more.iter().filter_map(|removal| position_of(generator, removal)) {
                self.goes[position] = false;
            }
            self.staying.extend(more);
        }
    }
}

fn position_of(generator: &Generator, removal: &Removal) -> Option<usize> {
    generator.base.position(&removal.old.as_ref()?.state.urn)
}

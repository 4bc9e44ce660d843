//! Steps on views: what becomes of the views of a resource when a step on that has run. They do no work of their own.

mod book;
mod published;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    diagnostic::Diagnostic,
    executor::{Executor, Step, StepFailure},
    provider::{PublishedView, Views},
    resource::ResourceState,
    state::{StateId, StateRef},
    step::StepOp,
    urn::Urn,
};

pub(crate) use book::ViewBook;
use book::adopted;

/// The views of one resource while steps on them run.
struct Following<'a> {
    /// The step of the resource itself.
    step: &'a Step,
    owner: Urn,
    /// The views that there are, each after what it lies in.
    views: Vec<StateRef>,
    /// Views that have been made anew in place of a record, whose old half is still to be told of.
    replaced: FxHashSet<Urn>,
}

impl Executor {
    /// Takes over which records are views, and of what.
    pub(crate) fn note_views(&self, records: &[StateRef]) {
        self.views.fill(records);
    }

    /// Opens the desk at which the step's provider publishes what it does to views.
    pub(super) fn open_views(&self, step: &mut Step) {
        let Some(subject) = step.subject() else { return };
        if !subject.custom || subject.is_provider() || step.provider.is_none() {
            return;
        }
        let recorded = match step.op {
            StepOp::Same | StepOp::Replace | StepOp::RemovePendingReplace => return,
            // What is made anew has no views yet, whatever there is of its old copy.
            StepOp::Create
            | StepOp::CreateReplacement
            | StepOp::Import
            | StepOp::ImportReplacement
            | StepOp::ReadReplacement => Vec::new(),
            StepOp::Update
            | StepOp::Delete
            | StepOp::DeleteReplaced
            | StepOp::Discard
            | StepOp::DiscardReplaced
            | StepOp::Read
            | StepOp::Refresh => step
                .old
                .as_ref()
                .map(|old| self.views.of(old.id))
                .unwrap_or_default(),
        };
        let owner = recorded
            .first()
            .and_then(|view| view.state.view_of.clone())
            .unwrap_or_else(|| step.urn.clone());
        let recorded = adopted(recorded, &owner, &step.urn);
        step.views = Views::open(&step.urn, recorded.iter().map(|record| &*record.state));
    }

    /// Closes the desk, and takes what was published at it.
    pub(super) fn close_views(&self, step: &Step) -> Vec<PublishedView> {
        let published = step.views.close();
        for fault in step.views.take_faults() {
            let text = format!("the provider's steps on views are not recorded: {fault}");
            self.diagnose(Diagnostic::warning(text).about(step.urn.clone()));
        }
        published
    }

    /// Tells whether the old record of the step has views.
    pub(super) fn has_views(&self, step: &Step) -> bool {
        step.old.as_ref().is_some_and(|old| self.views.has(old.id))
    }

    /// Returns the records of the views that go, or are marked, together with the old record of the step.
    pub(super) fn views_of_old(&self, step: &Step) -> Vec<StateId> {
        let old = step.old.as_ref().map(|old| self.views.of(old.id));
        old.into_iter().flatten().map(|view| view.id).collect()
    }

    /// Runs what is to be done to the views of a resource that goes, before its own step ends. Returns the first failure
    /// among the published steps.
    ///
    /// # Errors
    /// When an entry cannot be made durable.
    pub(super) async fn dismiss_views(
        &self,
        step: &Step,
        result_op: StepOp,
        published: Vec<PublishedView>,
    ) -> Result<Option<StepFailure>, StepFailure> {
        let Some(old) = &step.old else { return Ok(None) };
        let mut following = Following::new(step, self.views.take(old.id));
        let failure = self.run_published(&mut following, published).await?;
        let op = match step.op {
            StepOp::Discard => StepOp::Delete,
            StepOp::DiscardReplaced => StepOp::DeleteReplaced,
            op => op,
        };
        // What the provider did not tell of goes with its owner all the same.
        let result_op = if step.op == StepOp::Refresh { result_op } else { op };
        while let Some(view) = following.views.pop() {
            if let Some(gone) = following.view_step(op, Some(view), None) {
                self.run_view(&mut following, gone, result_op, None).await?;
            }
        }
        Ok(failure)
    }

    /// Runs what is to be done to the views of a resource whose step has left the record `new`. A published step that
    /// failed fails the resource, too.
    ///
    /// # Errors
    /// The first failure of a published step, after it has been reported, and when an entry cannot be made durable.
    pub(super) async fn follow_views(
        &self,
        step: &Step,
        new: &StateRef,
        published: Vec<PublishedView>,
    ) -> Result<(), StepFailure> {
        let before = self.carry_views(step);
        if published.is_empty() && before.is_empty() {
            return Ok(());
        }
        let old = before.clone();
        let owner = step.old.as_ref().map_or(&step.urn, |old| &old.state.urn);
        let mut following = Following::new(step, adopted(before, owner, &step.urn));
        let kept = step.op == StepOp::Same && !step.detail.untargeted && !step.detail.skipped_create;
        if kept {
            for (old, view) in old.into_iter().zip(following.views.clone()) {
                let same = following.view_step(StepOp::Same, Some(old), Some(view.state));
                if let Some(same) = same {
                    self.run_view(&mut following, same, StepOp::Same, None).await?;
                }
            }
        }
        let failure = self.run_published(&mut following, published).await?;
        let unrecorded = self.journal.is_none() && new.id == StateId(u64::MAX);
        if !unrecorded {
            self.views.put(new.id, following.views);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Takes the views of the old record out for the new one. Where the old record stays as a copy, its views do, too.
    fn carry_views(&self, step: &Step) -> Vec<StateRef> {
        let Some(old) = &step.old else {
            return Vec::new();
        };
        match (step.op, step.detail.pending_delete) {
            (StepOp::Replace, _) => Vec::new(),
            (StepOp::CreateReplacement, false) => {
                self.views.take(old.id);
                Vec::new()
            }
            (StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement, _) => {
                let mut views = self.views.take(old.id);
                for view in &mut views {
                    Arc::make_mut(&mut view.state).delete = true;
                }
                self.views.put(old.id, views);
                Vec::new()
            }
            _ if step.detail.skipped_create => Vec::new(),
            _ => self.views.take(old.id),
        }
    }

    /// Runs what a provider has told of views although the step on their owner failed.
    ///
    /// # Errors
    /// When an entry cannot be made durable.
    pub(super) async fn follow_failed(
        &self,
        step: &Step,
        published: Vec<PublishedView>,
    ) -> Result<(), StepFailure> {
        if published.is_empty() {
            return Ok(());
        }
        let remains = matches!(
            step.op,
            StepOp::Update | StepOp::Delete | StepOp::DeleteReplaced | StepOp::Read | StepOp::Refresh
        );
        let Some(old) = step.old.as_ref().filter(|_| remains) else {
            // Nothing is recorded that they could belong to.
            let text = format!(
                "{} steps on views of this resource are not recorded, because the resource is not",
                published.len()
            );
            self.diagnose(Diagnostic::warning(text).about(step.urn.clone()));
            return Ok(());
        };
        let owner = &old.state.urn;
        let mut following = Following::new(step, adopted(self.views.take(old.id), owner, &step.urn));
        self.run_published(&mut following, published).await?;
        self.views.put(old.id, following.views);
        Ok(())
    }
}

impl<'a> Following<'a> {
    fn new(step: &'a Step, views: Vec<StateRef>) -> Self {
        Self {
            owner: step.urn.clone(),
            step,
            views,
            replaced: FxHashSet::default(),
        }
    }

    /// Builds a step on a view; during a refresh it is part of that.
    fn view_step(&self, op: StepOp, old: Option<StateRef>, new: Option<Arc<ResourceState>>) -> Option<Step> {
        let refreshes = self.step.op == StepOp::Refresh && op != StepOp::Replace;
        let op = if refreshes { StepOp::Refresh } else { op };
        // What a refresh finds for the first time has no place that it could keep.
        let persisted = refreshes && (self.step.detail.persisted || old.is_none());
        let mut step = Step::new(op, old, new)?;
        step.detail.persisted = persisted;
        step.detail.internal = self.step.detail.internal;
        Some(step)
    }
}

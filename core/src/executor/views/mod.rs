//! Steps on views: those that a provider publishes, and those that follow from a step on the owner of the views. They
//! call no provider.

mod book;
mod published;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    diagnostic::Diagnostic,
    executor::{Step, StepFailure, recorder::Recorder, reporter::Reporter, sanitize::Sanitizer},
    provider::{PublishedView, Views},
    resource::ResourceState,
    state::{StateId, StateRef},
    step::StepOp,
    urn::Urn,
};

pub(crate) use book::ViewBook;
use book::adopted;

/// Runs the steps on the views of resources.
#[derive(Clone, Copy)]
pub(super) struct ViewRunner<'a> {
    pub(super) recorder: &'a Recorder,
    pub(super) reporter: &'a Reporter,
    pub(super) sanitizer: &'a Sanitizer,
}

/// The views of one resource while steps on them run.
struct ViewSteps<'a> {
    runner: ViewRunner<'a>,
    /// The step of the resource itself.
    step: &'a Step,
    owner: Urn,
    /// The views, each after the one that contains it.
    views: Vec<StateRef>,
    /// Views with a new copy, the deletion of whose old copy is still to be published.
    replaced: FxHashSet<Urn>,
}

/// Opens a step for published steps on views; `book` contains the recorded views.
pub(super) fn open(step: &mut Step, book: &ViewBook) {
    let Some(subject) = step.subject() else { return };
    if !subject.custom || subject.is_provider() || step.provider.is_none() {
        return;
    }
    let recorded = match step.op {
        StepOp::Same | StepOp::Replace | StepOp::RemovePendingReplace => return,
        // A new copy has no views yet; the old copy keeps its own.
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
        | StepOp::Refresh => step.old.as_ref().map(|old| book.of(old.id)).unwrap_or_default(),
    };
    let owner = recorded
        .first()
        .and_then(|view| view.state.view_of.clone())
        .unwrap_or_else(|| step.urn.clone());
    let recorded = adopted(recorded, &owner, &step.urn);
    step.views = Views::open(&step.urn, recorded.iter().map(|record| &*record.state));
}

/// Closes a step for steps on views, and returns those that were published.
pub(super) fn close(step: &Step, reporter: &Reporter) -> Vec<PublishedView> {
    let published = step.views.close();
    for fault in step.views.take_faults() {
        let text = format!("the provider's steps on views are not recorded: {fault}");
        reporter
            .events()
            .diagnostic(Diagnostic::warning(text).about(step.urn.clone()));
    }
    published
}

impl ViewRunner<'_> {
    /// Removes the views of a resource that is removed, before its own step ends. Returns the first failure among the
    /// published steps.
    ///
    /// # Errors
    /// When an entry cannot be made durable.
    pub(super) async fn dismiss(
        self,
        step: &Step,
        result_op: StepOp,
        published: Vec<PublishedView>,
    ) -> Result<Option<StepFailure>, StepFailure> {
        let Some(old) = &step.old else { return Ok(None) };
        let mut steps = ViewSteps::new(self, step, self.recorder.views.take(old.id));
        let failure = steps.run_published(published).await?;
        let op = match step.op {
            StepOp::Discard => StepOp::Delete,
            StepOp::DiscardReplaced => StepOp::DeleteReplaced,
            op => op,
        };
        // Unpublished views are removed with their owner.
        let result_op = if step.op == StepOp::Refresh { result_op } else { op };
        while let Some(view) = steps.views.pop() {
            if let Some(removal) = steps.view_step(op, Some(view), None) {
                steps.run(removal, result_op, None).await?;
            }
        }
        Ok(failure)
    }

    /// Runs the steps on the views of a resource whose step has left the record `new`. A published step that failed
    /// fails the resource, too.
    ///
    /// # Errors
    /// The first failure of a published step, after it has been reported, and when an entry cannot be made durable.
    pub(super) async fn follow(
        self,
        step: &Step,
        new: &StateRef,
        published: Vec<PublishedView>,
    ) -> Result<(), StepFailure> {
        let before = self.recorder.views.take_for_new(step);
        if published.is_empty() && before.is_empty() {
            return Ok(());
        }
        let old = before.clone();
        let owner = step.old.as_ref().map_or(&step.urn, |old| &old.state.urn);
        let mut steps = ViewSteps::new(self, step, adopted(before, owner, &step.urn));
        let kept = step.op == StepOp::Same && !step.detail.untargeted && !step.detail.skipped_create;
        if kept {
            for (old, view) in old.into_iter().zip(steps.views.clone()) {
                let same = steps.view_step(StepOp::Same, Some(old), Some(view.state));
                if let Some(same) = same {
                    steps.run(same, StepOp::Same, None).await?;
                }
            }
        }
        let failure = steps.run_published(published).await?;
        let unrecorded = self.recorder.journal.is_none() && new.id == StateId(u64::MAX);
        if !unrecorded {
            self.recorder.views.put(new.id, steps.views);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Runs the steps on views that a provider published although the step on their owner failed.
    ///
    /// # Errors
    /// When an entry cannot be made durable.
    pub(super) async fn follow_failed(
        self,
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
            // Their owner has no record.
            let text = format!(
                "{} steps on views of this resource are not recorded, because the resource is not",
                published.len()
            );
            self.reporter
                .events()
                .diagnostic(Diagnostic::warning(text).about(step.urn.clone()));
            return Ok(());
        };
        let owner = &old.state.urn;
        let views = adopted(self.recorder.views.take(old.id), owner, &step.urn);
        let mut steps = ViewSteps::new(self, step, views);
        steps.run_published(published).await?;
        self.recorder.views.put(old.id, steps.views);
        Ok(())
    }
}

impl<'a> ViewSteps<'a> {
    fn new(runner: ViewRunner<'a>, step: &'a Step, views: Vec<StateRef>) -> Self {
        Self {
            runner,
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
        // A view that a refresh finds for the first time is appended.
        let persisted = refreshes && (self.step.detail.persisted || old.is_none());
        let mut step = Step::new(op, old, new)?;
        step.detail.persisted = persisted;
        step.detail.internal = self.step.detail.internal;
        Some(step)
    }
}

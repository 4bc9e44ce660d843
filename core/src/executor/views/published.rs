//! Running published steps on views: each becomes a step of the engine's that is recorded, reported and counted.

use std::sync::Arc;

use super::{ViewSteps, book::inside};
use crate::{
    event::OperationStatus,
    executor::{Step, StepFailure},
    provider::{Effect, ProviderStatus, PublishedView, View, ViewStep},
    resource::ResourceState,
    state::{JournalRecord, StateId, StateRef},
    step::StepOp,
    urn::Urn,
};

impl ViewSteps<'_> {
    /// Runs published steps one after the other. All of them run, because the provider has taken all of them; returns
    /// the first failure among them, which has been reported.
    ///
    /// # Errors
    /// When an entry cannot be made durable.
    pub(super) async fn run_published(
        &mut self,
        published: Vec<PublishedView>,
    ) -> Result<Option<StepFailure>, StepFailure> {
        let mut first = None;
        for PublishedView {
            urn,
            parent,
            mut step,
        } in published
        {
            let effect = Effect::of(step.op, step.new.is_some());
            let mut failure = failure_of(&step);
            for view in step.new.iter_mut().chain(&mut step.old) {
                let inputs = self.runner.sanitizer.sanitize("inputs", &mut view.inputs);
                if let Err(fault) = inputs.and(self.runner.sanitizer.sanitize("outputs", &mut view.outputs)) {
                    failure = Some(StepFailure::new(format!("the view has bad values: {fault}")));
                }
            }
            let recorded = self.recorded(&urn, &step);
            let new = step.new.as_ref().filter(|_| effect != Effect::Removes);
            let new = new.map(|view| {
                let former = recorded.as_ref().map(|record| &record.state);
                self.state(&urn, &parent, view, former)
            });
            let published = || {
                let view = step.old.clone().unwrap_or_default();
                StateRef {
                    id: UNRECORDED,
                    state: self.state(&urn, &parent, &view, None),
                }
            };
            let old = match effect {
                Effect::Leaves => recorded,
                Effect::Removes | Effect::Marks => Some(recorded.unwrap_or_else(published)),
            };
            let Some(mut run) = self.view_step(step.op, old, new) else {
                continue;
            };
            run = run.with_diff(step.keys, step.diffs, step.detailed_diff);
            self.run(run, step.op, failure.clone()).await?;
            first = first.or(failure);
        }
        Ok(first)
    }

    /// Announces a step on a view, records it, and reports it.
    pub(super) async fn run(
        &mut self,
        mut step: Step,
        result_op: StepOp,
        failure: Option<StepFailure>,
    ) -> Result<(), StepFailure> {
        let reporter = self.runner.reporter;
        reporter.report_start(&step);
        let happened = |failure: &StepFailure| failure.status == OperationStatus::PartialFailure;
        if let Some(failure) = failure.as_ref().filter(|failure| !happened(failure)) {
            reporter.report_failure(&step, failure);
            return Ok(());
        }
        let asked = step.new.clone();
        let new = asked.map(|state| self.runner.recorder.identify(&step, state));
        if step.op != StepOp::Replace {
            self.record(&step, result_op, new.as_ref()).await?;
        }
        if let Some(new) = &new {
            step.new = Some(Arc::clone(&new.state));
        }
        match failure {
            Some(failure) => reporter.report_failure(&step, &failure),
            None => reporter.report_success(&step, result_op, new.as_ref()),
        }
        Ok(())
    }

    async fn record(
        &mut self,
        step: &Step,
        result_op: StepOp,
        new: Option<&StateRef>,
    ) -> Result<(), StepFailure> {
        let recorder = self.runner.recorder;
        let is_recorded = step
            .old
            .as_ref()
            .is_none_or(|old| old.id != UNRECORDED || recorder.journal.is_none());
        if is_recorded {
            let mut end = recorder.end(step, result_op, new);
            if let Some(JournalRecord::Success { removed, .. }) = &mut end
                && new.is_none()
            {
                // The views in it are removed with it: a parent must exist.
                let inside = inside(&self.views, &step.urn);
                let views = self.views.iter();
                let inside = views.filter(|view| inside.contains(&view.state.urn));
                removed.extend(inside.map(|view| view.id));
            }
            recorder.record(recorder.next_operation(), end).await?;
        }
        if let Some(new) = new {
            recorder.publish(new);
        }
        self.update(step, new);
        Ok(())
    }

    /// Returns the record of the view of a published step. The old half of a replacement has none once the new one
    /// exists.
    fn recorded(&self, urn: &Urn, step: &ViewStep) -> Option<StateRef> {
        let is_old_half = Effect::of(step.op, false) == Effect::Removes && self.replaced.contains(urn);
        let mut views = self.views.iter();
        views
            .find(|view| view.state.urn == *urn)
            .filter(|_| !is_old_half)
            .cloned()
    }

    /// Builds the record of a view; an unchanged record stays shared.
    fn state(
        &self,
        urn: &Urn,
        parent: &Urn,
        view: &View,
        former: Option<&Arc<ResourceState>>,
    ) -> Arc<ResourceState> {
        let mut state = ResourceState::new(urn.clone(), urn.resource_type().into(), false);
        state.inputs = view.inputs.clone();
        state.outputs = view.outputs.clone();
        state.parent = Some(parent.clone());
        state.view_of = Some(self.owner.clone());
        if let Some(former) = former {
            state.aliases.clone_from(&former.aliases);
            state.created = former.created;
            state.modified = former.modified;
            if state == **former {
                return Arc::clone(former);
            }
        }
        Arc::new(state)
    }

    /// Updates the views after a step.
    fn update(&mut self, step: &Step, new: Option<&StateRef>) {
        let place = self.views.iter().position(|view| view.state.urn == step.urn);
        match (new, place) {
            (Some(new), Some(place)) => {
                self.views[place] = new.clone();
                if matches!(
                    step.op,
                    StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement
                ) {
                    self.replaced.insert(step.urn.clone());
                }
            }
            (Some(new), None) => self.views.push(new.clone()),
            (None, Some(place)) if !self.replaced.contains(&step.urn) => {
                let inside = inside(&self.views, &step.urn);
                self.views.remove(place);
                self.views.retain(|view| !inside.contains(&view.state.urn));
            }
            (None, _) => {}
        }
    }
}

/// The identity of a view that a provider publishes and that is not recorded.
const UNRECORDED: StateId = StateId(u64::MAX);

fn failure_of(step: &ViewStep) -> Option<StepFailure> {
    step.has_failed().then(|| StepFailure {
        status: step.status,
        provider_status: Some(ProviderStatus::Unknown),
        ..StepFailure::new(step.error.clone())
    })
}

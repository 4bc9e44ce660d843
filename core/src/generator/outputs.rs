//! Registered outputs: what components, and at the end of the run the stack, publish of themselves.

use std::sync::{Arc, PoisonError};

use crate::{
    executor::Step,
    generator::{Generator, Purpose, Unanswered},
    property::PropertyMap,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// A registered resource that has not published its outputs; components are expected to.
pub(super) struct Component {
    op: StepOp,
    old: Option<StateRef>,
    record: StateRef,
    /// The root stack's outputs, which are recorded when all else is done.
    deferred: Option<PropertyMap>,
}

impl Generator {
    pub(super) fn note_component(&self, op: StepOp, old: Option<StateRef>, record: StateRef) {
        let component = Component {
            op,
            old,
            record: record.clone(),
            deferred: None,
        };
        // By the URN that the program has registered.
        let urn = self.registered_urn(&record.state.urn);
        self.components
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(urn, component);
    }

    /// Records the outputs of a component; those of the root stack are kept until [`Self::finish_stack_outputs`].
    ///
    /// # Errors
    /// When the component is not waiting for its outputs, or the run is ending.
    pub(crate) async fn register_outputs(&self, urn: &Urn, outputs: PropertyMap) -> Result<(), Unanswered> {
        let urn = &self.registered_urn(urn);
        if self.may_leave_out() && self.claims.is_unrecorded(urn) {
            return Ok(());
        }
        let component = {
            let mut components = self.components.lock().unwrap_or_else(PoisonError::into_inner);
            match components.get_mut(urn) {
                Some(component) if urn.is_root_stack() && component.deferred.is_none() => {
                    component.deferred = Some(outputs);
                    return Ok(());
                }
                Some(_) if urn.is_root_stack() => None,
                _ => components.remove(urn),
            }
        };
        let component = component.or_else(|| self.custom_without_outputs(urn));
        let Some(component) = component else {
            return Err(self.bail(
                Some(urn),
                format!("cannot complete a resource '{urn}' whose registration isn't pending"),
            ));
        };
        self.publish_outputs(component, outputs).await
    }

    /// Returns a custom resource that has a record and has published no outputs. Hardly any ever does, so that what is
    /// needed for it is looked up instead of being kept for all.
    fn custom_without_outputs(&self, urn: &Urn) -> Option<Component> {
        let old = self.claims.publishes(urn)?;
        let old = self.base.live(&old).cloned();
        let former = || self.executor.published_record(&self.claims.former(urn)?);
        let mut record = self.executor.published_record(urn).or_else(former)?;
        let state = Arc::clone(&record.state);
        if let Some(journal) = self.executor.journal() {
            record.state = journal.with_ledger(|ledger| ledger.get(record.id).cloned())??;
        }
        let op = match &old {
            _ if state.external => StepOp::Read,
            None => StepOp::Create,
            Some(old) if old.state.id != state.id => StepOp::CreateReplacement,
            Some(old) if Arc::ptr_eq(&old.state, &state) => StepOp::Same,
            Some(_) => StepOp::Update,
        };
        Some(Component {
            op,
            old,
            record,
            deferred: None,
        })
    }

    async fn publish_outputs(&self, component: Component, outputs: PropertyMap) -> Result<(), Unanswered> {
        let Component { op, old, record, .. } = component;
        let outputs = self.known_outputs(&record.state.outputs, outputs);
        // An unchanged component's record has taken over the old outputs.
        self.plan_published(&record.state, &outputs)?;
        let unchanged = record.state.outputs == outputs;
        let mut state = Arc::clone(&record.state);
        if !unchanged {
            Arc::make_mut(&mut state).outputs = outputs;
        }
        let Some(step) = Step::new(op, old, Some(Arc::clone(&state))) else {
            return Ok(());
        };
        let new = StateRef { id: record.id, state };
        self.executor
            .record_outputs(&step, new, unchanged)
            .await
            .map_err(|_| Unanswered::Ending)
    }

    /// Keeps what cannot be known out of the record: what was made of something that this run leaves out stays as it was.
    fn known_outputs(&self, before: &PropertyMap, mut outputs: PropertyMap) -> PropertyMap {
        if self.executor.is_preview() || !outputs.contains_unknowns() {
            return outputs;
        }
        let unknown = outputs.iter().filter(|(_, value)| value.contains_unknowns());
        let unknown: Vec<_> = unknown.map(|(key, _)| key.clone()).collect();
        for key in unknown {
            if let Some(value) = before.get(&key) {
                outputs.insert(key, value.clone());
            }
        }
        outputs.without_unknowns()
    }

    /// Records the stack's outputs, after all steps. When anything failed or the run was cancelled, what it did not
    /// publish stays as it was; a run that deletes everything publishes none.
    pub(crate) async fn finish_stack_outputs(&self) -> Option<PropertyMap> {
        let mut stacks: Vec<Component> = {
            let mut components = self.components.lock().unwrap_or_else(PoisonError::into_inner);
            let stacks = components.extract_if(|urn, _| urn.is_root_stack());
            stacks.map(|(_, stack)| stack).collect()
        };
        stacks.retain(|stack| stack.deferred.is_some() && self.options.purpose != Purpose::Destroy);
        // A program may give it any name, and register several: the one with the usual name comes last.
        let usual = Urn::root_stack(&self.options.stack, &self.options.project);
        stacks.sort_by(|left, right| {
            let key = |stack: &Component| (stack.record.state.urn == usual, stack.record.state.urn.clone());
            key(left).cmp(&key(right))
        });
        let mut published = None;
        for stack in stacks {
            published = self.publish_stack(stack).await;
        }
        published
    }

    /// Records the outputs of a root stack and returns them.
    async fn publish_stack(&self, mut stack: Component) -> Option<PropertyMap> {
        let mut outputs = stack.deferred.take()?;
        let control = self.executor.control();
        if control.has_failed() || control.is_cancelled() {
            let old = stack
                .old
                .as_ref()
                .map(|old| old.state.outputs.clone())
                .unwrap_or_default();
            for (key, value) in old {
                if !outputs.contains_key(&key) {
                    outputs.insert(key, value);
                }
            }
        }
        let outputs = self.known_outputs(&stack.record.state.outputs, outputs);
        drop(self.publish_outputs(stack, outputs.clone()).await);
        Some(outputs)
    }
}

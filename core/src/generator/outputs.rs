//! Published outputs: of components when they are complete, and of the stack at the end of the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::{
    executor::Step,
    generator::{Purpose, RunEnded, context::Context, purpose::is_not_plain_update, targets::registered_urn},
    property::PropertyMap,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// A registered resource that has not published its outputs; components are expected to.
struct Component {
    op: StepOp,
    old: Option<StateRef>,
    record: StateRef,
    /// The root stack's outputs, which are recorded after everything else.
    deferred: Option<PropertyMap>,
}

/// The components of one run that have not published their outputs, by the URNs that the program has registered.
#[derive(Default)]
pub(super) struct Outputs(Mutex<FxHashMap<Urn, Component>>);

impl Outputs {
    fn components(&self) -> MutexGuard<'_, FxHashMap<Urn, Component>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a component whose outputs are expected.
    pub(super) fn expect(&self, context: &Context, op: StepOp, old: Option<StateRef>, record: StateRef) {
        let component = Component {
            op,
            old,
            record: record.clone(),
            deferred: None,
        };
        let urn = registered_urn(context, &record.state.urn);
        self.components().insert(urn, component);
    }

    /// Records the outputs of a component; those of the root stack are kept until [`Self::finish_stack`].
    ///
    /// # Errors
    /// When no outputs of the component are expected, or the run is ending.
    pub(super) async fn register(
        &self,
        context: &Context,
        urn: &Urn,
        outputs: PropertyMap,
    ) -> Result<(), RunEnded> {
        let urn = &registered_urn(context, urn);
        let may_be_unrecorded = is_not_plain_update(context) || context.options.targeting.is_some();
        if may_be_unrecorded && context.claims.is_unrecorded(urn) {
            return Ok(());
        }
        let component = {
            let mut components = self.components();
            match components.get_mut(urn) {
                Some(component) if urn.is_root_stack() && component.deferred.is_none() => {
                    component.deferred = Some(outputs);
                    return Ok(());
                }
                Some(_) if urn.is_root_stack() => None,
                _ => components.remove(urn),
            }
        };
        let component = component.or_else(|| Component::of_custom(context, urn));
        let Some(component) = component else {
            let text = format!("cannot complete a resource '{urn}' whose registration isn't pending");
            return Err(context.run.bail(urn, text));
        };
        component.publish(context, outputs).await
    }

    /// Records the stack's outputs, after all steps, and returns them. After a failure or a cancellation, outputs that
    /// were not published stay as they were; a run that deletes everything publishes none.
    pub(super) async fn finish_stack(&self, context: &Context) -> Option<PropertyMap> {
        let options = &context.options;
        let mut stacks: Vec<Component> = {
            let mut components = self.components();
            let stacks = components.extract_if(|urn, _| urn.is_root_stack());
            stacks.map(|(_, stack)| stack).collect()
        };
        stacks.retain(|stack| stack.deferred.is_some() && options.purpose != Purpose::Destroy);
        // A program may register several root stacks with any names: the one with the usual name comes last.
        let usual = Urn::root_stack(&options.stack, &options.project);
        stacks.sort_by(|left, right| {
            let key = |stack: &Component| (stack.record.state.urn == usual, stack.record.state.urn.clone());
            key(left).cmp(&key(right))
        });
        let mut published = None;
        for stack in stacks {
            published = stack.publish_stack(context).await;
        }
        published
    }
}

impl Component {
    /// Returns a custom resource that has a record and has published no outputs. Rare, so that its data is searched
    /// instead of stored for every custom resource.
    fn of_custom(context: &Context, urn: &Urn) -> Option<Self> {
        let (claims, executor) = (&context.claims, &context.run.executor);
        let old = claims.publishes(urn)?;
        let old = context.base.live(&old).cloned();
        let former = || executor.published_record(&claims.former_urn(urn)?);
        let mut record = executor.published_record(urn).or_else(former)?;
        let state = Arc::clone(&record.state);
        if let Some(journal) = executor.journal() {
            record.state = journal.with_replay(|replay| replay.get(record.id).cloned())??;
        }
        let op = match &old {
            _ if state.external => StepOp::Read,
            None => StepOp::Create,
            Some(old) if old.state.id != state.id => StepOp::CreateReplacement,
            Some(old) if Arc::ptr_eq(&old.state, &state) => StepOp::Same,
            Some(_) => StepOp::Update,
        };
        Some(Self {
            op,
            old,
            record,
            deferred: None,
        })
    }

    async fn publish(self, context: &Context, outputs: PropertyMap) -> Result<(), RunEnded> {
        let Self { op, old, record, .. } = self;
        let outputs = known_outputs(context, &record.state.outputs, outputs);
        let executor = &context.run.executor;
        let outputs = executor.with_secrets_of_construct(&record.state.urn, outputs);
        // The record of an unchanged component has the old outputs.
        context.plans.check_published(&record.state, &outputs)?;
        let unchanged = record.state.outputs == outputs;
        let mut state = Arc::clone(&record.state);
        if !unchanged {
            Arc::make_mut(&mut state).outputs = outputs;
        }
        let Some(step) = Step::new(op, old, Some(Arc::clone(&state))) else {
            return Ok(());
        };
        let new = StateRef { id: record.id, state };
        let recorded = executor.record_outputs(&step, new, unchanged);
        recorded.await.map_err(|_| RunEnded)
    }

    /// Records the outputs of a root stack and returns them.
    async fn publish_stack(mut self, context: &Context) -> Option<PropertyMap> {
        let mut outputs = self.deferred.take()?;
        if context.run.has_ended_early() {
            let old = self
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
        let outputs = known_outputs(context, &self.record.state.outputs, outputs);
        drop(self.publish(context, outputs.clone()).await);
        Some(outputs)
    }
}

/// Removes unknown outputs from the record: outputs derived from a skipped resource keep their recorded values.
fn known_outputs(context: &Context, before: &PropertyMap, mut outputs: PropertyMap) -> PropertyMap {
    if context.run.executor.is_preview() || !outputs.contains_unknowns() {
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

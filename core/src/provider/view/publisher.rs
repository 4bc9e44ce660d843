//! Publishing of steps on views by the provider of their owner.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{View, ViewName, ViewStep};
use crate::{
    event::OperationStatus,
    provider::{ProviderError, ProviderResult, ProviderStatus},
    resource::ResourceState,
    step::StepOp,
    urn::Urn,
};

/// The recorded views of one resource, and the publisher of steps on them during a call.
///
/// Clones share both. The default has no views and accepts no steps.
#[derive(Clone, Debug, Default)]
pub struct Views(Option<Arc<ViewPublisher>>);

#[derive(Debug)]
struct ViewPublisher {
    owner: Urn,
    recorded: Vec<View>,
    state: Arc<Mutex<PublishState>>,
}

#[derive(Debug, Default)]
struct PublishState {
    closed: bool,
    known: FxHashMap<Urn, Known>,
    steps: Vec<PublishedView>,
    /// Why steps of a response were refused.
    faults: Vec<String>,
}

/// A view that exists, or existed when the call began.
#[derive(Clone, Debug)]
struct Known {
    parent: Urn,
    exists: bool,
}

/// A published step with the URNs of its view and of the view's parent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublishedView {
    pub(crate) urn: Urn,
    pub(crate) parent: Urn,
    pub(crate) step: ViewStep,
}

/// The effect of a step on the record of its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The record exists afterwards.
    Leaves,
    /// The record does not exist afterwards.
    Removes,
    /// The step only marks what other steps do.
    Marks,
}

impl Effect {
    /// Returns the effect of `op`; that of a refresh depends on its new state.
    pub(crate) const fn of(op: StepOp, has_new: bool) -> Self {
        match op {
            StepOp::Same
            | StepOp::Create
            | StepOp::Update
            | StepOp::CreateReplacement
            | StepOp::Read
            | StepOp::ReadReplacement
            | StepOp::Import
            | StepOp::ImportReplacement => Self::Leaves,
            StepOp::Refresh if has_new => Self::Leaves,
            StepOp::Refresh
            | StepOp::Delete
            | StepOp::DeleteReplaced
            | StepOp::Discard
            | StepOp::DiscardReplaced
            | StepOp::RemovePendingReplace => Self::Removes,
            StepOp::Replace => Self::Marks,
        }
    }
}

impl Views {
    /// Creates the views of one call about `owner`; `records` are its recorded views, parents first.
    pub(crate) fn open<'a>(owner: &Urn, records: impl Iterator<Item = &'a ResourceState>) -> Self {
        let mut publish_state = PublishState::default();
        let mut recorded = Vec::new();
        for state in records {
            let parent = state.parent.clone().unwrap_or_else(|| owner.clone());
            recorded.push(view_of_record(state));
            let known = Known { parent, exists: true };
            publish_state.known.insert(state.urn.clone(), known);
        }
        Self(Some(Arc::new(ViewPublisher {
            owner: owner.clone(),
            recorded,
            state: Arc::new(Mutex::new(publish_state)),
        })))
    }

    /// Returns the recorded views, parents first.
    #[must_use]
    pub fn recorded(&self) -> &[View] {
        self.0.as_ref().map_or(&[], |publisher| &publisher.recorded)
    }

    /// Returns the same views with plain recorded values, for providers that accept no secrets.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let Some(publisher) = self.0.as_ref().filter(|publisher| !publisher.recorded.is_empty()) else {
            return self.clone();
        };
        let plain = |view: &View| View {
            inputs: view.inputs.without_secrets(),
            outputs: view.outputs.without_secrets(),
            ..view.clone()
        };
        Self(Some(Arc::new(ViewPublisher {
            owner: publisher.owner.clone(),
            recorded: publisher.recorded.iter().map(plain).collect(),
            state: Arc::clone(&publisher.state),
        })))
    }

    /// Returns the owner of the views; `None` if no steps are accepted.
    pub(crate) fn owner(&self) -> Option<&Urn> {
        self.0.as_ref().map(|publisher| &publisher.owner)
    }

    /// Publishes steps, in the order of their execution. Either all of them are accepted, or none.
    ///
    /// # Errors
    /// [`ProviderStatus::FailedPrecondition`] after the end of the call; [`ProviderStatus::InvalidArgument`] for a step
    /// without type, name or required new state, or whose parent view does not exist.
    pub fn publish(&self, steps: Vec<ViewStep>) -> ProviderResult<()> {
        let over = || ProviderError::new(ProviderStatus::FailedPrecondition, "the operation has ended");
        let publisher = self.0.as_ref().ok_or_else(over)?;
        let mut state = publisher.state();
        if state.closed {
            return Err(over());
        }
        let mut known = state.known.clone();
        let mut published = Vec::with_capacity(steps.len());
        for step in steps {
            published.push(resolve(&publisher.owner, step, &mut known).map_err(refused)?);
        }
        state.known = known;
        state.steps.append(&mut published);
        Ok(())
    }

    /// Publishes the steps of a call's response. The response is kept if they are refused; [`Self::take_faults`]
    /// returns the reasons.
    pub fn publish_with_answer(&self, steps: Vec<ViewStep>) {
        if steps.is_empty() {
            return;
        }
        if let (Err(error), Some(publisher)) = (self.publish(steps), &self.0) {
            publisher.state().faults.push(error.message);
        }
    }

    /// Takes the reasons why steps were refused.
    pub(crate) fn take_faults(&self) -> Vec<String> {
        let publisher = self.0.as_ref();
        publisher
            .map(|publisher| std::mem::take(&mut publisher.state().faults))
            .unwrap_or_default()
    }

    /// Takes the published steps; later ones are refused.
    pub(crate) fn close(&self) -> Vec<PublishedView> {
        let Some(publisher) = &self.0 else {
            return Vec::new();
        };
        let mut state = publisher.state();
        state.closed = true;
        std::mem::take(&mut state.steps)
    }
}

impl ViewPublisher {
    fn state(&self) -> MutexGuard<'_, PublishState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(message: String) -> ProviderError {
    ProviderError::new(ProviderStatus::InvalidArgument, message)
}

/// Returns the recorded state of a view in the provider's format.
fn view_of_record(state: &ResourceState) -> View {
    let in_another = state
        .parent
        .as_ref()
        .filter(|parent| Some(*parent) != state.view_of.as_ref());
    View {
        resource_type: state.resource_type.clone(),
        name: state.urn.name().to_owned(),
        parent: in_another.map(|parent| ViewName {
            resource_type: parent.resource_type().into(),
            name: parent.name().to_owned(),
        }),
        inputs: state.inputs.clone(),
        outputs: state.outputs.clone(),
    }
}

/// Determines the view of a step, and updates the known views.
///
/// Type and name are those of the new state, else of the old one; missing fields are taken from the step.
fn resolve(
    owner: &Urn,
    mut step: ViewStep,
    known: &mut FxHashMap<Urn, Known>,
) -> Result<PublishedView, String> {
    if let Some(state) = step.new.as_ref().or(step.old.as_ref()) {
        if !state.resource_type.is_empty() {
            step.resource_type = state.resource_type.clone();
        }
        if !state.name.is_empty() {
            step.name.clone_from(&state.name);
        }
    }
    if step.resource_type.is_empty() {
        return Err("type is required".to_owned());
    }
    if step.name.is_empty() {
        return Err("name is required".to_owned());
    }
    let (kind, name) = (&step.resource_type, &step.name);
    let effect = Effect::of(step.op, step.new.is_some());
    if effect == Effect::Leaves && step.new.is_none() {
        return Err(format!(
            "the step {} of view {kind} '{name}' needs a new state",
            step.op
        ));
    }
    let leaves = effect == Effect::Leaves;
    let parent = match (&step.new, &step.old) {
        (Some(state), _) | (None, Some(state)) => match &state.parent {
            None => owner.clone(),
            Some(parent) => find(known, parent, leaves).ok_or_else(|| {
                let ViewName {
                    resource_type,
                    name: other,
                } = parent;
                format!("parent view {resource_type} '{other}' of view {kind} '{name}' was not found")
            })?,
        },
        (None, None) => {
            let own = ViewName {
                resource_type: kind.clone(),
                name: name.clone(),
            };
            let found = find(known, &own, false).and_then(|urn| known.get(&urn));
            found.map_or_else(|| owner.clone(), |known| known.parent.clone())
        }
    };
    let urn = Urn::new(
        owner.stack(),
        owner.project(),
        parent.qualified_type(),
        kind.as_str(),
        name,
    );
    let happened = !step.has_failed() || step.status == OperationStatus::PartialFailure;
    match effect {
        Effect::Leaves if happened => {
            let parent = parent.clone();
            known.insert(urn.clone(), Known { parent, exists: true });
        }
        Effect::Removes if happened => remove(known, &urn),
        Effect::Leaves | Effect::Removes | Effect::Marks => {}
    }
    Ok(PublishedView { urn, parent, step })
}

/// Finds a view by type and name; with `exists` only a view that exists now.
fn find(known: &FxHashMap<Urn, Known>, named: &ViewName, exists: bool) -> Option<Urn> {
    let is_named =
        |urn: &Urn| urn.resource_type() == named.resource_type.as_str() && urn.name() == named.name.as_str();
    let mut found = known
        .iter()
        .filter(|(urn, known)| is_named(urn) && (known.exists || !exists))
        .map(|(urn, _)| urn);
    // Independent of the map's order: the shortest URN is the least nested one.
    let first = found.next()?;
    Some(found.fold(first, |best, urn| {
        match urn.as_str().len() < best.as_str().len() {
            true => urn,
            false => best,
        }
    }))
    .cloned()
}

/// Removes a view and all views inside it.
fn remove(known: &mut FxHashMap<Urn, Known>, urn: &Urn) {
    let mut gone = vec![urn.clone()];
    while let Some(urn) = gone.pop() {
        if let Some(known) = known.get_mut(&urn) {
            known.exists = false;
        }
        let inside = known
            .iter()
            .filter(|(_, known)| known.exists && known.parent == urn)
            .map(|(urn, _)| urn.clone());
        gone.extend(inside);
    }
}

//! The desk at which a provider publishes what it does to the views of the resource that it works on.

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

/// What is recorded of the views of one resource, and where its provider publishes steps on them while a call runs.
///
/// All clones are one. The default has no views and listens to nobody.
#[derive(Clone, Debug, Default)]
pub struct Views(Option<Arc<Desk>>);

#[derive(Debug)]
struct Desk {
    owner: Urn,
    recorded: Vec<View>,
    paper: Arc<Mutex<Paper>>,
}

#[derive(Debug, Default)]
struct Paper {
    closed: bool,
    known: FxHashMap<Urn, Known>,
    steps: Vec<PublishedView>,
    /// Why steps that came with an answer were refused.
    faults: Vec<String>,
}

/// A view that there is, or was when the call began.
#[derive(Clone, Debug)]
struct Known {
    parent: Urn,
    exists: bool,
}

/// A step that was published, with the URNs of its view and of what that lies in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublishedView {
    pub(crate) urn: Urn,
    pub(crate) parent: Urn,
    pub(crate) step: ViewStep,
}

/// What a step does to the record of its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// There is a record afterwards.
    Leaves,
    /// There is none afterwards.
    Removes,
    /// It only marks what other steps do.
    Marks,
}

impl Effect {
    /// Tells what `op` does; a refresh says so by its new state.
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
    /// Opens a desk for one call about `owner`, whose views are recorded as `records`, each after what it lies in.
    pub(crate) fn open<'a>(owner: &Urn, records: impl Iterator<Item = &'a ResourceState>) -> Self {
        let mut paper = Paper::default();
        let mut recorded = Vec::new();
        for state in records {
            let parent = state.parent.clone().unwrap_or_else(|| owner.clone());
            recorded.push(view_of_record(state));
            let known = Known { parent, exists: true };
            paper.known.insert(state.urn.clone(), known);
        }
        Self(Some(Arc::new(Desk {
            owner: owner.clone(),
            recorded,
            paper: Arc::new(Mutex::new(paper)),
        })))
    }

    /// Returns the recorded views, each after what it lies in.
    #[must_use]
    pub fn recorded(&self) -> &[View] {
        self.0.as_ref().map_or(&[], |desk| &desk.recorded)
    }

    /// Returns the same desk, whose recorded views are told without their secrets' wrapping: for providers that know none.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let Some(desk) = self.0.as_ref().filter(|desk| !desk.recorded.is_empty()) else {
            return self.clone();
        };
        let plain = |view: &View| View {
            inputs: view.inputs.without_secrets(),
            outputs: view.outputs.without_secrets(),
            ..view.clone()
        };
        Self(Some(Arc::new(Desk {
            owner: desk.owner.clone(),
            recorded: desk.recorded.iter().map(plain).collect(),
            paper: Arc::clone(&desk.paper),
        })))
    }

    /// Returns the resource whose views these are; `None` when nobody listens.
    pub(crate) fn owner(&self) -> Option<&Urn> {
        self.0.as_ref().map(|desk| &desk.owner)
    }

    /// Publishes steps, in the order in which they were taken. Either all of them are taken over, or none.
    ///
    /// # Errors
    /// [`ProviderStatus::FailedPrecondition`] once the call has ended; [`ProviderStatus::InvalidArgument`] for a step
    /// without type or name, without the new state that it needs, or whose view lies in one that there is not.
    pub fn publish(&self, steps: Vec<ViewStep>) -> ProviderResult<()> {
        let over = || ProviderError::new(ProviderStatus::FailedPrecondition, "the operation has ended");
        let desk = self.0.as_ref().ok_or_else(over)?;
        let mut paper = desk.paper();
        if paper.closed {
            return Err(over());
        }
        let mut known = paper.known.clone();
        let mut published = Vec::with_capacity(steps.len());
        for step in steps {
            published.push(resolve(&desk.owner, step, &mut known).map_err(refused)?);
        }
        paper.known = known;
        paper.steps.append(&mut published);
        Ok(())
    }

    /// Publishes the steps that came with the answer of a call. That must not be lost over them: where they are refused,
    /// people are warned.
    pub fn publish_with_answer(&self, steps: Vec<ViewStep>) {
        if steps.is_empty() {
            return;
        }
        if let (Err(error), Some(desk)) = (self.publish(steps), &self.0) {
            desk.paper().faults.push(error.message);
        }
    }

    /// Takes the reasons for which steps were refused.
    pub(crate) fn take_faults(&self) -> Vec<String> {
        let desk = self.0.as_ref();
        desk.map(|desk| std::mem::take(&mut desk.paper().faults))
            .unwrap_or_default()
    }

    /// Takes what was published; from now on nobody listens.
    pub(crate) fn close(&self) -> Vec<PublishedView> {
        let Some(desk) = &self.0 else {
            return Vec::new();
        };
        let mut paper = desk.paper();
        paper.closed = true;
        std::mem::take(&mut paper.steps)
    }
}

impl Desk {
    fn paper(&self) -> MutexGuard<'_, Paper> {
        self.paper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(message: String) -> ProviderError {
    ProviderError::new(ProviderStatus::InvalidArgument, message)
}

/// Returns the recorded state of a view as its provider knows it.
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

/// Finds out which view a step is about, and notes what there is after it.
///
/// Type and name of the new state count, else those of the old one; what a state lacks is taken from the step.
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
                format!("view {kind} '{name}' lies in view {resource_type} '{other}', which there is not")
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

/// Finds a view by type and name; with `exists` only one that is there at this moment.
fn find(known: &FxHashMap<Urn, Known>, named: &ViewName, exists: bool) -> Option<Urn> {
    let is_named =
        |urn: &Urn| urn.resource_type() == named.resource_type.as_str() && urn.name() == named.name.as_str();
    let mut found = known
        .iter()
        .filter(|(urn, known)| is_named(urn) && (known.exists || !exists))
        .map(|(urn, _)| urn);
    // Whatever the order in which they are kept: the shortest is the one that lies least deep.
    let first = found.next()?;
    Some(found.fold(first, |best, urn| {
        match urn.as_str().len() < best.as_str().len() {
            true => urn,
            false => best,
        }
    }))
    .cloned()
}

/// Notes that a view is gone, and with it all that lay in it.
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

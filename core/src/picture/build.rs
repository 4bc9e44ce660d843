//! Graphs of states, of steps, and of plans.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::{
    Picture,
    node::{Draft, PictureNode, changed, listed},
};
use crate::{
    error::Result,
    event::{OperationOutcome, PropertyChange, StepResult},
    plan::{Plan, ResourcePlan, resources_of},
    property::PropertyMap,
    resource::ResourceState,
    secrets::Redactor,
    state::{ResourceGraph, Snapshot, root_stack_of},
    step::StepOp,
    urn::Urn,
};

impl Picture {
    /// Returns the resources of a state.
    #[must_use]
    pub fn of_state(title: impl Into<String>, state: &Snapshot) -> Self {
        Self::of_records(title.into(), &state.resources)
    }

    /// Returns the resources of a graph.
    #[must_use]
    pub fn of_graph(title: impl Into<String>, graph: &ResourceGraph) -> Self {
        Self::of_records(title.into(), &graph.nodes)
    }

    fn of_records(title: String, records: &[Arc<ResourceState>]) -> Self {
        let redactor = Redactor::new();
        for record in records {
            for value in record.inputs.values().chain(record.outputs.values()) {
                redactor.learn_value(value);
            }
        }
        let picture = Drafts::of_records(records, &redactor).finish(&title, false, &redactor);
        match root_stack_of(records) {
            Some(root) => picture.with_outputs(Vec::new(), &root.outputs, &redactor),
            None => picture,
        }
    }

    /// Returns the resources of a state with the steps that an operation took, or would take.
    pub(crate) fn of_steps(
        title: String,
        state: &Snapshot,
        steps: &[StepResult],
        planned: bool,
        redactor: &Redactor,
    ) -> Self {
        let mut drafts = Drafts::of_records(&state.resources, redactor);
        for result in steps {
            drafts.add_step(result, steps, redactor);
        }
        drafts.finish(&title, planned, redactor)
    }

    /// Sets how the operation ended, and its error.
    pub(crate) fn ended(
        mut self,
        outcome: OperationOutcome,
        error: Option<&str>,
        redactor: &Redactor,
    ) -> Self {
        self.outcome = Some(outcome.name());
        self.error = error.map(|error| redactor.scrub(error).into_owned());
        self
    }

    /// Sets the outputs of the stack: those that change, or without these all as they are.
    pub(crate) fn with_outputs(
        mut self,
        changes: Vec<PropertyChange>,
        outputs: &PropertyMap,
        redactor: &Redactor,
    ) -> Self {
        self.outputs = match changes.is_empty() {
            true => listed(outputs, None, redactor),
            false => changes.into_iter().map(changed).collect(),
        };
        self
    }

    /// Returns the resources of a plan. A plan has the new values of the properties that change, and no others.
    #[must_use]
    pub fn of_plan(title: impl Into<String>, plan: &Plan) -> Self {
        Self::of_planned(&title.into(), &plan.resources)
    }

    /// Returns the resources of a plan's document, without the key of its secrets: these are masked. Texts outside of secrets are shown
    /// as they are, since the document has them in plain form.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the place for a malformed document.
    ///
    /// ```
    /// use stackwright::picture::Picture;
    ///
    /// let picture = Picture::of_plan_document(r#"{"manifest": {}, "resourcePlans": {}}"#)?;
    /// assert_eq!(picture.title(), "Plan");
    /// # Ok::<(), stackwright::Error>(())
    /// ```
    pub fn of_plan_document(document: &str) -> Result<Self> {
        let resources = resources_of(document)?;
        let title = match resources.keys().next() {
            Some(urn) => format!("Plan of {}/{}", urn.project(), urn.stack()),
            None => "Plan".to_owned(),
        };
        Ok(Self::of_planned(&title, &resources))
    }

    fn of_planned(title: &str, resources: &FxHashMap<Urn, ResourcePlan>) -> Self {
        let redactor = Redactor::new();
        let mut drafts = Drafts::default();
        let mut planned: Vec<_> = resources.iter().collect();
        planned.sort_by_key(|(urn, _)| *urn);
        for (_, resource) in &planned {
            resource.each_secret_text(&mut |text, is_scalar| redactor.learn_text(text, is_scalar));
        }
        for (urn, resource) in planned {
            let draft = planned_draft(urn, resource, &redactor);
            drafts.drafts.insert((urn.clone(), IN_USE), draft);
        }
        drafts.finish(title, true, &redactor)
    }
}

fn planned_draft(urn: &Urn, resource: &ResourcePlan, redactor: &Redactor) -> Draft {
    let goal = resource.goal.as_ref();
    let custom = goal.is_none_or(|goal| goal.custom);
    let mut draft = Draft::new(urn, urn.resource_type(), custom, redactor);
    for op in &resource.steps {
        draft.set_op(*op);
    }
    let Some(goal) = goal else {
        return draft;
    };
    draft.parent.clone_from(&goal.parent);
    draft.node.protect = goal.protect;
    let lists = goal.property_dependencies.lists().flatten();
    draft.depends_on = goal.dependencies.iter().chain(lists).cloned().collect();
    let diff = &goal.input_diff;
    let mut properties = listed(&diff.adds, Some("add"), redactor);
    properties.extend(listed(&diff.updates, Some("update"), redactor));
    properties.extend(diff.deletes.iter().map(|key| super::PictureChange {
        path: redactor.scrub(key).into_owned(),
        kind: Some("delete"),
        replaces: false,
        old: None,
        new: None,
    }));
    draft.node.properties = properties;
    draft
}

/// A URN, with a number for each record that has it: 0 for the one in use, and numbers from 1 on for old copies.
type Place = (Urn, usize);

/// The number of the record in use.
const IN_USE: usize = 0;

/// The nodes by URN, in the order in which they were added.
#[derive(Default)]
struct Drafts {
    drafts: IndexMap<Place, Draft>,
    /// The old copies with their places.
    copies: Vec<(Place, Arc<ResourceState>)>,
}

impl Drafts {
    fn of_records(records: &[Arc<ResourceState>], redactor: &Redactor) -> Self {
        let mut drafts = Self::default();
        for record in records {
            if !record.delete {
                let place = (record.urn.clone(), IN_USE);
                drafts.drafts.insert(place, Draft::unchanged(record, redactor));
            } else if !record.pending_replacement {
                drafts.add_copy(record, redactor);
            }
        }
        drafts
    }

    /// Adds an old copy; returns its place.
    fn add_copy(&mut self, record: &Arc<ResourceState>, redactor: &Redactor) -> Place {
        let of_urn = self.copies.iter().filter(|(_, copy)| copy.urn == record.urn);
        let place = (record.urn.clone(), of_urn.count() + 1);
        self.drafts
            .insert(place.clone(), Draft::old_copy(record, redactor));
        self.copies.push((place.clone(), Arc::clone(record)));
        place
    }

    /// Adds the result of a step, which is one of `steps`.
    fn add_step(&mut self, result: &StepResult, steps: &[StepResult], redactor: &Redactor) {
        if let Some(copy) = deleted_copy(result) {
            let known = self.copies.iter().find(|(_, known)| is_same(known, copy));
            let place = match known {
                Some((place, _)) => Some(place.clone()),
                // The deletion is a part of a replacement by the same operation, which is one node.
                None if is_replaced_by(copy, steps) => None,
                None => Some(self.add_copy(copy, redactor)),
            };
            if let Some(draft) = place.and_then(|place| self.drafts.get_mut(&place)) {
                draft.end_copy(result, redactor);
                return;
            }
        }
        let step = &result.step.metadata;
        let state = step.new.as_ref().or(step.old.as_ref());
        let custom = state.is_none_or(|state| state.0.custom);
        let draft = self
            .drafts
            .entry((step.urn.clone(), IN_USE))
            .or_insert_with(|| Draft::new(&step.urn, step.resource_type.as_str(), custom, redactor));
        // The state after an operation has the resource already: what happened to it replaces what it has.
        draft.add(result, redactor);
    }

    /// Puts parents before their children and resolves URNs to places. Parents that form a circle, and those that are not there, are left
    /// out.
    fn finish(self, title: &str, planned: bool, redactor: &Redactor) -> Picture {
        let drafts = self.drafts;
        let places = places(&drafts);
        let place_of = |urn: &Urn| index_of(&drafts, urn).map(|index| places[index]);
        let mut nodes: Vec<(usize, PictureNode)> = drafts
            .values()
            .enumerate()
            .map(|(index, draft)| {
                let own = places[index];
                let mut node = draft.node.clone();
                node.parent = draft
                    .parent
                    .as_ref()
                    .and_then(place_of)
                    .filter(|place| *place < own);
                let mut depends_on: Vec<_> = draft.depends_on.iter().filter_map(place_of).collect();
                depends_on.retain(|place| *place != own);
                depends_on.sort_unstable();
                node.depends_on = depends_on;
                (own, node)
            })
            .collect();
        nodes.sort_by_key(|(place, _)| *place);
        Picture {
            title: redactor.scrub(title).into_owned(),
            planned,
            outcome: None,
            error: None,
            outputs: Vec::new(),
            nodes: nodes.into_iter().map(|(_, node)| node).collect(),
        }
    }
}

/// Returns the old copy that a step deletes; `None` for other steps.
fn deleted_copy(result: &StepResult) -> Option<&Arc<ResourceState>> {
    let step = &result.step.metadata;
    let deletes = matches!(
        step.op,
        StepOp::Delete | StepOp::DeleteReplaced | StepOp::Discard | StepOp::DiscardReplaced
    );
    let old = step.old.as_ref().filter(|_| deletes)?;
    old.0.delete.then_some(&old.0)
}

/// Returns whether one of the steps has replaced what is the old copy now.
fn is_replaced_by(copy: &ResourceState, steps: &[StepResult]) -> bool {
    steps.iter().any(|result| {
        let step = &result.step.metadata;
        let replaces = matches!(
            step.op,
            StepOp::Replace | StepOp::CreateReplacement | StepOp::ReadReplacement | StepOp::ImportReplacement
        );
        replaces && step.old.as_ref().is_some_and(|old| is_same(&old.0, copy))
    })
}

/// Returns whether two records are of the same thing, of which one is marked as an old copy.
fn is_same(one: &ResourceState, other: &ResourceState) -> bool {
    one.urn == other.urn && one.id == other.id && one.created == other.created && one.inputs == other.inputs
}

/// Returns the index of the record in use, or of the first old copy where there is none.
fn index_of(drafts: &IndexMap<Place, Draft>, urn: &Urn) -> Option<usize> {
    let of = |number: usize| drafts.get_index_of(&(urn.clone(), number));
    of(IN_USE).or_else(|| of(IN_USE + 1))
}

/// A node without a place, and one on the way up from another.
const NO_PLACE: usize = usize::MAX;
const VISITED: usize = usize::MAX - 1;

/// Returns the place of each node when parents precede their children and the order stays otherwise.
fn places(drafts: &IndexMap<Place, Draft>) -> Vec<usize> {
    let mut places = vec![NO_PLACE; drafts.len()];
    let mut next = 0;
    for index in 0..drafts.len() {
        // The chain of ancestors without a place, from the node upwards; a circle ends it.
        let mut chain = Vec::new();
        let mut at = Some(index);
        while let Some(index) = at.filter(|index| places[*index] == NO_PLACE) {
            places[index] = VISITED;
            chain.push(index);
            at = drafts[index]
                .parent
                .as_ref()
                .and_then(|urn| index_of(drafts, urn));
        }
        for index in chain.into_iter().rev() {
            places[index] = next;
            next += 1;
        }
    }
    places
}

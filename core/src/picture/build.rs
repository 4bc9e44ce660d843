//! Graphs of states, of steps, and of plans.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{
    Picture,
    node::{Draft, PictureNode, changed, listed},
};
use crate::{
    event::{OperationOutcome, PropertyChange, StepResult},
    plan::{Plan, ResourcePlan},
    property::PropertyMap,
    resource::ResourceState,
    secrets::Redactor,
    state::{ResourceGraph, Snapshot, root_stack_of},
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
        let picture = Drafts::of_records(records, &redactor).finish(title, false);
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
            drafts.add_step(result, redactor);
        }
        drafts.finish(title, planned)
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
        let redactor = Redactor::new();
        plan.each_secret_text(&mut |text, is_scalar| redactor.learn_text(text, is_scalar));
        let mut drafts = Drafts::default();
        let mut planned: Vec<_> = plan.resources.iter().collect();
        planned.sort_by_key(|(urn, _)| *urn);
        for (urn, resource) in planned {
            drafts
                .0
                .insert(urn.clone(), planned_draft(urn, resource, &redactor));
        }
        drafts.finish(title.into(), true)
    }
}

fn planned_draft(urn: &Urn, resource: &ResourcePlan, redactor: &Redactor) -> Draft {
    let goal = resource.goal.as_ref();
    let custom = goal.is_none_or(|goal| goal.custom);
    let mut draft = Draft::new(urn, urn.resource_type(), custom);
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
        path: key.to_string(),
        kind: Some("delete"),
        replaces: false,
        old: None,
        new: None,
    }));
    draft.node.properties = properties;
    draft
}

/// The nodes by URN, in the order in which they were added.
#[derive(Default)]
struct Drafts(IndexMap<Urn, Draft>);

impl Drafts {
    fn of_records(records: &[Arc<ResourceState>], redactor: &Redactor) -> Self {
        let live = records.iter().filter(|record| !record.delete);
        let drafts = live.map(|record| (record.urn.clone(), Draft::unchanged(record, redactor)));
        Self(drafts.collect())
    }

    fn add_step(&mut self, result: &StepResult, redactor: &Redactor) {
        let step = &result.step.metadata;
        let state = step.new.as_ref().or(step.old.as_ref());
        let custom = state.is_none_or(|state| state.0.custom);
        let draft = self
            .0
            .entry(step.urn.clone())
            .or_insert_with(|| Draft::new(&step.urn, step.resource_type.as_str(), custom));
        // The state after an operation has the resource already: what happened to it replaces what it has.
        draft.add(result, redactor);
    }

    /// Puts parents before their children and resolves URNs to places. Parents that form a circle, and those that are not there, are left
    /// out.
    fn finish(self, title: String, planned: bool) -> Picture {
        let drafts = self.0;
        let places = places(&drafts);
        let place_of = |urn: &Urn| drafts.get_index_of(urn).map(|index| places[index]);
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
            title,
            planned,
            outcome: None,
            error: None,
            outputs: Vec::new(),
            nodes: nodes.into_iter().map(|(_, node)| node).collect(),
        }
    }
}

/// A node without a place, and one on the way up from another.
const NO_PLACE: usize = usize::MAX;
const VISITED: usize = usize::MAX - 1;

/// Returns the place of each node when parents precede their children and the order stays otherwise.
fn places(drafts: &IndexMap<Urn, Draft>) -> Vec<usize> {
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
                .and_then(|urn| drafts.get_index_of(urn));
        }
        for index in chain.into_iter().rev() {
            places[index] = next;
            next += 1;
        }
    }
    places
}

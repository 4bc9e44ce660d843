//! One resource of a graph, and what steps change of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    event::{PropertyChange, StepMetadata, StepResult, value_text},
    property::PropertyMap,
    resource::ResourceState,
    secrets::Redactor,
    step::StepOp,
    urn::Urn,
};

/// Maximum length of a shown value, in characters.
const MAX_VALUE_LENGTH: usize = 400;

/// The type prefix of provider resources.
const PROVIDER_TYPE: &str = "pulumi:providers:";

/// A property of a resource, and how it changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureChange {
    /// The path of the property.
    pub path: String,
    /// `add`, `update` or `delete`; `None` for a property that does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Whether the change forces a replacement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// The value before, as text; `None` when absent or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The value after, as text; `None` when absent or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

/// A resource in a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureNode {
    /// The identity. Pages have its text without secrets.
    #[serde(skip)]
    pub urn: Urn,
    /// The identity as pages show it.
    #[serde(rename = "urn")]
    pub(super) shown_urn: String,
    /// The name, secrets masked.
    pub name: String,
    /// The type, secrets masked.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The name of what happens to it, as in summaries: `create`, `update`, `replace`, `delete`, `read`, `import`, `refresh`, `discard` or
    /// `same`.
    pub op: &'static str,
    /// The place of the parent among the nodes; `None` for the stack, and for a resource whose parent is not in the graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// The places of what it depends on.
    pub depends_on: Vec<usize>,
    /// `stack`, `component`, `provider` or `resource`.
    pub kind: &'static str,
    /// The provider's id; empty when there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Whether deletion is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub protect: bool,
    /// Whether it is an old copy of a replaced resource, a thing of its own.
    #[serde(skip)]
    pub old_copy: bool,
    /// Whether it is an old copy that waits for its deletion; `op` is `delete` then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pending_deletion: bool,
    /// The error of a failed step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The changed properties; all inputs where the resource is created, deleted or unchanged.
    pub properties: Vec<PictureChange>,
}

/// A node whose neighbours are still URNs.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) node: PictureNode,
    pub(super) parent: Option<Urn>,
    pub(super) depends_on: BTreeSet<Urn>,
    op: StepOp,
}

impl Draft {
    /// Creates an unchanged resource.
    pub(super) fn unchanged(state: &ResourceState, redactor: &Redactor) -> Self {
        let mut draft = Self::new(&state.urn, state.resource_type.as_str(), state.custom, redactor);
        draft.describe(state, redactor);
        draft.node.properties = listed(&state.inputs, None, redactor);
        draft
    }

    /// Creates an old copy of a replaced resource, which waits for its deletion.
    pub(super) fn old_copy(state: &ResourceState, redactor: &Redactor) -> Self {
        let mut draft = Self::unchanged(state, redactor);
        draft.set_op(StepOp::Delete);
        draft.node.old_copy = true;
        draft.node.pending_deletion = true;
        draft
    }

    /// Adds the result of the deletion of an old copy.
    pub(super) fn end_copy(&mut self, result: &StepResult, redactor: &Redactor) {
        let step = &result.step.metadata;
        self.fail(result, redactor);
        // A copy that has been deleted waits no longer, and one that is read only has its record removed.
        self.node.pending_deletion = result.failure.is_some();
        self.node.op = match step.op {
            StepOp::DiscardReplaced => StepOp::Discard.name(),
            _ => StepOp::Delete.name(),
        };
        if let Some(old) = &step.old {
            self.node.properties = listed(&old.0.inputs, Some("delete"), redactor);
        }
    }

    /// Creates a resource of which no state is known.
    pub(super) fn new(urn: &Urn, resource_type: &str, custom: bool, redactor: &Redactor) -> Self {
        let scrub = |text: &str| redactor.scrub(text).into_owned();
        let kind = match () {
            () if urn.is_root_stack() => "stack",
            () if resource_type.starts_with(PROVIDER_TYPE) => "provider",
            () if custom => "resource",
            () => "component",
        };
        Self {
            node: PictureNode {
                urn: urn.clone(),
                shown_urn: scrub(urn.as_str()),
                name: scrub(urn.name()),
                resource_type: scrub(resource_type),
                op: StepOp::Same.name(),
                parent: None,
                depends_on: Vec::new(),
                kind,
                id: String::new(),
                protect: false,
                old_copy: false,
                pending_deletion: false,
                failure: None,
                properties: Vec::new(),
            },
            parent: None,
            depends_on: BTreeSet::new(),
            op: StepOp::Same,
        }
    }

    fn describe(&mut self, state: &ResourceState, redactor: &Redactor) {
        self.parent.clone_from(&state.parent);
        self.node.id = redactor.scrub(state.id.as_str()).into_owned();
        self.node.protect = state.protect;
        let lists = state.property_dependencies.lists().flatten();
        self.depends_on = state
            .dependencies
            .iter()
            .chain(lists)
            .chain(&state.options.deleted_with)
            .cloned()
            .collect();
    }

    /// Adds the result of a step. Several steps of one resource give one node: the step of the highest weight names it.
    pub(super) fn add(&mut self, result: &StepResult, redactor: &Redactor) {
        let step = &result.step.metadata;
        self.fail(result, redactor);
        let is_old_copy = matches!(step.op, StepOp::DeleteReplaced | StepOp::DiscardReplaced);
        if is_old_copy && self.op != StepOp::Same {
            return;
        }
        self.set_op(step.op);
        if let Some(state) = step.new.as_ref().or(step.old.as_ref()) {
            self.describe(&state.0, redactor);
        }
        let properties = properties_of(step, redactor);
        if !properties.is_empty() {
            self.node.properties = properties;
        }
    }

    fn fail(&mut self, result: &StepResult, redactor: &Redactor) {
        if let Some(failure) = &result.failure {
            self.node.failure = Some(redactor.scrub(failure.error.message()).into_owned());
        }
    }

    pub(super) fn set_op(&mut self, op: StepOp) {
        if op.weight() >= self.op.weight() {
            self.op = op;
            self.node.op = op.counted_as();
        }
    }
}

/// Returns what a step shows of a resource's properties.
fn properties_of(step: &StepMetadata, redactor: &Redactor) -> Vec<PictureChange> {
    let inputs = |state: &Option<crate::event::StateMetadata>, kind| {
        let state = state.as_ref();
        state.map_or_else(Vec::new, |state| listed(&state.0.inputs, kind, redactor))
    };
    match step.op {
        StepOp::Create | StepOp::Import => inputs(&step.new, Some("add")),
        StepOp::Delete | StepOp::Discard => inputs(&step.old, Some("delete")),
        _ => step.changes(redactor).into_iter().map(changed).collect(),
    }
}

pub(super) fn changed(change: PropertyChange) -> PictureChange {
    let text = |value: &Option<_>| value.as_ref().map(|value| value_text(value, MAX_VALUE_LENGTH));
    PictureChange {
        kind: Some(change.kind.name().trim_end_matches("-replace")),
        replaces: change.kind.is_replace(),
        old: text(&change.old),
        new: text(&change.new),
        path: change.path,
    }
}

/// Lists all properties: as added, removed, or unchanged ones.
pub(super) fn listed(
    map: &PropertyMap,
    kind: Option<&'static str>,
    redactor: &Redactor,
) -> Vec<PictureChange> {
    let sorted: BTreeMap<_, _> = map.iter().filter(|(_, value)| !value.is_null()).collect();
    let changes = sorted.into_iter().map(|(key, value)| {
        let shown = value_text(&redactor.scrub_value(value), MAX_VALUE_LENGTH);
        let (old, new) = match kind {
            Some("delete") => (Some(shown), None),
            _ => (None, Some(shown)),
        };
        PictureChange {
            path: redactor.scrub(key).into_owned(),
            kind,
            replaces: false,
            old,
            new,
        }
    });
    changes.collect()
}

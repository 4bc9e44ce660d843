//! What happened to each resource, and the resources after an operation.

use std::{collections::BTreeMap, sync::Arc};

use indexmap::IndexMap;

use crate::{
    event::{PropertyChange, StepMetadata, StepResult, StepStatus},
    operation::OperationResult,
    property::{PropertyValue, json::value_to_plain_json},
    resource::ResourceState,
    secrets::Redactor,
    step::StepOp,
    urn::Urn,
};

/// The strongest step of a resource.
pub(super) struct ResourceStep<'a> {
    pub(super) urn: &'a Urn,
    pub(super) op: StepOp,
    /// The result of the strongest step, or of another one that failed.
    pub(super) status: StepStatus,
    pub(super) changes: Vec<PropertyChange>,
    pub(super) new: Option<&'a Arc<ResourceState>>,
    /// Whether no provider manages the resource.
    pub(super) is_component: bool,
}

impl ResourceStep<'_> {
    /// Returns whether the step changes something: reads do not.
    pub(super) const fn is_change(&self) -> bool {
        !matches!(
            self.op,
            StepOp::Same | StepOp::Read | StepOp::Refresh | StepOp::RemovePendingReplace
        )
    }

    /// Returns whether the step was refused, or failed.
    pub(super) const fn is_failed(&self) -> bool {
        !matches!(self.status, StepStatus::Planned | StepStatus::Succeeded)
    }
}

/// Returns the first line of the error of an operation that failed, as text for users: `the preview failed: …`.
pub(super) fn failure_text(result: &OperationResult) -> Option<String> {
    let text = result.error.as_ref()?.to_string();
    let text = result.redactor.scrub(&text);
    let line = text.lines().next().unwrap_or_default();
    Some(format!("{} failed: {line}", noun(result)))
}

/// Returns what a result is the result of.
const fn noun(result: &OperationResult) -> &'static str {
    if result.is_preview {
        "the preview"
    } else {
        "the operation"
    }
}

/// Returns whether a resource is the engine's own: the stack itself, or a default provider.
pub(super) fn is_own(urn: &Urn) -> bool {
    let is_default = urn.name().starts_with("default");
    urn.is_root_stack() || is_default && urn.resource_type().starts_with("pulumi:providers:")
}

/// Returns the strongest step of each resource, in the order of their URNs, without the engine's own resources.
pub(super) fn steps_of(result: &OperationResult) -> Vec<ResourceStep<'_>> {
    let mut strongest = BTreeMap::new();
    for step in &result.steps {
        let metadata = &step.step.metadata;
        let is_stronger = |(op, _): &(StepOp, _)| op.weight() < metadata.op.weight();
        if !is_own(&metadata.urn) && strongest.get(&metadata.urn).is_none_or(is_stronger) {
            strongest.insert(&metadata.urn, (metadata.op, step));
        }
    }
    let failed = |urn: &Urn| {
        let own = result.steps.iter().filter(|step| step.step.metadata.urn == *urn);
        own.map(|step| step.status())
            .find(|status| !matches!(status, StepStatus::Planned | StepStatus::Succeeded))
    };
    let facts = strongest.into_iter().map(|(urn, (op, step))| ResourceStep {
        urn,
        op,
        status: match result.error {
            Some(_) => failed(urn).unwrap_or(step.status()),
            None => step.status(),
        },
        changes: changes_of(result, step),
        new: step.step.metadata.new.as_ref().map(|new| &new.0),
        is_component: is_component(&step.step.metadata),
    });
    facts.collect()
}

fn is_component(step: &StepMetadata) -> bool {
    let record = step.new.as_ref().or(step.old.as_ref());
    record.is_some_and(|record| !record.0.custom)
}

/// Returns the changes of a step. Those of the marker of a replacement without any are those of its new half.
fn changes_of(result: &OperationResult, step: &StepResult) -> Vec<PropertyChange> {
    let changes = result.changes_of(step);
    if !changes.is_empty() {
        return changes;
    }
    let own = result
        .steps
        .iter()
        .filter(|other| other.step.metadata.urn == step.step.metadata.urn);
    own.map(|other| result.changes_of(other))
        .find(|changes| !changes.is_empty())
        .unwrap_or_default()
}

/// Returns the resources after an operation, each after those that it depends on; of a preview, those that there would be. The
/// stack itself and default providers are among them.
#[must_use]
pub fn resources(result: &OperationResult) -> Vec<Arc<ResourceState>> {
    let live = result.snapshot.resources.iter().filter(|record| !record.delete);
    let mut records: IndexMap<&Urn, Arc<ResourceState>> =
        live.map(|record| (&record.urn, Arc::clone(record))).collect();
    if !result.is_preview {
        return records.into_values().collect();
    }
    for [old, new] in &result.rerecorded {
        if old.urn != new.urn {
            records.shift_remove(&old.urn);
        }
        records.insert(&new.urn, Arc::clone(new));
    }
    for step in &result.steps {
        let metadata = &step.step.metadata;
        match (&metadata.new, metadata.op) {
            _ if step.failure.is_some() => {}
            (Some(new), _) => drop(records.insert(&metadata.urn, Arc::clone(&new.0))),
            (None, StepOp::Delete | StepOp::Discard) => drop(records.shift_remove(&metadata.urn)),
            (None, _) => {}
        }
    }
    records.into_values().collect()
}

/// Returns a value as text: JSON, with marks for secrets and unknowns.
pub(super) fn value_text(value: &PropertyValue, redactor: &Redactor) -> String {
    let text = match value {
        PropertyValue::Secret(_) => return "[secret]".to_owned(),
        PropertyValue::Output(output) if output.secret => return "[secret]".to_owned(),
        PropertyValue::Unknown(_) => return "(unknown)".to_owned(),
        PropertyValue::Object(map) if value.contains_secrets() || value.contains_unknowns() => {
            let members = map
                .iter()
                .map(|(key, value)| format!("{key:?}: {}", value_text(value, redactor)));
            return format!("{{{}}}", members.collect::<Vec<_>>().join(", "));
        }
        PropertyValue::Array(values) if value.contains_secrets() || value.contains_unknowns() => {
            let values = values.iter().map(|value| value_text(value, redactor));
            return format!("[{}]", values.collect::<Vec<_>>().join(", "));
        }
        plain => value_to_plain_json(plain)
            .ok()
            .and_then(|json| String::from_utf8(json).ok()),
    };
    let text = text.unwrap_or_else(|| format!("{value:?}"));
    redactor.scrub(&text).into_owned()
}

/// Returns a change as text: `size: "small" -> "large"`.
pub(super) fn change_text(change: &PropertyChange, redactor: &Redactor) -> String {
    let side = |value: &Option<PropertyValue>| value.as_ref().map(|value| value_text(value, redactor));
    match (side(&change.old), side(&change.new)) {
        (Some(old), Some(new)) => format!("{}: {old} -> {new}", change.path),
        (Some(old), None) => format!("{}: {old} is removed", change.path),
        (None, Some(new)) => format!("{}: {new} is added", change.path),
        (None, None) => change.path.clone(),
    }
}

/// Returns the mark of a step in displays.
pub(super) const fn mark(op: StepOp) -> &'static str {
    match op {
        StepOp::Create | StepOp::Import => "+",
        StepOp::Update => "~",
        StepOp::Delete | StepOp::Discard => "-",
        StepOp::Replace | StepOp::CreateReplacement | StepOp::DeleteReplaced => "+-",
        _ => " ",
    }
}

/// Returns the steps of an operation as lines.
pub(super) fn listing(result: &OperationResult, steps: &[ResourceStep<'_>]) -> String {
    let noun = noun(result);
    if steps.is_empty() {
        return format!("{noun} has no steps");
    }
    let mut text = format!("the steps of {noun}:");
    for step in steps {
        text.push_str(&step_text(step, &result.redactor));
    }
    text
}

/// Returns the mark of a step that failed; empty for others.
pub(super) fn failed_text(step: &ResourceStep<'_>) -> String {
    match step.is_failed() {
        true => format!(" ({})", step.status.name().replace('_', " ")),
        false => String::new(),
    }
}

/// Returns a step with its changes as lines, each with a newline before it.
pub(super) fn step_text(step: &ResourceStep<'_>, redactor: &Redactor) -> String {
    let failed = failed_text(step);
    let op = match step.op {
        StepOp::CreateReplacement | StepOp::DeleteReplaced => StepOp::Replace,
        op => op,
    };
    let (mark, kind, name) = (mark(op), step.urn.resource_type(), step.urn.name());
    let mut text = format!("\n  {mark:2} {:8} {kind}  {name}{failed}", op.name());
    for change in &step.changes {
        text.push_str(&format!("\n       {}", change_text(change, redactor)));
    }
    text
}

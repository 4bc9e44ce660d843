//! The properties that an operation changes, or would: each with its value before and after, secrets masked.

use std::{collections::BTreeSet, fmt::Write as _};

use stackwright::{
    event::{DiffKind, EventJson, PropertyChange, StepResult},
    operation::OperationResult,
    property::{PropertyMap, PropertyValue},
    step::StepOp,
    urn::Urn,
};

use super::{
    Paint, rows,
    values::{self, MASKED},
};

/// Returns the changes of all steps that did not fail, a paragraph for each resource.
pub(crate) fn differences(result: &OperationResult, json: &EventJson, paint: Paint, secrets: bool) -> String {
    let succeeded = || result.steps.iter().filter(|step| step.failure.is_none());
    // The marker of a replacement has the details of both of its halves.
    let replaced: BTreeSet<&Urn> = succeeded()
        .map(|step| &step.step.metadata)
        .filter(|metadata| metadata.op == StepOp::Replace)
        .map(|metadata| &metadata.urn)
        .collect();
    let mut text = String::new();
    for step in succeeded() {
        let metadata = &step.step.metadata;
        let is_half = matches!(metadata.op, StepOp::CreateReplacement | StepOp::DeleteReplaced)
            && replaced.contains(&metadata.urn);
        if !is_half {
            paragraph(&mut text, result, step, (paint, secrets));
        }
    }
    match secrets {
        true => text,
        false => json.text(&text).into_owned(),
    }
}

fn paragraph(
    text: &mut String,
    result: &OperationResult,
    step: &StepResult,
    (paint, secrets): (Paint, bool),
) {
    let metadata = &step.step.metadata;
    let (op, urn) = (metadata.op, &metadata.urn);
    let verb = rows::summary_verb(op, true);
    let head = format!(
        "{} {}: ({verb})",
        rows::sign(op).trim_end(),
        metadata.resource_type
    );
    line(text, &paint.op(op, &head));
    let state = metadata.old.as_ref().or(metadata.new.as_ref());
    if let Some(state) = state.filter(|state| !state.0.id.is_empty()) {
        line(text, &paint.faint(&format!("    [id={}]", state.0.id)));
    }
    line(text, &paint.faint(&format!("    [urn={urn}]")));
    let inputs = |state: &stackwright::event::StateMetadata| match secrets {
        true => values::revealed(&state.0.inputs),
        false => state.0.inputs.clone(),
    };
    match op {
        StepOp::Create | StepOp::Import => {
            let inputs = metadata.new.as_ref().map(inputs).unwrap_or_default();
            properties(text, &inputs, '+', paint);
        }
        StepOp::Delete => {
            let inputs = metadata.old.as_ref().map(inputs).unwrap_or_default();
            properties(text, &inputs, '-', paint);
        }
        _ => {
            let states = || [&metadata.old, &metadata.new].into_iter().flatten();
            let has_secrets = secrets && states().any(|state| state.0.inputs.contains_secrets());
            // Changes are masked. Where secrets are shown, whole inputs take their place.
            let changes = match has_secrets {
                true => Vec::new(),
                false => result.changes_of(step),
            };
            for change in &changes {
                line(text, &paint.signed(&of_change(change)));
            }
            if changes.is_empty() {
                for input in rows::changed_inputs(metadata) {
                    let values = || [input.old, input.new].into_iter().flatten();
                    // A value can be a secret on one side only.
                    let is_hidden = values().any(PropertyValue::contains_secrets);
                    let shown = |value: &PropertyValue| match (is_hidden, secrets) {
                        (true, true) => values::shown(&values::revealed_value(value), 2),
                        (true, false) => MASKED.to_owned(),
                        (false, _) => values::shown(value, 2),
                    };
                    let values: Vec<String> = values().map(shown).collect();
                    let shown = format!("  {} {}: {}", input.sign(), input.name, values.join(" => "));
                    line(text, &paint.signed(&shown));
                }
            }
        }
    }
}

fn properties(text: &mut String, properties: &PropertyMap, sign: char, paint: Paint) {
    for (name, value) in properties.iter() {
        let shown = values::shown(value, 2);
        line(text, &paint.signed(&format!("  {sign} {name}: {shown}")));
    }
}

/// Returns a changed property: `~ tags.mode: "a" => "b"`, with a note where it forces a replacement.
fn of_change(change: &PropertyChange) -> String {
    let sign = match change.kind {
        DiffKind::Add | DiffKind::AddReplace => '+',
        DiffKind::Delete | DiffKind::DeleteReplace => '-',
        DiffKind::Update | DiffKind::UpdateReplace => '~',
    };
    let values: Vec<String> = [&change.old, &change.new]
        .into_iter()
        .flatten()
        .map(|value| match value {
            PropertyValue::String(text) if text == MASKED => MASKED.to_owned(),
            value => values::shown(value, 2),
        })
        .collect();
    let values = match values.is_empty() {
        true => String::new(),
        false => format!(": {}", values.join(" => ")),
    };
    let forces = if change.kind.is_replace() {
        " (replaces)"
    } else {
        ""
    };
    format!("  {sign} {}{values}{forces}", change.path)
}

fn line(text: &mut String, added: &str) {
    // Writing to a string does not fail.
    writeln!(text, "{added}").unwrap_or_default();
}

//! Views: recorded ones as JavaScript objects, and steps on them from JavaScript objects.

use napi::{Result, sys::ValueType};
use stackwright::{
    event::OperationStatus,
    provider::{View, ViewName, ViewStep, Views},
    step::StepOp,
};

use super::answer::detailed_diff;
use crate::convert::{Js, Reader, Writer};

/// Puts the recorded views into a request: a list of `{ type, name, parentType?, parentName?, inputs, outputs }`.
pub(super) fn write(writer: &Writer, request: Js, views: &Views) -> Result<()> {
    let recorded = views.recorded();
    let array = writer.scope().array(recorded.len())?;
    for (index, view) in recorded.iter().enumerate() {
        let object = writer.scope().object()?;
        writer.set_text(object, "type", view.resource_type.as_str())?;
        writer.set_text(object, "name", &view.name)?;
        if let Some(parent) = &view.parent {
            writer.set_text(object, "parentType", parent.resource_type.as_str())?;
            writer.set_text(object, "parentName", &parent.name)?;
        }
        writer.set_map(object, "inputs", &view.inputs)?;
        writer.set_map(object, "outputs", &view.outputs)?;
        writer.scope().set_element(array, index, object)?;
    }
    writer.scope().set_named(request, "oldViews", array)
}

/// Reads the steps in an answer, or in a failure; none when it is no object.
pub(super) fn steps(reader: &Reader, answer: Js) -> Result<Vec<ViewStep>> {
    if reader.scope().kind(answer)? != ValueType::napi_object {
        return Ok(Vec::new());
    }
    match reader.field(answer, "viewSteps")? {
        Some(steps) => reader.elements(steps, "viewSteps", |value| step(reader, value)),
        None => Ok(Vec::new()),
    }
}

fn step(reader: &Reader, value: Js) -> Result<ViewStep> {
    let name = reader.text_field(value, "op")?.unwrap_or_default();
    let op = StepOp::ALL.iter().find(|op| op.name() == name);
    let Some(op) = op else {
        let message = format!("viewSteps: there is no operation {name:?}");
        return Err(napi::Error::from_reason(message));
    };
    let step = ViewStep::new(*op, view(reader, value, "old")?, view(reader, value, "new")?);
    let status = reader.text_field(value, "status")?;
    Ok(ViewStep {
        resource_type: match reader.text_field(value, "type")? {
            Some(own) => own.into(),
            None => step.resource_type.clone(),
        },
        name: reader.text_field(value, "name")?.unwrap_or(step.name.clone()),
        keys: reader.texts_field(value, "keys")?,
        diffs: reader.texts_field(value, "diffs")?,
        detailed_diff: match reader.field(value, "detailedDiff")? {
            Some(detailed) => Some(detailed_diff(reader, detailed)?),
            None => None,
        },
        status: match status.as_deref() {
            None | Some("ok") => OperationStatus::Ok,
            Some("partial-failure") => OperationStatus::PartialFailure,
            Some("unknown") => OperationStatus::Unknown,
            Some(other) => {
                let message = format!("viewSteps: there is no status {other:?}");
                return Err(napi::Error::from_reason(message));
            }
        },
        error: reader.text_field(value, "error")?.unwrap_or_default(),
        ..step
    })
}

fn view(reader: &Reader, step: Js, side: &str) -> Result<Option<View>> {
    let Some(value) = reader.field(step, side)? else {
        return Ok(None);
    };
    let text = |name| -> Result<String> { Ok(reader.text_field(value, name)?.unwrap_or_default()) };
    Ok(Some(View {
        resource_type: text("type")?.into(),
        name: text("name")?,
        parent: ViewName::given(text("parentType")?, text("parentName")?),
        inputs: reader.map_field(value, "inputs")?.unwrap_or_default(),
        outputs: reader.map_field(value, "outputs")?.unwrap_or_default(),
    }))
}

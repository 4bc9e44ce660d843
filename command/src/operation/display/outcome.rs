//! The outcome of an operation as one line of JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use stackwright::{
    event::{EngineEvent, EventPayload, StepMetadata},
    operation::OperationResult,
    property::json::to_vec,
    step::StepOp,
};

use super::Listed;
use crate::{failure::Result, text};

/// The line, in the order of its members.
#[derive(Default, Serialize)]
pub(in crate::operation) struct Outcome {
    #[serde(skip)]
    listed: Listed,
    result: &'static str,
    duration: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    summary: BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resources: Vec<Resource>,
}

#[derive(Serialize)]
struct Resource {
    urn: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    op: StepOp,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

impl Outcome {
    /// Creates the outcome of an operation that begins.
    pub(in crate::operation) fn new(listed: Listed) -> Self {
        Self {
            listed,
            ..Self::default()
        }
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: &EngineEvent) {
        match &event.payload {
            EventPayload::ResourcePre(step)
                if !event.internal && (self.listed.sames || step.metadata.op != StepOp::Same) =>
            {
                self.resources.push(Resource::new(&step.metadata));
            }
            EventPayload::Summary(summary) => {
                self.result = summary.result.name();
                self.summary.clone_from(&summary.resource_changes);
            }
            _ => {}
        }
    }

    /// Returns the line of an operation that has ended; `None` for one that was refused before it had a summary.
    pub(in crate::operation) fn line(mut self, result: &OperationResult) -> Result<Option<String>> {
        if self.result.is_empty() {
            return Ok(None);
        }
        self.duration = u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX);
        text::utf8(to_vec(&self)?).map(Some)
    }
}

impl Resource {
    fn new(step: &StepMetadata) -> Self {
        let state = step.new.as_ref().or(step.old.as_ref());
        Self {
            urn: step.urn.to_string(),
            resource_type: step.resource_type.to_string(),
            name: step.urn.name().to_owned(),
            op: step.op,
            parent: state.and_then(|state| state.0.parent.as_ref().map(ToString::to_string)),
        }
    }
}

//! The JSON of an operation's result.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use stackwright::{
    Error,
    diagnostic::{Diagnostic, Severity},
    event::{OperationOutcome, StepEvent},
    executor::StepOp,
    operation::OperationResult,
    property::json::{PlainMap, to_vec},
};

use crate::guard::Outcome;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultDocument<'a> {
    outcome: OperationOutcome,
    error: Option<ErrorDocument<'a>>,
    changes: &'a BTreeMap<&'static str, u64>,
    outputs: PlainMap,
    steps: Vec<StepDocument<'a>>,
    diagnostics: Vec<DiagnosticDocument<'a>>,
    duration_seconds: f64,
    tree: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    kind: &'static str,
    class: &'static str,
    message: &'a str,
    urn: Option<String>,
    provider: Option<&'a str>,
    phase: Option<&'a str>,
    hints: &'a [String],
}

#[derive(Serialize)]
struct StepDocument<'a> {
    op: StepOp,
    urn: String,
    #[serde(rename = "type")]
    resource_type: &'a str,
    keys: &'a [String],
    diffs: &'a [String],
}

#[derive(Serialize)]
struct DiagnosticDocument<'a> {
    severity: Severity,
    message: &'a str,
    urn: Option<String>,
}

/// Writes what an operation came to.
pub(super) fn document(result: &OperationResult) -> Outcome<Vec<u8>> {
    Ok(to_vec(&ResultDocument {
        outcome: result.outcome,
        error: result.error.as_ref().map(ErrorDocument::from),
        changes: &result.changes,
        outputs: PlainMap(result.outputs.clone()),
        steps: result
            .steps
            .iter()
            .map(|step| StepDocument::from(&**step))
            .collect(),
        diagnostics: result.diagnostics.iter().map(DiagnosticDocument::from).collect(),
        duration_seconds: result.duration.as_secs_f64(),
        tree: result.tree(),
        plan: plan(result)?,
    })?)
}

/// Returns the plan's document, where the options asked for one.
fn plan(result: &OperationResult) -> Outcome<Option<&RawValue>> {
    let document = result.plan.as_ref().and_then(|plan| plan.document());
    let raw = document.map(serde_json::from_str::<&RawValue>).transpose();
    Ok(raw.map_err(|error| Error::internal(format!("a plan is no JSON: {error}")))?)
}

impl<'a> From<&'a Error> for ErrorDocument<'a> {
    fn from(error: &'a Error) -> Self {
        Self {
            kind: error.kind().name(),
            class: error.kind().class().name(),
            message: error.message(),
            urn: error.urn().map(ToString::to_string),
            provider: error.provider(),
            phase: error.phase(),
            hints: error.hints(),
        }
    }
}

impl<'a> From<&'a StepEvent> for StepDocument<'a> {
    fn from(step: &'a StepEvent) -> Self {
        Self {
            op: step.metadata.op,
            urn: step.metadata.urn.to_string(),
            resource_type: step.metadata.resource_type.as_str(),
            keys: &step.metadata.keys,
            diffs: &step.metadata.diffs,
        }
    }
}

impl<'a> From<&'a Diagnostic> for DiagnosticDocument<'a> {
    fn from(diagnostic: &'a Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity,
            message: &diagnostic.message,
            urn: diagnostic.urn.as_ref().map(ToString::to_string),
        }
    }
}

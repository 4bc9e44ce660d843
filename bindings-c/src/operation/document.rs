//! The JSON of an operation's result.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use stackwright::{
    Error, Language,
    diagnostic::{Diagnostic, Severity},
    event::{DiffKind, OperationOutcome, StepResult},
    operation::OperationResult,
    property::json::{PlainMap, PlainValue, to_vec},
    step::StepOp,
};

use crate::failure::Outcome;

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
#[serde(rename_all = "camelCase")]
struct ErrorDocument<'a> {
    kind: &'static str,
    class: &'static str,
    message: &'a str,
    reference_message: Cow<'a, str>,
    message_code: Option<&'static str>,
    message_arguments: Option<&'a Map<String, Value>>,
    urn: Option<String>,
    provider: Option<&'a str>,
    phase: Option<&'a str>,
    config_key: Option<&'a str>,
    hints: Vec<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepDocument<'a> {
    op: StepOp,
    urn: String,
    #[serde(rename = "type")]
    resource_type: &'a str,
    keys: &'a [String],
    diffs: &'a [String],
    status: &'static str,
    duration_seconds: f64,
    error: Option<ErrorDocument<'a>>,
    changes: Vec<ChangeDocument>,
}

#[derive(Serialize)]
struct ChangeDocument {
    path: String,
    kind: DiffKind,
    old: Option<PlainValue>,
    new: Option<PlainValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiagnosticDocument<'a> {
    severity: Severity,
    message: &'a str,
    reference_message: &'a str,
    message_code: Option<&'static str>,
    message_arguments: Option<&'a Map<String, Value>>,
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
            .map(|step| step_document(result, step))
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
            reference_message: error.reference_message(),
            message_code: error.message_code(),
            message_arguments: error.message_arguments(),
            urn: error.urn().map(ToString::to_string),
            provider: error.provider(),
            phase: error.phase(),
            config_key: error.config_key(),
            hints: error.hints_in(Language::C),
        }
    }
}

fn step_document<'a>(result: &OperationResult, step: &'a StepResult) -> StepDocument<'a> {
    let metadata = &step.step.metadata;
    let changes = result.changes_of(step).into_iter();
    StepDocument {
        op: metadata.op,
        urn: metadata.urn.to_string(),
        resource_type: metadata.resource_type.as_str(),
        keys: &metadata.keys,
        diffs: &metadata.diffs,
        status: step.status().name(),
        duration_seconds: step.duration.as_secs_f64(),
        error: step
            .failure
            .as_ref()
            .map(|failure| ErrorDocument::from(&failure.error)),
        changes: changes
            .map(|change| ChangeDocument {
                path: change.path,
                kind: change.kind,
                old: change.old.map(PlainValue),
                new: change.new.map(PlainValue),
            })
            .collect(),
    }
}

impl<'a> From<&'a Diagnostic> for DiagnosticDocument<'a> {
    fn from(diagnostic: &'a Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity,
            message: diagnostic.message.library(),
            reference_message: diagnostic.message.reference(),
            message_code: diagnostic.message.code(),
            message_arguments: diagnostic.message.arguments(),
            urn: diagnostic.urn.as_ref().map(ToString::to_string),
        }
    }
}

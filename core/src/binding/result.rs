//! The documents of results and errors.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    import::{self, ImportReportDocument},
    outputs::{self, OutputDocument},
    pending::DroppedDocument,
};
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, Result},
    event::{DiffKind, OperationOutcome, StepResult, StepStatus, SuggestedMove},
    fleet::FleetResult,
    message::Language,
    operation::OperationResult,
    property::json::{PlainValue, to_vec},
    step::StepOp,
};

/// The result of an operation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultDocument<'a> {
    outcome: OperationOutcome,
    error: Option<ErrorDocument<'a>>,
    changes: &'a BTreeMap<&'static str, u64>,
    has_changes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<BTreeMap<String, OutputDocument>>,
    steps: Vec<StepDocument<'a>>,
    suggested_moves: &'a [SuggestedMove],
    diagnostics: Vec<DiagnosticDocument<'a>>,
    dropped_pending: Vec<DroppedDocument<'a>>,
    duration: f64,
    /// Whether an operation with the same run id had ended before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_recorded: bool,
    /// The unfinished stacks that the program has tried to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unfinished_reads: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<ImportReportDocument<'a>>,
}

/// The result of an operation on a set of stacks, without those of the stacks.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FleetDocument<'a> {
    outcome: OperationOutcome,
    error: Option<ErrorDocument<'a>>,
    changes: &'a BTreeMap<&'static str, u64>,
    /// The names of the stacks that did not begin.
    skipped: Vec<String>,
    duration: f64,
}

/// The facts of an error.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ErrorFacts")]
pub(super) struct ErrorDocument<'a> {
    /// The stable name of the kind: `invalid_input`, `conflict`, `provider`…
    kind: &'static str,
    /// The class of the kind, which groups kinds by their remedy.
    class: &'static str,
    /// The message to display.
    message: &'a str,
    /// The text that the reference engine gives such a message, for tools that match on it.
    reference_message: Cow<'a, str>,
    /// The stable name of the message, where it has one: `target_not_found` for instance.
    message_code: Option<&'static str>,
    /// The arguments of a message with a code, by name.
    message_arguments: Option<&'a Map<String, Value>>,
    /// The URN of the resource that failed.
    urn: Option<&'a str>,
    /// The package of the provider that failed.
    provider: Option<&'a str>,
    /// The phase that failed: `check`, `diff`, `create`…
    phase: Option<&'a str>,
    /// The configuration key that is missing or wrong.
    config_key: Option<&'a str>,
    /// What the caller can do, in the style of the caller's language.
    hints: Vec<Cow<'a, str>>,
    /// The text of the cause.
    reason: Option<String>,
}

/// A change of one property of a resource that existed before.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PropertyChange")]
pub(super) struct PropertyChangeDocument {
    /// The path of the property: `tags.owner`, `rules[0].port`.
    path: String,
    /// The kind of change.
    kind: DiffKind,
    /// The value before, in plain JSON form, secrets masked; `null` where there was none, or where it is not known.
    #[schemars(with = "Value", extend("x-python" = "PropertyValue"))]
    old: Option<PlainValue>,
    /// The value after, likewise.
    #[schemars(with = "Value", extend("x-python" = "PropertyValue"))]
    new: Option<PlainValue>,
}

/// One step of a result.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Step")]
pub(super) struct StepDocument<'a> {
    /// What the step does: `create`, `update`, `delete`, `same`, `replace`, `create-replacement`…
    op: StepOp,
    /// The URN of the resource.
    urn: &'a str,
    /// The name of the resource.
    name: &'a str,
    /// The type of the resource.
    #[serde(rename = "type")]
    resource_type: &'a str,
    /// The properties that force a replacement.
    keys: &'a [String],
    /// The properties that differ.
    diffs: &'a [String],
    /// How the step ended: `planned` in a preview; `refused` where it was not tried (a failed check, a missing plugin,
    /// a duplicate URN, a policy), `failed` where nothing was changed, `partially_failed` where the resource exists all
    /// the same, `unknown` where the effect of the step is not known: the state records a pending operation.
    status: StepStatus,
    /// How long it took, in seconds.
    duration: f64,
    /// The error of a failed step.
    #[schemars(extend("x-python" = "BaseException | None", "x-typescript" = "StackwrightError | null"))]
    error: Option<ErrorDocument<'a>>,
    /// The properties that change in a resource that existed before, with their values.
    changes: Vec<PropertyChangeDocument>,
}

/// A message that was emitted during an operation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Diagnostic")]
pub(super) struct DiagnosticDocument<'a> {
    /// The severity.
    severity: Severity,
    /// The message to display.
    message: &'a str,
    /// The URN of the resource that the message is about.
    urn: Option<&'a str>,
    /// The text that the reference engine gives such a message, for tools that match on it.
    reference_message: &'a str,
    /// The stable name of the message, where it has one: `target_not_found` for instance.
    message_code: Option<&'static str>,
    /// The arguments of a message with a code, by name.
    message_arguments: Option<&'a Map<String, Value>>,
}

/// Writes the result of an operation as JSON. With `whole`, outputs (with the values of secret ones), tree, plan and the
/// values of an import are part of it.
///
/// # Errors
/// [`crate::ErrorKind::Internal`] for a plan that is no JSON.
pub fn result_document(result: &OperationResult, language: Language, whole: bool) -> Result<Vec<u8>> {
    let plan = result
        .plan
        .as_ref()
        .filter(|_| whole)
        .and_then(|plan| plan.document());
    let plan = plan.map(serde_json::from_str::<&RawValue>).transpose();
    let steps = result
        .steps
        .iter()
        .map(|step| StepDocument::of(result, step, language));
    to_vec(&ResultDocument {
        outcome: result.outcome,
        error: result
            .error
            .as_ref()
            .map(|error| ErrorDocument::of(error, language)),
        changes: &result.changes,
        has_changes: result.has_changes(),
        outputs: whole.then(|| outputs::documents(&result.outputs, true)),
        steps: steps.collect(),
        suggested_moves: &result.suggested_moves,
        diagnostics: result.diagnostics.iter().map(DiagnosticDocument::from).collect(),
        dropped_pending: result.dropped_pending.iter().map(DroppedDocument::from).collect(),
        duration: result.duration.as_secs_f64(),
        is_recorded: result.is_recorded,
        unfinished_reads: result.unfinished_reads.iter().map(ToString::to_string).collect(),
        tree: whole.then(|| result.tree()),
        imported: result
            .imported
            .as_ref()
            .map(|report| import::document(report, language, whole)),
        plan: plan.map_err(|error| Error::internal(format!("a plan is no JSON: {error}")))?,
    })
}

/// Writes the result of an operation on a set of stacks as JSON, without the results of the stacks.
#[must_use]
pub fn fleet_document(result: &FleetResult, language: Language) -> Value {
    let skipped = result.stacks.iter().filter(|end| end.is_skipped);
    let error = result.error.as_ref();
    let document = FleetDocument {
        outcome: result.outcome,
        error: error.map(|error| ErrorDocument::of(error, language)),
        changes: &result.changes,
        skipped: skipped.map(|end| end.name.to_string()).collect(),
        duration: result.duration.as_secs_f64(),
    };
    serde_json::to_value(document).unwrap_or_default()
}

/// Writes a step of a result as JSON.
#[must_use]
pub fn step_document(result: &OperationResult, step: &StepResult, language: Language) -> Value {
    serde_json::to_value(StepDocument::of(result, step, language)).unwrap_or_default()
}

/// Writes a suggested move as JSON.
#[must_use]
pub fn move_document(suggestion: &SuggestedMove) -> Value {
    serde_json::to_value(suggestion).unwrap_or_default()
}

/// Writes a message of an operation as JSON.
#[must_use]
pub fn diagnostic_document(diagnostic: &Diagnostic) -> Value {
    serde_json::to_value(DiagnosticDocument::from(diagnostic)).unwrap_or_default()
}

/// Writes the facts of an error as JSON.
#[must_use]
pub fn error_document(error: &Error, language: Language) -> Value {
    serde_json::to_value(ErrorDocument::of(error, language)).unwrap_or_default()
}

impl<'a> ErrorDocument<'a> {
    pub(super) fn of(error: &'a Error, language: Language) -> Self {
        Self {
            kind: error.kind().name(),
            class: error.kind().class().name(),
            message: error.message(),
            reference_message: error.reference_message(),
            message_code: error.message_code(),
            message_arguments: error.message_arguments(),
            urn: error.urn().map(|urn| urn.as_str()),
            provider: error.provider(),
            phase: error.phase(),
            config_key: error.config_key(),
            hints: error.hints_in(language),
            reason: std::error::Error::source(error).map(ToString::to_string),
        }
    }
}

impl<'a> StepDocument<'a> {
    fn of(result: &OperationResult, step: &'a StepResult, language: Language) -> Self {
        let metadata = &step.step.metadata;
        let changes = result.changes_of(step).into_iter();
        let failure = step.failure.as_ref();
        Self {
            op: metadata.op,
            urn: metadata.urn.as_str(),
            name: metadata.urn.name(),
            resource_type: metadata.resource_type.as_str(),
            keys: &metadata.keys,
            diffs: &metadata.diffs,
            status: step.status(),
            duration: step.duration.as_secs_f64(),
            error: failure.map(|failure| ErrorDocument::of(&failure.error, language)),
            changes: changes
                .map(|change| PropertyChangeDocument {
                    path: change.path,
                    kind: change.kind,
                    old: change.old.map(PlainValue),
                    new: change.new.map(PlainValue),
                })
                .collect(),
        }
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
            urn: diagnostic.urn.as_ref().map(|urn| urn.as_str()),
        }
    }
}

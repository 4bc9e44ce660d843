//! The digest of a preview: one document, which is written when the preview has ended, also when it failed.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use stackwright::{
    diagnostic::Severity,
    event::{EngineEvent, EventJson, EventPayload, PropertyDiff, StateMetadata, StepMetadata},
    operation::OperationResult,
    property::{
        PropertyMap, PropertyValue,
        json::{SecretForm, to_vec_pretty},
    },
    resource::ResourceState,
    state::deployment::RecordJson,
    step::StepOp,
};

use super::Listed;
use crate::{display::prefix, failure::Result, text};

/// The indentation of the document.
const WIDE: &str = "    ";
/// What is shown in place of a secret.
const MASKED: &str = "[secret]";

/// The document, in the order of its members.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::operation) struct Digest {
    #[serde(skip)]
    listed: Listed,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    config: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Message>,
    #[serde(skip_serializing_if = "is_zero")]
    duration: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    change_summary: BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "is_false")]
    maybe_corrupt: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    op: StepOp,
    urn: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_state: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_state: Option<Record>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff_reasons: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replace_reasons: Vec<String>,
    detailed_diff: Option<BTreeMap<String, Difference>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    kind: &'static str,
    input_diff: bool,
}

#[derive(Serialize)]
struct Message {
    #[serde(skip_serializing_if = "Option::is_none")]
    urn: Option<String>,
    message: String,
    severity: &'static str,
}

/// A record without secrets, in the form of states.
struct Record(ResourceState);

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        RecordJson::new(&self.0, SecretForm::Plaintext).serialize(serializer)
    }
}

impl Digest {
    /// Creates the digest of a preview that begins.
    pub(in crate::operation) fn new(listed: Listed) -> Self {
        Self {
            listed,
            ..Self::default()
        }
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: &EngineEvent, json: &EventJson) {
        match &event.payload {
            EventPayload::Prelude { config } => self.config.clone_from(config),
            EventPayload::ResourcePre(step) if !event.internal && is_shown(&step.metadata, self.listed) => {
                self.steps.push(Step::new(&step.metadata));
            }
            EventPayload::ResourceOutputs(step) if !event.internal => self.found(&step.metadata),
            EventPayload::Diagnostic(diagnostic)
                if !diagnostic.ephemeral && diagnostic.severity != Severity::Debug =>
            {
                let text = json.text(diagnostic.message.reference());
                self.diagnostics.push(Message {
                    urn: diagnostic.urn.as_ref().map(ToString::to_string),
                    message: format!("{}{text}\n", prefix(diagnostic.severity)),
                    severity: diagnostic.severity.name(),
                });
            }
            EventPayload::Stdout { message } => self.diagnostics.push(Message {
                urn: None,
                message: json.text(message).into_owned(),
                severity: Severity::Info.name(),
            }),
            EventPayload::Summary(summary) => {
                self.change_summary.clone_from(&summary.resource_changes);
                self.maybe_corrupt = summary.maybe_corrupt;
            }
            _ => {}
        }
    }

    /// Replaces the step of a refresh by what it has found.
    fn found(&mut self, step: &StepMetadata) {
        let is_found = step.op == StepOp::Delete || step.op == StepOp::Update && step.detailed_diff.is_some();
        let mut refreshes = self.steps.iter_mut().filter(|known| known.op == StepOp::Refresh);
        if let Some(known) = refreshes.find(|known| known.urn == step.urn.as_str())
            && is_found
        {
            *known = Step::new(step);
        }
    }

    /// Returns the document of a preview that has ended.
    pub(in crate::operation) fn document(mut self, result: &OperationResult) -> Result<String> {
        self.duration = u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX);
        let document = text::utf8(to_vec_pretty(&self, WIDE)?)?;
        // Outside of texts, a document has none of these.
        Ok(document
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026"))
    }
}

/// Returns whether a step is listed: of unchanged resources only the stack itself and those whose protection differs, and of a
/// replacement only its marker, unless others are requested.
fn is_shown(step: &StepMetadata, listed: Listed) -> bool {
    match step.op {
        StepOp::Same => listed.sames || step.urn.is_root_stack() || changes_protection(step),
        StepOp::CreateReplacement | StepOp::DeleteReplaced => listed.replacement_steps,
        _ => true,
    }
}

fn changes_protection(step: &StepMetadata) -> bool {
    let states = step.old.as_ref().zip(step.new.as_ref());
    states.is_some_and(|(old, new)| old.0.protect != new.0.protect)
}

impl Step {
    fn new(step: &StepMetadata) -> Self {
        let record = |state: &StateMetadata| Record(masked_record(&state.0));
        let differences = |(path, property): (&String, &PropertyDiff)| {
            let difference = Difference {
                kind: property.kind.name(),
                input_diff: property.input_diff,
            };
            (path.clone(), difference)
        };
        Self {
            op: step.op,
            urn: step.urn.to_string(),
            provider: step.provider.to_string(),
            old_state: step.old.as_ref().map(record),
            new_state: step.new.as_ref().map(record),
            diff_reasons: step.diffs.clone(),
            replace_reasons: step.keys.clone(),
            detailed_diff: step
                .detailed_diff
                .as_ref()
                .map(|diff| diff.iter().map(differences).collect()),
        }
    }
}

fn masked_record(state: &ResourceState) -> ResourceState {
    ResourceState {
        inputs: masked_map(&state.inputs),
        outputs: masked_map(&state.outputs),
        ..state.clone()
    }
}

fn masked_map(map: &PropertyMap) -> PropertyMap {
    map.iter()
        .map(|(name, value)| (name.clone(), masked(value)))
        .collect()
}

fn masked(value: &PropertyValue) -> PropertyValue {
    match value {
        PropertyValue::Secret(_) => MASKED.into(),
        PropertyValue::Output(output) if output.secret => MASKED.into(),
        PropertyValue::Array(items) => PropertyValue::array(items.iter().map(masked).collect()),
        PropertyValue::Object(members) => masked_map(members).into(),
        other => other.clone(),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature of such functions"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature of such functions"
)]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

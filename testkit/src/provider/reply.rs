//! Answers of the director as the engine's types.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use stackwright::{
    event::{DiffKind, PropertyDiff},
    property::{PropertyMap, json::PlainMap},
    provider::{
        CheckFailure, CheckResponse, CreateResponse, DiffChanges, DiffResponse, InitFailure, InvokeResponse,
        ProviderError, ProviderResult, ProviderStatus, ReadResponse, UpdateResponse, ViewStep,
    },
    resource::PropertyDependencies,
};

/// An answer that can be read from JSON.
pub(super) trait Reply: Sized {
    /// The JSON form of the answer.
    type Document: DeserializeOwned;

    fn of(document: Self::Document) -> Self;
}

/// Reads an answer.
pub(super) fn read<R: Reply>(answer: Value) -> ProviderResult<R> {
    let nonsense = |error| {
        ProviderError::new(
            ProviderStatus::Internal,
            format!("the scenario answers nonsense: {error}"),
        )
    };
    serde_json::from_value(answer).map(R::of).map_err(nonsense)
}

/// Reads a failure.
pub(super) fn failure(error: &Value) -> ProviderError {
    let status = error["status"]
        .as_i64()
        .and_then(|code| i32::try_from(code).ok())
        .unwrap_or_default();
    let message = error["message"].as_str().unwrap_or_default();
    let mut failure = ProviderError::new(ProviderStatus::from_code(status), message);
    if let Some(init) = error.get("initFailure").filter(|init| !init.is_null()) {
        let map = |name: &str| {
            serde_json::from_value::<PlainMap>(init[name].clone())
                .ok()
                .map(|map| map.0)
        };
        failure.init_failure = Some(Box::new(InitFailure {
            id: init["id"].as_str().unwrap_or_default().to_owned(),
            inputs: map("inputs"),
            outputs: map("outputs").unwrap_or_default(),
            reasons: serde_json::from_value(init["reasons"].clone()).unwrap_or_default(),
            refresh_before_update: false,
            view_steps: serde_json::from_value(init["viewSteps"].clone()).unwrap_or_default(),
        }));
    }
    failure
}

/// An answer with steps on views beside.
pub(super) struct WithViews<R> {
    pub(super) view_steps: Vec<ViewStep>,
    pub(super) answer: R,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithViewsDocument<D> {
    #[serde(default)]
    view_steps: Vec<ViewStep>,
    #[serde(flatten)]
    answer: D,
}

impl<R: Reply> Reply for WithViews<R> {
    type Document = WithViewsDocument<R::Document>;

    fn of(document: Self::Document) -> Self {
        Self {
            view_steps: document.view_steps,
            answer: R::of(document.answer),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Empty {}

impl Reply for () {
    type Document = Empty;

    fn of(_document: Empty) -> Self {}
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Flaw {
    property: String,
    reason: String,
}

fn flaws(flaws: Vec<Flaw>) -> Vec<CheckFailure> {
    let failure = |Flaw { property, reason }| CheckFailure { property, reason };
    flaws.into_iter().map(failure).collect()
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Checked {
    inputs: PlainMap,
    failures: Vec<Flaw>,
}

impl Reply for CheckResponse {
    type Document = Checked;

    fn of(document: Checked) -> Self {
        Self {
            inputs: document.inputs.0,
            failures: flaws(document.failures),
        }
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Changes {
    #[default]
    Unknown,
    None,
    Some,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    kind: DiffKind,
    #[serde(default)]
    input_diff: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Compared {
    changes: Changes,
    replaces: Vec<String>,
    stables: Vec<String>,
    diffs: Vec<String>,
    detailed_diff: Option<BTreeMap<String, Difference>>,
    delete_before_replace: bool,
}

impl Reply for DiffResponse {
    type Document = Compared;

    fn of(document: Compared) -> Self {
        let detail = |(path, Difference { kind, input_diff })| (path, PropertyDiff { kind, input_diff });
        Self {
            changes: match document.changes {
                Changes::Unknown => DiffChanges::Unknown,
                Changes::None => DiffChanges::None,
                Changes::Some => DiffChanges::Some,
            },
            replaces: document.replaces,
            stables: document.stables,
            diffs: document.diffs,
            detailed_diff: document
                .detailed_diff
                .map(|details| details.into_iter().map(detail).collect()),
            delete_before_replace: document.delete_before_replace,
            ..Self::default()
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Thing {
    id: String,
    inputs: Option<PlainMap>,
    outputs: Option<PlainMap>,
    refresh_before_update: bool,
}

impl Reply for CreateResponse {
    type Document = Thing;

    fn of(document: Thing) -> Self {
        Self {
            id: document.id.into(),
            outputs: document.outputs.unwrap_or_default().0,
            refresh_before_update: document.refresh_before_update,
        }
    }
}

impl Reply for UpdateResponse {
    type Document = Thing;

    fn of(document: Thing) -> Self {
        Self {
            outputs: document.outputs.unwrap_or_default().0,
            refresh_before_update: document.refresh_before_update,
        }
    }
}

impl Reply for ReadResponse {
    type Document = Thing;

    fn of(document: Thing) -> Self {
        Self {
            id: document.id.into(),
            inputs: document.inputs.map(|map| map.0),
            outputs: document.outputs.map(|map| map.0),
            refresh_before_update: document.refresh_before_update,
            is_recorded: false,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Invoked {
    result: PlainMap,
    failures: Vec<Flaw>,
}

impl Reply for InvokeResponse {
    type Document = Invoked;

    fn of(document: Invoked) -> Self {
        Self {
            result: document.result.0,
            failures: flaws(document.failures),
        }
    }
}

/// Reads the dependencies of outputs by name.
pub(super) fn dependencies(answer: &Value) -> PropertyDependencies {
    serde_json::from_value(answer["outputDependencies"].clone()).unwrap_or_default()
}

/// Reads outputs; each is an output value with its dependencies.
pub(super) fn outputs(answer: &Value) -> ProviderResult<PropertyMap> {
    let outputs = serde_json::from_value::<PlainMap>(answer["outputs"].clone()).map_err(|error| {
        let text = format!("the outputs {} cannot be read: {error}", answer["outputs"]);
        ProviderError::new(ProviderStatus::Internal, text)
    })?;
    Ok(dependencies(answer).attach(outputs.0))
}

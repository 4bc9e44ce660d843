//! Views and their steps as plain JSON, for providers in other languages.
//!
//! A view is `{"type", "name", "parentType", "parentName", "inputs", "outputs"}`; a step is `{"op", "type", "name",
//! "old", "new", "keys", "diffs", "detailedDiff": {"path": {"kind", "inputDiff"}}, "status":
//! "ok"|"partial-failure"|"unknown", "error"}`, of which only `op` is always needed: type and name are those of the
//! states.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{View, ViewName, ViewStep};
use crate::{
    event::{DiffKind, OperationStatus, PropertyDiff},
    property::json::PlainMap,
    step::StepOp,
};

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct ViewJson {
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    parent_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    parent_name: String,
    inputs: PlainMap,
    outputs: PlainMap,
}

impl Serialize for View {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parent = self.parent.clone().unwrap_or_default();
        ViewJson {
            resource_type: self.resource_type.to_string(),
            name: self.name.clone(),
            parent_type: parent.resource_type.to_string(),
            parent_name: parent.name,
            inputs: PlainMap(self.inputs.clone()),
            outputs: PlainMap(self.outputs.clone()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for View {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ViewJson::deserialize(deserializer).map(|json| Self {
            parent: ViewName::given(json.parent_type, json.parent_name),
            resource_type: json.resource_type.into(),
            name: json.name,
            inputs: json.inputs.0,
            outputs: json.outputs.0,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StepJson {
    op: StepOp,
    #[serde(default, rename = "type")]
    resource_type: String,
    #[serde(default)]
    name: String,
    old: Option<View>,
    new: Option<View>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    diffs: Vec<String>,
    detailed_diff: Option<BTreeMap<String, DiffJson>>,
    #[serde(default)]
    status: StatusJson,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DiffJson {
    kind: DiffKind,
    #[serde(default)]
    input_diff: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StatusJson {
    #[default]
    Ok,
    PartialFailure,
    Unknown,
}

impl<'de> Deserialize<'de> for ViewStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = StepJson::deserialize(deserializer)?;
        let step = Self::new(json.op, json.old, json.new);
        let named = |own: String, of_state: &str| match own.is_empty() {
            true => of_state.to_owned(),
            false => own,
        };
        let resource_type = named(json.resource_type, step.resource_type.as_str());
        let name = named(json.name, &step.name);
        if resource_type.is_empty() || name.is_empty() {
            return Err(D::Error::custom("a step on a view needs its type and its name"));
        }
        Ok(Self {
            resource_type: resource_type.into(),
            name,
            keys: json.keys,
            diffs: json.diffs,
            detailed_diff: json.detailed_diff.map(|detailed| {
                let diff = |DiffJson { kind, input_diff }| PropertyDiff { kind, input_diff };
                detailed
                    .into_iter()
                    .map(|(path, json)| (path, diff(json)))
                    .collect()
            }),
            status: match json.status {
                StatusJson::Ok => OperationStatus::Ok,
                StatusJson::PartialFailure => OperationStatus::PartialFailure,
                StatusJson::Unknown => OperationStatus::Unknown,
            },
            error: json.error,
            ..step
        })
    }
}

//! The JSON responses of a provider's functions. Values have the plain form.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use stackwright::{
    event::{DiffKind, PropertyDiff},
    property::{PropertyMap, json::PlainMap},
    provider::{
        Capabilities, CheckFailure, CheckResponse, CreateResponse, DiffChanges, DiffResponse, InvokeResponse,
        Mapping, ProviderError, ProviderResult, ProviderStatus, ReadResponse, UpdateResponse, ViewStep,
    },
    token::ResourceId,
};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PropertyFailure {
    property: String,
    reason: String,
}

pub(super) fn check_failures(failures: Vec<PropertyFailure>) -> Vec<CheckFailure> {
    let failure = |failure: PropertyFailure| CheckFailure {
        property: failure.property,
        reason: failure.reason,
    };
    failures.into_iter().map(failure).collect()
}

/// The response of Check. Missing inputs mean those of the request.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Checked {
    inputs: Option<PlainMap>,
    failures: Vec<PropertyFailure>,
}

impl Checked {
    pub(super) fn into_response(self, sent: PropertyMap) -> CheckResponse {
        CheckResponse {
            inputs: self.inputs.map_or(sent, |map| map.0),
            failures: check_failures(self.failures),
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Difference {
    kind: DiffKind,
    #[serde(default)]
    input_diff: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Diffed {
    changes: Changes,
    replaces: Vec<String>,
    stables: Vec<String>,
    diffs: Vec<String>,
    detailed_diff: Option<BTreeMap<String, Difference>>,
    delete_before_replace: bool,
}

impl From<Diffed> for DiffResponse {
    fn from(diffed: Diffed) -> Self {
        let property = |(path, difference): (String, Difference)| {
            let Difference { kind, input_diff } = difference;
            (path, PropertyDiff { kind, input_diff })
        };
        Self {
            changes: match diffed.changes {
                Changes::Unknown => DiffChanges::Unknown,
                Changes::None => DiffChanges::None,
                Changes::Some => DiffChanges::Some,
            },
            replaces: diffed.replaces,
            stables: diffed.stables,
            diffs: diffed.diffs,
            detailed_diff: diffed
                .detailed_diff
                .map(|details| details.into_iter().map(property).collect()),
            delete_before_replace: diffed.delete_before_replace,
            ..Self::default()
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Created {
    id: ResourceId,
    outputs: PlainMap,
    refresh_before_update: bool,
    pub(super) view_steps: Vec<ViewStep>,
}

impl From<Created> for CreateResponse {
    fn from(created: Created) -> Self {
        Self {
            id: created.id,
            outputs: created.outputs.0,
            refresh_before_update: created.refresh_before_update,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReadOutcome {
    id: ResourceId,
    inputs: Option<PlainMap>,
    outputs: Option<PlainMap>,
    refresh_before_update: bool,
    pub(super) view_steps: Vec<ViewStep>,
}

impl From<ReadOutcome> for ReadResponse {
    fn from(read: ReadOutcome) -> Self {
        Self {
            id: read.id,
            inputs: read.inputs.map(|map| map.0),
            outputs: read.outputs.map(|map| map.0),
            refresh_before_update: read.refresh_before_update,
            is_recorded: false,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Updated {
    outputs: PlainMap,
    refresh_before_update: bool,
    pub(super) view_steps: Vec<ViewStep>,
}

impl From<Updated> for UpdateResponse {
    fn from(updated: Updated) -> Self {
        Self {
            outputs: updated.outputs.0,
            refresh_before_update: updated.refresh_before_update,
        }
    }
}

/// The response of Delete; unknown fields are ignored.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Deleted {
    pub(super) view_steps: Vec<ViewStep>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Invoked {
    result: PlainMap,
    failures: Vec<PropertyFailure>,
}

impl From<Invoked> for InvokeResponse {
    fn from(invoked: Invoked) -> Self {
        Self {
            result: invoked.result.0,
            failures: check_failures(invoked.failures),
        }
    }
}

/// The capabilities of a provider; missing ones have the value of a base.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CapabilitiesDocument {
    accept_secrets: Option<bool>,
    accept_resources: Option<bool>,
    accept_outputs: Option<bool>,
    accept_outputs_in_invoke: Option<bool>,
    supports_preview: Option<bool>,
    supports_autonaming: Option<bool>,
    accept_byte_strings: Option<bool>,
    waits_for_registrations: Option<bool>,
}

impl CapabilitiesDocument {
    pub(super) fn or(self, base: Capabilities) -> Capabilities {
        Capabilities {
            accept_secrets: self.accept_secrets.unwrap_or(base.accept_secrets),
            accept_resources: self.accept_resources.unwrap_or(base.accept_resources),
            accept_outputs: self.accept_outputs.unwrap_or(base.accept_outputs),
            accept_outputs_in_invoke: self
                .accept_outputs_in_invoke
                .unwrap_or(base.accept_outputs_in_invoke),
            accept_outputs_in_call: base.accept_outputs_in_call,
            supports_preview: self.supports_preview.unwrap_or(base.supports_preview),
            supports_autonaming: self.supports_autonaming.unwrap_or(base.supports_autonaming),
            accept_byte_strings: self.accept_byte_strings.unwrap_or(base.accept_byte_strings),
            waits_for_registrations: self
                .waits_for_registrations
                .unwrap_or(base.waits_for_registrations),
        }
    }
}

/// The response of `plugin_info`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PluginInfoDocument {
    pub(super) version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Mapped {
    provider: String,
    data: String,
}

impl Mapped {
    pub(super) fn into_mapping(self) -> ProviderResult<Mapping> {
        let data = STANDARD.decode(self.data).map_err(|error| {
            let message = format!("malformed get_mapping response from the provider: no base64: {error}");
            ProviderError::new(ProviderStatus::Internal, message)
        })?;
        let provider = self.provider;
        Ok(Mapping { provider, data })
    }
}

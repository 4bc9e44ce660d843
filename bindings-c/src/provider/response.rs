//! The JSON of what a provider's functions answer. Values have the plain form.

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
struct Flaw {
    property: String,
    reason: String,
}

fn flaws(flaws: Vec<Flaw>) -> Vec<CheckFailure> {
    let failure = |flaw: Flaw| CheckFailure {
        property: flaw.property,
        reason: flaw.reason,
    };
    flaws.into_iter().map(failure).collect()
}

/// What Check answers. Inputs that are left out are the ones that were sent.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Checked {
    inputs: Option<PlainMap>,
    failures: Vec<Flaw>,
}

impl Checked {
    pub(super) fn into_response(self, sent: PropertyMap) -> CheckResponse {
        CheckResponse {
            inputs: self.inputs.map_or(sent, |map| map.0),
            failures: flaws(self.failures),
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
pub(super) struct WasRead {
    id: ResourceId,
    inputs: Option<PlainMap>,
    outputs: Option<PlainMap>,
    refresh_before_update: bool,
    pub(super) view_steps: Vec<ViewStep>,
}

impl From<WasRead> for ReadResponse {
    fn from(read: WasRead) -> Self {
        Self {
            id: read.id,
            inputs: read.inputs.map(|map| map.0),
            outputs: read.outputs.map(|map| map.0),
            refresh_before_update: read.refresh_before_update,
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

/// What Delete answers.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Deleted {
    pub(super) view_steps: Vec<ViewStep>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Invoked {
    result: PlainMap,
    failures: Vec<Flaw>,
}

impl From<Invoked> for InvokeResponse {
    fn from(invoked: Invoked) -> Self {
        Self {
            result: invoked.result.0,
            failures: flaws(invoked.failures),
        }
    }
}

/// What a provider understands; what is left out stays as it was.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Understands {
    accept_secrets: Option<bool>,
    accept_resources: Option<bool>,
    accept_outputs: Option<bool>,
    supports_preview: Option<bool>,
    supports_autonaming: Option<bool>,
    accept_byte_strings: Option<bool>,
    waits_for_registrations: Option<bool>,
}

impl Understands {
    pub(super) fn over(self, base: Capabilities) -> Capabilities {
        Capabilities {
            accept_secrets: self.accept_secrets.unwrap_or(base.accept_secrets),
            accept_resources: self.accept_resources.unwrap_or(base.accept_resources),
            accept_outputs: self.accept_outputs.unwrap_or(base.accept_outputs),
            supports_preview: self.supports_preview.unwrap_or(base.supports_preview),
            supports_autonaming: self.supports_autonaming.unwrap_or(base.supports_autonaming),
            accept_byte_strings: self.accept_byte_strings.unwrap_or(base.accept_byte_strings),
            waits_for_registrations: self
                .waits_for_registrations
                .unwrap_or(base.waits_for_registrations),
        }
    }
}

/// Facts of the provider.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Facts {
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
            let message = format!("the provider gave get_mapping data that is no base64: {error}");
            ProviderError::new(ProviderStatus::Internal, message)
        })?;
        let provider = self.provider;
        Ok(Mapping { provider, data })
    }
}

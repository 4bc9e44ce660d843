//! The JSON of a provider's calls: what its functions are sent and what they answer. Values have the plain form.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use stackwright::{
    event::{DiffKind, PropertyDiff},
    property::json::PlainMap,
    provider::{
        Capabilities, CheckFailure, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest,
        CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse, InitFailure, InvokeRequest,
        InvokeResponse, ProviderError, ProviderStatus, ReadRequest, ReadResponse, UpdateRequest,
        UpdateResponse,
    },
    token::ResourceId,
};

#[derive(Serialize)]
struct Identity {
    urn: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
}

macro_rules! identity {
    ($request:expr) => {
        Identity {
            urn: $request.urn.to_string(),
            resource_type: $request.resource_type.to_string(),
            name: $request.name,
        }
    };
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    #[serde(flatten)]
    identity: Identity,
    olds: Option<PlainMap>,
    news: PlainMap,
    random_seed: String,
    preview: bool,
}

impl From<CheckRequest> for Check {
    fn from(request: CheckRequest) -> Self {
        Self {
            identity: identity!(request),
            olds: request.olds.map(PlainMap),
            news: PlainMap(request.news),
            random_seed: STANDARD.encode(request.random_seed),
            preview: request.preview,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diff {
    #[serde(flatten)]
    identity: Identity,
    id: ResourceId,
    old_inputs: PlainMap,
    old_outputs: PlainMap,
    news: PlainMap,
    ignore_changes: Vec<String>,
    preview: bool,
}

impl From<DiffRequest> for Diff {
    fn from(request: DiffRequest) -> Self {
        Self {
            identity: identity!(request),
            id: request.id,
            old_inputs: PlainMap(request.old_inputs),
            old_outputs: PlainMap(request.old_outputs),
            news: PlainMap(request.news),
            ignore_changes: request.ignore_changes,
            preview: request.preview,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Configure {
    urn: String,
    name: String,
    id: ResourceId,
    inputs: PlainMap,
}

impl From<ConfigureRequest> for Configure {
    fn from(request: ConfigureRequest) -> Self {
        Self {
            urn: request.urn.to_string(),
            name: request.name,
            id: request.id,
            inputs: PlainMap(request.inputs),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Create {
    #[serde(flatten)]
    identity: Identity,
    inputs: PlainMap,
    timeout: f64,
    preview: bool,
}

impl From<CreateRequest> for Create {
    fn from(request: CreateRequest) -> Self {
        Self {
            identity: identity!(request),
            inputs: PlainMap(request.inputs),
            timeout: request.timeout,
            preview: request.preview,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Read {
    #[serde(flatten)]
    identity: Identity,
    id: ResourceId,
    inputs: PlainMap,
    outputs: PlainMap,
    timeout: f64,
    preview: bool,
}

impl From<ReadRequest> for Read {
    fn from(request: ReadRequest) -> Self {
        Self {
            identity: identity!(request),
            id: request.id,
            inputs: PlainMap(request.inputs),
            outputs: PlainMap(request.properties),
            timeout: request.timeout,
            preview: request.preview,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Update {
    #[serde(flatten)]
    identity: Identity,
    id: ResourceId,
    old_inputs: PlainMap,
    old_outputs: PlainMap,
    news: PlainMap,
    ignore_changes: Vec<String>,
    timeout: f64,
    preview: bool,
}

impl From<UpdateRequest> for Update {
    fn from(request: UpdateRequest) -> Self {
        Self {
            identity: identity!(request),
            id: request.id,
            old_inputs: PlainMap(request.old_inputs),
            old_outputs: PlainMap(request.old_outputs),
            news: PlainMap(request.news),
            ignore_changes: request.ignore_changes,
            timeout: request.timeout,
            preview: request.preview,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Delete {
    #[serde(flatten)]
    identity: Identity,
    id: ResourceId,
    inputs: PlainMap,
    outputs: PlainMap,
    timeout: f64,
}

impl From<DeleteRequest> for Delete {
    fn from(request: DeleteRequest) -> Self {
        Self {
            identity: identity!(request),
            id: request.id,
            inputs: PlainMap(request.inputs),
            outputs: PlainMap(request.outputs),
            timeout: request.timeout,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Invoke {
    token: String,
    arguments: PlainMap,
    preview: bool,
}

impl From<InvokeRequest> for Invoke {
    fn from(request: InvokeRequest) -> Self {
        Self {
            token: request.token,
            arguments: PlainMap(request.arguments),
            preview: request.preview,
        }
    }
}

/// A request without fields.
#[derive(Serialize)]
pub(super) struct Nothing {}

/// A response without fields.
#[derive(Default, Deserialize)]
pub(super) struct Empty {}

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
    pub(super) fn into_response(self, sent: stackwright::property::PropertyMap) -> CheckResponse {
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
}

impl From<Updated> for UpdateResponse {
    fn from(updated: Updated) -> Self {
        Self {
            outputs: updated.outputs.0,
            refresh_before_update: updated.refresh_before_update,
        }
    }
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
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Unfinished {
    id: String,
    inputs: Option<PlainMap>,
    outputs: PlainMap,
    reasons: Vec<String>,
    refresh_before_update: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MissingKey {
    name: String,
    description: String,
}

/// A failure with all its details.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Failed {
    #[serde(default)]
    status: Option<i32>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    init_failure: Option<Unfinished>,
    #[serde(default)]
    missing_keys: Vec<MissingKey>,
}

impl From<Failed> for ProviderError {
    fn from(failed: Failed) -> Self {
        let mut error = match failed.init_failure {
            Some(unfinished) => Self::init_failed(InitFailure {
                id: unfinished.id,
                inputs: unfinished.inputs.map(|map| map.0),
                outputs: unfinished.outputs.0,
                reasons: unfinished.reasons,
                refresh_before_update: unfinished.refresh_before_update,
            }),
            None => Self::new(ProviderStatus::Unknown, ""),
        };
        if let Some(status) = failed.status {
            error.status = ProviderStatus::from_code(status);
        }
        if let Some(message) = failed.message {
            error.message = message;
        }
        error.missing_keys = failed
            .missing_keys
            .into_iter()
            .map(|key| (key.name, key.description))
            .collect();
        error
    }
}

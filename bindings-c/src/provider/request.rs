//! The JSON requests of a provider's functions. Values have the plain form.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use stackwright::{
    property::json::PlainMap,
    provider::{
        CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest, InvokeRequest,
        MappingRequest, ReadRequest, SchemaRequest, UpdateRequest, View,
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
    old_outputs: Option<PlainMap>,
    news: PlainMap,
    random_seed: String,
    preview: bool,
    autonaming: Option<Naming>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Naming {
    proposed_name: String,
    mode: &'static str,
}

impl From<CheckRequest> for Check {
    fn from(request: CheckRequest) -> Self {
        Self {
            identity: identity!(request),
            olds: request.olds.map(PlainMap),
            old_outputs: request.old_outputs.map(PlainMap),
            news: PlainMap(request.news),
            random_seed: STANDARD.encode(request.random_seed),
            preview: request.preview,
            autonaming: request.autonaming.map(|naming| Naming {
                proposed_name: naming.proposed_name,
                mode: naming.mode.name(),
            }),
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
#[serde(rename_all = "camelCase")]
pub(super) struct Read {
    #[serde(flatten)]
    identity: Identity,
    id: ResourceId,
    inputs: Option<PlainMap>,
    outputs: Option<PlainMap>,
    timeout: f64,
    preview: bool,
    old_views: Vec<View>,
}

impl From<ReadRequest> for Read {
    fn from(request: ReadRequest) -> Self {
        Self {
            identity: identity!(request),
            id: request.id,
            inputs: request.inputs.map(PlainMap),
            outputs: request.properties.map(PlainMap),
            timeout: request.timeout,
            preview: request.preview,
            old_views: request.views.recorded().to_vec(),
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
    old_views: Vec<View>,
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
            old_views: request.views.recorded().to_vec(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delete {
    #[serde(flatten)]
    identity: Identity,
    id: ResourceId,
    inputs: PlainMap,
    outputs: PlainMap,
    timeout: f64,
    old_views: Vec<View>,
}

impl From<DeleteRequest> for Delete {
    fn from(request: DeleteRequest) -> Self {
        Self {
            identity: identity!(request),
            id: request.id,
            inputs: PlainMap(request.inputs),
            outputs: PlainMap(request.outputs),
            timeout: request.timeout,
            old_views: request.views.recorded().to_vec(),
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schema {
    subpackage_name: String,
    subpackage_version: String,
}

impl From<SchemaRequest> for Schema {
    fn from(request: SchemaRequest) -> Self {
        Self {
            subpackage_name: request.subpackage_name,
            subpackage_version: request.subpackage_version,
        }
    }
}

#[derive(Serialize)]
pub(super) struct MappingOf {
    key: String,
    provider: String,
}

impl From<MappingRequest> for MappingOf {
    fn from(request: MappingRequest) -> Self {
        let MappingRequest { key, provider } = request;
        Self { key, provider }
    }
}

#[derive(Serialize)]
pub(super) struct Mappings {
    pub(super) key: String,
}

/// A request without fields.
#[derive(Serialize)]
pub(super) struct Empty {}

//! Requests as JavaScript objects.

use napi::Result;
use stackwright::{
    autonaming::NamingRequest,
    property::{PropertyMap, json::PlainMap},
    provider::{
        CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest, InvokeRequest,
        MappingRequest, ReadRequest, ResolutionRequest, SchemaRequest, UpdateRequest, Views,
    },
    token::ResourceId,
};

use super::{method, views};
use crate::{
    bridge::Payload,
    convert::{Js, Writer},
};

/// Writes which resource a request is about.
macro_rules! subject {
    ($writer:ident, $object:ident, $request:ident) => {
        $writer
            .set_text($object, "urn", $request.urn.as_str())
            .and_then(|()| $writer.set_text($object, "type", $request.resource_type.as_ref()))
            .and_then(|()| $writer.set_text($object, "name", &$request.name))
    };
}

/// Writes what a resource was and is to be: a difference and an update are about the same.
macro_rules! change {
    ($writer:ident, $object:ident, $request:ident) => {
        subject!($writer, $object, $request)
            .and_then(|()| identity($writer, $object, &$request.id))
            .and_then(|()| $writer.set_map($object, "oldInputs", &$request.old_inputs))
            .and_then(|()| $writer.set_map($object, "oldOutputs", &$request.old_outputs))
            .and_then(|()| $writer.set_map($object, "inputs", &$request.news))
            .and_then(|()| $writer.texts(&$request.ignore_changes))
            .and_then(|ignored| $writer.scope().set_named($object, "ignoreChanges", ignored))
    };
}

/// A request of a provider's method.
pub(crate) enum Request {
    CheckConfig(CheckRequest),
    DiffConfig(DiffRequest),
    Configure(ConfigureRequest),
    Check(CheckRequest),
    Diff(DiffRequest),
    Create(CreateRequest),
    Read(ReadRequest),
    Update(UpdateRequest),
    Delete(DeleteRequest),
    Invoke(InvokeRequest),
    Cancel,
    Close,
    GetSchema(SchemaRequest),
    GetMapping(MappingRequest),
    /// The ecosystem.
    GetMappings(String),
    Resolve(ResolutionRequest),
    /// A journal entry, as JSON.
    Receive(String),
    StackOutputs(String),
    StackResourceOutputs(String),
    Encrypt(Vec<String>),
    Decrypt(Vec<String>),
    /// The URI of a remote asset.
    Fetch(String),
    ProposeName(NamingRequest),
    IsInstalled(ResolutionRequest),
    LatestVersion(ResolutionRequest),
    Install(ResolutionRequest),
}

impl Request {
    /// Returns the method's number.
    pub(crate) const fn method(&self) -> u32 {
        match self {
            Self::CheckConfig(_) => method::CHECK_CONFIG,
            Self::DiffConfig(_) => method::DIFF_CONFIG,
            Self::Configure(_) => method::CONFIGURE,
            Self::Check(_) => method::CHECK,
            Self::Diff(_) => method::DIFF,
            Self::Create(_) => method::CREATE,
            Self::Read(_) => method::READ,
            Self::Update(_) => method::UPDATE,
            Self::Delete(_) => method::DELETE,
            Self::Invoke(_) => method::INVOKE,
            Self::Cancel => method::CANCEL,
            Self::Close => method::CLOSE,
            Self::GetSchema(_) => method::GET_SCHEMA,
            Self::GetMapping(_) => method::GET_MAPPING,
            Self::GetMappings(_) => method::GET_MAPPINGS,
            Self::Resolve(_) => method::RESOLVE,
            Self::Receive(_) => method::RECEIVE,
            Self::StackOutputs(_) => method::STACK_OUTPUTS,
            Self::StackResourceOutputs(_) => method::STACK_RESOURCE_OUTPUTS,
            Self::Encrypt(_) => method::ENCRYPT,
            Self::Decrypt(_) => method::DECRYPT,
            Self::Fetch(_) => method::FETCH,
            Self::ProposeName(_) => method::PROPOSE_NAME,
            Self::IsInstalled(_) => method::IS_INSTALLED,
            Self::LatestVersion(_) => method::LATEST_VERSION,
            Self::Install(_) => method::INSTALL,
        }
    }

    /// Returns the values that an answer without values stands for.
    pub(super) fn fallback(&self) -> PropertyMap {
        match self {
            Self::CheckConfig(request) | Self::Check(request) => request.news.clone(),
            Self::Create(request) => request.inputs.clone(),
            Self::Update(request) => request.news.clone(),
            _ => PropertyMap::new(),
        }
    }

    /// Returns where steps on views are published, if they may be.
    pub(super) fn views(&self) -> Views {
        match self {
            Self::Create(request) => request.views.clone(),
            Self::Read(request) => request.views.clone(),
            Self::Update(request) => request.views.clone(),
            Self::Delete(request) => request.views.clone(),
            _ => Views::default(),
        }
    }
}

impl Payload for Request {
    /// Makes the object, or the text or list that some questions of the host are.
    fn write(&self, writer: &Writer) -> Result<Js> {
        let object = writer.scope().object()?;
        match self {
            Self::CheckConfig(request) | Self::Check(request) => check(writer, object, request)?,
            Self::DiffConfig(request) | Self::Diff(request) => diff(writer, object, request)?,
            Self::Configure(request) => {
                writer.set_text(object, "urn", request.urn.as_str())?;
                writer.set_text(object, "name", &request.name)?;
                writer.set_text(object, "id", request.id.as_ref())?;
                writer.set_map(object, "inputs", &request.inputs)?;
            }
            Self::Create(request) => {
                subject!(writer, object, request)?;
                writer.set_map(object, "inputs", &request.inputs)?;
                limits(writer, object, request.timeout, request.preview)?;
            }
            Self::Read(request) => read(writer, object, request)?,
            Self::Update(request) => update(writer, object, request)?,
            Self::Delete(request) => {
                subject!(writer, object, request)?;
                identity(writer, object, &request.id)?;
                writer.set_map(object, "inputs", &request.inputs)?;
                writer.set_map(object, "outputs", &request.outputs)?;
                views::write(writer, object, &request.views)?;
                limits(writer, object, request.timeout, false)?;
            }
            Self::Invoke(request) => {
                writer.set_text(object, "token", &request.token)?;
                writer.set_map(object, "arguments", &request.arguments)?;
                writer.set_bool(object, "preview", request.preview)?;
            }
            Self::Cancel | Self::Close => {}
            Self::GetSchema(request) => {
                writer.set_text(object, "subpackageName", &request.subpackage_name)?;
                writer.set_text(object, "subpackageVersion", &request.subpackage_version)?;
            }
            Self::GetMapping(request) => {
                writer.set_text(object, "key", &request.key)?;
                writer.set_text(object, "provider", &request.provider)?;
            }
            Self::Resolve(request)
            | Self::IsInstalled(request)
            | Self::LatestVersion(request)
            | Self::Install(request) => resolve(writer, object, request)?,
            Self::ProposeName(request) => naming(writer, object, request)?,
            Self::GetMappings(text)
            | Self::Receive(text)
            | Self::StackOutputs(text)
            | Self::StackResourceOutputs(text)
            | Self::Fetch(text) => {
                return writer.scope().text(text);
            }
            Self::Encrypt(texts) | Self::Decrypt(texts) => return writer.texts(texts),
        }
        Ok(object)
    }
}

fn read(writer: &Writer, object: Js, request: &ReadRequest) -> Result<()> {
    subject!(writer, object, request)?;
    identity(writer, object, &request.id)?;
    if let Some(inputs) = &request.inputs {
        writer.set_map(object, "inputs", inputs)?;
    }
    if let Some(outputs) = &request.properties {
        writer.set_map(object, "outputs", outputs)?;
    }
    views::write(writer, object, &request.views)?;
    limits(writer, object, request.timeout, request.preview)
}

fn resolve(writer: &Writer, object: Js, request: &ResolutionRequest) -> Result<()> {
    writer.set_text(object, "kind", request.kind.name())?;
    writer.set_text(object, "name", &request.name)?;
    if let Some(version) = &request.version {
        writer.set_text(object, "version", &version.to_string())?;
    }
    if !request.download_url.is_empty() {
        writer.set_text(object, "downloadUrl", &request.download_url)?;
    }
    let checksums = writer.scope().object()?;
    for (platform, checksum) in &request.checksums {
        writer.set_text(checksums, platform, checksum)?;
    }
    writer.scope().set_named(object, "checksums", checksums)?;
    if !request.path.is_empty() {
        writer.set_text(object, "path", &request.path)?;
    }
    if request.config.is_empty() {
        return Ok(());
    }
    let config = serde_json::to_value(&request.config).and_then(serde_json::from_value::<PlainMap>);
    let config = config.map_err(|error| napi::Error::from_reason(error.to_string()))?;
    writer.set_map(object, "config", &config.0)
}

fn naming(writer: &Writer, object: Js, request: &NamingRequest) -> Result<()> {
    subject!(writer, object, request)?;
    seed(writer, object, &request.random_seed)?;
    writer.set_bool(object, "preview", request.preview)
}

fn check(writer: &Writer, object: Js, request: &CheckRequest) -> Result<()> {
    subject!(writer, object, request)?;
    if let Some(olds) = &request.olds {
        writer.set_map(object, "oldInputs", olds)?;
    }
    writer.set_map(object, "inputs", &request.news)?;
    seed(writer, object, &request.random_seed)?;
    if let Some(autonaming) = &request.autonaming {
        let naming = writer.scope().object()?;
        writer.set_text(naming, "proposedName", &autonaming.proposed_name)?;
        writer.set_text(naming, "mode", autonaming.mode.name())?;
        writer.scope().set_named(object, "autonaming", naming)?;
    }
    writer.set_bool(object, "preview", request.preview)
}

fn diff(writer: &Writer, object: Js, request: &DiffRequest) -> Result<()> {
    change!(writer, object, request)?;
    writer.set_bool(object, "preview", request.preview)
}

fn update(writer: &Writer, object: Js, request: &UpdateRequest) -> Result<()> {
    change!(writer, object, request)?;
    views::write(writer, object, &request.views)?;
    limits(writer, object, request.timeout, request.preview)
}

fn seed(writer: &Writer, object: Js, seed: &[u8]) -> Result<()> {
    let seed = writer.scope().bytes(seed)?;
    writer.scope().set_named(object, "randomSeed", seed)
}

fn identity(writer: &Writer, object: Js, id: &ResourceId) -> Result<()> {
    writer.set_text(object, "id", id.as_ref())
}

fn limits(writer: &Writer, object: Js, timeout: f64, preview: bool) -> Result<()> {
    let timeout = writer.scope().number(timeout)?;
    writer.scope().set_named(object, "timeout", timeout)?;
    writer.set_bool(object, "preview", preview)
}

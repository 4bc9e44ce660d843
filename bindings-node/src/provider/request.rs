//! Requests as JavaScript objects.

use napi::Result;
use stackwright::{
    autonaming::NamingRequest,
    binding::{ObjectCall, condition_parts},
    property::{PropertyMap, json::PlainMap},
    provider::{Call, CheckRequest, DiffRequest, ReadRequest, ResolutionRequest, UpdateRequest, Views},
    token::ResourceId,
};

use super::{bodies::Body, functions::FunctionCall, method, views};
use crate::{
    bridge::Payload,
    convert::{Js, Writer},
};

/// Writes the resource of a request.
macro_rules! subject {
    ($writer:ident, $object:ident, $request:ident) => {
        $writer
            .set_text($object, "urn", $request.urn.as_str())
            .and_then(|()| $writer.set_text($object, "type", $request.resource_type.as_ref()))
            .and_then(|()| $writer.set_text($object, "name", &$request.name))
    };
}

/// Writes the recorded resource of a diff or an update.
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

/// A request to an object of the host: a provider's call, or a call of another component.
pub(crate) enum Request {
    Call(Call),
    /// The code of a component or a method.
    Body(Body),
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
    CheckPolicy(PolicyCall),
    /// A transform or a hook of a program.
    CallFunction(FunctionCall),
    /// A call of a store.
    UseStore(ObjectCall),
    /// A request for the credentials of a store.
    Credentials,
}

/// A call of a policy's function.
pub(crate) struct PolicyCall {
    /// The number of the policy in its pack.
    pub(crate) policy: u32,
    /// `check`, `remediate` or `checkStack`.
    pub(crate) function: &'static str,
    /// The resource, for the cause of errors.
    pub(crate) urn: Option<String>,
    /// The facts of the resource or of the stack.
    pub(crate) argument: PropertyMap,
}

impl Request {
    /// Returns the method's number.
    pub(crate) const fn method(&self) -> u32 {
        match self {
            Self::Call(call) => method_of(call),
            Self::Body(body) => body.method(),
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
            Self::CheckPolicy(_) => method::CHECK_POLICY,
            Self::CallFunction(_) => method::CALL_FUNCTION,
            Self::UseStore(_) | Self::Credentials => method::SUPPLY,
        }
    }

    /// Returns the fallback of an answer without values: the inputs of the call.
    pub(super) fn fallback(&self) -> PropertyMap {
        match self {
            Self::Call(Call::CheckConfig(request) | Call::Check(request)) => request.news.clone(),
            Self::Call(Call::Create(request)) => request.inputs.clone(),
            Self::Call(Call::Update(request)) => request.news.clone(),
            _ => PropertyMap::new(),
        }
    }

    /// Returns the publisher of steps on views; other calls get one without effect.
    pub(super) fn views(&self) -> Views {
        match self {
            Self::Call(Call::Create(request)) => request.views.clone(),
            Self::Call(Call::Read(request)) => request.views.clone(),
            Self::Call(Call::Update(request)) => request.views.clone(),
            Self::Call(Call::Delete(request)) => request.views.clone(),
            _ => Views::default(),
        }
    }
}

/// Returns the number of a call's method; `NONE` for calls that JavaScript never gets.
pub(super) const fn method_of(call: &Call) -> u32 {
    match call {
        Call::CheckConfig(_) => method::CHECK_CONFIG,
        Call::DiffConfig(_) => method::DIFF_CONFIG,
        Call::Configure(_) => method::CONFIGURE,
        Call::Check(_) => method::CHECK,
        Call::Diff(_) => method::DIFF,
        Call::Create(_) => method::CREATE,
        Call::Read(_) => method::READ,
        Call::Update(_) => method::UPDATE,
        Call::Delete(_) => method::DELETE,
        Call::Invoke(_) => method::INVOKE,
        Call::Construct(_) => method::CONSTRUCT,
        Call::Method(_) => method::CALL,
        Call::Cancel => method::CANCEL,
        Call::Close => method::CLOSE,
        Call::GetSchema(_) => method::GET_SCHEMA,
        Call::GetMapping(_) => method::GET_MAPPING,
        Call::GetMappings(_) => method::GET_MAPPINGS,
        Call::Handshake(_) | Call::PluginInfo | Call::Understands => method::NONE,
    }
}

impl Payload for Request {
    /// Makes the object, or the text or list of some host calls.
    fn write(&self, writer: &Writer) -> Result<Js> {
        let object = || writer.scope().object();
        match self {
            Self::Call(call) => write_call(writer, call),
            Self::Body(body) => body.write(writer),
            Self::Resolve(request)
            | Self::IsInstalled(request)
            | Self::LatestVersion(request)
            | Self::Install(request) => object().and_then(|object| resolve(writer, object, request)),
            Self::ProposeName(request) => object().and_then(|object| naming(writer, object, request)),
            Self::Receive(text)
            | Self::StackOutputs(text)
            | Self::StackResourceOutputs(text)
            | Self::Fetch(text) => writer.scope().text(text),
            Self::Encrypt(texts) | Self::Decrypt(texts) => writer.texts(texts),
            Self::CheckPolicy(call) => object().and_then(|object| policy(writer, object, call)),
            Self::CallFunction(call) => call.write(writer),
            Self::UseStore(call) => object().and_then(|object| use_store(writer, object, call)),
            Self::Credentials => object(),
        }
    }
}

/// Writes a call of a store.
fn use_store(writer: &Writer, object: Js, call: &ObjectCall) -> Result<Js> {
    let scope = writer.scope();
    writer.set_text(object, "method", call.method())?;
    writer.set_text(object, "key", call.key())?;
    match call {
        ObjectCall::Put {
            content, condition, ..
        } => {
            scope.set_named(object, "content", scope.bytes(content)?)?;
            let (kind, version) = condition_parts(condition);
            let written = scope.object()?;
            writer.set_text(written, "kind", kind)?;
            if let Some(version) = version {
                writer.set_text(written, "version", version)?;
            }
            scope.set_named(object, "condition", written)?;
        }
        ObjectCall::Copy { to, .. } => writer.set_text(object, "target", to)?,
        ObjectCall::Get { .. } | ObjectCall::List { .. } | ObjectCall::Delete { .. } => {}
    }
    Ok(object)
}

/// Writes a call of a policy's function.
fn policy(writer: &Writer, object: Js, call: &PolicyCall) -> Result<Js> {
    let scope = writer.scope();
    scope.set_named(object, "policy", scope.number(f64::from(call.policy))?)?;
    writer.set_text(object, "function", call.function)?;
    if let Some(urn) = &call.urn {
        writer.set_text(object, "urn", urn)?;
    }
    writer.set_map(object, "argument", &call.argument)?;
    Ok(object)
}

/// Makes the object of a provider's call, or the text for calls with only one.
fn write_call(writer: &Writer, call: &Call) -> Result<Js> {
    let object = writer.scope().object()?;
    match call {
        Call::CheckConfig(request) | Call::Check(request) => check(writer, object, request)?,
        Call::DiffConfig(request) | Call::Diff(request) => diff(writer, object, request)?,
        Call::Configure(request) => {
            writer.set_text(object, "urn", request.urn.as_str())?;
            writer.set_text(object, "name", &request.name)?;
            writer.set_text(object, "id", request.id.as_ref())?;
            writer.set_map(object, "inputs", &request.inputs)?;
        }
        Call::Create(request) => {
            subject!(writer, object, request)?;
            writer.set_map(object, "inputs", &request.inputs)?;
            limits(writer, object, request.timeout, request.preview)?;
        }
        Call::Read(request) => read(writer, object, request)?,
        Call::Update(request) => update(writer, object, request)?,
        Call::Delete(request) => {
            subject!(writer, object, request)?;
            identity(writer, object, &request.id)?;
            writer.set_map(object, "inputs", &request.inputs)?;
            writer.set_map(object, "outputs", &request.outputs)?;
            views::write(writer, object, &request.views)?;
            limits(writer, object, request.timeout, false)?;
        }
        Call::Invoke(request) => {
            writer.set_text(object, "token", &request.token)?;
            writer.set_map(object, "arguments", &request.arguments)?;
            writer.set_bool(object, "preview", request.preview)?;
        }
        Call::GetSchema(request) => {
            writer.set_text(object, "subpackageName", &request.subpackage_name)?;
            writer.set_text(object, "subpackageVersion", &request.subpackage_version)?;
        }
        Call::GetMapping(request) => {
            writer.set_text(object, "key", &request.key)?;
            writer.set_text(object, "provider", &request.provider)?;
        }
        Call::GetMappings(key) => return writer.scope().text(key),
        // Code has requests of its own, with its run.
        Call::Construct(_) | Call::Method(_) => {}
        Call::Handshake(_) | Call::PluginInfo | Call::Understands | Call::Cancel | Call::Close => {}
    }
    Ok(object)
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

fn resolve(writer: &Writer, object: Js, request: &ResolutionRequest) -> Result<Js> {
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
        return Ok(object);
    }
    let config = serde_json::to_value(&request.config).and_then(serde_json::from_value::<PlainMap>);
    let config = config.map_err(|error| napi::Error::from_reason(error.to_string()))?;
    writer.set_map(object, "config", &config.0)?;
    Ok(object)
}

fn naming(writer: &Writer, object: Js, request: &NamingRequest) -> Result<Js> {
    subject!(writer, object, request)?;
    seed(writer, object, &request.random_seed)?;
    writer.set_bool(object, "preview", request.preview)?;
    Ok(object)
}

fn check(writer: &Writer, object: Js, request: &CheckRequest) -> Result<()> {
    subject!(writer, object, request)?;
    if let Some(olds) = &request.olds {
        writer.set_map(object, "oldInputs", olds)?;
    }
    if let Some(outputs) = &request.old_outputs {
        writer.set_map(object, "oldOutputs", outputs)?;
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

//! The single method by which the engine calls a provider. It is implemented by typed host code, gRPC connections, C
//! function tables and objects of other languages.

use async_trait::async_trait;

use crate::{
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, ConstructRequest, ConstructResponse,
        CreateRequest, CreateResponse, DeleteRequest, DiffRequest, DiffResponse, HandshakeRequest,
        InvokeRequest, InvokeResponse, Mapping, MappingRequest, MethodRequest, MethodResponse, PluginInfo,
        Provider, ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse, SchemaRequest,
        UpdateRequest, UpdateResponse,
    },
    urn::Urn,
};

/// A call of a provider with its request. [`Provider`] describes each call.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the methods of `Provider` describe the calls")]
pub enum Call {
    Handshake(HandshakeRequest),
    PluginInfo,
    CheckConfig(CheckRequest),
    DiffConfig(DiffRequest),
    Configure(ConfigureRequest),
    /// Returns the capabilities of a provider that reports them in its response to Configure. Resolves when the
    /// configuration has settled, and fails as Configure did.
    Understands,
    Check(CheckRequest),
    Diff(DiffRequest),
    Create(CreateRequest),
    Read(ReadRequest),
    Update(UpdateRequest),
    Delete(DeleteRequest),
    Invoke(InvokeRequest),
    Construct(Box<ConstructRequest>),
    Method(Box<MethodRequest>),
    GetSchema(SchemaRequest),
    GetMapping(MappingRequest),
    /// The ecosystem: `terraform` for instance.
    GetMappings(String),
    Cancel,
    Close,
}

/// The response to a [`Call`].
#[derive(Clone, Debug)]
pub enum Reply {
    /// To Handshake.
    Capabilities(Capabilities),
    /// To PluginInfo.
    PluginInfo(PluginInfo),
    /// To Check and CheckConfig.
    Check(CheckResponse),
    /// To Diff and DiffConfig.
    Diff(DiffResponse),
    /// To Configure, if it changed the capabilities of Handshake, and to Understands; `None` if Handshake was complete.
    Understands(Option<Capabilities>),
    /// To Create.
    Create(CreateResponse),
    /// To Read.
    Read(ReadResponse),
    /// To Update.
    Update(UpdateResponse),
    /// To Invoke.
    Invoke(InvokeResponse),
    /// To Construct.
    Construct(ConstructResponse),
    /// To Method.
    Method(MethodResponse),
    /// To GetSchema: JSON.
    Schema(String),
    /// To GetMapping.
    Mapping(Mapping),
    /// To GetMappings.
    Mappings(Vec<String>),
    /// To Delete, Cancel and Close.
    Done,
}

impl Call {
    /// Returns the call's name: `check_config` for instance.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Handshake(_) => "handshake",
            Self::PluginInfo => "plugin_info",
            Self::CheckConfig(_) => "check_config",
            Self::DiffConfig(_) => "diff_config",
            Self::Configure(_) => "configure",
            Self::Understands => "understands",
            Self::Check(_) => "check",
            Self::Diff(_) => "diff",
            Self::Create(_) => "create",
            Self::Read(_) => "read",
            Self::Update(_) => "update",
            Self::Delete(_) => "delete",
            Self::Invoke(_) => "invoke",
            Self::Construct(_) => "construct",
            Self::Method(_) => "call",
            Self::GetSchema(_) => "get_schema",
            Self::GetMapping(_) => "get_mapping",
            Self::GetMappings(_) => "get_mappings",
            Self::Cancel => "cancel",
            Self::Close => "close",
        }
    }

    /// Returns the URN of the resource that the call is about, if there is one.
    pub(crate) const fn urn(&self) -> Option<&Urn> {
        match self {
            Self::CheckConfig(request) | Self::Check(request) => Some(&request.urn),
            Self::DiffConfig(request) | Self::Diff(request) => Some(&request.urn),
            Self::Configure(request) => Some(&request.urn),
            Self::Create(request) => Some(&request.urn),
            Self::Read(request) => Some(&request.urn),
            Self::Update(request) => Some(&request.urn),
            Self::Delete(request) => Some(&request.urn),
            Self::Handshake(_)
            | Self::PluginInfo
            | Self::Understands
            | Self::Invoke(_)
            | Self::Construct(_)
            | Self::Method(_)
            | Self::GetSchema(_)
            | Self::GetMapping(_)
            | Self::GetMappings(_)
            | Self::Cancel
            | Self::Close => None,
        }
    }
}

/// Transports calls to a provider.
///
/// The engine handles the rules that all providers share: it unwraps and restores secrets for a provider that declines
/// them, previews for a provider without preview, and responds for a provider whose configuration is unknown. A backend
/// only transports a call and its response. For a call without a method it returns [`Call::without_method`].
///
/// Calls are concurrent, from any thread. Dropping a call's future cancels the call. Each [`Provider`] is a backend.
///
/// ```
/// use async_trait::async_trait;
/// use stackwright::provider::{Call, CreateResponse, ProviderBackend, ProviderResult, Reply};
///
/// struct Notes;
///
/// #[async_trait]
/// impl ProviderBackend for Notes {
///     async fn call(&self, call: Call) -> ProviderResult<Reply> {
///         match call {
///             Call::Create(request) => Ok(Reply::Create(CreateResponse {
///                 id: request.name.into(),
///                 outputs: request.inputs,
///                 ..CreateResponse::default()
///             })),
///             Call::Delete(_) => Ok(Reply::Done),
///             other => other.without_method(),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait ProviderBackend: Send + Sync + 'static {
    /// Calls the provider. The variant of the reply matches that of the call.
    async fn call(&self, call: Call) -> ProviderResult<Reply>;
}

#[async_trait]
impl<P: Provider> ProviderBackend for P {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Handshake(request) => self.handshake(request).await.map(Reply::Capabilities),
            Call::PluginInfo => self.plugin_info().await.map(Reply::PluginInfo),
            Call::CheckConfig(request) => self.check_config(request).await.map(Reply::Check),
            Call::DiffConfig(request) => self.diff_config(request).await.map(Reply::Diff),
            Call::Configure(request) => self.configure(request).await.map(Reply::Understands),
            Call::Understands => Ok(Reply::Understands(None)),
            Call::Check(request) => self.check(request).await.map(Reply::Check),
            Call::Diff(request) => self.diff(request).await.map(Reply::Diff),
            Call::Create(request) => self.create(request).await.map(Reply::Create),
            Call::Read(request) => self.read(request).await.map(Reply::Read),
            Call::Update(request) => self.update(request).await.map(Reply::Update),
            Call::Delete(request) => self.delete(request).await.map(|()| Reply::Done),
            Call::Invoke(request) => self.invoke(request).await.map(Reply::Invoke),
            Call::Construct(request) => self.construct(*request).await.map(Reply::Construct),
            Call::Method(request) => self.call_method(*request).await.map(Reply::Method),
            Call::GetSchema(request) => self.get_schema(request).await.map(Reply::Schema),
            Call::GetMapping(request) => self.get_mapping(request).await.map(Reply::Mapping),
            Call::GetMappings(key) => self.get_mappings(&key).await.map(Reply::Mappings),
            Call::Cancel => {
                self.cancel().await;
                Ok(Reply::Done)
            }
            Call::Close => {
                self.close().await;
                Ok(Reply::Done)
            }
        }
    }
}

/// Creates the error for a reply that belongs to another call.
pub(super) fn mismatch(call: &str) -> ProviderError {
    ProviderError::new(
        ProviderStatus::Internal,
        format!("the answer to the call {call} belongs to another call"),
    )
}

/// Defines methods that make one call and unpack its reply.
macro_rules! typed_calls {
    ($($name:ident: $call:ident($request:ty) -> $reply:ident($response:ty);)*) => {$(
        pub(crate) async fn $name(&self, request: $request) -> ProviderResult<$response> {
            match self.call(Call::$call(request)).await? {
                Reply::$reply(response) => Ok(response),
                _ => Err($crate::provider::backend::mismatch(stringify!($name))),
            }
        }
    )*};
}
pub(super) use typed_calls;

impl dyn ProviderBackend {
    typed_calls! {
        handshake: Handshake(HandshakeRequest) -> Capabilities(Capabilities);
        get_schema: GetSchema(SchemaRequest) -> Schema(String);
        get_mapping: GetMapping(MappingRequest) -> Mapping(Mapping);
        get_mappings: GetMappings(String) -> Mappings(Vec<String>);
    }

    /// Asks the provider to cancel its running calls. Errors are ignored: the engine stops waiting for the calls
    /// anyway.
    pub(crate) async fn cancel(&self) {
        drop(self.call(Call::Cancel).await);
    }

    /// Closes the provider. Errors are ignored: no call follows.
    pub(crate) async fn close(&self) {
        drop(self.call(Call::Close).await);
    }
}

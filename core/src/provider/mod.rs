//! Providers: the trait that manages resources of one package, and the requests and responses of its calls.

mod adapter;
mod backend;
mod base_plugin;
pub mod builtin;
mod call;
mod check_failure;
mod comparison;
mod construct;
mod downloading;
mod endpoint;
mod error;
mod extensible;
pub mod grpc;
mod installer;
mod installing;
mod launch;
mod limit;
mod loader;
mod observer;
mod package;
mod pool;
mod resolver;
mod registry;
mod run_source;
pub(crate) mod settings;
mod shared;
mod source;
mod substitute;
mod view;

pub(crate) use adapter::{Adapter, AdapterOptions};
pub use backend::{Call, ProviderBackend, Reply};
pub(crate) use base_plugin::BasePlugin;
pub use call::{
    Autonaming, AutonamingMode, Capabilities, CheckFailure, CheckRequest, CheckResponse, ConfigureRequest,
    CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse, HandshakeRequest,
    InvokeRequest, InvokeResponse, PluginInfo, ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
};
pub(crate) use construct::MonitorAccess;
pub use construct::{ConstructRequest, ConstructResponse, MethodRequest, MethodResponse, MonitorHandle};
pub(crate) use endpoint::{EngineEndpoint, EngineEndpoints, EngineRoute, PluginOperation, RouteHold};
pub use error::{InitFailure, ProviderError, ProviderResult, ProviderStatus};
pub(crate) use extensible::Extensible;
pub use installer::{Installation, PluginInstaller};
pub(crate) use installing::{InstallationSink, Installations};
pub(crate) use limit::CallLimit;
pub(crate) use loader::{LoaderParts, PluginContext, PreparedProvider, ProviderLoader, ProviderSpec};
pub(crate) use observer::{CallObserver, ObservedCall};
pub use package::{Mapping, MappingRequest, SchemaRequest};
pub(crate) use package::{MappingQuestion, PackageError, PackageSource, mapping, schema};
pub use pool::PoolSettings;
pub(crate) use pool::ProviderPool;
pub(crate) use registry::{ProviderHandle, ProviderRegistry};
pub use resolver::{Resolution, ResolutionRequest, Resolver};
pub(crate) use run_source::{RunSource, RunSurroundings};
pub(crate) use source::{LoadedProvider, ProviderSource};
pub(crate) use substitute::ProviderSubstitute;
pub(crate) use view::{Effect, PublishedView};
pub use view::{View, ViewName, ViewStep, Views};

/// A provider of one package: a plugin process, code of the host, or the built-in one.
///
/// Calls are CONCURRENT, from any thread. Dropping a call's future cancels the call. Requests contain secrets only if
/// [`Capabilities::accept_secrets`] is set, and unknowns only in previews.
///
/// Methods are implemented as `async fn`; the default implementations are those of [`Call::without_method`].
pub trait Provider: Send + Sync + 'static {
    /// Returns the provider's capabilities. Called once, before any other call.
    fn handshake(
        &self,
        request: HandshakeRequest,
    ) -> impl Future<Output = ProviderResult<Capabilities>> + Send;

    /// Returns facts about the provider.
    fn plugin_info(&self) -> impl Future<Output = ProviderResult<PluginInfo>> + Send {
        async move { Ok(PluginInfo::default()) }
    }

    /// Checks and completes the provider's own configuration.
    fn check_config(
        &self,
        request: CheckRequest,
    ) -> impl Future<Output = ProviderResult<CheckResponse>> + Send {
        async move { Ok(adapter::checked(request)) }
    }

    /// Compares two configurations of the provider; a replacement replaces all resources of the provider.
    fn diff_config(
        &self,
        _request: DiffRequest,
    ) -> impl Future<Output = ProviderResult<DiffResponse>> + Send {
        async move { Ok(DiffResponse::default()) }
    }

    /// Sets the configuration; called once before any call about a resource. May change the capabilities.
    fn configure(
        &self,
        _request: ConfigureRequest,
    ) -> impl Future<Output = ProviderResult<Option<Capabilities>>> + Send {
        async move { Ok(None) }
    }

    /// Checks a resource's inputs and completes them with defaults.
    fn check(&self, request: CheckRequest) -> impl Future<Output = ProviderResult<CheckResponse>> + Send {
        async move { Ok(adapter::checked(request)) }
    }

    /// Compares a resource's state with new inputs.
    fn diff(&self, _request: DiffRequest) -> impl Future<Output = ProviderResult<DiffResponse>> + Send {
        async move { Ok(DiffResponse::default()) }
    }

    /// Creates a resource and returns its id and outputs.
    fn create(&self, request: CreateRequest) -> impl Future<Output = ProviderResult<CreateResponse>> + Send;

    /// Reads the current state of a resource; without outputs it does not exist.
    fn read(&self, request: ReadRequest) -> impl Future<Output = ProviderResult<ReadResponse>> + Send {
        async move { Ok(adapter::read_back(request)) }
    }

    /// Updates a resource in place and returns its outputs.
    fn update(&self, request: UpdateRequest) -> impl Future<Output = ProviderResult<UpdateResponse>> + Send {
        async move { Err(adapter::not_updated(&request.urn)) }
    }

    /// Deletes a resource. Succeeds if it does not exist any more.
    fn delete(&self, request: DeleteRequest) -> impl Future<Output = ProviderResult<()>> + Send;

    /// Calls a function of the package.
    fn invoke(&self, request: InvokeRequest) -> impl Future<Output = ProviderResult<InvokeResponse>> + Send {
        async move { Err(adapter::unknown_function(&request.token)) }
    }

    /// Constructs a component: registers it and its children at the monitor of the request, and returns its outputs.
    fn construct(
        &self,
        request: ConstructRequest,
    ) -> impl Future<Output = ProviderResult<ConstructResponse>> + Send {
        async move { Err(adapter::unknown_component(&request.resource_type)) }
    }

    /// Calls a method of a resource, of a component, or of the provider itself.
    fn call_method(
        &self,
        request: MethodRequest,
    ) -> impl Future<Output = ProviderResult<MethodResponse>> + Send {
        async move { Err(adapter::unknown_method(&request.token)) }
    }

    /// Returns the schema of the package as JSON: its resources and functions with their properties.
    /// Called for code generators and other tools, before any configuration.
    fn get_schema(&self, _request: SchemaRequest) -> impl Future<Output = ProviderResult<String>> + Send {
        async move { Err(adapter::no_schema()) }
    }

    /// Returns a mapping from another ecosystem to the package; empty if there is none.
    fn get_mapping(&self, _request: MappingRequest) -> impl Future<Output = ProviderResult<Mapping>> + Send {
        async move { Err(adapter::no_mappings()) }
    }

    /// Returns the foreign providers of an ecosystem (`terraform`) that have a mapping; empty if there is only one,
    /// which [`Self::get_mapping`] returns.
    fn get_mappings(&self, _key: &str) -> impl Future<Output = ProviderResult<Vec<String>>> + Send {
        async move { Err(adapter::no_mappings()) }
    }

    /// Asks the provider to cancel its running calls; they should fail soon. Not called for code of the host that other
    /// operations use at the same time, because the call names no operation.
    fn cancel(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Closes the provider; no call follows. A process is asked to exit, then killed.
    fn close(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

//! Providers: the trait of whatever manages resources of one package, and the shapes of its calls.

mod adapter;
mod backend;
mod base_plugin;
pub mod builtin;
mod call;
mod comparison;
mod endpoint;
mod error;
pub mod grpc;
mod installer;
mod installing;
mod launch;
mod loader;
mod package;
mod pool;
mod resolver;
mod registry;
mod run_source;
pub(crate) mod settings;
mod shared;
mod source;
mod view;

pub(crate) use adapter::{Adapter, AdapterOptions};
pub use backend::{Call, ProviderBackend, Reply};
pub(crate) use base_plugin::BasePlugin;
pub use call::{
    Autonaming, AutonamingMode, Capabilities, CheckFailure, CheckRequest, CheckResponse, ConfigureRequest,
    CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse, HandshakeRequest,
    InvokeRequest, InvokeResponse, PluginInfo, ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
};
pub(crate) use endpoint::{EngineEndpoint, EngineEndpoints, EngineRoute, PluginOperation, RouteHold};
pub use error::{InitFailure, ProviderError, ProviderResult, ProviderStatus};
pub use installer::{Installation, PluginInstaller};
pub(crate) use installing::Installations;
pub(crate) use loader::{LoaderParts, PluginContext, PreparedProvider, ProviderLoader, ProviderWish};
pub use package::{Mapping, MappingRequest, SchemaRequest};
pub(crate) use package::{MappingQuestion, PackageSource, Unanswered, mapping, schema};
pub use pool::PoolSettings;
pub(crate) use pool::ProviderPool;
pub(crate) use registry::{ProviderHandle, ProviderRegistry};
pub use resolver::{Resolution, ResolutionRequest, Resolver};
pub(crate) use run_source::{RunSource, RunSurroundings};
pub(crate) use source::{LoadedProvider, ProviderSource};
pub(crate) use view::{Effect, PublishedView};
pub use view::{View, ViewName, ViewStep, Views};

/// A provider of one package: a plugin process, code of the host, or built in.
///
/// Calls come CONCURRENTLY, many at a time and from any thread. Dropping a call's future gives the call up. Values
/// hold secrets only when [`Capabilities::accept_secrets`] says so, and unknowns only during previews.
///
/// Methods are written as `async fn`; those that are left out do what [`Call::without_method`] says.
pub trait Provider: Send + Sync + 'static {
    /// Says what the provider understands. Called once, before anything else.
    fn handshake(
        &self,
        request: HandshakeRequest,
    ) -> impl Future<Output = ProviderResult<Capabilities>> + Send;

    /// Returns the version and other facts of the provider itself.
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

    /// Compares two configurations of the provider; a replacement replaces all that it manages.
    fn diff_config(
        &self,
        _request: DiffRequest,
    ) -> impl Future<Output = ProviderResult<DiffResponse>> + Send {
        async move { Ok(DiffResponse::default()) }
    }

    /// Takes the configuration; called once before any resource's call. May change the capabilities.
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

    /// Makes a resource and returns its id and outputs.
    fn create(&self, request: CreateRequest) -> impl Future<Output = ProviderResult<CreateResponse>> + Send;

    /// Reads a resource as it is; without outputs it does not exist.
    fn read(&self, request: ReadRequest) -> impl Future<Output = ProviderResult<ReadResponse>> + Send {
        async move { Ok(adapter::read_back(request)) }
    }

    /// Changes a resource in place and returns its outputs.
    fn update(&self, request: UpdateRequest) -> impl Future<Output = ProviderResult<UpdateResponse>> + Send {
        async move { Err(adapter::not_updated(&request.urn)) }
    }

    /// Removes a resource. One that does not exist any more is no error.
    fn delete(&self, request: DeleteRequest) -> impl Future<Output = ProviderResult<()>> + Send;

    /// Calls a function of the package.
    fn invoke(&self, request: InvokeRequest) -> impl Future<Output = ProviderResult<InvokeResponse>> + Send {
        async move { Err(adapter::unknown_function(&request.token)) }
    }

    /// Returns the schema of the package, as JSON: what it has resources and functions for, and what these take and give.
    /// Asked for code generators and other tools, before any configuration.
    fn get_schema(&self, _request: SchemaRequest) -> impl Future<Output = ProviderResult<String>> + Send {
        async move { Err(adapter::no_schema()) }
    }

    /// Returns a mapping from another ecosystem to the package; an empty one when there is none.
    fn get_mapping(&self, _request: MappingRequest) -> impl Future<Output = ProviderResult<Mapping>> + Send {
        async move { Err(adapter::no_mappings()) }
    }

    /// Returns the foreign providers of an ecosystem (`terraform`) that the provider has mappings of; nothing when it has
    /// one only, which [`Self::get_mapping`] names.
    fn get_mappings(&self, _key: &str) -> impl Future<Output = ProviderResult<Vec<String>>> + Send {
        async move { Err(adapter::no_mappings()) }
    }

    /// Asks the provider to give up what it is doing; running calls should fail soon. Code of the host that serves
    /// other operations at that moment is not asked, because it could not tell whose calls are meant.
    fn cancel(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Ends the provider; no call follows. A process is asked to exit, then ended.
    fn close(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

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

use async_trait::async_trait;

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
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Says what the provider understands. Called once, before anything else.
    async fn handshake(&self, request: HandshakeRequest) -> ProviderResult<Capabilities>;

    /// Returns the version and other facts of the provider itself.
    async fn plugin_info(&self) -> ProviderResult<PluginInfo> {
        Ok(PluginInfo::default())
    }

    /// Checks and completes the provider's own configuration.
    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        Ok(adapter::checked(request))
    }

    /// Compares two configurations of the provider; a replacement replaces all that it manages.
    async fn diff_config(&self, _request: DiffRequest) -> ProviderResult<DiffResponse> {
        Ok(DiffResponse::default())
    }

    /// Takes the configuration; called once before any resource's call. May change the capabilities.
    async fn configure(&self, _request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        Ok(None)
    }

    /// Checks a resource's inputs and completes them with defaults.
    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        Ok(adapter::checked(request))
    }

    /// Compares a resource's state with new inputs.
    async fn diff(&self, _request: DiffRequest) -> ProviderResult<DiffResponse> {
        Ok(DiffResponse::default())
    }

    /// Makes a resource and returns its id and outputs.
    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse>;

    /// Reads a resource as it is; without outputs it does not exist.
    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        Ok(adapter::read_back(request))
    }

    /// Changes a resource in place and returns its outputs.
    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Err(adapter::not_updated(&request.urn))
    }

    /// Removes a resource. One that does not exist any more is no error.
    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()>;

    /// Calls a function of the package.
    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        Err(adapter::unknown_function(&request.token))
    }

    /// Returns the schema of the package, as JSON: what it has resources and functions for, and what these take and give.
    /// Asked for code generators and other tools, before any configuration.
    async fn get_schema(&self, _request: SchemaRequest) -> ProviderResult<String> {
        Err(adapter::no_schema())
    }

    /// Returns a mapping from another ecosystem to the package; an empty one when there is none.
    async fn get_mapping(&self, _request: MappingRequest) -> ProviderResult<Mapping> {
        Err(adapter::no_mappings())
    }

    /// Returns the foreign providers of an ecosystem (`terraform`) that the provider has mappings of; nothing when it has
    /// one only, which [`Self::get_mapping`] names.
    async fn get_mappings(&self, _key: &str) -> ProviderResult<Vec<String>> {
        Err(adapter::no_mappings())
    }

    /// Asks the provider to give up what it is doing; running calls should fail soon. Code of the host that serves
    /// other operations at that moment is not asked, because it could not tell whose calls are meant.
    async fn cancel(&self) {}

    /// Ends the provider; no call follows. A process is asked to exit, then ended.
    async fn close(&self) {}
}

//! The parts that all operations of an engine share.

use std::{sync::Arc, time::Duration};

use crate::{
    autonaming::Autonamer,
    executor::{Controls, PluginLimits},
    monitor::EngineService,
    property::hash::Fetch,
    provider::{ProviderLoader, ProviderPool, builtin::StackReader},
    runtime::Runtime,
    secrets::SecretsProvider,
    simulation::Simulation,
    store::{HostFacts, Store},
    telemetry::Exporter,
};

/// The parts that all operations of an engine share.
pub(crate) struct EngineParts {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) secrets: Arc<dyn SecretsProvider>,
    pub(crate) host: HostFacts,
    pub(crate) loader: ProviderLoader,
    pub(crate) pool: ProviderPool,
    pub(crate) service: Arc<EngineService>,
    /// Reads other stacks; `None` reads those of the engine's own store.
    pub(crate) stacks: Option<Arc<dyn StackReader>>,
    /// Fetches the contents of remote assets and archives.
    pub(crate) fetch: Arc<dyn Fetch>,
    /// The host's autonamer; `None` uses the configuration.
    pub(crate) autonamer: Option<Arc<dyn Autonamer>>,
    /// The interval between writes of the checkpoint while an operation runs; `None` writes it only at the end.
    pub(crate) checkpoint_interval: Option<Duration>,
    /// Values at or below the path of a secret input are secret.
    pub(crate) nested_secrets: bool,
    /// The limit of calls of each plugin in all operations together, except those of sets with a limit of their own.
    pub(crate) plugin_limits: Option<PluginLimits>,
    /// Simulates providers, and can interrupt operations.
    pub(crate) simulation: Option<Simulation>,
    /// Exports spans.
    pub(crate) exporter: Option<Exporter>,
    /// The operations that run.
    pub(crate) controls: Controls,
}

//! What the operations of one engine share.

use std::{sync::Arc, time::Duration};

use crate::{
    autonaming::Autonamer,
    monitor::EngineService,
    property::hash::Fetch,
    provider::{ProviderLoader, ProviderPool, builtin::StackReader},
    runtime::Runtime,
    secrets::SecretsProvider,
    store::{HostFacts, Store},
};

/// What the operations of one engine share.
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
    /// Says how real things are named; `None` leaves that to the configuration.
    pub(crate) autonamer: Option<Arc<dyn Autonamer>>,
    /// How often the checkpoint is refreshed while an operation runs; `None` leaves it as it is until the end.
    pub(crate) checkpoint_interval: Option<Duration>,
}

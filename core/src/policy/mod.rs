//! Policy packs: analyzers at addresses that rewrite the inputs of resources and report violations.

mod message;
mod option;
mod pack;
mod settings;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Weak},
};

use futures::future::{join_all, try_join_all};
use stackwright_proto::pulumirpc as rpc;

use crate::{
    diagnostic::Diagnostic,
    error::Result,
    plugin::PluginTimeouts,
    provider::{EngineEndpoint, PluginOperation},
    runtime::Runtime,
};

pub(crate) use message::{Analysis, Rewriting, Subject};
pub use option::PolicyPackOption;
pub(crate) use pack::Pack;

/// The policy packs of one run, in the order of their remediations.
pub struct Policies {
    packs: Vec<Pack>,
}

/// A pack to load.
pub(crate) struct PackToLoad {
    pub(crate) option: PolicyPackOption,
    /// The address of its analyzer.
    pub(crate) address: String,
    /// True for a pack of the user, false for one that an organization requires.
    pub(crate) is_local: bool,
    /// The engine's endpoint for the pack.
    pub(crate) engine: Arc<EngineEndpoint>,
}

/// The data of the run in the handshake of all packs.
pub(crate) struct PolicySurroundings {
    pub(crate) runtime: Runtime,
    pub(crate) timeouts: PluginTimeouts,
    /// The operation that the packs work for.
    pub(crate) operation: Weak<PluginOperation>,
    pub(crate) stack: rpc::AnalyzerStackConfigureRequest,
}

impl Policies {
    /// Connects to and configures packs, concurrently.
    ///
    /// # Errors
    /// The error of the first pack that cannot be used; it names the pack.
    pub(crate) async fn load(packs: Vec<PackToLoad>, surroundings: &PolicySurroundings) -> Result<Self> {
        let loading = packs.into_iter().map(|pack| Pack::load(pack, surroundings));
        let packs = try_join_all(loading).await?;
        Ok(Self { packs })
    }

    /// Returns the packs.
    pub(crate) fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// Returns warnings about settings without a policy.
    pub(crate) fn warnings(&self) -> Vec<Diagnostic> {
        let texts = self.packs.iter().flat_map(Pack::unused_settings);
        texts.map(Diagnostic::warning).collect()
    }

    /// Returns the packs for summaries: by name, the version or `(local)`.
    pub(crate) fn summary(&self) -> BTreeMap<String, String> {
        let packs = self.packs.iter();
        packs.map(|pack| (pack.name().to_owned(), pack.tag())).collect()
    }

    /// Asks every pack to cancel.
    pub(crate) async fn cancel(&self) {
        join_all(self.packs.iter().map(Pack::cancel)).await;
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.packs.iter().map(Pack::name))
            .finish()
    }
}

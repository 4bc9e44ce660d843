//! Policy packs: analyzers at addresses that rewrite the inputs of resources and say what is wrong with them.

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

/// The policy packs of one run, in the order in which they rewrite inputs.
pub struct Policies {
    packs: Vec<Pack>,
}

/// A pack that is to be loaded.
pub(crate) struct PackToLoad {
    pub(crate) option: PolicyPackOption,
    /// Where it listens.
    pub(crate) address: String,
    /// True for a pack of the user, false for one that an organization demands.
    pub(crate) is_local: bool,
    /// Where it reaches the engine.
    pub(crate) engine: Arc<EngineEndpoint>,
}

/// What all packs of a run are told.
pub(crate) struct PolicySurroundings {
    pub(crate) runtime: Runtime,
    pub(crate) timeouts: PluginTimeouts,
    /// The operation that the packs work for, as their calls of the engine see it.
    pub(crate) operation: Weak<PluginOperation>,
    pub(crate) stack: rpc::AnalyzerStackConfigureRequest,
}

impl Policies {
    /// Connects to packs and tells them what they are to look after, all at the same time.
    ///
    /// # Errors
    /// That of the first pack that cannot be used; it names the pack.
    pub(crate) async fn load(packs: Vec<PackToLoad>, surroundings: &PolicySurroundings) -> Result<Self> {
        let loading = packs.into_iter().map(|pack| Pack::load(pack, surroundings));
        let packs = try_join_all(loading).await?;
        Ok(Self { packs })
    }

    /// Returns the packs.
    pub(crate) fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// Returns what people should know of the settings: those that no policy takes.
    pub(crate) fn warnings(&self) -> Vec<Diagnostic> {
        let texts = self.packs.iter().flat_map(Pack::unused_settings);
        texts.map(Diagnostic::warning).collect()
    }

    /// Returns the packs as summaries name them: by name, the version, or `(local)`.
    pub(crate) fn summary(&self) -> BTreeMap<String, String> {
        let packs = self.packs.iter();
        packs.map(|pack| (pack.name().to_owned(), pack.tag())).collect()
    }

    /// Asks every pack to give up what it is doing.
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

//! Policy packs: functions of the host, analyzers at addresses, and folders that the engine starts. They rewrite the
//! inputs of resources and report violations.

mod analyzer;
mod folder;
mod host;
mod option;
mod pack;
mod schema;
mod settings;
mod subject;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::future::{join_all, try_join_all};
use stackwright_proto::pulumirpc as rpc;

use crate::{
    diagnostic::Diagnostic,
    error::Result,
    event::LocalPack,
    plugin::{DiagnosticSink, HostEnvironment, PluginTimeouts},
    provider::{EngineEndpoint, PluginOperation},
    runtime::Runtime,
};

pub use host::{
    Policy, PolicyFinding, PolicyFunctions, PolicyHost, PolicyPack, PolicyProvider, PolicyResource,
    PolicyResourceOptions, PolicyStack,
};
pub use option::PolicyPackOption;
pub(crate) use pack::Pack;
use pack::PackName;
pub(crate) use subject::{Analysis, Rewriting, Subject};

/// The policy packs of one run, in the order of their remediations.
pub struct Policies {
    packs: Vec<Pack>,
}

/// A pack to load.
pub(crate) struct PackToLoad {
    pub(crate) option: PolicyPackOption,
    /// True for a pack of the user, false for one that an organization requires.
    pub(crate) is_local: bool,
    pub(crate) source: PackSource,
}

/// Where the policies of a pack run.
pub(crate) enum PackSource {
    /// In the host's process.
    Host(PolicyPack),
    /// In an analyzer that listens already.
    Address {
        address: String,
        /// The engine's endpoint for the pack.
        engine: Arc<EngineEndpoint>,
    },
    /// In a process that the engine starts.
    Folder {
        /// The folder with the pack's file.
        folder: PathBuf,
        /// The engine's endpoint for the process.
        engine: Arc<EngineEndpoint>,
    },
}

/// The data of the run for all packs.
pub(crate) struct PolicySurroundings {
    pub(crate) runtime: Runtime,
    pub(crate) timeouts: PluginTimeouts,
    /// How long one call about a resource, or about all of them, may take.
    pub(crate) call_timeout: Duration,
    /// The shell that guards processes of packs; `None` starts them unguarded.
    pub(crate) guard_shell: Option<PathBuf>,
    /// The environment of processes of packs.
    pub(crate) host_environment: HostEnvironment,
    /// Receives the output of processes.
    pub(crate) sink: DiagnosticSink,
    /// The operation that the packs work for.
    pub(crate) operation: Weak<PluginOperation>,
    pub(crate) stack: rpc::AnalyzerStackConfigureRequest,
}

impl Policies {
    /// Loads and configures packs, concurrently.
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

    /// Returns the packs of the options.
    pub(crate) fn local(&self) -> Vec<LocalPack> {
        self.packs.iter().filter_map(Pack::local).collect()
    }

    /// Asks every pack to cancel.
    pub(crate) async fn cancel(&self) {
        join_all(self.packs.iter().map(Pack::cancel)).await;
    }

    /// Ends every pack.
    pub(crate) async fn close(&self) {
        join_all(self.packs.iter().map(Pack::close)).await;
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

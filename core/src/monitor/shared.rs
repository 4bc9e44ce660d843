//! What the requests of one run share.

use std::sync::{Arc, OnceLock};

use crate::{
    callback::CallbackTargets,
    generator::Generator,
    monitor::{
        RunInfo, admission::Admission, exports::Exports, placement::Placement, program_values::ProgramValues,
        providers::RequestProviders, reports::Reports, server::LazyServer, shutdown::Shutdown,
        traces::StackTraces, transforms::Transforms, wire::Positions,
    },
    moves::ProgramLanguage,
    property::hash::Fetch,
};

/// What all clones of a monitor share. Each part has its own state; requests are functions over all of them.
pub(super) struct Shared {
    pub(super) generator: Arc<Generator>,
    pub(super) run: Arc<RunInfo>,
    pub(super) admission: Arc<Admission>,
    pub(super) values: ProgramValues,
    pub(super) providers: Arc<RequestProviders>,
    pub(super) placement: Placement,
    pub(super) transforms: Transforms,
    pub(super) positions: Positions,
    /// The stack traces of the requests whose components and methods are running.
    pub(super) traces: StackTraces,
    pub(super) exports: Exports,
    pub(super) reports: Reports,
    pub(super) shutdown: Shutdown,
    pub(super) server: LazyServer,
    /// The functions of the program.
    pub(super) callbacks: Arc<CallbackTargets>,
    /// The language of the SDK that the first request over gRPC came from.
    pub(super) sdk_language: OnceLock<ProgramLanguage>,
}

impl Shared {
    /// Creates the parts of one run's monitor.
    pub(super) fn new(generator: Arc<Generator>, run: Arc<RunInfo>, fetch: Arc<dyn Fetch>) -> Self {
        let executor = generator.executor();
        let shutdown = Shutdown::default();
        let admission = Arc::new(Admission::new(Arc::clone(executor), shutdown.closed.clone()));
        let providers = Arc::new(RequestProviders::new(
            Arc::clone(&generator),
            Arc::clone(&run),
            Arc::clone(&admission),
        ));
        Self {
            values: ProgramValues::new(Arc::clone(executor), Arc::clone(&run), fetch),
            placement: Placement::new(Arc::clone(&generator), Arc::clone(&run), Arc::clone(&providers)),
            transforms: Transforms::default(),
            positions: Positions::default(),
            traces: StackTraces::default(),
            exports: Exports::default(),
            reports: Reports::new(Arc::clone(executor)),
            server: LazyServer::default(),
            callbacks: Arc::new(CallbackTargets::new(executor.runtime().clone())),
            sdk_language: OnceLock::new(),
            generator,
            run,
            admission,
            providers,
            shutdown,
        }
    }
}

//! The resource monitor, the API of programs. Independent of transports: typed calls, or protocol messages as bytes.
//!
//! A program in the host's process calls [`Monitor::register`] and similar methods, or passes protocol bytes to
//! [`Monitor::call`]; other processes reach the same monitor through the gRPC transport in `grpc`.

mod call;
mod check;
mod component;
mod construct;
mod defaults;
mod documents;
mod exists;
mod extensions;
mod features;
mod goal;
mod grpc;
mod hooks;
mod in_flight;
mod invoke;
mod json;
mod members;
mod method;
mod packages;
mod parents;
mod plugin_service;
mod read;
mod register;
mod registration;
mod run_packages;
mod served_by;
mod server;
mod status;
mod traces;
mod transforms;
mod wire;

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio_util::sync::CancellationToken;

use crate::{
    callback::{CallbackChannel, CallbackTargets},
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind},
    executor::Failure,
    generator::Generator,
    message::text_of_program,
    moves::ProgramLanguage,
    property::{PropertyMap, PropertyValue, hash::Fetch},
    provider::{ProviderSpec, settings::ProviderSettings},
    resource::SourcePosition,
    runtime::Runtime,
    secrets::Redactor,
    urn::Urn,
};

pub use crate::run_info::RunInfo;
pub use component::Component;
pub(crate) use documents::{InvokeDocument, MethodDocument, ReadDocument, RegistrationDocument};
pub use exists::Exists;
pub use grpc::MonitorServer;
pub(crate) use grpc::{Listening, MESSAGE_LIMIT, with_package_services};
pub use method::{MethodCall, MethodResult};
pub(crate) use plugin_service::EngineService;
pub use registration::{Invoke, Read, Registered, Registration};
pub use registration::{PackageChoice, PackageParameter, PackageSource};
pub use status::WireStatus;
pub use transforms::{
    InvokeTransform, InvokeTransformArgs, ResourceTransform, TransformArgs, TransformOptions,
};
pub(crate) use wire::{diagnostic_of, require_version};

use defaults::DefaultProviders;
pub(crate) use defaults::{PlannedDefaults, UnrecordedDefaults, recorded_packages};
use in_flight::InFlight;
use parents::Parents;
use traces::{StackTraces, TraceHandle};
use transforms::Transforms;

/// The API of a running program. Cloning is cheap; all clones share the monitor.
#[derive(Clone)]
pub struct Monitor(Arc<Shared>, Start);

/// Where the work of a request begins.
#[derive(Clone, Copy)]
enum Start {
    /// As a task of the runtime: many requests of a fast program are worked on in parallel.
    Spawned,
    /// On the calling thread, as far as it does not wait: a program of an SDK takes much longer for a request than the engine
    /// does, and its next one often needs the answer.
    Inline,
}

struct Shared {
    generator: Arc<Generator>,
    run: Arc<RunInfo>,
    fetch: Arc<dyn Fetch>,
    defaults: DefaultProviders,
    parents: Parents,
    transforms: Transforms,
    positions: wire::Positions,
    /// The stack traces of the requests whose components and methods are running.
    traces: StackTraces,
    in_flight: InFlight,
    /// The clients that are still to be notified of a cancellation.
    hearing: InFlight,
    /// The root stack's URN, once it is registered.
    root: Arc<OnceLock<Urn>>,
    /// Set when the typed API registered the root stack: its outputs are the exports.
    own_root: OnceLock<Urn>,
    /// The language of the SDK that the first request over gRPC came from.
    sdk_language: OnceLock<ProgramLanguage>,
    /// Outputs that the typed API has exported so far.
    exports: Mutex<PropertyMap>,
    /// The program has logged an error.
    error_reported: AtomicBool,
    /// The first declaration of the program that a binding could not read.
    unreadable: OnceLock<Error>,
    /// The server for code in other processes that the engine calls, once such code is called.
    server: Mutex<Option<MonitorServer>>,
    /// The functions of the program.
    callbacks: Arc<CallbackTargets>,
    /// The program has signalled its end.
    signalled: CancellationToken,
    /// Whether a call of [`Monitor::signal_and_wait_for_shutdown`] has given that signal: one of several at the same time does.
    has_signalled: AtomicBool,
    /// All steps are done, deletions included.
    finished: CancellationToken,
    /// The monitor has ended.
    closed: CancellationToken,
}

impl Monitor {
    /// Creates the monitor of one run.
    #[must_use]
    pub(crate) fn new(generator: Arc<Generator>, run: Arc<RunInfo>, fetch: Arc<dyn Fetch>) -> Self {
        let in_flight = InFlight::default();
        let callbacks = Arc::new(CallbackTargets::new(generator.executor().runtime().clone()));
        let defaults = DefaultProviders::new(Arc::clone(&generator), Arc::clone(&run), in_flight.clone());
        let shared = Shared {
            generator,
            run,
            fetch,
            defaults,
            parents: Parents::default(),
            transforms: Transforms::default(),
            positions: wire::Positions::default(),
            traces: StackTraces::default(),
            in_flight,
            hearing: InFlight::default(),
            root: Arc::default(),
            own_root: OnceLock::new(),
            sdk_language: OnceLock::new(),
            exports: Mutex::default(),
            error_reported: AtomicBool::new(false),
            unreadable: OnceLock::new(),
            server: Mutex::default(),
            callbacks,
            signalled: CancellationToken::new(),
            has_signalled: AtomicBool::new(false),
            finished: CancellationToken::new(),
            closed: CancellationToken::new(),
        };
        Self(Arc::new(shared), Start::Spawned)
    }

    /// Returns the fault of the configuration of default providers.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.0.defaults.fault()
    }

    /// Returns the description of the run.
    #[must_use]
    pub fn run_info(&self) -> &Arc<RunInfo> {
        &self.0.run
    }

    /// Returns the URN of the root stack, once the program has registered it.
    #[must_use]
    pub fn root_stack(&self) -> Option<Urn> {
        self.0.root.get().cloned()
    }

    /// Returns the cell that will hold the root stack's URN.
    pub(crate) fn shared_root(&self) -> Arc<OnceLock<Urn>> {
        Arc::clone(&self.0.root)
    }

    /// Returns the runtime that the run works with.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.0.generator.executor().runtime()
    }

    /// Returns the redactor of the operation's texts. It learns a program's secrets from the calls that pass them; a
    /// binding that knows them earlier registers them here.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        self.0.generator.executor().events().redactor()
    }

    fn positions(&self) -> &wire::Positions {
        &self.0.positions
    }

    fn traces(&self) -> &StackTraces {
        &self.0.traces
    }

    /// Returns a handle of the stack trace of a request, for the component or the method that it calls.
    fn issue_trace(&self, position: &SourcePosition, trace: &[SourcePosition]) -> TraceHandle {
        self.0.traces.issue(&*self.runtime().random, position, trace)
    }

    /// Sets the packages that the program needs; their versions are the defaults of requests.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when one version of a package has two sources.
    pub(crate) fn require(&self, packages: Vec<ProviderSettings>) -> Result<(), Error> {
        self.0.defaults.require(packages)
    }

    /// Installs plugins before the program runs; returns whether the program is to run.
    ///
    /// A cancellation lets the installation complete; a second one abandons it.
    pub(crate) async fn install_beforehand(&self, plugins: &[ProviderSpec]) -> bool {
        let executor = self.0.generator.executor();
        if let Some(_flight) = self.0.in_flight.enter() {
            tokio::select! {
                biased;
                () = executor.terminated() => {}
                () = self.0.generator.registry().source().install_beforehand(plugins) => {}
            }
        }
        !executor.control().is_stopped()
    }

    /// Sets the channel of a target in the host's process: functions at that target are called through it, without a
    /// connection. Returns false when the target has a channel already.
    pub fn serve_callbacks(&self, target: &str, channel: Arc<dyn CallbackChannel>) -> bool {
        self.0.callbacks.serve(target, channel)
    }

    /// Emits a diagnostic. An error fails the operation once the program has ended, before anything is deleted that
    /// the program has not registered.
    pub fn log(&self, severity: Severity, message: impl Into<String>, urn: Option<Urn>) {
        let mut diagnostic = Diagnostic::new(severity, message.into());
        diagnostic.urn = urn;
        self.log_diagnostic(diagnostic);
    }

    /// Emits a diagnostic with all its fields.
    pub fn log_diagnostic(&self, mut diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            diagnostic.message = text_of_program(diagnostic.message.reference());
            self.0.error_reported.store(true, Ordering::Release);
        }
        self.0.generator.executor().diagnose(diagnostic);
    }

    /// Returns whether the program has reported an error.
    pub(crate) fn has_reported_errors(&self) -> bool {
        self.0.error_reported.load(Ordering::Acquire)
    }

    /// Reports that a binding could not read a declaration: a resource, the outputs of a component, or an output of the
    /// stack, with an unknown option or a value that cannot be converted.
    ///
    /// The run then fails with the first such error once the program has ended, even when the program catches it: the
    /// engine does not know the declaration, and would delete its resource. A declaration that the engine refuses is no
    /// such case.
    pub fn declaration_unreadable(&self, error: &Error) {
        self.0.unreadable.get_or_init(|| error.clone());
    }

    /// Returns the error of the first declaration that could not be read.
    pub(crate) fn unreadable_declaration(&self) -> Option<Error> {
        self.0.unreadable.get().cloned()
    }

    /// Fails the operation with an error that the program caused after its end; no new request is accepted. Returns
    /// whether the operation still runs, so that its result contains the failure.
    pub fn fail_late(&self, message: impl Into<String>) -> bool {
        if self.is_closed() {
            return false;
        }
        let error = Error::new(ErrorKind::Program, message.into());
        let executor = self.0.generator.executor();
        executor.diagnose(Diagnostic::error(error.message()));
        executor.control().fail(Failure::Program(error), true);
        true
    }

    /// Sets one of the stack's outputs; they are recorded when the program has ended.
    pub fn export(&self, name: &str, value: PropertyValue) {
        self.redactor().learn_value(&value);
        self.0
            .exports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, value);
    }

    /// Records the language of the SDK that a request came from.
    pub(crate) fn note_sdk(&self, language: ProgramLanguage) {
        self.0.sdk_language.get_or_init(|| language);
    }

    /// Returns the language of the SDK that registers resources over gRPC.
    #[must_use]
    pub(crate) fn sdk_language(&self) -> ProgramLanguage {
        self.0.sdk_language.get().copied().unwrap_or_default()
    }

    /// Returns the root stack that the typed API registered.
    #[must_use]
    pub(crate) fn own_root(&self) -> Option<Urn> {
        self.0.own_root.get().cloned()
    }

    /// Returns the outputs that the typed API has exported so far.
    #[must_use]
    pub(crate) fn exports(&self) -> PropertyMap {
        self.0
            .exports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the outputs that the typed API has exported so far, with the hashes of their assets and archives. Those of a
    /// run that has ended are without the missing ones.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an asset that cannot be read, with the root stack.
    pub(crate) async fn hashed_exports(&self, root: &Urn) -> Result<PropertyMap, Error> {
        let exports = self.exports();
        match self.inspect_assets("outputs", exports.clone(), root).await {
            Ok(hashed) => Ok(hashed),
            Err(register::Refused::Invalid(status)) => Err(Error::invalid(status.message)),
            Err(_) => Ok(exports),
        }
    }

    /// Signals that the program will register nothing more, and waits until all steps are done.
    ///
    /// # Errors
    /// `Unavailable` when the run ends otherwise; a second call is refused.
    ///
    /// # Cancel safety
    /// The signal stays; only the wait ends.
    pub async fn signal_and_wait_for_shutdown(&self) -> Result<(), WireStatus> {
        if self.0.has_signalled.swap(true, Ordering::Relaxed) {
            return Err(WireStatus::unknown("Already waiting for shutdown"));
        }
        self.0.signalled.cancel();
        tokio::select! {
            () = self.0.finished.cancelled() => Ok(()),
            () = self.0.closed.cancelled() => Err(WireStatus::shut_down("waiting for shutdown")),
        }
    }

    /// Resolves when the program has signalled its end.
    pub(crate) async fn signalled(&self) {
        self.0.signalled.cancelled().await;
    }

    /// Waits until no request is in flight, and accepts none from then on.
    pub(crate) async fn seal(&self) {
        self.0.in_flight.seal().await;
    }

    /// Accepts no more requests, although some may be in flight.
    pub(crate) fn seal_now(&self) {
        self.0.in_flight.seal_now();
    }

    /// Registers a client that must be notified of a cancellation before the operation returns; dropping the guard
    /// acknowledges. `None` once the operation no longer waits.
    pub(crate) fn enter_cancellation(&self) -> Option<impl Send + use<>> {
        self.0.hearing.enter()
    }

    /// Waits until all registered clients have been notified of the cancellation.
    pub(crate) async fn cancellation_delivered(&self) {
        self.0.hearing.seal().await;
    }

    /// Marks all steps as done, which answers [`Self::signal_and_wait_for_shutdown`].
    pub(crate) fn finish(&self) {
        self.0.finished.cancel();
    }

    /// Ends the monitor: waiting requests fail, and no more are accepted.
    pub(crate) fn close(&self) {
        self.0.closed.cancel();
        // The server holds the monitor.
        drop(
            self.0
                .server
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// Drops the transforms and the hooks of a program, none of which runs any more: functions of this process may hold
    /// the monitor.
    pub(crate) fn drop_functions(&self) {
        self.0.transforms.clear();
        self.0.callbacks.clear();
        self.0.generator.executor().hooks().clear();
    }

    /// Resolves when the user cancels the run; running calls complete.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.0.generator.executor().control().cancelled().await;
    }

    /// Resolves when the user cancels the run a second time; running calls are abandoned.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn terminated(&self) {
        self.0.generator.executor().control().terminated().await;
    }

    /// Resolves when the monitor has ended.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    /// Returns whether the monitor has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.closed.is_cancelled()
    }

    /// Waits until the session is released, for a request without an answer. A component that is being constructed
    /// learns of the end at once: running calls of its provider may wait for what it registers, and the end for them.
    async fn unanswered(&self, waiting: &str) -> WireStatus {
        if !self.0.generator.executor().is_constructing() {
            self.0.closed.cancelled().await;
        }
        WireStatus::shut_down(waiting)
    }
}

//! The resource monitor, the API of programs. Independent of transports: typed calls, or protocol messages as bytes.
//!
//! A program in the host's process calls [`Monitor::register`] and similar methods, or passes protocol bytes to
//! [`Monitor::call`]; other processes reach the same monitor through the gRPC transport in `grpc`.

mod admission;
mod call;
mod check;
mod component;
mod construct;
mod documents;
mod exists;
mod exports;
mod failed_call;
mod features;
mod functions;
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
mod placement;
mod plugin_service;
mod program_values;
mod providers;
mod read;
mod register;
mod refused;
mod registration;
mod reports;
mod request_error;
mod requests;
mod required;
mod run_packages;
mod served_by;
mod server;
mod shared;
mod shutdown;
mod status;
mod traces;
mod transforms;
mod wire;

use std::sync::{Arc, OnceLock};

use crate::{
    callback::CallbackChannel,
    diagnostic::{Diagnostic, Severity},
    error::Error,
    generator::Generator,
    moves::ProgramLanguage,
    plugin::RequiredPlugin,
    property::{PropertyMap, PropertyValue, hash::Fetch},
    provider::{MonitorHandle, ProviderSpec, settings::ProviderSettings},
    resource::SourcePosition,
    runtime::Runtime,
    secrets::Redactor,
    urn::Urn,
};

pub use crate::run_info::RunInfo;
pub use component::Component;
pub(crate) use documents::{
    ExistsDocument, InvokeDocument, MethodDocument, ReadDocument, RegistrationDocument,
};
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

pub(crate) use providers::{PlannedDefaults, UnrecordedDefaults, recorded_packages};

use admission::Start;
use server::Access;
use shared::Shared;
use traces::TraceHandle;

/// The API of a running program. Cloning is cheap; all clones share the monitor.
#[derive(Clone)]
pub struct Monitor {
    shared: Arc<Shared>,
    start: Start,
    /// The handle of the stack trace of the component or the method whose code calls this; empty for a program.
    trace: Arc<str>,
}

impl Monitor {
    /// Creates the monitor of one run.
    #[must_use]
    pub(crate) fn new(generator: Arc<Generator>, run: Arc<RunInfo>, fetch: Arc<dyn Fetch>) -> Self {
        Self {
            shared: Arc::new(Shared::new(generator, run, fetch)),
            start: Start::Spawned,
            trace: Arc::default(),
        }
    }

    /// Returns the monitor for the code of a component or a method: the stack traces of its requests begin with this one's.
    fn within(&self, trace: &TraceHandle) -> Self {
        Self {
            trace: trace.text().into(),
            ..self.clone()
        }
    }

    /// Returns the monitor for code that names the stack trace of its component or its method itself.
    fn outermost(&self) -> Self {
        Self {
            trace: Arc::default(),
            ..self.clone()
        }
    }

    /// Returns the stack trace of a request after that of the component or the method that makes it, which the request may
    /// name.
    fn traced(&self, named: &str, own: Vec<SourcePosition>) -> Vec<SourcePosition> {
        let handle = if named.is_empty() { &self.trace } else { named };
        self.shared.traces.prepended(handle, own)
    }

    /// Returns the fault of the configuration of default providers.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.shared.providers.fault()
    }

    /// Returns the description of the run.
    #[must_use]
    pub fn run_info(&self) -> &Arc<RunInfo> {
        &self.shared.run
    }

    /// Returns the URN of the root stack, once the program has registered it.
    #[must_use]
    pub fn root_stack(&self) -> Option<Urn> {
        self.shared.placement.root.get().cloned()
    }

    /// Returns the cell that will hold the root stack's URN.
    pub(crate) fn shared_root(&self) -> Arc<OnceLock<Urn>> {
        Arc::clone(&self.shared.placement.root)
    }

    /// Returns the runtime that the run works with.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.shared.generator.executor().runtime()
    }

    /// Returns the redactor of the operation's texts. It learns a program's secrets from the calls that pass them; a
    /// binding that knows them earlier registers them here.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        self.shared.values.redactor()
    }

    /// Sets the packages that the program needs; their versions are the defaults of requests.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when one version of a package has two sources.
    pub(crate) fn require(&self, packages: Vec<ProviderSettings>) -> Result<(), Error> {
        self.shared.providers.require(packages)
    }

    /// Prepares the plugins that the program needs, before it runs: installs missing ones where the host installs plugins, and
    /// warns of all that are still missing at once. A request that needs one of these fails. Returns whether the program is to run:
    /// not once the operation is cancelled.
    ///
    /// # Cancel safety
    /// A dropped future abandons installations that no other caller waits for.
    pub async fn require_plugins(&self, plugins: Vec<RequiredPlugin>) -> bool {
        let specs: Vec<ProviderSpec> = plugins.into_iter().map(ProviderSpec::from).collect();
        self.prepare_plugins(&specs).await
    }

    /// The same for plugins that a language runtime has named.
    ///
    /// A cancellation lets an installation complete; a second one abandons it.
    pub(crate) async fn prepare_plugins(&self, plugins: &[ProviderSpec]) -> bool {
        required::prepare(&self.shared, plugins).await;
        !self.shared.generator.executor().control().is_stopped()
    }

    /// Sets the channel of a target in the host's process: functions at that target are called through it, without a
    /// connection. Returns false when the target has a channel already.
    pub fn serve_callbacks(&self, target: &str, channel: Arc<dyn CallbackChannel>) -> bool {
        self.shared.callbacks.serve(target, channel)
    }

    /// Emits a diagnostic. An error fails the operation once the program has ended, before anything is deleted that
    /// the program has not registered.
    pub fn log(&self, severity: Severity, message: impl Into<String>, urn: Option<Urn>) {
        let mut diagnostic = Diagnostic::new(severity, message.into());
        diagnostic.urn = urn;
        self.log_diagnostic(diagnostic);
    }

    /// Emits a diagnostic with all its fields.
    pub fn log_diagnostic(&self, diagnostic: Diagnostic) {
        self.shared.reports.log(diagnostic);
    }

    /// Returns whether the program has reported an error.
    pub(crate) fn has_reported_errors(&self) -> bool {
        self.shared.reports.has_errors()
    }

    /// Reports that a binding could not read a declaration: a resource, the outputs of a component, or an output of the
    /// stack, with an unknown option or a value that cannot be converted.
    ///
    /// The run then fails with the first such error once the program has ended, even when the program catches it: the
    /// engine does not know the declaration, and would delete its resource. A declaration that the engine refuses fails the
    /// run only where its resource is recorded.
    pub fn declaration_unreadable(&self, error: &Error) {
        self.shared.reports.unreadable.get_or_init(|| error.clone());
    }

    /// Reports a registration that the program does not make, because something that it needs has failed. The run then fails with this
    /// error once the program has ended, even when the program catches it, where the resource is recorded and has not been registered
    /// otherwise.
    pub fn registration_given_up(&self, mut registration: Registration, error: &Error) {
        let goal = goal::goal_of(&mut registration);
        self.shared.reports.refused.note_error(goal, error.clone());
    }

    /// Returns the error of the first declaration that could not be read.
    pub(crate) fn unreadable_declaration(&self) -> Option<Error> {
        self.shared.reports.unreadable.get().cloned()
    }

    /// Returns the error of a registration that was refused although its resource is recorded, unless the program has registered the
    /// resource otherwise.
    pub(crate) fn lost_registration(&self) -> Option<Error> {
        self.shared.reports.refused.lost(&self.shared.generator)
    }

    /// Fails the operation with an error that the program caused after its end; no new request is accepted. Returns
    /// whether the operation still runs, so that its result contains the failure.
    pub fn fail_late(&self, message: impl Into<String>) -> bool {
        if self.is_closed() {
            return false;
        }
        self.shared.reports.fail_late(message.into());
        true
    }

    /// Sets one of the stack's outputs; they are recorded when the program has ended.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{program::{self, ProgramContext}, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// async fn site(context: ProgramContext) -> Result<()> {
    ///     context.monitor.export("url", "https://example.com".into());
    ///     Ok(())
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let settings = StackSettings { program: Some(program::from_fn(site)), ..StackSettings::default() };
    /// # let stack = engine.create_stack("shop/dev", settings).await?;
    /// let update = stack.update(OperationOptions::default()).wait().await;
    /// assert_eq!(update.outputs.get("url"), Some(&"https://example.com".into()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self, name: &str, value: PropertyValue) {
        self.redactor().learn_value(&value);
        self.shared.exports.set(name, value);
    }

    /// Records the language of the SDK that a request came from.
    pub(crate) fn note_sdk(&self, language: ProgramLanguage) {
        self.shared.sdk_language.get_or_init(|| language);
    }

    /// Returns the language of the SDK that registers resources over gRPC.
    #[must_use]
    pub(crate) fn sdk_language(&self) -> ProgramLanguage {
        self.shared.sdk_language.get().copied().unwrap_or_default()
    }

    /// Returns the root stack that the typed API registered.
    #[must_use]
    pub(crate) fn own_root(&self) -> Option<Urn> {
        self.shared.exports.root.get().cloned()
    }

    /// Returns the outputs that the typed API has exported so far, with the hashes of their assets and archives. Those of a
    /// run that has ended are without the missing ones.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an asset that cannot be read, with the root stack.
    pub(crate) async fn hashed_exports(&self, root: &Urn) -> Result<PropertyMap, Error> {
        self.shared.exports.hashed(&self.shared.values, root).await
    }

    /// Signals that the program will register nothing more, and waits until all steps are done.
    ///
    /// # Errors
    /// `Unavailable` when the run ends otherwise; a second call is refused.
    ///
    /// # Cancel safety
    /// The signal stays; only the wait ends.
    pub async fn signal_and_wait_for_shutdown(&self) -> Result<(), WireStatus> {
        self.shared.shutdown.signal_and_wait().await
    }

    /// Resolves when the program has signalled its end.
    pub(crate) async fn signalled(&self) {
        self.shared.shutdown.signalled.cancelled().await;
    }

    /// Waits until no request is in flight, and accepts none from then on.
    pub(crate) async fn seal(&self) {
        self.shared.admission.in_flight.seal().await;
    }

    /// Accepts no more requests, although some may be in flight.
    pub(crate) fn seal_now(&self) {
        self.shared.admission.in_flight.seal_now();
    }

    /// Registers a client that must be notified of a cancellation before the operation returns; dropping the guard
    /// acknowledges. `None` once the operation no longer waits.
    pub(crate) fn enter_cancellation(&self) -> Option<impl Send + use<>> {
        self.shared.shutdown.cancellations.enter()
    }

    /// Waits until all registered clients have been notified of the cancellation.
    pub(crate) async fn cancellation_delivered(&self) {
        self.shared.shutdown.cancellations.seal().await;
    }

    /// Marks all steps as done, which answers [`Self::signal_and_wait_for_shutdown`].
    pub(crate) fn finish(&self) {
        self.shared.shutdown.finished.cancel();
    }

    /// Ends the monitor: waiting requests fail, and no more are accepted.
    pub(crate) fn close(&self) {
        self.shared.shutdown.closed.cancel();
        self.shared.server.stop();
    }

    /// Drops the transforms and the hooks of a program, none of which runs any more: functions of this process may hold
    /// the monitor.
    pub(crate) fn drop_functions(&self) {
        self.shared.transforms.clear();
        self.shared.callbacks.clear();
        self.shared.generator.executor().hooks().clear();
    }

    /// Resolves when the user cancels the run; running calls complete.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.shared.generator.executor().control().cancelled().await;
    }

    /// Resolves when the user cancels the run a second time; running calls are abandoned.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn terminated(&self) {
        self.shared.generator.executor().control().terminated().await;
    }

    /// Resolves when the monitor has ended.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn closed(&self) {
        self.shared.shutdown.closed.cancelled().await;
    }

    /// Returns whether the monitor has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.shutdown.closed.is_cancelled()
    }

    /// Adds to the error of a program the resource and the cause of the transform's failure that its text contains.
    pub(crate) fn with_cause_of_transform(&self, error: Error) -> Error {
        self.shared.transforms.explain(error)
    }

    /// Returns the handle of this monitor, for code that the engine calls.
    #[must_use]
    pub fn handle(&self) -> MonitorHandle {
        MonitorHandle::new(Arc::new(Access(self.clone())))
    }

    /// Returns the monitor of a handle.
    #[must_use]
    pub fn of(handle: &MonitorHandle) -> Option<Self> {
        let access: Option<&Access> = handle.access().downcast_ref();
        access.map(|access| access.0.clone())
    }
}

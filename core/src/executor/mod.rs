//! The step executor: the effect of each kind of step, in which order steps run, and how many at a time.
//!
//! [`Executor`] drives steps through its parts: [`CallLimits`] the number of calls, [`Applier`] the calls of providers,
//! [`Recorder`] the journal, [`Reporter`] events and counts, `views` the steps on views.

mod activity;
mod apply;
mod awaited_code;
mod call_limits;
mod constructs;
mod control;
mod hooked;
mod hooks;
mod outcome;
mod plugin_limits;
mod recorder;
mod reporter;
mod run;
mod sanitize;
mod schedule;
mod slots;
mod step;
mod views;

use std::{sync::Arc, time::Duration};

use crate::{
    callback::Hooks,
    diagnostic::Diagnostic,
    event::EventSink,
    property::PropertyMap,
    resource::{Extension, ResourceState},
    runtime::Runtime,
    state::{Journal, StateRef},
    telemetry::Scope,
    urn::Urn,
};

pub(crate) use activity::Activity;
pub(crate) use control::{AbandonedCall, Control, Controls, Failure};
pub(crate) use hooks::has_hooks;
pub(crate) use outcome::{StepFailure, StepOutcome};
pub use plugin_limits::PluginLimits;
pub(crate) use schedule::{run_cascades, run_in_order};
pub(crate) use step::{PlannedImport, Step, StepDetail};

use apply::Applier;
pub(crate) use awaited_code::AwaitedCodeGuard;
use call_limits::{CallLimits, CallTurn};
pub(crate) use constructs::ConstructGuard;
use recorder::Recorder;
use reporter::Reporter;
pub(crate) use reporter::Rerecorded;
use sanitize::Sanitizer;
use slots::StallReport;

/// The options of an operation that the executor depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutorOptions {
    /// Nothing is created, changed, deleted or written.
    pub preview: bool,
    /// How many steps work at a time; 0 and `i32::MAX` mean no limit.
    pub parallel: usize,
    /// A failed step stops only what depends on it.
    pub continue_on_error: bool,
    /// Protected resources may be deleted.
    pub ignore_protect: bool,
    /// The operation is a refresh: the results of its steps are reported and counted.
    pub reports_refresh: bool,
    /// The result of a refresh is decided by its outputs alone, without a Diff of the provider.
    pub compares_outputs: bool,
    /// Calls of every provider may wait for later registrations, even without the provider's declaration.
    pub waits_for_registrations: bool,
    /// Values at or below the path of a secret input are secret, also where the provider has dropped the mark.
    pub nested_secrets: bool,
    /// A program runs, which can register hooks.
    pub has_program: bool,
    /// How long one call of a transform, a hook or a policy may take.
    pub callback_timeout: Duration,
}

/// Runs steps: announces each, calls its provider, records the result, and reports it.
///
/// The order is fixed: the begin entry is durable before the provider is called, the end entry before the report.
pub(crate) struct Executor {
    runtime: Runtime,
    applier: Applier,
    recorder: Recorder,
    reporter: Reporter,
    hooks: Arc<Hooks>,
    activity: Activity,
    /// The operation of the steps.
    scope: Scope,
}

impl Executor {
    /// Creates an executor.
    #[must_use]
    pub(crate) fn new(
        options: ExecutorOptions,
        runtime: Runtime,
        events: EventSink,
        journal: Option<Journal>,
        control: Control,
    ) -> Self {
        let report: StallReport = {
            let events = events.clone();
            Arc::new(move |text| events.diagnostic(Diagnostic::warning(text)))
        };
        let activity = Activity::new(Arc::clone(&runtime.clock));
        Self {
            applier: Applier {
                options,
                clock: Arc::clone(&runtime.clock),
                limits: CallLimits::new(&options, &runtime, report),
                sanitizer: Sanitizer::new(events.redactor().clone(), options.preview),
                control: control.clone(),
                activity: activity.clone(),
            },
            recorder: Recorder::new(journal, control.clone()),
            reporter: Reporter::new(options, Arc::clone(&runtime.clock), events, control),
            runtime,
            hooks: Arc::default(),
            activity,
            scope: Scope::default(),
        }
    }

    /// Returns the same executor whose steps are within a scope.
    #[must_use]
    pub(crate) fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Returns the same executor whose calls count against further limits as well.
    #[must_use]
    pub(crate) fn with_plugin_limits(mut self, limits: Option<PluginLimits>) -> Self {
        let events = self.events().clone();
        let report: StallReport = Arc::new(move |text| events.diagnostic(Diagnostic::warning(text)));
        self.applier.limits.set_plugins(limits, report);
        self
    }

    /// Returns an executor with other options and journal, but the same events, switches, slots and views.
    #[must_use]
    pub(crate) fn with_options(&self, options: ExecutorOptions, journal: Option<Journal>) -> Self {
        let (runtime, events) = (self.runtime.clone(), self.events().clone());
        let mut other = Self::new(options, runtime, events, journal, self.control().clone());
        other.applier.limits = self.applier.limits.clone();
        other.hooks = Arc::clone(&self.hooks);
        other.applier.activity = self.activity.clone();
        other.activity = self.activity.clone();
        other.scope = self.scope.clone();
        other.recorder.views = self.recorder.views.clone();
        other
    }

    /// Takes over the counts and the steps of another executor of the same run.
    pub(crate) fn absorb(&self, other: &Self) {
        self.reporter.absorb(&other.reporter);
    }

    /// Returns the options.
    #[must_use]
    pub(crate) fn options(&self) -> &ExecutorOptions {
        &self.applier.options
    }

    /// Returns the switches that stop and end the run.
    #[must_use]
    pub(crate) fn control(&self) -> &Control {
        &self.applier.control
    }

    /// Returns the event sink.
    #[must_use]
    pub(crate) fn events(&self) -> &EventSink {
        self.reporter.events()
    }

    /// Returns the journal; `None` during previews.
    #[must_use]
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.recorder.journal.as_ref()
    }

    /// Returns the runtime.
    #[must_use]
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the reporter of the steps.
    #[must_use]
    pub(crate) fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    /// Returns the sanitizer of values.
    #[must_use]
    pub(crate) fn sanitizer(&self) -> &Sanitizer {
        &self.applier.sanitizer
    }

    /// Returns whether nothing may be changed.
    #[must_use]
    pub(crate) fn is_preview(&self) -> bool {
        self.options().preview
    }

    /// Returns a resource that this run has registered or read.
    #[must_use]
    pub(crate) fn published(&self, urn: &Urn) -> Option<Arc<ResourceState>> {
        self.published_record(urn).map(|record| record.state)
    }

    /// Returns the record of a resource that this run has registered or read.
    pub(crate) fn published_record(&self, urn: &Urn) -> Option<StateRef> {
        self.recorder.published(urn)
    }

    /// Returns all resources that this run has registered or read, in the order of their URNs.
    pub(crate) fn all_published(&self) -> Vec<Arc<ResourceState>> {
        self.recorder.all_published()
    }

    /// Publishes the record of a resource, unless it is an old copy.
    pub(crate) fn publish(&self, record: &StateRef) {
        self.recorder.publish(record);
    }

    /// Makes an extension of a provider durable, before any record refers to it; nothing in a preview.
    ///
    /// # Errors
    /// When the journal cannot be written; the run has failed then.
    pub(crate) async fn add_extension(&self, extension: &Arc<Extension>) -> Result<(), StepFailure> {
        self.recorder.add_extension(extension).await
    }

    /// Sets the views of the records: those among `records`.
    pub(crate) fn set_views(&self, records: &[StateRef]) {
        self.recorder.views.fill(records);
    }

    /// Emits a diagnostic.
    pub(crate) fn diagnose(&self, diagnostic: Diagnostic) {
        self.events().diagnostic(diagnostic);
    }

    /// Waits for the turn of a Check, Diff or similar call. `waits` is the provider's declaration.
    pub(crate) fn question(
        &self,
        urn: &Urn,
        method: &'static str,
        waits: bool,
    ) -> impl Future<Output = CallTurn> + Send {
        self.applier.limits.question(urn, method, waits)
    }

    /// Records that a component's Construct is in flight until the guard is dropped. `inputs` are those of the component.
    pub(crate) fn constructing(&self, component: &Urn, package: &str, inputs: PropertyMap) -> ConstructGuard {
        self.applier.limits.constructing(component, package, inputs)
    }

    /// Marks what the provider of a component returns or publishes in plaintext although it is at or below the path of a
    /// secret input. Outputs of a component that is not being constructed stay as they are.
    pub(crate) fn with_secrets_of_construct(&self, component: &Urn, outputs: PropertyMap) -> PropertyMap {
        match self.applier.limits.inputs_of_construct(component) {
            Some(inputs) => self.applier.with_secrets_of(outputs, &inputs),
            None => outputs,
        }
    }

    /// Records that a component has been registered, by the plugin that constructs it for instance.
    pub(crate) fn component_registered(&self, component: &Urn) {
        self.applier.limits.component_registered(component);
    }

    /// Records that a method or a hook is in flight until the guard is dropped.
    pub(crate) fn awaiting_code(&self) -> AwaitedCodeGuard {
        self.applier.limits.awaiting_code()
    }

    /// Returns whether a component's Construct, a method or a hook is in flight.
    pub(crate) fn is_awaiting_code(&self) -> bool {
        self.applier.limits.is_awaiting_code()
    }

    /// Returns what the run works on.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Returns the hooks of the run.
    pub(crate) fn hooks(&self) -> &Arc<Hooks> {
        &self.hooks
    }

    /// Resolves when running provider calls are to be abandoned.
    pub(crate) fn terminated(&self) -> impl Future<Output = ()> + Send {
        self.control().terminated()
    }
}

//! How many calls of providers run at a time: those of steps, and the cheap ones beside them.

use std::sync::Arc;

use crate::{
    executor::{
        ExecutorOptions, Step,
        awaited_code::{AwaitedCode, AwaitedCodeGuard},
        constructs::{CallGuard, ConstructGuard, Constructs},
        plugin_limits::PluginLimits,
        slots::{Call, Counting, Slot, Slots, StallReport},
    },
    property::PropertyMap,
    runtime::Runtime,
    urn::Urn,
};

/// Number of concurrent Check and Diff calls for each concurrent step: the calls are cheap, but a provider must not
/// receive thousands at once.
const QUESTIONS_PER_STEP: usize = 16;

/// The limits of one run. Cloning is cheap; all clones share the counts.
#[derive(Clone)]
pub(super) struct CallLimits {
    steps: Slots,
    questions: Slots,
    /// Those of the set of stacks, or of the engines, that the run belongs to, and what receives their warnings.
    plugins: Option<(PluginLimits, StallReport)>,
    /// Calls of every provider may wait for later registrations.
    waits_for_registrations: bool,
    constructs: Constructs,
    code: AwaitedCode,
}

/// The turn of a call of a provider; dropping it ends it.
pub(crate) struct CallTurn {
    _slot: Slot,
    _plugin: Option<Slot>,
    _guard: CallGuard,
}

impl CallLimits {
    pub(super) fn new(options: &ExecutorOptions, runtime: &Runtime, report: StallReport) -> Self {
        let questions = options.parallel.saturating_mul(QUESTIONS_PER_STEP);
        Self {
            steps: Slots::new(options.parallel, runtime.clone(), Arc::clone(&report)),
            questions: Slots::new(questions, runtime.clone(), Arc::clone(&report)),
            plugins: None,
            waits_for_registrations: options.waits_for_registrations,
            constructs: Constructs::new(runtime.clone(), report),
            code: AwaitedCode::default(),
        }
    }

    /// Sets the limits of the set of stacks, or of the engines, that the run belongs to. `report` receives their warnings until the run
    /// ends.
    pub(super) fn set_plugins(&mut self, plugins: Option<PluginLimits>, report: StallReport) {
        self.plugins = plugins.map(|plugins| {
            plugins.report_to(&report);
            (plugins, report)
        });
    }

    /// Waits until the step may call its provider; `None` where it calls none.
    pub(super) async fn step(&self, step: &Step) -> Option<CallTurn> {
        let provider = step.provider.as_ref().filter(|_| step.calls_provider())?;
        let waits = provider.waits_for_registrations;
        Some(self.turn(&self.steps, &step.urn, step.op.method()?, waits).await)
    }

    /// Waits for the turn of a Check, Diff or similar call. `waits` is the provider's declaration.
    pub(super) fn question(
        &self,
        urn: &Urn,
        method: &'static str,
        waits: bool,
    ) -> impl Future<Output = CallTurn> + Send {
        self.turn(&self.questions, urn, method, waits)
    }

    /// Records a Construct in flight until the guard is dropped.
    pub(super) fn constructing(&self, component: &Urn, package: &str, inputs: PropertyMap) -> ConstructGuard {
        self.constructs.begin(component, package, inputs)
    }

    /// Returns the inputs of a component whose Construct is in flight.
    pub(super) fn inputs_of_construct(&self, component: &Urn) -> Option<PropertyMap> {
        self.constructs.inputs_of(component)
    }

    /// Records a method or a hook in flight until the guard is dropped.
    pub(super) fn awaiting_code(&self) -> AwaitedCodeGuard {
        self.code.begin()
    }

    /// Returns whether a Construct, a method or a hook is in flight.
    pub(super) fn is_awaiting_code(&self) -> bool {
        !(self.constructs.is_empty() && self.code.is_empty())
    }

    /// Records that a component has been registered.
    pub(super) fn component_registered(&self, component: &Urn) {
        self.constructs.registered(component);
    }

    async fn turn(&self, slots: &Slots, urn: &Urn, method: &'static str, waits: bool) -> CallTurn {
        let guard = self.constructs.enter(urn, method);
        let call = Call {
            urn: urn.clone(),
            method,
            counting: Counting::of(waits || self.waits_for_registrations, guard.is_below_construct()),
        };
        // A call with a turn of its plugin has one of its run already, so that it goes on.
        let slot = slots.acquire(call.clone()).await;
        let plugin = match &self.plugins {
            Some((plugins, _)) => plugins.acquire(call).await,
            None => None,
        };
        CallTurn {
            _slot: slot,
            _plugin: plugin,
            _guard: guard,
        }
    }
}

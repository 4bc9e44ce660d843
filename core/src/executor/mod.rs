//! The step executor: what each kind of step does, and in which order and how many at a time.

mod apply;
mod control;
mod heed;
mod outcome;
mod record;
mod refresh;
mod report;
mod run;
mod schedule;
mod slots;
mod step;
mod views;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use rustc_hash::FxHashMap;

use crate::{
    diagnostic::Diagnostic,
    event::{ChangeCounts, EventSink, StepResult},
    resource::ResourceState,
    runtime::{Runtime, Timestamp},
    state::{Journal, StateRef},
    urn::Urn,
};

pub(crate) use control::{Control, Failure};
pub(crate) use outcome::{StepFailure, StepOutcome};
pub(crate) use schedule::run_in_order;
pub(crate) use step::{Step, StepDetail, is_default_provider_name};

use slots::{Call, Counting, Slot, Slots, StallReport};
use views::ViewBook;

/// How many calls of Check and Diff may run at a time for each step that may: they are cheap, but a provider must not get
/// thousands at once.
const QUESTIONS_PER_STEP: usize = 16;

/// What the user's options say to the executor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExecutorOptions {
    /// Nothing is created, changed, deleted or written.
    pub preview: bool,
    /// How many steps work at a time; 0 and `i32::MAX` mean no limit.
    pub parallel: usize,
    /// A failed step stops only what depends on it.
    pub continue_on_error: bool,
    /// Protected resources may be deleted.
    pub ignore_protect: bool,
    /// The steps are a refresh of their own: what they come to is reported and counted.
    pub reports_refresh: bool,
    /// What a refresh came to is told from its outputs alone, without asking the provider for a diff.
    pub compares_outputs: bool,
    /// Calls of every provider may wait for later registrations, also where the provider does not declare it.
    pub waits_for_registrations: bool,
}

/// Runs steps: announces each, calls its provider, records what came of it, and reports it.
///
/// The order is fixed: the beginning is durable before the provider is called, and the end before anybody learns of it.
pub(crate) struct Executor {
    options: ExecutorOptions,
    runtime: Runtime,
    events: EventSink,
    /// `None` during previews, which record nothing.
    journal: Option<Journal>,
    control: Control,
    slots: Slots,
    questions: Slots,
    counts: ChangeCounts,
    steps: AtomicU64,
    maybe_corrupt: AtomicBool,
    /// Steps that changed something, as the result shows them.
    changed: Mutex<Vec<StepResult>>,
    views: ViewBook,
    /// What this run has registered or read, for `getResource`.
    published: Mutex<FxHashMap<Urn, StateRef>>,
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
        let questions = options.parallel.saturating_mul(QUESTIONS_PER_STEP);
        let questions = Slots::new(questions, runtime.clone(), Arc::clone(&report));
        let slots = Slots::new(options.parallel, runtime.clone(), report);
        Self {
            options,
            runtime,
            events,
            journal,
            control,
            slots,
            questions,
            counts: ChangeCounts::new(),
            steps: AtomicU64::new(0),
            maybe_corrupt: AtomicBool::new(false),
            changed: Mutex::default(),
            views: ViewBook::default(),
            published: Mutex::default(),
        }
    }

    /// Returns the options.
    #[must_use]
    pub(crate) fn options(&self) -> &ExecutorOptions {
        &self.options
    }

    /// Returns what starts, stops and ends the run.
    #[must_use]
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Returns where events go.
    #[must_use]
    pub(crate) fn events(&self) -> &EventSink {
        &self.events
    }

    /// Returns the journal; `None` during previews.
    #[must_use]
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Returns the runtime.
    #[must_use]
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Tells whether nothing may be changed.
    #[must_use]
    pub(crate) fn is_preview(&self) -> bool {
        self.options.preview
    }

    /// Returns what has been counted so far.
    #[must_use]
    pub(crate) fn counts(&self) -> &ChangeCounts {
        &self.counts
    }

    /// Tells whether a failed call left the state of some real thing unknown.
    #[must_use]
    pub(crate) fn maybe_corrupt(&self) -> bool {
        self.maybe_corrupt.load(Ordering::Relaxed)
    }

    /// Returns a resource that this run has registered or read.
    #[must_use]
    pub(crate) fn published(&self, urn: &Urn) -> Option<Arc<ResourceState>> {
        self.published_record(urn).map(|record| record.state)
    }

    /// The same with its identity in the journal.
    pub(crate) fn published_record(&self, urn: &Urn) -> Option<StateRef> {
        self.published
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(urn)
            .cloned()
    }

    /// Returns all resources that this run has registered or read, in the order of their URNs.
    pub(crate) fn all_published(&self) -> Vec<Arc<ResourceState>> {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let mut states: Vec<_> = published
            .values()
            .map(|record| Arc::clone(&record.state))
            .collect();
        drop(published);
        states.sort_unstable_by(|left, right| left.urn.as_str().cmp(right.urn.as_str()));
        states
    }

    /// Publishes the record of a resource. An old copy is not published: its URN is that of the record in use.
    pub(crate) fn publish(&self, record: &StateRef) {
        if record.state.delete {
            return;
        }
        self.published
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(record.state.urn.clone(), record.clone());
    }

    /// Takes the steps that changed something or failed, in the order in which they ended.
    #[must_use]
    pub(crate) fn take_steps(&self) -> Vec<StepResult> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns an executor with other options and maybe another journal, but the same events, switches and slots.
    #[must_use]
    pub(crate) fn with_options(&self, options: ExecutorOptions, journal: Option<Journal>) -> Self {
        let (runtime, events) = (self.runtime.clone(), self.events.clone());
        Self {
            views: self.views.clone(),
            slots: self.slots.clone(),
            questions: self.questions.clone(),
            ..Self::new(options, runtime, events, journal, self.control.clone())
        }
    }

    /// Takes over what another executor of the same run has counted and done.
    pub(crate) fn absorb(&self, other: &Self) {
        self.counts.merge(&other.counts);
        self.maybe_corrupt
            .fetch_or(other.maybe_corrupt(), Ordering::Relaxed);
        let mut changed = other.take_steps();
        self.changed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut changed);
    }

    /// Says something to people.
    pub(crate) fn diagnose(&self, diagnostic: Diagnostic) {
        self.events.diagnostic(diagnostic);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.runtime.clock.now()
    }

    /// Waits until one more Check, Diff or other question about a resource may be put. `waits` is what the provider
    /// declares.
    pub(crate) async fn question(&self, urn: &Urn, method: &'static str, waits: bool) -> Slot {
        self.questions
            .acquire(self.counted_call(urn, method, waits))
            .await
    }

    fn counted_call(&self, urn: &Urn, method: &'static str, waits: bool) -> Call {
        // No Construct is ever in flight: components of plugins are refused.
        let below_construct = false;
        Call {
            urn: urn.clone(),
            method,
            counting: Counting::of(waits || self.options.waits_for_registrations, below_construct),
        }
    }

    /// Resolves when running provider calls are to be given up.
    pub(crate) async fn terminated(&self) {
        self.control.terminated().await;
    }
}

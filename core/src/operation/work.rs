//! The work of an operation, between what was recorded before and what is to be recorded after.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{OperationKind, OperationRun, verdict::Ending};
use crate::{
    error::Result,
    event::{OperationOutcome, StepResult, Summary},
    executor::{Control, Executor},
    plan::Plan,
    policy::Policies,
    property::PropertyMap,
    provider::ProviderRegistry,
    runtime::Task,
    state::{Journal, Snapshot},
    store::Holder,
};

/// What the work left behind.
#[derive(Default)]
pub(super) struct Work {
    pub(super) outputs: Option<PropertyMap>,
    /// The stack's outputs as they were; `None` when the state could not be loaded.
    pub(super) outputs_before: Option<PropertyMap>,
    pub(super) snapshot: Arc<Snapshot>,
    /// Whether the snapshot is what there is now: not before it was read, and not when what was done to it is lost.
    pub(super) knows_state: bool,
    pub(super) summary: Option<Summary>,
    pub(super) steps: Vec<StepResult>,
    pub(super) plan: Option<Arc<Plan>>,
    /// What the host had asked for when the work was over; `None` when it did not come to that.
    pub(super) ending: Option<Ending>,
}

impl Work {
    /// Tells what the host had asked for when the work was over, or has asked for by now when there was none.
    pub(super) fn ending(&self, control: &Control) -> Ending {
        self.ending.unwrap_or_else(|| Ending::of(control))
    }
}

/// What an operation starts from.
#[derive(Default)]
pub(super) struct Found {
    pub(super) snapshot: Snapshot,
    /// Who may be at work on what is pending in it.
    pub(super) holder: Option<Holder>,
}

impl OperationRun {
    pub(super) async fn perform_loaded(
        &self,
        work: &mut Work,
        Found { snapshot, holder }: Found,
        journal: Option<Journal>,
        began: Duration,
    ) -> Result<()> {
        work.snapshot = Arc::new(snapshot.clone());
        work.knows_state = true;
        self.refuse_snippets(&snapshot)?;
        Self::refuse_extensions(&snapshot)?;
        work.outputs_before = Some(snapshot.stack_outputs());
        let prepared = self.prepare(&snapshot, holder.as_ref(), journal).await?;
        let (executor, registry) = (Arc::clone(&prepared.executor), Arc::clone(&prepared.registry));
        let planning = prepared.planning.clone();
        let policies = prepared.policies.clone();
        let policy_packs = policies.as_ref().map(|policies| policies.summary());
        let watcher = self.watch_cancellation(&registry, policies);
        let worked = match self.kind {
            OperationKind::Update => self.update(prepared).await,
            OperationKind::Refresh => self.refresh(prepared).await,
            OperationKind::Destroy => self.destroy(prepared).await,
        };
        let ending = self.end_work(watcher, &registry).await;
        work.ending = Some(ending);
        work.steps = executor.reporter().take_steps();
        let refused = match worked {
            Ok(outputs) => {
                work.outputs = outputs;
                work.summary = Some(self.summary(&executor, policy_packs.unwrap_or_default(), began));
                Ok(())
            }
            // What is refused before its steps are made has nothing to sum up.
            Err(refused) => Err(refused),
        };
        let plans = refused.is_ok() && !self.control.has_failed() && !ending.cancelled;
        let planned = match planning.as_ref().filter(|_| plans) {
            Some(planning) => self.plan(planning, &snapshot).await,
            None => Ok(None),
        };
        self.say_how_it_ended(ending);
        // Warm processes go back before the stack is unlocked, so that the next operation finds them.
        if !self.options.hold_session {
            self.session.finish(false, &self.stack.engine.runtime).await;
        }
        // All else is done when it turns out that a plan cannot be written.
        work.plan = planned?;
        refused
    }

    /// Returns what an operation sums up that has come to its end.
    fn summary(
        &self,
        executor: &Executor,
        policy_packs: BTreeMap<String, String>,
        began: Duration,
    ) -> Summary {
        let elapsed = self.stack.engine.runtime.clock.elapsed();
        Summary {
            maybe_corrupt: executor.reporter().maybe_corrupt(),
            duration_seconds: whole_seconds(elapsed.saturating_sub(began)),
            resource_changes: executor.reporter().counts().to_map(),
            policy_packs,
            is_preview: self.options.dry_run,
            result: OperationOutcome::Succeeded,
        }
    }

    /// At the first cancellation every provider and every policy pack is told; what runs is left to finish.
    fn watch_cancellation(
        &self,
        registry: &Arc<ProviderRegistry>,
        policies: Option<Arc<Policies>>,
    ) -> Task<()> {
        let (control, registry) = (self.control.clone(), Arc::clone(registry));
        self.stack.engine.runtime.spawner.spawn(async move {
            control.cancelled().await;
            let packs = async {
                if let Some(policies) = policies {
                    policies.cancel().await;
                }
            };
            tokio::join!(registry.cancel(), packs);
        })
    }

    /// Says whether the work was cancelled, and sees to it that this is known wherever it matters.
    async fn end_work(&self, watcher: Task<()>, registry: &Arc<ProviderRegistry>) -> Ending {
        let cancelled = self.control.is_cancelled();
        if cancelled {
            self.tell_of_cancellation(watcher, registry).await;
        } else {
            watcher.abort();
        }
        Ending {
            cancelled,
            terminated: cancelled && self.control.is_terminated(),
        }
    }

    /// Sees to it that every provider has heard of the cancellation, those that were loaded after it included, and so has
    /// the language runtime of a program that still runs.
    async fn tell_of_cancellation(&self, watcher: Task<()>, registry: &Arc<ProviderRegistry>) {
        let told = async {
            drop(watcher.await);
            let runtime = async {
                if let Some(monitor) = self.session.monitor() {
                    monitor.all_have_heard().await;
                }
            };
            tokio::join!(registry.cancel(), runtime);
        };
        tokio::select! {
            () = told => {}
            // Who insists does not wait for one that does not answer.
            () = self.control.terminated() => {}
        }
    }
}

pub(super) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

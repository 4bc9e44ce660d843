//! Executing the verb of an operation over a loaded state.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    OperationKind, OperationRun,
    adopt::adopt,
    destroy::destroy,
    import::import,
    moves::{check_moves, program_language, suggest_moves},
    outcome::{Ending, emit_terminal_message},
    plan::make_plan,
    prepare::prepare,
    refresh::refresh,
    run_state::{LoadedState, RunState},
    update::update,
    with_program::refuse_snippets,
};
use crate::{
    error::Result,
    event::{LocalPack, OperationOutcome, Summary},
    executor::Executor,
    policy::Policies,
    provider::ProviderRegistry,
    runtime::Task,
    state::Journal,
};

impl OperationRun {
    /// Runs the verb over a loaded state.
    pub(super) async fn execute(
        &self,
        state: &mut RunState,
        LoadedState { snapshot, holder }: LoadedState,
        journal: Option<Journal>,
        began: Duration,
    ) -> Result<()> {
        state.snapshot = Arc::new(snapshot.clone());
        state.knows_state = true;
        refuse_snippets(self, &snapshot)?;
        check_moves(self, &snapshot)?;
        state.outputs_before = Some(snapshot.stack_outputs());
        let prepared = prepare(self, &snapshot, holder.as_ref(), journal).await?;
        let (executor, registry) = (Arc::clone(&prepared.executor), Arc::clone(&prepared.registry));
        let planning = prepared.planning.clone();
        let policies = prepared.policies.clone();
        let policy_packs = policies
            .as_ref()
            .map(|policies| (policies.summary(), policies.local()));
        let watcher = self.watch_cancellation(&registry, policies);
        let result = match self.kind {
            OperationKind::Update => update(self, prepared).await,
            OperationKind::Refresh => refresh(self, prepared).await,
            OperationKind::Destroy => destroy(self, prepared).await,
            OperationKind::Import => {
                let imported = Box::pin(import(self, &prepared, &snapshot)).await;
                imported.map(|report| {
                    state.imported = Some(Arc::new(report));
                    None
                })
            }
            OperationKind::Adopt => adopt(self, prepared).await,
        };
        let ending = self.end_work(watcher, &registry).await;
        state.ending = Some(ending);
        state.steps = executor.reporter().take_steps();
        state.rerecorded = executor.reporter().take_rerecorded();
        state.moves = suggest_moves(self, &state.steps, &state.rerecorded);
        state.language = program_language(self);
        let refused = match result {
            Ok(outputs) => {
                state.outputs = outputs;
                state.summary = Some(self.summary(&executor, policy_packs.unwrap_or_default(), began));
                Ok(())
            }
            // An operation that is refused before its steps has no summary.
            Err(refused) => Err(refused),
        };
        let plans = refused.is_ok() && !self.control.has_failed() && !ending.cancelled;
        let planned = match planning.as_ref().filter(|_| plans) {
            Some(planning) => make_plan(self, planning, &snapshot).await,
            None => Ok(None),
        };
        emit_terminal_message(self, ending);
        // Plugin processes return to the pool before the stack is unlocked, so that the next operation finds them.
        if !self.options.hold_session {
            self.session.finish(false, &self.stack.engine.runtime).await;
        }
        // A plan that cannot be written fails the operation only after all else is done.
        state.plan = planned?;
        refused
    }

    /// Returns the summary of an operation that has ended.
    fn summary(
        &self,
        executor: &Executor,
        (policy_packs, local_packs): (BTreeMap<String, String>, Vec<LocalPack>),
        began: Duration,
    ) -> Summary {
        let elapsed = self.stack.engine.runtime.clock.elapsed();
        Summary {
            maybe_corrupt: executor.reporter().maybe_corrupt(),
            duration_seconds: whole_seconds(elapsed.saturating_sub(began)),
            resource_changes: executor.reporter().counts().to_map(),
            policy_packs,
            local_packs,
            is_preview: self.options.dry_run,
            result: OperationOutcome::Succeeded,
        }
    }

    /// Notifies every provider and every policy pack at the first cancellation; running steps complete.
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

    /// Returns the cancellations of the host, after every provider has been notified of them.
    async fn end_work(&self, watcher: Task<()>, registry: &Arc<ProviderRegistry>) -> Ending {
        let cancelled = self.control.is_cancelled();
        if cancelled {
            self.notify_of_cancellation(watcher, registry).await;
        } else {
            watcher.abort();
        }
        Ending {
            cancelled,
            terminated: cancelled && self.control.is_terminated(),
        }
    }

    /// Waits until every provider has been notified of the cancellation, including those that were loaded after it, and
    /// the language runtime of a program that still runs.
    async fn notify_of_cancellation(&self, watcher: Task<()>, registry: &Arc<ProviderRegistry>) {
        let notified = async {
            drop(watcher.await);
            let runtime = async {
                if let Some(monitor) = self.session.monitor() {
                    monitor.cancellation_delivered().await;
                }
            };
            tokio::join!(registry.cancel(), runtime);
        };
        tokio::select! {
            biased;
            () = notified => {}
            // A second cancellation does not wait for those that do not answer.
            () = self.control.terminated() => {}
        }
    }
}

pub(super) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

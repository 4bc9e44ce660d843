//! The work of an operation, between what was recorded before and what is to be recorded after.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{Frame, OperationKind, pending, providers, verdict::Ending};
use crate::{
    autonaming::Autonamer,
    diagnostic::{Diagnostic, Severity},
    error::Result,
    event::{EventPayload, OperationOutcome, StepResult, Summary},
    executor::{Control, Executor, ExecutorOptions, Failure},
    generator::{EmptyProgram, Generator, GeneratorOptions},
    monitor::RunInfo,
    plan::{Plan, Planning},
    policy::Policies,
    property::PropertyMap,
    provider::{PluginOperation, ProviderRegistry},
    runtime::Task,
    state::{Base, Journal, Snapshot},
    store::Holder,
    urn::Urn,
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

/// Who looks at each registration besides its provider.
struct Looks {
    policies: Option<Arc<Policies>>,
    autonamer: Option<Arc<dyn Autonamer>>,
}

impl Frame {
    pub(super) async fn perform_loaded(
        &self,
        work: &mut Work,
        Found { snapshot, holder }: Found,
        journal: Option<Journal>,
        began: Duration,
    ) -> Result<()> {
        let engine = &self.stack.engine;
        work.snapshot = Arc::new(snapshot.clone());
        work.knows_state = true;
        self.refuse_snippets(&snapshot)?;
        Self::refuse_extensions(&snapshot)?;
        work.outputs_before = Some(snapshot.stack_outputs());
        let (run, autonamer) = self.run_info(&snapshot).await?;
        let base = self.base(&snapshot, &run, journal.as_ref()).await?;
        let planning = self.planning(&snapshot).await?;
        self.warn_of_pending(&snapshot, holder.as_ref());
        let executor = Arc::new(Executor::new(
            ExecutorOptions {
                preview: self.options.dry_run,
                parallel: self.options.parallelism(),
                continue_on_error: self.options.continue_on_error,
                ignore_protect: self.options.ignore_protect,
                reports_refresh: self.kind == OperationKind::Refresh,
                compares_outputs: self.options.use_legacy_refresh_diff,
                waits_for_registrations: self.options.waits_for_registrations,
            },
            engine.runtime.clone(),
            self.events.clone(),
            journal,
            self.control.clone(),
        ));
        let plugins = PluginOperation::new(
            &self.stack.project,
            &self.stack.stack,
            &self.stack.identity,
            self.events.clone(),
        );
        let source = providers::source(&self.stack, &run, &executor, &plugins, &self.options);
        let registry = ProviderRegistry::new(
            source,
            engine.runtime.clone(),
            self.options.dry_run,
            self.options.disable_provider_preview,
        );
        self.session.own(|parts| {
            parts.registry = Some(Arc::clone(&registry));
            parts.plugins = Some(Arc::clone(&plugins));
        });
        self.install_recorded(&registry, &base).await;
        let policies = self.load_policies(&run, &plugins).await?;
        let policy_packs = policies.as_ref().map(|policies| policies.summary());
        let watcher = self.watch_cancellation(&registry, policies.clone());
        let worked = self
            .work(
                &executor,
                &registry,
                base,
                run,
                planning.as_ref(),
                Looks { policies, autonamer },
            )
            .await;
        let ending = self.end_work(watcher, &registry).await;
        work.ending = Some(ending);
        work.steps = executor.take_steps();
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
            self.session.finish(false, &engine.runtime).await;
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
            maybe_corrupt: executor.maybe_corrupt(),
            duration_seconds: whole_seconds(elapsed.saturating_sub(began)),
            resource_changes: executor.counts().to_map(),
            policy_packs,
            is_preview: self.options.dry_run,
            result: OperationOutcome::Succeeded,
        }
    }

    async fn work(
        &self,
        executor: &Arc<Executor>,
        registry: &Arc<ProviderRegistry>,
        base: Arc<Base>,
        run: Arc<RunInfo>,
        planning: Option<&Arc<Planning>>,
        looks: Looks,
    ) -> Result<Option<PropertyMap>> {
        executor.note_views(base.records());
        let targeting = self.targeting();
        let purpose = self.options.program_purpose(self.kind);
        // A program may still register what the operation is about.
        if purpose.is_none() && !self.targets_exist(targeting.as_deref(), |urn| base.live(urn).is_some()) {
            return Ok(None);
        }
        let is_recorded = |text: &str| Urn::parse(text).is_ok_and(|urn| base.live(&urn).is_some());
        if purpose.is_none() {
            self.warn_of_idle_globs(targeting.as_deref(), urns_of(&base));
            self.warn_of_idle_literals(targeting.as_deref(), |literal| !is_recorded(literal));
        } else {
            self.warn_of_idle_literals(targeting.as_deref(), |literal| !self.is_of_this_stack(literal));
        }
        let base = match self
            .refresh_pass(executor, registry, base, targeting.as_deref())
            .await
        {
            Ok(base) => base,
            Err(error) => {
                self.control.fail(Failure::Fatal(error), true);
                return Ok(None);
            }
        };
        executor.note_views(base.records());
        if self.control.has_failed() || self.control.is_stopped() {
            return Ok(None);
        }
        if purpose.is_none() && self.kind == OperationKind::Refresh {
            return Ok(None);
        }
        let options = GeneratorOptions {
            stack: self.stack.stack.clone(),
            project: self.stack.project.clone(),
            targeting: targeting.clone(),
            use_legacy_diff: self.options.use_legacy_diff,
            disable_resource_references: self.options.disable_resource_references,
            disable_output_values: self.options.disable_output_values,
            purpose: purpose.unwrap_or_default(),
            empty: EmptyProgram::of(self.options.allow_empty, self.options.dry_run),
            refreshes: self.options.reads_with_program(self.kind),
        };
        let generator = Generator::new(options, base, Arc::clone(executor), Arc::clone(registry));
        let generator = generator.with_planning(planning.cloned());
        let generator = generator.with_autonamer(looks.autonamer);
        let generator = Arc::new(generator.with_policies(looks.policies));
        if purpose.is_some() {
            let outputs = self.run_program(&generator, run).await;
            if !(self.control.has_failed() || self.control.is_cancelled()) {
                self.targets_exist(targeting.as_deref(), |urn| {
                    generator.base().live(urn).is_some() || generator.is_registered(urn)
                });
                self.warn_of_idle_literals(targeting.as_deref(), |literal| {
                    let is_known =
                        |urn: Urn| generator.base().live(&urn).is_some() || generator.is_registered(&urn);
                    self.is_of_this_stack(literal) && !Urn::parse(literal).is_ok_and(is_known)
                });
                if targeting.is_some() {
                    let registered = generator.registered();
                    let known = urns_of(generator.base()).chain(&registered);
                    self.warn_of_idle_globs(targeting.as_deref(), known);
                }
            }
            generator.keep_refusals();
            return Ok(outputs);
        }
        generator.delete_without_program().await?;
        generator.keep_refusals();
        generator.end_plan();
        Ok(None)
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

    /// Decrypts the configuration, announces it, and tells the program what it is to know, and who is to name things.
    async fn run_info(&self, snapshot: &Snapshot) -> Result<(Arc<RunInfo>, Option<Arc<dyn Autonamer>>)> {
        let stack = &self.stack;
        let config = stack
            .decrypt_config(&*stack.secrets, snapshot.secrets.as_ref())
            .await?;
        config.each_secret(|secret| self.events.redactor().learn([secret]));
        let autonamer = match self.options.program_purpose(self.kind) {
            Some(_) => stack.autonamer(&config)?,
            None => None,
        };
        self.events.emit_with(false, || EventPayload::Prelude {
            config: config.blinded(),
        });
        let of_program = self.program.as_ref().map(|program| program.runtime_options());
        let mut runtime_options = of_program.unwrap_or_default();
        runtime_options.extend(stack.runtime_options.clone());
        let run = RunInfo {
            project: stack.project.clone(),
            stack: stack.stack.clone(),
            organization: stack.organization.clone(),
            root_directory: stack.root_directory.clone(),
            runtime_options,
            config: config.texts(),
            config_secret_keys: config.secret_keys(),
            dry_run: self.options.dry_run,
            parallel: i32::try_from(self.options.parallelism()).unwrap_or(i32::MAX),
        };
        Ok((Arc::new(run), autonamer))
    }

    /// Warns of operations that were interrupted. Only updates that do not refresh first do so among the events, as in the
    /// reference engine; what others say is in the result alone.
    ///
    /// Those in progress are none of them. Only a preview can meet such, because it does not lock the stack.
    fn warn_of_pending(&self, snapshot: &Snapshot, holder: Option<&Holder>) {
        let pending = &snapshot.pending_operations;
        if pending.is_empty() {
            return;
        }
        if let Some(holder) = holder {
            let text = pending::in_progress(pending, holder);
            self.events.remark(Diagnostic::new(Severity::Info, text));
            return;
        }
        let forgets = self.options.clear_pending_creates;
        let refreshes = self.options.refresh;
        let warning = Diagnostic::warning(match self.kind {
            OperationKind::Update if refreshes => pending::note(pending, forgets, !self.options.dry_run),
            OperationKind::Update => pending::warning(pending, forgets),
            OperationKind::Refresh => pending::note(pending, forgets, !self.options.dry_run),
            OperationKind::Destroy => pending::note(pending, forgets, false),
        });
        if self.kind == OperationKind::Update && !self.options.dry_run && !refreshes {
            self.events.diagnostic(warning);
        } else {
            self.events.remark(warning);
        }
    }
}

fn urns_of(base: &Base) -> impl Iterator<Item = &Urn> + Clone {
    base.records().iter().map(|record| &record.state.urn)
}

pub(super) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

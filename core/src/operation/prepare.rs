//! What a verb works with: the configuration, the base, the executor, the providers and the policies of the operation.

use std::sync::Arc;

use super::{OperationKind, OperationRun, pending, providers, reading::Reading};
use crate::{
    autonaming::Autonamer,
    diagnostic::{Diagnostic, Severity},
    error::Result,
    event::EventPayload,
    executor::{Executor, ExecutorOptions, Failure},
    generator::{EmptyProgram, Generator, GeneratorOptions, Purpose, Targeting},
    monitor::RunInfo,
    plan::Planning,
    policy::Policies,
    provider::{PluginOperation, ProviderRegistry},
    state::{Base, Journal, Snapshot},
    store::Holder,
    urn::Urn,
};

/// What a verb works with.
pub(super) struct Prepared {
    pub(super) executor: Arc<Executor>,
    pub(super) registry: Arc<ProviderRegistry>,
    pub(super) base: Arc<Base>,
    pub(super) info: Arc<RunInfo>,
    pub(super) planning: Option<Arc<Planning>>,
    pub(super) policies: Option<Arc<Policies>>,
    pub(super) targeting: Option<Arc<Targeting>>,
    autonamer: Option<Arc<dyn Autonamer>>,
}

impl OperationRun {
    /// Prepares the work on `snapshot`, of which `holder` may have operations in progress.
    pub(super) async fn prepare(
        &self,
        snapshot: &Snapshot,
        holder: Option<&Holder>,
        journal: Option<Journal>,
    ) -> Result<Prepared> {
        let engine = &self.stack.engine;
        let (info, autonamer) = self.run_info(snapshot).await?;
        let base = self.base(snapshot, &info, journal.as_ref()).await?;
        let planning = self.planning(snapshot).await?;
        self.warn_of_pending(snapshot, holder);
        let executor = Arc::new(Executor::new(
            self.executor_options(),
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
        let source = providers::source(&self.stack, &info, &executor, &plugins, &self.options);
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
        let policies = self.load_policies(&info, &plugins).await?;
        executor.set_views(base.records());
        Ok(Prepared {
            executor,
            registry,
            base,
            info,
            planning,
            policies,
            targeting: self.targeting(),
            autonamer,
        })
    }

    fn executor_options(&self) -> ExecutorOptions {
        ExecutorOptions {
            preview: self.options.dry_run,
            parallel: self.options.parallelism(),
            continue_on_error: self.options.continue_on_error,
            ignore_protect: self.options.ignore_protect,
            reports_refresh: self.kind == OperationKind::Refresh,
            compares_outputs: self.options.use_legacy_refresh_diff,
            waits_for_registrations: self.options.waits_for_registrations,
        }
    }

    /// Returns the generator of steps for a run of `purpose`.
    pub(super) fn generator(&self, prepared: &Prepared, purpose: Purpose) -> Arc<Generator> {
        let options = GeneratorOptions {
            stack: self.stack.stack.clone(),
            project: self.stack.project.clone(),
            targeting: prepared.targeting.clone(),
            use_legacy_diff: self.options.use_legacy_diff,
            disable_resource_references: self.options.disable_resource_references,
            disable_output_values: self.options.disable_output_values,
            purpose,
            empty: EmptyProgram::of(self.options.allow_empty, self.options.dry_run),
            refreshes: self.options.reads_with_program(self.kind),
        };
        let generator = Generator::new(
            options,
            Arc::clone(&prepared.base),
            Arc::clone(&prepared.executor),
            Arc::clone(&prepared.registry),
        );
        let generator = generator.with_planning(prepared.planning.clone());
        let generator = generator.with_autonamer(prepared.autonamer.clone());
        Arc::new(generator.with_policies(prepared.policies.clone()))
    }

    /// Tells whether the targets are recorded, for a verb that runs no program; the run fails when one is not.
    pub(super) fn knows_targets(&self, prepared: &Prepared) -> bool {
        let (base, targeting) = (&prepared.base, prepared.targeting.as_deref());
        if !self.targets_exist(targeting, |urn| base.live(urn).is_some()) {
            return false;
        }
        let is_recorded = |text: &str| Urn::parse(text).is_ok_and(|urn| base.live(&urn).is_some());
        self.warn_of_idle_globs(targeting, urns_of(base));
        self.warn_of_idle_literals(targeting, |literal| !is_recorded(literal));
        true
    }

    /// Reads the records that `reading` names; `None` when the work ends here.
    pub(super) async fn read(&self, mut prepared: Prepared, reading: Reading) -> Option<Prepared> {
        let Prepared {
            executor,
            registry,
            base,
            targeting,
            ..
        } = &mut prepared;
        let read = self
            .read_records(
                executor,
                registry,
                Arc::clone(base),
                targeting.as_deref(),
                reading,
            )
            .await;
        match read {
            Ok(read) => *base = read,
            Err(error) => {
                self.control.fail(Failure::Fatal(error), true);
                return None;
            }
        }
        executor.set_views(base.records());
        (!(self.control.has_failed() || self.control.is_stopped())).then_some(prepared)
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

pub(super) fn urns_of(base: &Base) -> impl Iterator<Item = &Urn> + Clone {
    base.records().iter().map(|record| &record.state.urn)
}

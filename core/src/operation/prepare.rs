//! The preparation of a verb: the configuration, the base, the executor, the providers and the policies of the
//! operation.

use std::sync::Arc;

use super::{
    OperationKind, OperationRun,
    base::open_base,
    missing::refuse_missing,
    pending,
    plan::open_planning,
    policies::load_policies,
    providers,
    reading::{Known, Reading, read_records},
    resolve::resolve,
    targets::{targeting, targets_exist, warn_of_idle_globs, warn_of_idle_literals},
};
use crate::{
    autonaming::Autonamer,
    diagnostic::{Diagnostic, Severity},
    error::Result,
    event::EventPayload,
    executor::{Executor, ExecutorOptions, Failure},
    generator::{EmptyProgram, Generator, GeneratorOptions, Purpose, Targeting},
    monitor::{RunInfo, recorded_packages},
    plan::Planning,
    policy::Policies,
    provider::{PluginOperation, ProviderRegistry, ProviderSpec},
    resource::PendingOperation,
    state::{Journal, PriorState, Snapshot},
    store::Holder,
    urn::Urn,
};

/// The parts that a verb works with.
pub(super) struct Prepared {
    pub(super) executor: Arc<Executor>,
    pub(super) registry: Arc<ProviderRegistry>,
    pub(super) base: Arc<PriorState>,
    pub(super) info: Arc<RunInfo>,
    pub(super) planning: Option<Arc<Planning>>,
    pub(super) policies: Option<Arc<Policies>>,
    pub(super) targeting: Option<Arc<Targeting>>,
    /// The pending operations of the loaded state.
    pub(super) pending: Vec<PendingOperation>,
    /// The URNs of resources of pending operations that the run has recorded.
    pub(super) adopted: Vec<Urn>,
    autonamer: Option<Arc<dyn Autonamer>>,
}

/// Prepares the work on `snapshot`, in which `holder` may have operations in progress.
pub(super) async fn prepare(
    run: &OperationRun,
    snapshot: &Snapshot,
    holder: Option<&Holder>,
    journal: Option<Journal>,
) -> Result<Prepared> {
    let engine = &run.stack.engine;
    if let Some(simulation) = &engine.simulation {
        simulation.know(&run.stack.project, &run.stack.stack, &snapshot.resources);
    }
    let (info, autonamer) = run_info(run, snapshot).await?;
    let base = open_base(snapshot, &info, journal.as_ref(), &*engine.runtime.random).await?;
    let planning = open_planning(run, snapshot).await?;
    warn_of_pending(run, snapshot, holder);
    let executor = Executor::new(
        executor_options(run),
        engine.runtime.clone(),
        run.events.clone(),
        journal,
        run.control.clone(),
    );
    let limits = run.set.limits.clone().or_else(|| engine.plugin_limits.clone());
    let executor = Arc::new(executor.with_plugin_limits(limits).with_scope(run.scope.clone()));
    let plugins = PluginOperation::new(
        &run.stack.project,
        &run.stack.stack,
        &run.stack.identity,
        run.events.clone(),
    );
    let source = providers::source(run, &info, &executor, &plugins);
    let registry = ProviderRegistry::new(
        source,
        engine.runtime.clone(),
        run.options.dry_run,
        run.options.disable_provider_preview,
        run.scope.clone(),
    );
    run.session.own(|parts| {
        parts.registry = Some(Arc::clone(&registry));
        parts.plugins = Some(Arc::clone(&plugins));
    });
    install_recorded(run, &registry, &base).await;
    let targeting = targeting(&run.options, snapshot);
    refuse_missing(run, &registry, &base, targeting.as_deref()).await?;
    let policies = load_policies(run, &info, &plugins).await?;
    run.session.own(|parts| parts.policies.clone_from(&policies));
    executor.set_views(base.records());
    Ok(Prepared {
        executor,
        registry,
        base,
        info,
        planning,
        policies,
        targeting,
        pending: snapshot.pending_operations.clone(),
        adopted: Vec::new(),
        autonamer,
    })
}

fn executor_options(run: &OperationRun) -> ExecutorOptions {
    ExecutorOptions {
        preview: run.options.dry_run,
        parallel: run.options.parallelism(),
        // What cannot be imported does not stop the rest.
        continue_on_error: run.options.continue_on_error || run.kind == OperationKind::Import,
        ignore_protect: run.options.ignore_protect,
        reports_refresh: run.kind == OperationKind::Refresh,
        compares_outputs: run.options.use_legacy_refresh_diff,
        waits_for_registrations: run.options.waits_for_registrations,
        nested_secrets: run.stack.engine.nested_secrets,
        has_program: run.options.program_purpose(run.kind).is_some(),
        callback_timeout: run.options.callback_time_limit(),
    }
}

/// Returns the generator of steps for a run of `purpose`.
pub(super) fn generator(run: &OperationRun, prepared: &Prepared, purpose: Purpose) -> Arc<Generator> {
    let options = GeneratorOptions {
        stack: run.stack.stack.clone(),
        project: run.stack.project.clone(),
        targeting: prepared.targeting.clone(),
        use_legacy_diff: run.options.use_legacy_diff,
        disable_resource_references: run.options.disable_resource_references,
        disable_output_values: run.options.disable_output_values,
        purpose,
        moves: run.moves.clone(),
        empty: EmptyProgram::of(run.options.allow_empty, run.options.dry_run),
        refreshes: run.options.reads_with_program(run.kind),
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

/// Returns whether the targets are recorded, for a verb that runs no program; the run fails when one is not.
pub(super) fn knows_targets(run: &OperationRun, prepared: &Prepared) -> bool {
    let (base, targeting) = (&prepared.base, prepared.targeting.as_deref());
    if !targets_exist(run, targeting, |urn| base.live(urn).is_some()) {
        return false;
    }
    let is_recorded = |text: &str| Urn::parse(text).is_ok_and(|urn| base.live(&urn).is_some());
    warn_of_idle_globs(&run.events, targeting, urns_of(base));
    warn_of_idle_literals(&run.events, targeting, |literal| !is_recorded(literal));
    true
}

/// Resolves pending operations, and reads the records that `reading` names; `None` when the work ends here.
pub(super) async fn read(run: &OperationRun, mut prepared: Prepared, reading: Reading) -> Option<Prepared> {
    let reads_all = matches!(reading, Reading::All | Reading::Refresh);
    let refreshes = reads_all || run.options.reads_with_program(run.kind);
    resolve(run, &mut prepared, refreshes).await;
    let keeps_pending = !run.pending.found().kept.is_empty();
    let Prepared {
        executor,
        registry,
        base,
        targeting,
        adopted,
        ..
    } = &mut prepared;
    let known = Known {
        adopted,
        keeps_pending,
    };
    match read_records(
        executor,
        registry,
        Arc::clone(base),
        targeting.as_deref(),
        reading,
        known,
    )
    .await
    {
        Ok(read) => *base = read,
        Err(error) => {
            run.control.fail(Failure::Fatal(error), true);
            return None;
        }
    }
    executor.set_views(base.records());
    (!(run.control.has_failed() || run.control.is_stopped())).then_some(prepared)
}

/// Decrypts the configuration and emits the prelude; returns the run's facts for the program, and its autonamer.
async fn run_info(
    run: &OperationRun,
    snapshot: &Snapshot,
) -> Result<(Arc<RunInfo>, Option<Arc<dyn Autonamer>>)> {
    let stack = &run.stack;
    let config = stack
        .decrypt_config(&*stack.secrets, snapshot.secrets.as_ref())
        .await?;
    config.each_secret(|secret| run.events.redactor().learn([secret]));
    let autonamer = match run.options.program_purpose(run.kind) {
        Some(_) => stack.autonamer(&config)?,
        None => None,
    };
    run.events.emit_with(false, || EventPayload::Prelude {
        config: config.blinded(),
    });
    let of_program = run.program.as_ref().map(|program| program.runtime_options());
    let mut runtime_options = of_program.unwrap_or_default();
    runtime_options.extend(stack.runtime_options.clone());
    let info = RunInfo {
        project: stack.project.clone(),
        stack: stack.stack.clone(),
        organization: stack.organization.clone(),
        root_directory: stack.root_directory.clone(),
        runtime_options,
        config: config.texts(),
        config_secret_keys: config.secret_keys(),
        dry_run: run.options.dry_run,
        parallel: i32::try_from(run.options.parallelism()).unwrap_or(i32::MAX),
    };
    Ok((Arc::new(info), autonamer))
}

/// Installs the plugins of the recorded providers, where the host installs plugins. A failure is reported when the
/// plugin is needed.
async fn install_recorded(run: &OperationRun, registry: &ProviderRegistry, base: &PriorState) {
    if run.options.skip_plugin_pre_install || !run.stack.engine.loader.installs_beforehand() {
        return;
    }
    let specs: Vec<ProviderSpec> = recorded_packages(base).map(ProviderSpec::from).collect();
    tokio::select! {
        biased;
        // A cancellation lets the installation complete; a second one abandons it.
        () = run.control.terminated() => {}
        () = registry.source().install_beforehand(&specs) => {}
    }
}

/// Warns of operations that were interrupted. Only updates that do not refresh first do so among the events, as in the
/// reference engine; the warnings of others are in the result alone.
///
/// Operations in progress are not interrupted. Only a preview can see them, because it does not lock the stack.
fn warn_of_pending(run: &OperationRun, snapshot: &Snapshot, holder: Option<&Holder>) {
    let pending = &snapshot.pending_operations;
    if pending.is_empty() || run.kind == OperationKind::Adopt {
        return;
    }
    if let Some(holder) = holder {
        let text = pending::in_progress(pending, holder);
        run.events.keep_for_result(Diagnostic::new(Severity::Info, text));
        return;
    }
    let forgets = run.options.clear_pending_creates;
    let refreshes = run.options.refreshes();
    let warning = Diagnostic::warning(match run.kind {
        OperationKind::Update if refreshes => pending::note(pending, forgets, !run.options.dry_run),
        OperationKind::Update => pending::warning(pending, forgets),
        OperationKind::Refresh => pending::note(pending, forgets, !run.options.dry_run),
        OperationKind::Destroy | OperationKind::Import | OperationKind::Adopt => {
            pending::note(pending, forgets, false)
        }
    });
    if run.kind == OperationKind::Update && !run.options.dry_run && !refreshes {
        run.events.diagnostic(warning);
    } else {
        run.events.keep_for_result(warning);
    }
}

/// Returns the URNs of all records.
pub(super) fn urns_of(base: &PriorState) -> impl Iterator<Item = &Urn> + Clone {
    base.records().iter().map(|record| &record.state.urn)
}

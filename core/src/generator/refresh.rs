//! Refresh with the program: each record is read when the program registers it, the others at the end.

use std::{ops::ControlFlow, sync::Arc};

use smol_str::format_smolstr;

use crate::{
    error::{Error, Result},
    executor::{ExecutorOptions, Failure, Step, StepDetail, run_in_order},
    generator::{
        Purpose, RegisterOutcome, RunEnded, context::Context, purpose::is_managed, steps::untargeted,
    },
    resource::{Goal, ProviderReference, ResourceState},
    state::{JournalReplay, OperationId, StateRef},
    step::StepOp,
    urn::Urn,
};

/// Reads the record that a registration has claimed; without a real resource, there is no record afterwards. A failure
/// is the response of the registration when the run continues.
///
/// Components and providers are not read, and their step is not shown.
pub(super) async fn refresh_registered(
    context: &Context,
    urn: &Urn,
    record: StateRef,
    goal: &Goal,
) -> Result<ControlFlow<RegisterOutcome, Option<StateRef>>, RunEnded> {
    let managed = record.state.custom && !record.state.is_provider();
    let provider = if managed {
        let named = StateRef {
            id: record.id,
            state: with_current_provider(context, &record.state),
        };
        context.providers.of_record(&named).await?
    } else {
        None
    };
    let renamed = context.options.purpose == Purpose::Refresh && is_managed(goal) && record.state.urn != *urn;
    let new = if renamed {
        Arc::new(renamed_state(&record.state, urn, goal))
    } else {
        Arc::clone(&record.state)
    };
    let detail = StepDetail {
        persisted: managed,
        internal: !managed,
        ..StepDetail::default()
    };
    let Some(step) = Step::new(StepOp::Refresh, Some(record.clone()), Some(new)) else {
        return Ok(ControlFlow::Continue(Some(record)));
    };
    let mut step = step.with_provider(provider).with_detail(detail);
    step.read_as = (record.state.urn != *urn).then(|| urn.clone());
    match context.run.executor.run_step(&mut step).await {
        Ok(outcome) => Ok(ControlFlow::Continue(outcome.new)),
        Err(failure) => {
            let failed = context.run.after_failure(&failure, &record.state);
            failed.map(ControlFlow::Break)
        }
    }
}

/// Reads the records that the program has not registered; one that cannot be read does not stop the others. Failures
/// have been reported when this returns; the control records whether there were any.
pub(super) async fn refresh_leftovers(context: &Context) -> std::result::Result<(), RunEnded> {
    let (run, base, claims) = (&context.run, &context.base, &context.claims);
    let targeting = context.options.targeting.as_ref();
    let selected = targeting.map(|targeting| targeting.chosen(base.records()));
    let is_selected = |position: usize| selected.as_ref().is_none_or(|selected| selected[position]);
    // An old copy is left to the update that deletes it.
    let left = base.records().iter().enumerate().filter(|(_, record)| {
        record.state.view_of.is_none() && !record.state.delete && !claims.is_operated(record.id)
    });
    let (left, skipped): (Vec<_>, Vec<_>) = left.partition(|(position, _)| is_selected(*position));
    for (_, record) in skipped {
        if let Some(mut step) = untargeted(record) {
            run.executor.run_step(&mut step).await.map_err(|_| RunEnded)?;
        }
    }
    let named: Vec<_> = left
        .iter()
        .map(|(_, record)| with_current_provider(context, &record.state))
        .collect();
    let providers = context.providers.of_records(named.iter().map(|state| &**state));
    let providers = providers.await?;
    let mut steps = Vec::with_capacity(left.len());
    for ((_, record), provider) in left.into_iter().zip(providers) {
        let state = Arc::clone(&record.state);
        let step = Step::new(StepOp::Refresh, Some(record.clone()), Some(state));
        steps.extend(step.map(|step| step.with_provider(provider)));
    }
    let options = ExecutorOptions {
        continue_on_error: true,
        ..*run.executor.options()
    };
    let journal = run.executor.journal().cloned();
    let reader = Arc::new(run.executor.with_options(options, journal));
    let unordered = vec![Vec::new(); steps.len()];
    run_in_order(&reader, steps, &unordered).await;
    run.executor.absorb(&reader);
    Ok(())
}

/// Removes references to resources that no longer exist, as the end of a refresh does, and interrupted operations other
/// than creations.
pub(super) async fn settle_refresh(context: &Context) {
    let executor = &context.run.executor;
    let Some(journal) = executor.journal() else {
        return;
    };
    let rebuilt = journal.with_replay(JournalReplay::rebuild_base);
    let appended: Result<()> = match rebuilt {
        Some(rebuilt) => journal.append(OperationId(0), rebuilt).await,
        None => Err(Error::internal("the journal was closed during a refresh")),
    };
    if let Err(error) = appended {
        executor.control().fail(Failure::Fatal(error), true);
    }
}

/// Returns a record with the provider under its current URN: the program may have renamed it.
fn with_current_provider(context: &Context, state: &Arc<ResourceState>) -> Arc<ResourceState> {
    let Ok(reference) = ProviderReference::parse(&state.provider) else {
        return Arc::clone(state);
    };
    let current = context.claims.current_urn(&reference.urn);
    if current == reference.urn {
        return Arc::clone(state);
    }
    let mut named = ResourceState::clone(state);
    named.provider = format_smolstr!("{}", ProviderReference::new(current, reference.id));
    Arc::new(named)
}

/// Returns a record under its current URN in the program, by which later registrations refer to it.
fn renamed_state(old: &ResourceState, urn: &Urn, goal: &Goal) -> ResourceState {
    ResourceState {
        urn: urn.clone(),
        resource_type: goal.resource_type.clone(),
        aliases: vec![old.urn.clone()],
        ..old.clone()
    }
}

//! The purpose of a run, and registrations in a run that reads or deletes.

use std::{ops::ControlFlow, sync::Arc};

use crate::{
    generator::{
        RegisterOutcome, RunEnded,
        build::{dependencies_of, new_state},
        context::Context,
        refresh::refresh_registered,
        registration::{Next, StepChain},
        steps::step,
        targets::{needs_skipped, refuse_cycles, skip_create},
    },
    resource::{Goal, ResourceState},
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// The purpose of a run with the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The goals are applied.
    #[default]
    Update,
    /// Every resource is read. The goals of components and providers are applied, because other resources need them.
    Refresh,
    /// Every resource is deleted at the end. The goals of components and providers are applied first.
    Destroy,
}

/// The treatment of a registration in a run of some purpose.
#[derive(Debug, PartialEq, Eq)]
enum Mode {
    /// Its goal is applied.
    Goal,
    /// The response is its record.
    Record,
    /// It does not exist, or a dependency does not: it is not created.
    SkipCreate,
    /// It keeps its record until the program has ended.
    KeepUntilEnd,
}

impl Mode {
    /// Decides about a registration. `is_managed`: a package's provider manages it. `needs_skipped`: a dependency was
    /// not created.
    fn of(purpose: Purpose, is_managed: bool, needs_skipped: bool, old: Option<&ResourceState>) -> Self {
        match (purpose, old) {
            (Purpose::Update, _) => Self::Goal,
            (Purpose::Refresh | Purpose::Destroy, _) if !is_managed && !needs_skipped => Self::Goal,
            (Purpose::Refresh, Some(_)) => Self::Record,
            // A pending replacement has only a record.
            (Purpose::Destroy, Some(old)) if !needs_skipped && !old.pending_replacement => Self::KeepUntilEnd,
            (Purpose::Refresh | Purpose::Destroy, _) => Self::SkipCreate,
        }
    }
}

/// Returns whether the run treats registrations in another way than applying their goals.
pub(super) fn is_not_plain_update(context: &Context) -> bool {
    context.options.refreshes || context.options.purpose != Purpose::Update
}

/// Reads a registered record if the run requires it, and returns the response of a registration whose goal is not
/// applied. Otherwise the registration continues with its current record.
pub(super) async fn refresh_mode(
    context: &Context,
    urn: &Urn,
    mut old: Option<StateRef>,
    goal: &Goal,
) -> Result<ControlFlow<Next, Option<StateRef>>, RunEnded> {
    let purpose = context.options.purpose;
    if purpose == Purpose::Refresh {
        // Components and providers must not depend on a resource that is only read: it keeps its recorded dependencies.
        match &old {
            Some(old) if is_managed(goal) => context.claims.keep_record(urn, old),
            _ => refuse_cycles(context, urn, old.as_ref(), &dependencies_of(goal)).await?,
        }
    }
    if context.options.refreshes
        && let Some(record) = old
    {
        old = match refresh_registered(context, urn, record, goal).await? {
            ControlFlow::Continue(record) => record,
            ControlFlow::Break(failed) => return Ok(ControlFlow::Break(Next::Answer(failed))),
        };
    }
    let needs_skipped = purpose != Purpose::Update && needs_skipped(context, goal);
    let mode = Mode::of(
        purpose,
        is_managed(goal),
        needs_skipped,
        old.as_ref().map(|old| &*old.state),
    );
    let next = match (mode, old) {
        (Mode::Record, Some(old)) => {
            context.claims.mark_unrecorded(urn);
            Next::Answer(RegisterOutcome::done(old.state))
        }
        (Mode::KeepUntilEnd, Some(old)) => Next::Run(keep_until_end(context, urn, old, goal).await?),
        (Mode::SkipCreate, old) => {
            if let Some(old) = &old {
                context.claims.release_claim(old);
            }
            Next::Answer(skip_create(context, urn, goal, old.as_ref()).await?)
        }
        (_, old) => return Ok(ControlFlow::Continue(old)),
    };
    Ok(ControlFlow::Break(next))
}

/// Keeps the record of a provider-managed resource with its old inputs, so that it is reachable until its deletion.
async fn keep_until_end(
    context: &Context,
    urn: &Urn,
    old: StateRef,
    goal: &Goal,
) -> Result<StepChain, RunEnded> {
    let provider = context.providers.of_goal(urn, goal).await?;
    let new = Arc::new(ResourceState {
        inputs: old.state.inputs.clone(),
        // A resource that was only read is not deleted.
        external: old.state.external,
        ..new_state(goal, urn.clone(), Some(&old.state))
    });
    let same = step(StepOp::Same, Some(&old), &new, provider);
    Ok(StepChain::new(urn, Some(&old), new, vec![same]))
}

/// Returns whether a package's provider manages the resource of the goal.
pub(super) fn is_managed(goal: &Goal) -> bool {
    goal.custom && !goal.resource_type.is_provider()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    #[test]
    fn only_components_and_providers_are_goals_in_runs_that_read_or_delete() {
        use Purpose::{Destroy, Refresh, Update};
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let old = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        let pending = ResourceState {
            pending_replacement: true,
            ..old.clone()
        };
        let table = [
            (Update, true, false, None, Mode::Goal),
            (Update, true, true, Some(&old), Mode::Goal),
            (Refresh, false, false, None, Mode::Goal),
            (Refresh, false, true, None, Mode::SkipCreate),
            (Refresh, false, true, Some(&old), Mode::Record),
            (Refresh, true, false, None, Mode::SkipCreate),
            (Refresh, true, false, Some(&old), Mode::Record),
            (Refresh, true, false, Some(&pending), Mode::Record),
            (Destroy, false, false, Some(&old), Mode::Goal),
            (Destroy, false, true, Some(&old), Mode::SkipCreate),
            (Destroy, true, false, None, Mode::SkipCreate),
            (Destroy, true, false, Some(&old), Mode::KeepUntilEnd),
            (Destroy, true, false, Some(&pending), Mode::SkipCreate),
            (Destroy, true, true, Some(&old), Mode::SkipCreate),
        ];
        for (row, (purpose, is_managed, needs_skipped, old, expected)) in table.into_iter().enumerate() {
            let found = Mode::of(purpose, is_managed, needs_skipped, old);
            assert_eq!(found, expected, "row {row}");
        }
    }
}

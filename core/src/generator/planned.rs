//! The steps that a registration comes to, and what running them makes of its answer.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    executor::{Step, StepDetail},
    generator::{
        Generator, Purpose, RegisterOutcome, Unanswered, difference::Difference, register::Registering,
    },
    provider::ProviderHandle,
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// The steps that bring a resource to its goal.
pub(super) struct Planned {
    pub(super) urn: Urn,
    pub(super) old: Option<StateRef>,
    /// The record as it is asked for.
    pub(super) new: Arc<ResourceState>,
    pub(super) chain: Vec<Option<Step>>,
}

impl Registering {
    /// Names the steps that lead to `new`.
    pub(super) fn planned(&self, new: Arc<ResourceState>, chain: Vec<Option<Step>>) -> Planned {
        Planned {
            urn: self.urn.clone(),
            old: self.old.clone(),
            new,
            chain,
        }
    }
}

impl Generator {
    /// Runs the decided steps and turns what came of them into the registration's answer.
    ///
    /// No `async fn`: that would keep its arguments twice, and very many may be on their way at the same time.
    pub(super) fn run(
        &self,
        planned: Planned,
    ) -> impl Future<Output = Result<RegisterOutcome, Unanswered>> + Send {
        let allowed = self.plan_steps(planned.chain.iter().flatten());
        self.carry_out(planned, allowed)
    }

    /// Runs steps of which the plan has said already whether they are allowed.
    pub(super) fn carry_out(
        &self,
        planned: Planned,
        allowed: Result<(), Unanswered>,
    ) -> impl Future<Output = Result<RegisterOutcome, Unanswered>> + Send {
        let Planned { urn, old, new, chain } = planned;
        let mut steps = Vec::with_capacity(chain.len());
        steps.extend(chain.into_iter().flatten());
        let mut chain = steps;
        if old.as_ref().is_some_and(|old| self.claims.is_kept(old.id)) {
            chain.iter_mut().for_each(keep_place);
        }
        let replaced = chain
            .iter()
            .find(|step| step.op == StepOp::CreateReplacement && step.detail.pending_delete)
            .and_then(|step| step.old.clone());
        let op = chain.last().map_or(StepOp::Same, |step| step.op);
        let is_replacement = chain.iter().any(|step| step.op == StepOp::CreateReplacement);
        if is_replacement {
            self.claims.mark_replaced(&urn);
        }
        // The steps hold what they need of what was asked for; it only matters here where a failure is an answer.
        let asked = self.executor.options().continue_on_error.then_some(new);
        async move {
            allowed?;
            match self.executor.run_chain(chain).await {
                Ok(outcome) => {
                    if let Some(old) = replaced {
                        self.note_replaced(old);
                    }
                    // Every chain of a registration ends in a record.
                    let Some(record) = outcome.new else {
                        return asked.map(done).ok_or(Unanswered::Ending);
                    };
                    self.plan_outputs(&record.state);
                    if self.options.purpose == Purpose::Destroy {
                        self.condemn(&record, old.as_ref());
                    }
                    if !record.state.custom {
                        self.note_component(op, old, record.clone());
                    }
                    Ok(done(record.state))
                }
                Err(failure) => match asked {
                    Some(asked) => self.after_failure(&failure, &asked),
                    None => Err(Unanswered::Ending),
                },
            }
        }
    }

    /// Builds the steps of a replacement whose old half goes at the end of the run, unless it has gone in a former one.
    pub(super) fn create_before_delete(
        &self,
        old: &StateRef,
        new: &Arc<ResourceState>,
        provider: Option<ProviderHandle>,
        difference: &Difference,
    ) -> Vec<Option<Step>> {
        // Where ids are names, a second deletion would hit what has just been made.
        let is_reminder = old.state.pending_replacement;
        let detail = StepDetail {
            pending_delete: !is_reminder,
            ..StepDetail::default()
        };
        let ops = if is_reminder {
            [StepOp::Replace, StepOp::CreateReplacement]
        } else {
            [StepOp::CreateReplacement, StepOp::Replace]
        };
        ops.into_iter()
            .map(|op| {
                step(op, Some(old), new, provider.clone()).map(|step| {
                    step.with_detail(detail).with_diff(
                        difference.keys.clone(),
                        difference.diffs.clone(),
                        difference.detailed.clone(),
                    )
                })
            })
            .collect()
    }
}

/// Lets a record stay where it was taken over, before what needs it, unless it comes to need what it did not.
fn keep_place(step: &mut Step) {
    let (Some(old), Some(new)) = (&step.old, &step.new) else {
        return;
    };
    let mut needs = FxHashSet::default();
    old.state.for_each_dependency(|urn| {
        needs.insert(urn);
    });
    let mut has_more = old.state.provider != new.provider;
    new.for_each_dependency(|urn| has_more |= !needs.contains(urn));
    let goes_on = matches!(step.op, StepOp::Same | StepOp::Update);
    step.detail.in_place |= goes_on && !has_more;
}

/// Builds a step of a chain.
pub(super) fn step(
    op: StepOp,
    old: Option<&StateRef>,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
) -> Option<Step> {
    Step::new(op, old.cloned(), Some(Arc::clone(new))).map(|step| step.with_provider(provider))
}

/// The outcome of a registration that has its record.
pub(super) fn done(state: Arc<ResourceState>) -> RegisterOutcome {
    RegisterOutcome {
        state,
        succeeded: true,
        unknown: false,
        skipped: false,
    }
}

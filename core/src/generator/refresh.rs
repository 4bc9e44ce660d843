//! Refresh with the program: each record is read when the program registers it, and the others are when it has ended.

use std::{ops::ControlFlow, sync::Arc};

use smol_str::format_smolstr;

use crate::{
    error::{Error, Result},
    executor::{ExecutorOptions, Failure, Step, StepDetail, run_in_order},
    generator::{
        Generator, Purpose, Unanswered,
        purpose::{Approached, is_managed},
        targets::untargeted,
    },
    resource::{Goal, ProviderReference, ResourceState},
    state::{Ledger, OperationId, StateRef},
    step::StepOp,
    urn::Urn,
};

impl Generator {
    /// Reads the record that a registration has claimed; there is none any more when the real thing is gone.
    ///
    /// Of components and providers nothing is read, and nobody is shown the step.
    pub(super) async fn refresh_registered(
        &self,
        urn: &Urn,
        record: StateRef,
        goal: &Goal,
    ) -> Result<Approached, Unanswered> {
        let managed = record.state.custom && !record.state.is_provider();
        let provider = if managed {
            let named = StateRef {
                id: record.id,
                state: self.with_present_provider(&record.state),
            };
            self.provider_of_record(&named).await?
        } else {
            None
        };
        let renamed =
            self.options.purpose == Purpose::Refresh && is_managed(goal) && record.state.urn != *urn;
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
        match self.executor.run_step(&mut step).await {
            Ok(outcome) => Ok(ControlFlow::Continue(outcome.new)),
            Err(failure) => self
                .after_failure(&failure, &record.state)
                .map(ControlFlow::Break),
        }
    }

    /// Reads what the program has not registered. One that cannot be read does not keep the others from being read.
    ///
    /// Failures have been reported when this returns; the control tells whether there were any.
    pub(crate) async fn refresh_leftovers(&self) {
        let targeting = self.options.targeting.as_ref();
        let chosen = targeting.map(|targeting| targeting.chosen(self.base.records()));
        let records = self.base.records().iter().enumerate();
        let left = records.filter_map(|(position, record)| {
            let is_view = record.state.view_of.is_some();
            // An old copy is left to the update that deletes it.
            let left = !is_view && !record.state.delete && !self.claims.is_operated(record.id);
            left.then(|| {
                (
                    chosen.as_ref().is_none_or(|chosen| chosen[position]),
                    record.clone(),
                )
            })
        });
        let (left, left_out): (Vec<_>, Vec<_>) = left.partition(|(is_chosen, _)| *is_chosen);
        for (_, record) in left_out {
            let step = untargeted(&record, &record.state);
            if let Some(mut step) = step
                && self.executor.run_step(&mut step).await.is_err()
            {
                return;
            }
        }
        let left: Vec<StateRef> = left.into_iter().map(|(_, record)| record).collect();
        let named: Vec<_> = left
            .iter()
            .map(|record| self.with_present_provider(&record.state))
            .collect();
        let Some(providers) = self.providers_of(named.iter().map(|state| &**state)).await else {
            return;
        };
        let mut steps = Vec::with_capacity(left.len());
        for (record, provider) in left.into_iter().zip(providers) {
            let state = Arc::clone(&record.state);
            let step = Step::new(StepOp::Refresh, Some(record), Some(state));
            steps.extend(step.map(|step| step.with_provider(provider)));
        }
        let options = ExecutorOptions {
            continue_on_error: true,
            ..*self.executor.options()
        };
        let journal = self.executor.journal().cloned();
        let reader = Arc::new(self.executor.with_options(options, journal));
        let free = vec![Vec::new(); steps.len()];
        run_in_order(&reader, steps, &free).await;
        self.executor.absorb(&reader);
    }

    /// Names the provider of a record as the program does, which may have renamed it.
    fn with_present_provider(&self, state: &Arc<ResourceState>) -> Arc<ResourceState> {
        let Ok(reference) = ProviderReference::parse(&state.provider) else {
            return Arc::clone(state);
        };
        let present = self.claims.current_urn(&reference.urn);
        if present == reference.urn {
            return Arc::clone(state);
        }
        let mut named = ResourceState::clone(state);
        named.provider = format_smolstr!("{}", ProviderReference::new(present, reference.id));
        Arc::new(named)
    }

    /// Cuts what points to what is gone, as the end of a refresh does; also forgets interrupted operations other than
    /// creations.
    pub(crate) async fn settle_refresh(&self) {
        let Some(journal) = self.executor.journal() else {
            return;
        };
        let rebuilt = journal.with_ledger(Ledger::rebuild_base);
        let appended: Result<()> = match rebuilt {
            Some(rebuilt) => journal.append(OperationId(0), rebuilt).await,
            None => Err(Error::internal("the journal was closed during a refresh")),
        };
        if let Err(error) = appended {
            self.executor.control().fail(Failure::Fatal(error), true);
        }
    }
}

/// Gives a record the name that the program has for it now: what is registered after it refers to it by that.
fn renamed_state(old: &ResourceState, urn: &Urn, goal: &Goal) -> ResourceState {
    ResourceState {
        urn: urn.clone(),
        resource_type: goal.resource_type.clone(),
        aliases: vec![old.urn.clone()],
        ..old.clone()
    }
}

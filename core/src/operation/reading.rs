//! Reading the records before anything else: every one, or those that ask for it; what points to what is gone is cut.

use std::sync::Arc;

use crate::{
    error::{Error, Result},
    executor::{Executor, ExecutorOptions, Step, run_in_order},
    generator::Targeting,
    operation::OperationRun,
    provider::ProviderRegistry,
    resource::ResourceState,
    state::{Base, Journal, Ledger, OperationId, Snapshot, StateRef, journal::NoJournal},
    step::StepOp,
};

/// Which records are read before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// None.
    Nothing,
    /// Those that ask to be read before each update.
    BeforeUpdate,
    /// Every one.
    All,
    /// Every one; and what points to what is gone is cut also where there is nothing to read.
    Refresh,
}

impl Reading {
    fn reads(self, state: &ResourceState) -> bool {
        match self {
            Self::Nothing => false,
            Self::BeforeUpdate => state.refresh_before_update,
            Self::All | Self::Refresh => true,
        }
    }
}

impl OperationRun {
    /// Reads the records that `reading` names and that are targeted, and returns the base as it is then.
    ///
    /// # Errors
    /// When the rebuilt base cannot be recorded; failed reads have been reported to the control.
    pub(super) async fn read_records(
        &self,
        executor: &Arc<Executor>,
        registry: &Arc<ProviderRegistry>,
        base: Arc<Base>,
        targeting: Option<&Targeting>,
        reading: Reading,
    ) -> Result<Arc<Base>> {
        let chosen = targeting.map(|targeting| targeting.chosen(base.records()));
        let is_chosen = |position: usize| chosen.as_ref().is_none_or(|chosen| chosen[position]);
        let records = base.records().iter().enumerate();
        let wanted = records.filter(|(position, record)| {
            let state = &record.state;
            state.view_of.is_none() && reading.reads(state) && is_chosen(*position)
        });
        let wanted: Vec<StateRef> = wanted.map(|(_, record)| record.clone()).collect();
        if wanted.is_empty() && reading != Reading::Refresh {
            return Ok(base);
        }
        let journal = match executor.journal() {
            Some(journal) => journal.clone(),
            // A preview follows in memory what a refresh would record.
            None => {
                let resources = base
                    .records()
                    .iter()
                    .map(|record| Arc::clone(&record.state))
                    .collect();
                let snapshot = Snapshot {
                    resources,
                    ..Snapshot::default()
                };
                Journal::start(Ledger::new(snapshot), Arc::new(NoJournal), executor.runtime())
            }
        };
        // One that cannot be read does not keep the others from being read.
        let options = ExecutorOptions {
            continue_on_error: true,
            ..*executor.options()
        };
        let reader = Arc::new(executor.with_options(options, Some(journal.clone())));
        let providers = tokio::select! {
            biased;
            providers = registry.of_records(&base, wanted.iter().map(|record| &*record.state)) => providers,
            // Nothing has been read, so there is nothing to record.
            () = executor.control().terminated() => return Ok(base),
        };
        let mut steps = Vec::with_capacity(wanted.len());
        for (record, provider) in wanted.into_iter().zip(providers) {
            let state = Arc::clone(&record.state);
            steps.extend(
                Step::new(StepOp::Refresh, Some(record), Some(state))
                    .map(|step| step.with_provider(provider)),
            );
        }
        let free = vec![Vec::new(); steps.len()];
        run_in_order(&reader, steps, &free).await;
        let rebuilt = journal.with_ledger(Ledger::rebuild_base).ok_or_else(closed)?;
        journal.append(OperationId(0), rebuilt).await?;
        let records = journal
            .with_ledger(|ledger| ledger.records().cloned().collect())
            .ok_or_else(closed)?;
        executor.absorb(&reader);
        Base::new(records).map(|rebuilt| Arc::new(rebuilt.with_plugins(base.plugins())))
    }
}

fn closed() -> Error {
    Error::internal("the journal was closed during a refresh")
}

//! Reading records before anything else: all of them, or those whose resources demand it. References to resources that
//! no longer exist are removed.

use std::sync::Arc;

use crate::{
    error::{Error, Result},
    executor::{Executor, ExecutorOptions, Step, run_in_order},
    generator::Targeting,
    provider::ProviderRegistry,
    resource::ResourceState,
    state::{
        Journal, JournalRecord, JournalReplay, OperationId, PriorState, Snapshot, StateRef,
        journal::NoJournal,
    },
    step::StepOp,
    urn::Urn,
};

/// The records that are read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// None.
    Nothing,
    /// Those whose providers require it before each update.
    BeforeUpdate,
    /// Every one.
    All,
    /// All; dangling references are removed even when there is nothing to read.
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

/// What is known before records are read.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// The URNs of records that have just been read.
    pub(super) adopted: &'a [Urn],
    /// Whether pending operations on resources without a record stay.
    pub(super) keeps_pending: bool,
}

/// Returns a journal that keeps in memory what a preview reads: it starts from the records of `base`.
pub(super) fn memory_journal(executor: &Executor, base: &PriorState) -> Journal {
    let resources = base
        .records()
        .iter()
        .map(|record| Arc::clone(&record.state))
        .collect();
    let snapshot = Snapshot {
        resources,
        ..Snapshot::default()
    };
    Journal::start(
        JournalReplay::new(snapshot),
        Arc::new(NoJournal),
        executor.runtime(),
    )
}

/// Reads the targeted records that `reading` selects, and returns the new base.
///
/// # Errors
/// When the new base cannot be recorded; failed reads have been reported to the control.
pub(super) async fn read_records(
    executor: &Arc<Executor>,
    registry: &Arc<ProviderRegistry>,
    base: Arc<PriorState>,
    targeting: Option<&Targeting>,
    reading: Reading,
    known: Known<'_>,
) -> Result<Arc<PriorState>> {
    let chosen = targeting.map(|targeting| targeting.chosen(base.records()));
    let is_chosen = |position: usize| chosen.as_ref().is_none_or(|chosen| chosen[position]);
    let records = base.records().iter().enumerate();
    let wanted = records.filter(|(position, record)| {
        let state = &record.state;
        state.view_of.is_none()
            && reading.reads(state)
            && is_chosen(*position)
            && (state.delete || !known.adopted.contains(&state.urn))
    });
    let wanted: Vec<StateRef> = wanted.map(|(_, record)| record.clone()).collect();
    if wanted.is_empty() && reading != Reading::Refresh {
        return Ok(base);
    }
    let journal = match executor.journal() {
        Some(journal) => journal.clone(),
        None => memory_journal(executor, &base),
    };
    // A record that cannot be read does not stop the others.
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
            Step::new(StepOp::Refresh, Some(record), Some(state)).map(|step| step.with_provider(provider)),
        );
    }
    let free = vec![Vec::new(); steps.len()];
    run_in_order(&reader, steps, &free).await;
    let mut rebuilt = journal
        .with_replay(JournalReplay::rebuild_base)
        .ok_or_else(closed)?;
    if let JournalRecord::BaseRebuilt { clear_pending, .. } = &mut rebuilt {
        *clear_pending &= !known.keeps_pending;
    }
    journal.append(OperationId(0), rebuilt).await?;
    let records = journal
        .with_replay(|replay| replay.records().cloned().collect())
        .ok_or_else(closed)?;
    executor.absorb(&reader);
    let rebuilt = PriorState::new(records)?.with_plugins(base.plugins());
    Ok(Arc::new(rebuilt.with_extensions(Arc::clone(base.extensions()))))
}

fn closed() -> Error {
    Error::internal("the journal was closed during a refresh")
}

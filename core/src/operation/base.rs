//! The base of an operation: the records as they were, migrated where a former version of the reference engine wrote them.

use std::sync::Arc;

use crate::{
    error::Result,
    monitor::{RunInfo, UnrecordedDefaults},
    operation::migrate::migrate,
    runtime::Random,
    state::{Base, Journal, JournalRecord, Ledger, OperationId, Snapshot, StateId, StateRef},
    token::ResourceId,
};

/// Returns the records of `snapshot`, migrated.
///
/// # Errors
/// [`crate::ErrorKind::State`] when two records claim a URN; or when migrated records cannot be made durable.
pub(super) async fn open_base(
    snapshot: &Snapshot,
    info: &Arc<RunInfo>,
    journal: Option<&Journal>,
    random: &dyn Random,
) -> Result<Arc<Base>> {
    let records: Vec<StateRef> = Ledger::new(snapshot.clone()).records().cloned().collect();
    let migrated = migrate_records(&records, snapshot, info, journal, random);
    let is_new = migrated.is_some();
    let base = Base::new(migrated.unwrap_or(records))?;
    // Recorded before any entry refers to it, but not before it is verified.
    if let Some(journal) = journal.filter(|_| is_new) {
        let written = JournalRecord::BaseWritten {
            resources: base.records().to_vec(),
        };
        journal.append(OperationId(0), written).await?;
    }
    Ok(Arc::new(base.with_plugins(&snapshot.manifest.plugins)))
}

/// Returns the records with the providers that they lack; `None` when they lack none.
fn migrate_records(
    records: &[StateRef],
    snapshot: &Snapshot,
    info: &Arc<RunInfo>,
    journal: Option<&Journal>,
    random: &dyn Random,
) -> Option<Vec<StateRef>> {
    let defaults = UnrecordedDefaults::new(Arc::clone(info), &snapshot.manifest.plugins);
    let migrated = migrate(records, |package| {
        defaults.record(package, ResourceId::from(random.uuid()))
    })?;
    let Some(journal) = journal else {
        // A preview keeps them in memory, where the place of a record is its identity.
        let states = migrated
            .providers
            .into_iter()
            .chain(migrated.records.into_iter().map(|record| record.state));
        let numbered = (0..).map(StateId).zip(states);
        return Some(numbered.map(|(id, state)| StateRef { id, state }).collect());
    };
    let providers = migrated.providers.into_iter().map(|state| StateRef {
        id: journal.next_state_id(),
        state,
    });
    Some(providers.chain(migrated.records).collect())
}

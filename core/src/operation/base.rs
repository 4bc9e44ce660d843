//! The base of an operation: the recorded state, migrated if an older version of the reference engine wrote it.

use std::sync::Arc;

use crate::{
    error::Result,
    monitor::{RunInfo, UnrecordedDefaults},
    operation::migrate::migrate,
    runtime::Random,
    state::{
        Extensions, Journal, JournalRecord, JournalReplay, OperationId, PriorState, Snapshot, StateId,
        StateRef,
    },
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
) -> Result<Arc<PriorState>> {
    let records: Vec<StateRef> = JournalReplay::new(snapshot.clone()).records().cloned().collect();
    let migrated = migrate_records(&records, snapshot, info, journal, random);
    let is_new = migrated.is_some();
    let base = PriorState::new(migrated.unwrap_or(records))?;
    // Recorded before any entry refers to it, but not before it is verified.
    if let Some(journal) = journal.filter(|_| is_new) {
        let written = JournalRecord::BaseWritten {
            resources: base.records().to_vec(),
            pending: None,
        };
        journal.append(OperationId(0), written).await?;
    }
    let extensions = Arc::new(Extensions::of_records(snapshot)?);
    let base = base.with_plugins(&snapshot.manifest.plugins);
    Ok(Arc::new(base.with_extensions(extensions)))
}

/// Adds missing providers to the records; `None` when none are missing.
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
        // A preview keeps them in memory, where the position of a record is its identity.
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

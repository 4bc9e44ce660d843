//! The base of an operation: the records as they were, brought up to date where an engine of long ago wrote them.

use std::sync::Arc;

use crate::{
    error::Result,
    monitor::RunInfo,
    monitor::UnrecordedDefaults,
    operation::{OperationRun, migrate::migrate},
    state::{Base, Journal, JournalRecord, Ledger, OperationId, Snapshot, StateId, StateRef},
    token::ResourceId,
};

impl OperationRun {
    /// Returns what `snapshot` holds as this engine works with it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when two records claim a URN; or when what had to be put in cannot be made durable.
    pub(super) async fn base(
        &self,
        snapshot: &Snapshot,
        run: &Arc<RunInfo>,
        journal: Option<&Journal>,
    ) -> Result<Arc<Base>> {
        let records: Vec<StateRef> = Ledger::new(snapshot.clone()).records().cloned().collect();
        let migrated = self.migrated(&records, snapshot, run, journal);
        let is_new = migrated.is_some();
        let base = Base::new(migrated.unwrap_or(records))?;
        // Recorded before anything refers to it, but not before it is known to be sound.
        if let Some(journal) = journal.filter(|_| is_new) {
            let written = JournalRecord::BaseWritten {
                resources: base.records().to_vec(),
            };
            journal.append(OperationId(0), written).await?;
        }
        Ok(Arc::new(base.with_plugins(&snapshot.manifest.plugins)))
    }

    /// Returns the records with what had to be put in; `None` when nothing had to be.
    fn migrated(
        &self,
        records: &[StateRef],
        snapshot: &Snapshot,
        run: &Arc<RunInfo>,
        journal: Option<&Journal>,
    ) -> Option<Vec<StateRef>> {
        let defaults = UnrecordedDefaults::new(Arc::clone(run), &snapshot.manifest.plugins);
        let random = &self.stack.engine.runtime.random;
        let migrated = migrate(records, |package| {
            defaults.record(package, ResourceId::from(random.uuid()))
        })?;
        let Some(journal) = journal else {
            // A preview keeps it in memory, where the place of a record is its identity.
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
}

//! The base of an operation: the records as they were, brought up to date where an engine of long ago wrote them.

use std::sync::Arc;

use crate::{
    error::Result,
    monitor::UnrecordedDefaults,
    operation::Frame,
    program::RunInfo,
    state::{Base, Journal, JournalRecord, Ledger, OperationId, Snapshot, StateId, StateRef, migrate},
    token::ResourceId,
};

impl Frame {
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
        let records = Ledger::new(snapshot.clone()).records().cloned().collect();
        let records = self.migrated(records, snapshot, run, journal).await?;
        Ok(Arc::new(
            Base::new(records)?.with_plugins(&snapshot.manifest.plugins),
        ))
    }

    /// What has to be put in is recorded before anything refers to it; a preview, which has no journal, keeps it in memory.
    async fn migrated(
        &self,
        records: Vec<StateRef>,
        snapshot: &Snapshot,
        run: &Arc<RunInfo>,
        journal: Option<&Journal>,
    ) -> Result<Vec<StateRef>> {
        let defaults = UnrecordedDefaults::new(Arc::clone(run), &snapshot.manifest.plugins);
        let random = &self.stack.engine.runtime.random;
        let Some(migrated) = migrate(&records, |package| {
            defaults.record(package, ResourceId::from(random.uuid()))
        }) else {
            return Ok(records);
        };
        let Some(journal) = journal else {
            let states = migrated
                .providers
                .into_iter()
                .chain(migrated.records.into_iter().map(|record| record.state));
            let numbered = (0..).map(StateId).zip(states);
            return Ok(numbered.map(|(id, state)| StateRef { id, state }).collect());
        };
        let providers = migrated.providers.into_iter().map(|state| StateRef {
            id: journal.next_state_id(),
            state,
        });
        let resources: Vec<StateRef> = providers.chain(migrated.records).collect();
        let written = JournalRecord::BaseWritten {
            resources: resources.clone(),
        };
        journal.append(OperationId(0), written).await?;
        Ok(resources)
    }
}

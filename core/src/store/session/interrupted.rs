//! The history record of an interrupted operation, which the next session of its stack writes.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{
    diagnostic::Diagnostic,
    error::Result,
    runtime::Timestamp,
    state::journal::JournalHeader,
    store::{HistoryEntry, HistoryPage, StackStorage},
};

/// What the history states of an operation that has not recorded its end.
pub(super) const IN_PROGRESS: &str = "in-progress";

/// How many records other programs can have added since an operation whose record is looked for.
const MAX_LATER_RECORDS: usize = 16;

/// An operation that has left its journal: it has not recorded its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interrupted {
    /// Its kind in histories.
    kind: &'static str,
    started: Timestamp,
}

impl Interrupted {
    /// Reads the header of a journal; `None` for edits of a state, which have no history records.
    pub(super) fn of(header: &JournalHeader) -> Option<Self> {
        let kind = match header.operation.as_str() {
            "update" => "update",
            "refresh" => "refresh",
            "destroy" => "destroy",
            "import" | "adopt" => "resource-import",
            _ => return None,
        };
        let started = header.started.parse().ok()?;
        Some(Self { kind, started })
    }

    /// Adds the operation to the history, with `checkpoint`, which contains what it has done. One that the history has stays alone: it
    /// failed to write its checkpoint, or a recovery was interrupted after this record.
    ///
    /// Returns a warning when the history cannot be written: the recovery does not depend on it.
    pub(super) async fn record(&self, storage: &StackStorage, checkpoint: &Bytes) -> Option<Diagnostic> {
        let recorded = async {
            if self.is_recorded(storage).await? {
                return Ok(());
            }
            self.write(storage, checkpoint).await
        };
        let error = recorded.await.err()?;
        Some(Diagnostic::warning(format!(
            "the history has no record of the interrupted {}: {error}",
            self.kind
        )))
    }

    async fn is_recorded(&self, storage: &StackStorage) -> Result<bool> {
        let newest = HistoryPage {
            skip: 0,
            limit: Some(MAX_LATER_RECORDS),
        };
        let start = self.started.as_second();
        let records = storage.history_page(newest).await?;
        Ok(records
            .iter()
            .any(|record| record.kind == self.kind && record.start_time == start))
    }

    async fn write(&self, storage: &StackStorage, checkpoint: &Bytes) -> Result<()> {
        let entry = HistoryEntry {
            kind: self.kind.to_owned(),
            start_time: self.started.as_second(),
            message: String::new(),
            environment: BTreeMap::new(),
            config: RawValue::NULL.to_owned(),
            version: 0,
            result: IN_PROGRESS.to_owned(),
            // The end itself is not known.
            end_time: storage.runtime().clock.now().as_second(),
            resource_changes: None,
        };
        storage.record_recovered(checkpoint, &entry).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_their_kind_of_the_history_and_edits_have_none() {
        let started = Timestamp::from_second(1_000_000_000).unwrap();
        for (operation, expected) in [
            ("update", Some("update")),
            ("refresh", Some("refresh")),
            ("destroy", Some("destroy")),
            ("import", Some("resource-import")),
            ("adopt", Some("resource-import")),
            ("forget", None),
            ("rename", None),
        ] {
            let header = JournalHeader::new(String::new(), operation, started, "v0");
            let expected = expected.map(|kind| Interrupted { kind, started });
            assert_eq!(Interrupted::of(&header), expected, "{operation}");
        }
    }
}

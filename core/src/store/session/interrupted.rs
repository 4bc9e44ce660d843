//! The history record of an interrupted operation, which the next session of its stack writes.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{
    error::Result,
    runtime::Timestamp,
    state::journal::JournalHeader,
    store::{HistoryEntry, StackStorage},
};

/// What the history states of an operation that has not recorded its end.
pub(super) const IN_PROGRESS: &str = "in-progress";

/// An operation whose journal extends the state that was loaded.
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

    /// Adds the operation to the history, with a copy of the checkpoint that contains what it has done.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn record(&self, storage: &StackStorage, checkpoint: &str) -> Result<()> {
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
        storage.record_with(Some(checkpoint), &entry).await
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

//! Validity of an entry: it may only refer to existing records.

use super::JournalReplay;
use crate::{
    error::{Error, ErrorKind, Result},
    state::{JournalEntry, JournalRecord, StateId, StateRef},
};

impl JournalReplay {
    /// Refuses an entry that contradicts the records; nothing is changed.
    pub(super) fn check(&self, entry: &JournalEntry) -> Result<()> {
        let unknown = |id: &StateId| {
            let message = format!(
                "journal entry {} refers to record {}, which does not exist",
                entry.sequence, id.0
            );
            Err(Error::new(ErrorKind::State, message))
        };
        let twice = |new: &StateRef| {
            let message = format!(
                "journal entry {} adds record {} a second time",
                entry.sequence, new.id.0
            );
            Err(Error::new(ErrorKind::State, message).with_urn(new.state.urn.clone()))
        };
        let is_unknown = |id: &&StateId| self.get(**id).is_none();
        match &entry.record {
            // A journal without the entry must still contain the record that later entries refer to.
            JournalRecord::Success {
                removed,
                marked,
                new,
                elide_write: true,
                ..
            } if !marked.is_empty() || removed.iter().ne(new.iter().map(|new| &new.id)) => {
                Err(Error::internal(format!(
                    "journal entry {} elides its write, but changes identities",
                    entry.sequence
                )))
            }
            JournalRecord::Success {
                removed,
                marked,
                new,
                in_place,
                ..
            } => {
                let marked = marked.iter().map(|(id, _)| id);
                if let Some(id) = removed.iter().chain(marked).find(is_unknown) {
                    return unknown(id);
                }
                match new {
                    Some(new) if *in_place && removed.is_empty() && self.get(new.id).is_none() => {
                        unknown(&new.id)
                    }
                    Some(new) if !*in_place && !removed.contains(&new.id) && self.get(new.id).is_some() => {
                        twice(new)
                    }
                    _ => Ok(()),
                }
            }
            JournalRecord::Outputs { new, .. } if self.get(new.id).is_none() => unknown(&new.id),
            JournalRecord::BaseRebuilt { order, repaired, .. } => {
                let repaired = repaired.iter().map(|record| &record.id);
                order
                    .iter()
                    .chain(repaired)
                    .find(is_unknown)
                    .map_or(Ok(()), unknown)
            }
            _ => Ok(()),
        }
    }
}

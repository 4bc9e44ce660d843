//! Writing an entry.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    BaseRebuiltJson, BaseWrittenJson, BeginJson, DiffJson, ExtensionAddedJson, FailureJson, Kind, MarkJson,
    OldJson, OutputsJson, PendingJson, RefJson, SuccessJson,
};
use crate::{
    event::{DetailedDiff, PropertyDiff},
    property::json::SecretForm,
    state::{JournalEntry, JournalRecord, deployment::RecordJson},
};

/// The JSON form of an entry. `form` decides how secrets are written.
#[derive(Clone, Copy)]
pub struct EntryJson<'a> {
    entry: &'a JournalEntry,
    form: SecretForm<'a>,
    identifies: bool,
}

impl<'a> EntryJson<'a> {
    /// Wraps `entry`, whose secrets are written in `form`.
    #[must_use]
    pub const fn new(entry: &'a JournalEntry, form: SecretForm<'a>) -> Self {
        Self {
            entry,
            form,
            identifies: false,
        }
    }

    /// Adds URN and id to the identities of old records.
    #[must_use]
    pub const fn identifying(self) -> Self {
        Self {
            identifies: true,
            ..self
        }
    }

    /// Returns the JSON form of the begin of a step; `None` for another kind of entry.
    fn begin(&self) -> Option<BeginJson<RecordJson<'a>>> {
        let Self {
            entry,
            form,
            identifies,
        } = *self;
        let JournalRecord::Begin {
            op,
            pending,
            old,
            new,
            keys,
            diffs,
            detailed_diff,
        } = &entry.record
        else {
            return None;
        };
        Some(BeginJson {
            sequence: entry.sequence,
            operation: entry.operation,
            kind: Kind::Begin,
            op: *op,
            pending: *pending,
            old: old.as_ref().map(|old| OldJson::new(old, identifies)),
            state: new.as_deref().map(|state| RecordJson::new(state, form)),
            keys: keys.clone(),
            diffs: diffs.clone(),
            detailed_diff: detailed_diff.as_ref().map(described),
        })
    }

    /// Returns the JSON form of the end of a step that succeeded; `None` for another kind of entry.
    fn success(&self) -> Option<SuccessJson<RecordJson<'a>>> {
        let Self { entry, form, .. } = *self;
        let JournalRecord::Success {
            op,
            result_op,
            removed,
            marked,
            new,
            in_place,
            elide_write,
            untargeted,
            skipped_create,
            view,
        } = &entry.record
        else {
            return None;
        };
        let marked = marked.iter().map(|(id, mark)| MarkJson {
            id: *id,
            mark: (*mark).into(),
        });
        Some(SuccessJson {
            sequence: entry.sequence,
            operation: entry.operation,
            kind: Kind::Success,
            op: *op,
            result_op: Some(*result_op),
            removed: removed.clone(),
            marked: marked.collect(),
            new: new.as_ref().map(|state| RefJson::new(state, form)),
            in_place: *in_place,
            elided: *elide_write,
            persisted_refresh: entry.record.is_persisted_refresh(),
            deleted_by_refresh: entry.record.is_deleted_by_refresh(),
            untargeted: *untargeted,
            skipped_create: skipped_create.is_some(),
            state: skipped_create
                .as_deref()
                .map(|state| RecordJson::new(state, form)),
            view: *view,
        })
    }
}

impl Serialize for EntryJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { entry, form, .. } = *self;
        let (sequence, operation) = (entry.sequence, entry.operation);
        let named = |state| RefJson::new(state, form);
        match &entry.record {
            JournalRecord::Begin { .. } => self.begin().serialize(serializer),
            JournalRecord::Success { .. } => self.success().serialize(serializer),
            JournalRecord::Failure { op } => FailureJson {
                sequence,
                operation,
                kind: Kind::Failure,
                op: *op,
            }
            .serialize(serializer),
            JournalRecord::Outputs { new, elide_write } => OutputsJson {
                sequence,
                operation,
                kind: Kind::Outputs,
                new: named(new),
                elided: *elide_write,
            }
            .serialize(serializer),
            JournalRecord::BaseWritten { resources, pending } => BaseWrittenJson {
                sequence,
                operation,
                kind: Kind::BaseWritten,
                records: resources.iter().map(named).collect(),
                pending_operations: pending.as_ref().map(|pending| {
                    let pending = pending.iter().map(|pending| PendingJson {
                        kind: pending.kind,
                        state: RecordJson::new(&pending.resource, form),
                    });
                    pending.collect()
                }),
            }
            .serialize(serializer),
            JournalRecord::BaseRebuilt {
                order,
                repaired,
                clear_pending,
            } => BaseRebuiltJson {
                sequence,
                operation,
                kind: Kind::BaseRebuilt,
                order: order.clone(),
                records: repaired.iter().map(named).collect(),
                clear_pending: *clear_pending,
            }
            .serialize(serializer),
            JournalRecord::ExtensionAdded { extension } => ExtensionAddedJson {
                sequence,
                operation,
                kind: Kind::Extension,
                extension_ref: extension.reference().to_string(),
                extension: extension.to_json(),
            }
            .serialize(serializer),
        }
    }
}

fn described(detailed: &DetailedDiff) -> BTreeMap<String, DiffJson> {
    let described = |(path, diff): (&String, &PropertyDiff)| {
        let PropertyDiff { kind, input_diff } = *diff;
        (path.clone(), DiffJson { kind, input_diff })
    };
    detailed.iter().map(described).collect()
}

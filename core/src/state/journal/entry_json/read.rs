//! Reading an entry: its records are taken out first, decrypted in one batch, and put back into the entry.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    BaseRebuiltJson, BaseWrittenJson, BeginJson, DiffJson, ExtensionAddedJson, FailureJson, Head, Kind,
    OldJson, OutputsJson, PendingJson, SuccessJson,
};
use crate::{
    error::{Error, ErrorKind, Result},
    event::{DetailedDiff, PropertyDiff},
    resource::{Extension, PendingOperation, ResourceState},
    state::{
        JournalEntry, JournalRecord, StateId, StateRef,
        deployment::{StateJson, parse},
    },
};

/// An entry as it was read, whose records can be taken out to decrypt their secrets in one batch.
#[derive(Debug)]
pub(in crate::state::journal) struct EntryFields {
    pub(in crate::state::journal) sequence: u64,
    members: Members,
}

#[derive(Debug)]
enum Members {
    Begin(Box<BeginJson<StateJson>>),
    Success(Box<SuccessJson<StateJson>>),
    Failure(FailureJson),
    Outputs(Box<OutputsJson<StateJson>>),
    BaseWritten(BaseWrittenJson<StateJson>),
    BaseRebuilt(BaseRebuiltJson<StateJson>),
    Extension(ExtensionAddedJson),
}

impl EntryFields {
    /// Reads the text of an entry.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when it is no JSON, lacks a member of its kind, or has one that its kind does not have.
    pub(in crate::state::journal) fn read(text: &[u8]) -> Result<Self> {
        let Head { sequence, kind } = parse(text)?;
        let members = match kind {
            Kind::Begin => Members::Begin(parse(text)?),
            Kind::Success => Members::Success(parse(text)?),
            Kind::Failure => Members::Failure(parse(text)?),
            Kind::Outputs => Members::Outputs(parse(text)?),
            Kind::BaseWritten => Members::BaseWritten(parse(text)?),
            Kind::BaseRebuilt => Members::BaseRebuilt(parse(text)?),
            Kind::Extension => Members::Extension(parse(text)?),
        };
        Ok(Self { sequence, members })
    }

    /// Moves the entry's records to `states`. [`Self::into_entry`] takes them back in the same order.
    pub(in crate::state::journal) fn take_states(&mut self, states: &mut Vec<Arc<ResourceState>>) {
        let mut take = |state: &mut StateJson| {
            let placeholder = ResourceState::new(state.0.urn.clone(), state.0.resource_type.clone(), false);
            states.push(Arc::new(std::mem::replace(&mut state.0, placeholder)));
        };
        match &mut self.members {
            Members::Begin(begin) => begin.state.iter_mut().for_each(take),
            Members::Success(success) => {
                success.state.iter_mut().for_each(&mut take);
                success.new.iter_mut().for_each(|new| take(&mut new.state));
            }
            Members::Outputs(outputs) => take(&mut outputs.new.state),
            Members::BaseWritten(written) => {
                written
                    .records
                    .iter_mut()
                    .for_each(|record| take(&mut record.state));
                let pending = written.pending_operations.iter_mut().flatten();
                pending.for_each(|pending| take(&mut pending.state));
            }
            Members::BaseRebuilt(rebuilt) => {
                rebuilt
                    .records
                    .iter_mut()
                    .for_each(|record| take(&mut record.state));
            }
            Members::Failure(_) | Members::Extension(_) => {}
        }
    }

    /// Returns the entry. `states` yields its records, `old` returns the records of earlier entries.
    pub(in crate::state::journal) fn into_entry(
        self,
        mut states: impl Iterator<Item = Arc<ResourceState>>,
        old: impl Fn(&OldJson) -> Option<Arc<ResourceState>>,
    ) -> Result<JournalEntry> {
        let sequence = self.sequence;
        let lacks = |what: &str| {
            Error::new(
                ErrorKind::State,
                format!("journal entry {sequence} has no {what}"),
            )
        };
        let mut next = || states.next().ok_or_else(|| lacks("record"));
        let (operation, record) = match self.members {
            Members::Begin(begin) => {
                let old = begin.old.map(|named| {
                    let state = old(&named).ok_or_else(|| lacks("such old record"))?;
                    Ok::<_, Error>(StateRef { id: named.id, state })
                });
                let record = JournalRecord::Begin {
                    op: begin.op,
                    pending: begin.pending,
                    old: old.transpose()?,
                    new: begin.state.map(|_| next()).transpose()?,
                    keys: begin.keys,
                    diffs: begin.diffs,
                    detailed_diff: begin.detailed_diff.map(difference),
                };
                (begin.operation, record)
            }
            Members::Success(success) => {
                let state = success.state.map(|_| next()).transpose()?;
                let marked = success.marked.into_iter();
                let record = JournalRecord::Success {
                    op: success.op,
                    result_op: success.result_op.unwrap_or(success.op),
                    removed: success.removed,
                    marked: marked.map(|marked| (marked.id, marked.mark.into())).collect(),
                    new: success.new.map(|new| named(new.id, next())).transpose()?,
                    in_place: success.in_place,
                    elide_write: success.elided,
                    untargeted: success.untargeted,
                    skipped_create: state.filter(|_| success.skipped_create),
                    view: success.view,
                };
                (success.operation, record)
            }
            Members::Failure(failure) => (failure.operation, JournalRecord::Failure { op: failure.op }),
            Members::Outputs(outputs) => {
                let record = JournalRecord::Outputs {
                    new: named(outputs.new.id, next())?,
                    elide_write: outputs.elided,
                };
                (outputs.operation, record)
            }
            Members::BaseWritten(written) => (written.operation, base_written(written, next)?),
            Members::BaseRebuilt(rebuilt) => {
                let records = rebuilt.records.into_iter();
                let record = JournalRecord::BaseRebuilt {
                    order: rebuilt.order,
                    repaired: records
                        .map(|record| named(record.id, next()))
                        .collect::<Result<_>>()?,
                    clear_pending: rebuilt.clear_pending,
                };
                (rebuilt.operation, record)
            }
            Members::Extension(added) => {
                let extension = Extension::of_json(&added.extension_ref, added.extension)?;
                let extension = Arc::new(extension);
                (added.operation, JournalRecord::ExtensionAdded { extension })
            }
        };
        Ok(JournalEntry {
            sequence,
            operation,
            record,
        })
    }
}

/// Returns the record of a written base, whose states `next` yields.
fn base_written(
    written: BaseWrittenJson<StateJson>,
    mut next: impl FnMut() -> Result<Arc<ResourceState>>,
) -> Result<JournalRecord> {
    let records = written.records.into_iter();
    let resources = records
        .map(|record| named(record.id, next()))
        .collect::<Result<_>>()?;
    let operation = |pending: PendingJson<StateJson>| {
        let (kind, resource) = (pending.kind, next()?);
        Ok(PendingOperation { resource, kind })
    };
    let pending = written.pending_operations;
    let pending = pending.map(|pending| pending.into_iter().map(operation).collect::<Result<_>>());
    Ok(JournalRecord::BaseWritten {
        resources,
        pending: pending.transpose()?,
    })
}

fn named(id: StateId, state: Result<Arc<ResourceState>>) -> Result<StateRef> {
    state.map(|state| StateRef { id, state })
}

fn difference(detailed: BTreeMap<String, DiffJson>) -> DetailedDiff {
    let diff = |(path, diff): (String, DiffJson)| {
        let DiffJson { kind, input_diff } = diff;
        (path, PropertyDiff { kind, input_diff })
    };
    detailed.into_iter().map(diff).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let read = EntryFields::read(text.as_bytes());
        read.err()
            .map(|error| error.message().to_owned())
            .unwrap_or_default()
    }

    #[test]
    fn a_member_of_another_kind_is_refused() {
        for (kind, members, foreign) in [
            ("begin", r#""op": "create""#, "records"),
            ("success", r#""op": "create""#, "pending"),
            ("failure", r#""op": "create""#, "new"),
            ("base-written", r#""records": []"#, "op"),
            ("base-rebuilt", r#""order": []"#, "elided"),
            (
                "extension",
                r#""extensionRef": "r", "extension": {"name": "more"}"#,
                "state",
            ),
        ] {
            let head = format!(r#"{{"sequence": 0, "operation": 1, "kind": "{kind}", {members}"#);
            assert_eq!(refusal(&format!("{head}}}")), "", "{kind}");
            let text = refusal(&format!(r#"{head}, "{foreign}": null}}"#));
            assert!(
                text.contains(&format!("unknown field `{foreign}`")),
                "{kind}: {text}"
            );
        }
    }

    #[test]
    fn a_missing_member_is_named() {
        let text = refusal(r#"{"sequence": 0, "operation": 1, "kind": "begin"}"#);
        assert!(text.contains("missing field `op`"), "{text}");
        let text = refusal(r#"{"sequence": 0, "operation": 1, "kind": "end"}"#);
        assert!(text.contains("unknown variant `end`"), "{text}");
    }
}

//! An entry as JSON, for the store and for hosts in other languages.
//!
//! Every entry has `sequence`, `operation` and `kind`; further fields by kind, those with nothing in them left out:
//!
//! | kind | fields |
//! | --- | --- |
//! | `begin` | `op`; `pending` (`creating`…); `old` `{id}`; `state` (the record as it is to become); `keys`, `diffs`, `detailedDiff` `{path: {kind, inputDiff}}` |
//! | `success` | `op`, `resultOp`; `removed` `[id]`; `marked` `[{id, mark}]`, mark `delete` or `pendingReplacement`; `new` `{id, state}`; `inPlace`; `elided`; `persistedRefresh`; `deletedByRefresh`; `untargeted`; `skippedCreate`, with `state` (what the program asked for and nothing records); `view` (a step on a view) |
//! | `failure` | `op` |
//! | `outputs` | `new` `{id, state}`; `elided` |
//! | `base-written` | `records` `[{id, state}]` |
//! | `base-rebuilt` | `order` `[id]`; `records` (the repaired ones) `[{id, state}]`; `clearPending` |
//!
//! A record's JSON is that of deployments. An old record is named by its identity alone: whoever has read the entries
//! before it, over the base's records 0, 1, 2…, has its content. In stores its `urn` and `resourceId` stand beside that, for a
//! journal whose base is gone.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};

use crate::{
    error::{Error, ErrorKind, Result},
    event::{DiffKind, PropertyDiff},
    property::json::SecretForm,
    resource::{PendingOperationKind, ResourceState},
    state::{
        JournalEntry, JournalRecord, OperationId, StateId, StateMark, StateRef,
        deployment::{RecordJson, StateJson},
    },
    step::StepOp,
    urn::Urn,
};

/// An entry that writes itself as JSON; how secrets stand in it is the form's matter.
#[derive(Clone, Copy)]
pub struct EntryJson<'a> {
    entry: &'a JournalEntry,
    form: SecretForm<'a>,
    identifies: bool,
}

impl<'a> EntryJson<'a> {
    /// Gives `entry` the form in which its secrets are to be written.
    #[must_use]
    pub const fn new(entry: &'a JournalEntry, form: SecretForm<'a>) -> Self {
        Self {
            entry,
            form,
            identifies: false,
        }
    }

    /// Names old records by URN and id, too.
    #[must_use]
    pub const fn identifying(self) -> Self {
        Self {
            identifies: true,
            ..self
        }
    }
}

/// Calls `visit` with each record that the JSON of `entry` holds.
pub(super) fn for_each_state<'a>(entry: &'a JournalEntry, mut visit: impl FnMut(&'a ResourceState)) {
    match &entry.record {
        JournalRecord::Begin { new, .. } => new.iter().for_each(|state| visit(state)),
        JournalRecord::Success {
            new, skipped_create, ..
        } => {
            skipped_create.iter().for_each(|state| visit(state));
            new.iter().for_each(|new| visit(&new.state));
        }
        JournalRecord::Outputs { new, .. } => visit(&new.state),
        JournalRecord::BaseWritten { resources: records }
        | JournalRecord::BaseRebuilt {
            repaired: records, ..
        } => {
            records.iter().for_each(|record| visit(&record.state));
        }
        JournalRecord::Failure { .. } => {}
    }
}

struct RefJson<'a>(&'a StateRef, SecretForm<'a>);

impl Serialize for RefJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("id", &self.0.id)?;
        fields.serialize_entry("state", &RecordJson::new(&self.0.state, self.1))?;
        fields.end()
    }
}

/// An old record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OldJson {
    pub(super) id: StateId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    urn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_id: Option<String>,
}

impl OldJson {
    fn new(old: &StateRef, identifies: bool) -> Self {
        let state = Some(&old.state).filter(|_| identifies);
        Self {
            id: old.id,
            urn: state.map(|state| state.urn.to_string()),
            resource_id: state
                .filter(|state| !state.id.is_empty())
                .map(|state| state.id.to_string()),
        }
    }

    /// Returns a record that has the URN and the id, and nothing else; `None` when they were not written down.
    pub(super) fn identity(&self) -> Option<Arc<ResourceState>> {
        let urn: Urn = self.urn.as_ref()?.parse().ok()?;
        let resource_type = urn.resource_type().into();
        let mut state = ResourceState::new(urn, resource_type, true);
        state.id = self.resource_id.clone().unwrap_or_default().into();
        Some(Arc::new(state))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct MarkJson {
    id: StateId,
    mark: MarkName,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MarkName {
    Delete,
    PendingReplacement,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiffJson {
    kind: DiffKind,
    #[serde(default)]
    input_diff: bool,
}

impl Serialize for EntryJson<'_> {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each kind of entry, each a list of fields"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            entry,
            form,
            identifies,
        } = *self;
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("sequence", &entry.sequence)?;
        fields.serialize_entry("operation", &entry.operation)?;
        macro_rules! put {
            ($name:literal, $value:expr) => {
                fields.serialize_entry($name, $value)?
            };
            ($name:literal, $value:expr, unless $empty:expr) => {
                if !$empty {
                    fields.serialize_entry($name, $value)?;
                }
            };
        }
        match &entry.record {
            JournalRecord::Begin {
                op,
                pending,
                old,
                new,
                keys,
                diffs,
                detailed_diff,
            } => {
                put!("kind", "begin");
                put!("op", op);
                put!("pending", pending, unless pending.is_none());
                if let Some(old) = old {
                    put!("old", &OldJson::new(old, identifies));
                }
                if let Some(new) = new {
                    put!("state", &RecordJson::new(new, form));
                }
                put!("keys", keys, unless keys.is_empty());
                put!("diffs", diffs, unless diffs.is_empty());
                if let Some(detailed) = detailed_diff {
                    let detailed = detailed.iter();
                    let detailed: BTreeMap<_, _> = detailed
                        .map(|(path, diff)| {
                            (
                                path,
                                DiffJson {
                                    kind: diff.kind,
                                    input_diff: diff.input_diff,
                                },
                            )
                        })
                        .collect();
                    put!("detailedDiff", &detailed);
                }
            }
            JournalRecord::Success {
                op,
                result_op,
                removed,
                marked,
                new,
                in_place,
                elided,
                untargeted,
                skipped_create,
                view,
            } => {
                put!("kind", "success");
                put!("op", op);
                put!("resultOp", result_op);
                put!("removed", removed, unless removed.is_empty());
                let marked: Vec<_> = marked
                    .iter()
                    .map(|(id, mark)| MarkJson {
                        id: *id,
                        mark: (*mark).into(),
                    })
                    .collect();
                put!("marked", &marked, unless marked.is_empty());
                if let Some(new) = new {
                    put!("new", &RefJson(new, form));
                }
                put!("inPlace", &true, unless !*in_place);
                put!("elided", &true, unless !*elided);
                put!("persistedRefresh", &true, unless !entry.record.is_persisted_refresh());
                put!("deletedByRefresh", &true, unless !entry.record.is_deleted_by_refresh());
                put!("untargeted", &true, unless !*untargeted);
                if let Some(state) = skipped_create {
                    put!("skippedCreate", &true);
                    put!("state", &RecordJson::new(state, form));
                }
                put!("view", &true, unless !*view);
            }
            JournalRecord::Failure { op } => {
                put!("kind", "failure");
                put!("op", op);
            }
            JournalRecord::Outputs { new, elided } => {
                put!("kind", "outputs");
                put!("new", &RefJson(new, form));
                put!("elided", &true, unless !*elided);
            }
            JournalRecord::BaseWritten { resources } => {
                put!("kind", "base-written");
                let records: Vec<_> = resources.iter().map(|record| RefJson(record, form)).collect();
                put!("records", &records);
            }
            JournalRecord::BaseRebuilt {
                order,
                repaired,
                clear_pending,
            } => {
                put!("kind", "base-rebuilt");
                put!("order", order);
                let records: Vec<_> = repaired.iter().map(|record| RefJson(record, form)).collect();
                put!("records", &records, unless records.is_empty());
                put!("clearPending", &true, unless !*clear_pending);
            }
        }
        fields.end()
    }
}

impl From<StateMark> for MarkName {
    fn from(mark: StateMark) -> Self {
        match mark {
            StateMark::Delete => Self::Delete,
            StateMark::PendingReplacement => Self::PendingReplacement,
        }
    }
}

impl From<MarkName> for StateMark {
    fn from(mark: MarkName) -> Self {
        match mark {
            MarkName::Delete => Self::Delete,
            MarkName::PendingReplacement => Self::PendingReplacement,
        }
    }
}

/// An entry as it was read, its records still in one list so that their secrets can be opened in one batch.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EntryFields {
    pub(super) sequence: u64,
    operation: OperationId,
    kind: Kind,
    op: Option<StepOp>,
    result_op: Option<StepOp>,
    pending: Option<PendingOperationKind>,
    old: Option<OldJson>,
    state: Option<StateJson>,
    keys: Option<Vec<String>>,
    diffs: Option<Vec<String>>,
    detailed_diff: Option<BTreeMap<String, DiffJson>>,
    removed: Option<Vec<StateId>>,
    marked: Option<Vec<MarkJson>>,
    new: Option<RefFields>,
    in_place: Option<bool>,
    elided: Option<bool>,
    /// Follows from other fields.
    persisted_refresh: Option<bool>,
    /// Follows from other fields.
    deleted_by_refresh: Option<bool>,
    untargeted: Option<bool>,
    skipped_create: Option<bool>,
    view: Option<bool>,
    records: Option<Vec<RefFields>>,
    order: Option<Vec<StateId>>,
    clear_pending: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefFields {
    id: StateId,
    state: StateJson,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Begin,
    Success,
    Failure,
    Outputs,
    BaseWritten,
    BaseRebuilt,
}

impl Kind {
    /// Returns the fields that an entry of this kind may have besides those of every entry.
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Begin => &["op", "pending", "old", "state", "keys", "diffs", "detailedDiff"],
            Self::Success => &[
                "op",
                "resultOp",
                "removed",
                "marked",
                "new",
                "inPlace",
                "elided",
                "persistedRefresh",
                "deletedByRefresh",
                "untargeted",
                "skippedCreate",
                "state",
                "view",
            ],
            Self::Failure => &["op"],
            Self::Outputs => &["new", "elided"],
            Self::BaseWritten => &["records"],
            Self::BaseRebuilt => &["order", "records", "clearPending"],
        }
    }
}

impl EntryFields {
    /// Refuses a field that does not belong to the entry's kind.
    pub(super) fn check(&self) -> Result<(), String> {
        let present = [
            ("op", self.op.is_some()),
            ("resultOp", self.result_op.is_some()),
            ("pending", self.pending.is_some()),
            ("old", self.old.is_some()),
            ("state", self.state.is_some()),
            ("keys", self.keys.is_some()),
            ("diffs", self.diffs.is_some()),
            ("detailedDiff", self.detailed_diff.is_some()),
            ("removed", self.removed.is_some()),
            ("marked", self.marked.is_some()),
            ("new", self.new.is_some()),
            ("inPlace", self.in_place.is_some()),
            ("elided", self.elided.is_some()),
            ("persistedRefresh", self.persisted_refresh.is_some()),
            ("deletedByRefresh", self.deleted_by_refresh.is_some()),
            ("untargeted", self.untargeted.is_some()),
            ("skippedCreate", self.skipped_create.is_some()),
            ("view", self.view.is_some()),
            ("records", self.records.is_some()),
            ("order", self.order.is_some()),
            ("clearPending", self.clear_pending.is_some()),
        ];
        let allowed = self.kind.fields();
        let foreign = present
            .iter()
            .find(|(name, is_present)| *is_present && !allowed.contains(name));
        match foreign {
            Some((name, _)) => Err(format!(
                "an entry of the kind {:?} has no field {name:?}",
                self.kind
            )),
            None => Ok(()),
        }
    }

    /// Moves the records that the entry holds to `states`; [`Self::into_entry`] takes them back in the same order.
    pub(super) fn take_states(&mut self, states: &mut Vec<Arc<ResourceState>>) {
        let new = self.new.as_mut().map(|new| &mut new.state);
        let records = self.records.iter_mut().flatten();
        let records = records.map(|record| &mut record.state);
        for state in self.state.as_mut().into_iter().chain(new).chain(records) {
            let placeholder = ResourceState::new(state.0.urn.clone(), state.0.resource_type.clone(), false);
            states.push(Arc::new(std::mem::replace(&mut state.0, placeholder)));
        }
    }

    /// Makes the entry; `states` gives the records back, `old` knows the records of earlier entries.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each kind of entry, each a list of fields"
    )]
    pub(super) fn into_entry(
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
        let op = || self.op.ok_or_else(|| lacks("op"));
        let mut next = || states.next().ok_or_else(|| lacks("record"));
        let state = self.state.is_some().then(&mut next).transpose()?;
        let new = self
            .new
            .map(|new| {
                Ok::<_, Error>(StateRef {
                    id: new.id,
                    state: next()?,
                })
            })
            .transpose()?;
        let records = self.records.into_iter().flatten().map(|record| {
            Ok(StateRef {
                id: record.id,
                state: next()?,
            })
        });
        let records = records.collect::<Result<Vec<_>>>()?;
        let record = match self.kind {
            Kind::Begin => JournalRecord::Begin {
                op: op()?,
                pending: self.pending,
                old: match self.old {
                    Some(named) => Some(StateRef {
                        id: named.id,
                        state: old(&named).ok_or_else(|| lacks("such old record"))?,
                    }),
                    None => None,
                },
                new: state,
                keys: self.keys.unwrap_or_default(),
                diffs: self.diffs.unwrap_or_default(),
                detailed_diff: self.detailed_diff.map(|diffs| {
                    let diffs = diffs.into_iter();
                    diffs
                        .map(|(path, diff)| {
                            (
                                path,
                                PropertyDiff {
                                    kind: diff.kind,
                                    input_diff: diff.input_diff,
                                },
                            )
                        })
                        .collect()
                }),
            },
            Kind::Success => JournalRecord::Success {
                op: op()?,
                result_op: self.result_op.map_or_else(op, Ok)?,
                removed: self.removed.unwrap_or_default(),
                marked: self
                    .marked
                    .into_iter()
                    .flatten()
                    .map(|marked| (marked.id, marked.mark.into()))
                    .collect(),
                new,
                in_place: self.in_place.unwrap_or_default(),
                elided: self.elided.unwrap_or_default(),
                untargeted: self.untargeted.unwrap_or_default(),
                skipped_create: state.filter(|_| self.skipped_create.unwrap_or_default()),
                view: self.view.unwrap_or_default(),
            },
            Kind::Failure => JournalRecord::Failure { op: op()? },
            Kind::Outputs => JournalRecord::Outputs {
                new: new.ok_or_else(|| lacks("record"))?,
                elided: self.elided.unwrap_or_default(),
            },
            Kind::BaseWritten => JournalRecord::BaseWritten { resources: records },
            Kind::BaseRebuilt => JournalRecord::BaseRebuilt {
                order: self.order.unwrap_or_default(),
                repaired: records,
                clear_pending: self.clear_pending.unwrap_or_default(),
            },
        };
        Ok(JournalEntry {
            sequence,
            operation: self.operation,
            record,
        })
    }
}

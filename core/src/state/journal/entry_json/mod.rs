//! An entry as JSON, for the store and for hosts in other languages.
//!
//! Every entry has `sequence`, `operation` and `kind`, and further fields by kind; empty ones are left out:
//!
//! | kind | fields |
//! | --- | --- |
//! | `begin` | `op`; `pending` (`creating`…); `old` `{id}`; `state` (the record as it is to become); `keys`, `diffs`, `detailedDiff` `{path: {kind, inputDiff}}` |
//! | `success` | `op`, `resultOp`; `removed` `[id]`; `marked` `[{id, mark}]`, mark `delete` or `pendingReplacement`; `new` `{id, state}`; `inPlace`; `elided`; `persistedRefresh`; `deletedByRefresh`; `untargeted`; `skippedCreate`, with `state` (what the program asked for and nothing records); `view` (a step on a view) |
//! | `failure` | `op` |
//! | `outputs` | `new` `{id, state}`; `elided` |
//! | `base-written` | `records` `[{id, state}]`; `pendingOperations` `[{kind, state}]`, kind `creating`…: the new list of pending operations, of an edit |
//! | `base-rebuilt` | `order` `[id]`; `records` (the repaired ones) `[{id, state}]`; `clearPending` |
//! | `extension` | `extensionRef`, by which later records name it; `extension` `{name, version, value}`, the value in base64 |
//!
//! A record's JSON is that of deployments. An old record is named by its identity alone: the base's records 0, 1, 2…
//! and the entries before it have its content. In stores its `urn` and `resourceId` are added, for a journal whose base
//! is lost.

mod read;
mod write;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    event::DiffKind,
    property::json::SecretForm,
    resource::{ExtensionJson, PendingOperationKind, ResourceState},
    state::{JournalEntry, JournalRecord, OperationId, StateId, StateMark, StateRef, deployment::RecordJson},
    step::StepOp,
    urn::Urn,
};

pub(in crate::state::journal) use read::EntryFields;
pub use write::EntryJson;

/// Calls `visit` with each record in the JSON of `entry`.
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
        JournalRecord::BaseWritten { resources, pending } => {
            resources.iter().for_each(|record| visit(&record.state));
            pending
                .iter()
                .flatten()
                .for_each(|pending| visit(&pending.resource));
        }
        JournalRecord::BaseRebuilt { repaired, .. } => {
            repaired.iter().for_each(|record| visit(&record.state));
        }
        JournalRecord::Failure { .. } | JournalRecord::ExtensionAdded { .. } => {}
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

    /// Returns a record of the URN and the id alone; `None` when they were not written.
    pub(super) fn identity(&self) -> Option<Arc<ResourceState>> {
        let urn: Urn = self.urn.as_ref()?.parse().ok()?;
        let resource_type = urn.resource_type().into();
        let mut state = ResourceState::new(urn, resource_type, true);
        state.id = self.resource_id.clone().unwrap_or_default().into();
        Some(Arc::new(state))
    }
}

/// A record with its identity. `R` is its JSON form, for writing or as read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefJson<R> {
    id: StateId,
    state: R,
}

impl<'a> RefJson<RecordJson<'a>> {
    fn new(named: &'a StateRef, form: SecretForm<'a>) -> Self {
        Self {
            id: named.id,
            state: RecordJson::new(&named.state, form),
        }
    }
}

/// A pending operation. `R` is the JSON form of its resource, as in [`RefJson`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingJson<R> {
    kind: PendingOperationKind,
    state: R,
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

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Begin,
    Success,
    Failure,
    Outputs,
    BaseWritten,
    BaseRebuilt,
    Extension,
}

/// The members that identify an entry and its kind; the others are ignored.
#[derive(Deserialize)]
struct Head {
    sequence: u64,
    kind: Kind,
}

/// Defines the JSON of one kind of entry. Any other member is refused.
macro_rules! entries {
    ($($name:ident<$record:ident> {$($(#[$attribute:meta])* $member:ident: $type:ty,)*})*) => {$(
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(super) struct $name<$record> {
            sequence: u64,
            operation: OperationId,
            kind: Kind,
            $($(#[$attribute])* $member: $type,)*
        }
    )*};
}

entries! {
    BeginJson<R> {
        op: StepOp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending: Option<PendingOperationKind>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old: Option<OldJson>,
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        state: Option<R>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diffs: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detailed_diff: Option<BTreeMap<String, DiffJson>>,
    }
    SuccessJson<R> {
        op: StepOp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_op: Option<StepOp>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<StateId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marked: Vec<MarkJson>,
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        new: Option<RefJson<R>>,
        #[serde(default, skip_serializing_if = "is_false")]
        in_place: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        elided: bool,
        /// Follows from other members.
        #[serde(default, skip_serializing_if = "is_false")]
        persisted_refresh: bool,
        /// Follows from other members.
        #[serde(default, skip_serializing_if = "is_false")]
        deleted_by_refresh: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        untargeted: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        skipped_create: bool,
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        state: Option<R>,
        #[serde(default, skip_serializing_if = "is_false")]
        view: bool,
    }
    OutputsJson<R> {
        new: RefJson<R>,
        #[serde(default, skip_serializing_if = "is_false")]
        elided: bool,
    }
    BaseWrittenJson<R> {
        records: Vec<RefJson<R>>,
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        pending_operations: Option<Vec<PendingJson<R>>>,
    }
    BaseRebuiltJson<R> {
        order: Vec<StateId>,
        #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
        records: Vec<RefJson<R>>,
        #[serde(default, skip_serializing_if = "is_false")]
        clear_pending: bool,
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureJson {
    sequence: u64,
    operation: OperationId,
    kind: Kind,
    op: StepOp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExtensionAddedJson {
    sequence: u64,
    operation: OperationId,
    kind: Kind,
    extension_ref: String,
    extension: ExtensionJson,
}

/// A default for members of types without `Default`.
const fn none<T>() -> Option<T> {
    None
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
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

//! The documents of listed stacks.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::store::{LastUpdate, LockHolder, StackSummary};

/// The last operation on a stack.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LastUpdate")]
pub(super) struct UpdateDocument<'a> {
    /// The kind: `update`, `refresh`, `destroy`, `import`, `resource-import`…
    kind: &'a str,
    /// The result: `succeeded`, `failed` or `in-progress`.
    result: &'a str,
    /// The note of the user.
    message: &'a str,
    /// When it began, to the second, in the form of RFC 3339.
    started: String,
    /// When it ended, likewise.
    ended: String,
}

/// The holder of a stack's lock. Members that its lock file does not state are null.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LockHolder")]
pub(super) struct LockDocument<'a> {
    /// The operation that runs: `update` for instance. Only locks of this engine state it.
    operation: Option<&'a str>,
    /// The user.
    user: Option<&'a str>,
    /// The host.
    host: Option<&'a str>,
    /// The number of the process on that host.
    process: Option<u32>,
    /// When the lock was taken, in the form of RFC 3339.
    since: Option<String>,
    /// Whether the process is known to run. It is not known for those of other hosts and of other programs.
    is_running: bool,
}

/// A stack of a store, as it is listed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StackSummary")]
pub(super) struct SummaryDocument<'a> {
    /// The name, as `project/stack`.
    name: String,
    /// The newest operation in the history, of any kind; null when there is none.
    last_update: Option<UpdateDocument<'a>>,
    /// When the checkpoint was last written, also by an operation that still runs, in the form of RFC 3339.
    modified: String,
    /// The holder of the lock; null when there is no lock, or the next operation replaces it because its process has ended.
    lock: Option<LockDocument<'a>>,
    /// The number of records in the checkpoint, with the stack itself, providers and old copies; null when the count was not
    /// requested, or the checkpoint cannot be read.
    resource_count: Option<usize>,
    /// What cannot be read of the stack: each names the file and the reason.
    problems: &'a [String],
}

impl<'a> From<&'a LastUpdate> for UpdateDocument<'a> {
    fn from(update: &'a LastUpdate) -> Self {
        Self {
            kind: &update.kind,
            result: &update.result,
            message: &update.message,
            started: update.started.to_string(),
            ended: update.ended.to_string(),
        }
    }
}

impl<'a> From<&'a LockHolder> for LockDocument<'a> {
    fn from(lock: &'a LockHolder) -> Self {
        Self {
            operation: lock.operation.as_deref(),
            user: lock.user.as_deref(),
            host: lock.host.as_deref(),
            process: lock.process,
            since: lock.since.map(|time| time.to_string()),
            is_running: lock.is_running,
        }
    }
}

/// Writes listed stacks as a JSON array.
#[must_use]
pub fn stacks_document(stacks: &[StackSummary]) -> Value {
    let documents = stacks.iter().map(|stack| SummaryDocument {
        name: stack.name.to_string(),
        last_update: stack.last_update.as_ref().map(UpdateDocument::from),
        modified: stack.modified.to_string(),
        lock: stack.lock.as_ref().map(LockDocument::from),
        resource_count: stack.resource_count,
        problems: &stack.problems,
    });
    serde_json::to_value(documents.collect::<Vec<_>>()).unwrap_or_default()
}

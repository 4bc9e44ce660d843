//! The document of what an engine has counted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::metrics::{CallMetrics, Metrics, OperationMetrics, PluginProcessMetrics};

/// The operations of one verb.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OperationMetrics")]
pub(super) struct OperationMetricsDocument<'a> {
    /// The verb: `update`, `refresh`, `destroy`, `import` or `adopt`.
    verb: &'a str,
    /// Whether these are previews.
    is_preview: bool,
    /// How many run.
    running: u64,
    /// How many have succeeded.
    succeeded: u64,
    /// How many have failed.
    failed: u64,
    /// How many were cancelled.
    canceled: u64,
}

/// The calls of the providers of one package.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CallMetrics")]
pub(super) struct CallMetricsDocument {
    /// How many have begun.
    total: u64,
    /// How many have not ended.
    in_flight: u64,
    /// How many have returned an error.
    failed: u64,
}

/// A plugin process that runs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PluginProcessMetrics")]
pub(super) struct PluginProcessMetricsDocument<'a> {
    /// The number of the process.
    pid: u32,
    /// The name of the plugin, which for providers is that of the package.
    name: &'a str,
    /// The kind of the plugin: `resource`, `language` or `analyzer`.
    kind: &'a str,
    /// The resident memory in bytes; null where the system does not state it.
    resident_memory: Option<u64>,
}

/// What was written to the journals of operations.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "JournalMetrics")]
pub(super) struct JournalMetricsDocument {
    /// The number of entries.
    entries: u64,
    /// The number of bytes, as they were given to the store.
    bytes: u64,
}

/// The calls of the store.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StoreMetrics")]
pub(super) struct StoreMetricsDocument<'a> {
    /// How many have begun, by method: `get`, `put`, `append`, `list`, `delete`, `copy` and `lock`.
    calls: BTreeMap<&'a str, u64>,
    /// How many have returned an error, conflicts included.
    failed: u64,
}

/// The locks of stacks.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LockMetrics")]
pub(super) struct LockMetricsDocument {
    /// How many were taken.
    taken: u64,
    /// How many are waited for now.
    waiting: u64,
    /// How many were waited for, those that are waited for now included.
    waits: u64,
    /// How long the waits have taken that have ended, in seconds.
    waited: f64,
}

/// What an engine has counted since it was made, and what runs now: names and numbers, and no value of a resource, of a configuration
/// or of a secret.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Metrics")]
pub(super) struct MetricsDocument<'a> {
    /// The operations of each verb that has begun, sorted by verb, previews last.
    operations: Vec<OperationMetricsDocument<'a>>,
    /// The calls of providers by package.
    provider_calls: BTreeMap<&'a str, CallMetricsDocument>,
    /// The plugin processes that run, sorted by process number.
    plugins: Vec<PluginProcessMetricsDocument<'a>>,
    /// How many plugin processes have been started.
    plugins_started: u64,
    /// What was written to journals.
    journal: JournalMetricsDocument,
    /// The calls of the store.
    store: StoreMetricsDocument<'a>,
    /// The locks of stacks.
    locks: LockMetricsDocument,
}

impl<'a> From<&'a OperationMetrics> for OperationMetricsDocument<'a> {
    fn from(counts: &'a OperationMetrics) -> Self {
        Self {
            verb: counts.verb,
            is_preview: counts.is_preview,
            running: counts.running,
            succeeded: counts.succeeded,
            failed: counts.failed,
            canceled: counts.canceled,
        }
    }
}

impl From<&CallMetrics> for CallMetricsDocument {
    fn from(counts: &CallMetrics) -> Self {
        Self {
            total: counts.total,
            in_flight: counts.in_flight,
            failed: counts.failed,
        }
    }
}

impl<'a> From<&'a PluginProcessMetrics> for PluginProcessMetricsDocument<'a> {
    fn from(process: &'a PluginProcessMetrics) -> Self {
        Self {
            pid: process.pid,
            name: &process.name,
            kind: &process.kind,
            resident_memory: process.resident_memory,
        }
    }
}

/// Writes what an engine has counted as a JSON object.
#[must_use]
pub fn metrics_document(metrics: &Metrics) -> Value {
    let calls = metrics.provider_calls.iter();
    let document = MetricsDocument {
        operations: metrics.operations.iter().map(Into::into).collect(),
        provider_calls: calls
            .map(|(package, calls)| (package.as_str(), calls.into()))
            .collect(),
        plugins: metrics.plugins.iter().map(Into::into).collect(),
        plugins_started: metrics.plugins_started,
        journal: JournalMetricsDocument {
            entries: metrics.journal.entries,
            bytes: metrics.journal.bytes,
        },
        store: StoreMetricsDocument {
            calls: metrics.store.calls.clone(),
            failed: metrics.store.failed,
        },
        locks: LockMetricsDocument {
            taken: metrics.locks.taken,
            waiting: metrics.locks.waiting,
            waits: metrics.locks.waits,
            waited: metrics.locks.waited.as_secs_f64(),
        },
    };
    serde_json::to_value(document).unwrap_or_default()
}

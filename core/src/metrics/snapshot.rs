//! The snapshot of what an engine has counted.

use std::{collections::BTreeMap, time::Duration};

/// What an engine has counted since it was built, and what runs now. [`crate::Engine::metrics`] returns it.
///
/// Names and numbers only: it contains no value of a resource, of a configuration or of a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The operations of each verb, sorted by verb, previews last. Verbs that have not begun are missing.
    pub operations: Vec<OperationMetrics>,
    /// The calls of providers by package. Packages that have not been called are missing.
    pub provider_calls: BTreeMap<String, CallMetrics>,
    /// The plugin processes that run, sorted by process number.
    pub plugins: Vec<PluginProcessMetrics>,
    /// How many plugin processes have been started.
    pub plugins_started: u64,
    /// What was written to journals.
    pub journal: JournalMetrics,
    /// The calls of the store.
    pub store: StoreMetrics,
    /// The locks of stacks.
    pub locks: LockMetrics,
}

/// The operations of one verb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationMetrics {
    /// The verb: `update`, `refresh`, `destroy`, `import` or `adopt`.
    pub verb: &'static str,
    /// Whether these are previews.
    pub is_preview: bool,
    /// How many run.
    pub running: u64,
    /// How many have succeeded.
    pub succeeded: u64,
    /// How many have failed.
    pub failed: u64,
    /// How many were cancelled.
    pub canceled: u64,
}

/// The calls of the providers of one package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallMetrics {
    /// How many have begun.
    pub total: u64,
    /// How many have not ended.
    pub in_flight: u64,
    /// How many have returned an error.
    pub failed: u64,
}

/// A plugin process that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginProcessMetrics {
    /// The number of the process.
    pub pid: u32,
    /// The name of the plugin, which for providers is that of the package.
    pub name: String,
    /// The kind of the plugin: `resource`, `language` or `analyzer`.
    pub kind: String,
    /// The resident memory in bytes; `None` where the system does not state it.
    pub resident_memory: Option<u64>,
}

/// What was written to the journals of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalMetrics {
    /// The number of entries.
    pub entries: u64,
    /// The number of bytes, as they were given to the store.
    pub bytes: u64,
}

/// The calls of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreMetrics {
    /// How many have begun, by method: `get`, `put`, `append`, `list`, `delete`, `copy` and `lock`.
    pub calls: BTreeMap<&'static str, u64>,
    /// How many have returned an error, conflicts included.
    pub failed: u64,
}

/// The locks of stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockMetrics {
    /// How many were taken.
    pub taken: u64,
    /// How many are waited for now.
    pub waiting: u64,
    /// How many were waited for, those that are waited for now included.
    pub waits: u64,
    /// How long the waits have taken that have ended.
    pub waited: Duration,
}

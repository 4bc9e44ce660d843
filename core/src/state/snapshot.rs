//! The snapshot: all that is recorded of a stack.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    resource::{PendingOperation, ResourceState},
    runtime::Timestamp,
    secrets::SecretsManager,
};

/// Who wrote a snapshot, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// When it was written.
    pub time: Option<Timestamp>,
    /// The writer's version; the format's magic is derived from it.
    pub version: String,
    /// Plugins that older engines recorded; kept as they are.
    pub plugins: Vec<serde_json::Value>,
}

/// All that is recorded of a stack. Records stand after all that they depend on.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// Who wrote it, and when.
    pub manifest: Manifest,
    /// What encrypts its secrets; `None` when it never held one.
    pub secrets: Option<Arc<dyn SecretsManager>>,
    /// The records.
    pub resources: Vec<Arc<ResourceState>>,
    /// What had begun when it was written.
    pub pending_operations: Vec<PendingOperation>,
    /// The format's own notes; kept as they are.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Parts of the format that this engine keeps, but does not interpret (snippets, extensions).
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Snapshot")
            .field("manifest", &self.manifest)
            .field("resources", &self.resources)
            .field("pending_operations", &self.pending_operations)
            .finish_non_exhaustive()
    }
}

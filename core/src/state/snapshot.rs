//! The snapshot: the recorded state of a stack.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    property::PropertyMap,
    resource::{PendingOperation, ResourceState},
    runtime::Timestamp,
    secrets::SecretsManager,
    urn::Urn,
};

/// The writer of a snapshot, and the time of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// The time of writing.
    pub time: Option<Timestamp>,
    /// The writer's version; the format's magic is derived from it.
    pub version: String,
    /// Plugins that older engines recorded; kept unchanged.
    pub plugins: Vec<serde_json::Value>,
}

/// The recorded state of a stack. Records stand after all records that they depend on.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// The writer, and the time of writing.
    pub manifest: Manifest,
    /// The manager that encrypts its secrets; `None` when it never had one.
    pub secrets: Option<Arc<dyn SecretsManager>>,
    /// The records.
    pub resources: Vec<Arc<ResourceState>>,
    /// The operations that were in progress when it was written.
    pub pending_operations: Vec<PendingOperation>,
    /// The format's metadata; kept unchanged.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Members of the format that have no field here: `snippets` and unknown ones, which are kept unchanged, and
    /// `extensions`, the extensions of providers by the references in records. A snapshot that an operation writes has
    /// those alone that its records refer to.
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl Snapshot {
    /// Returns the record of the root stack. It may have any name; among several, the one with the default name is
    /// used.
    #[must_use]
    pub fn root_stack(&self) -> Option<&Arc<ResourceState>> {
        root_stack_of(&self.resources)
    }

    /// Returns the stack's outputs.
    #[must_use]
    pub fn stack_outputs(&self) -> PropertyMap {
        self.root_stack()
            .map(|state| state.outputs.clone())
            .unwrap_or_default()
    }
}

/// Finds the root stack among records: the one with the usual URN where there are several.
pub(crate) fn root_stack_of(records: &[Arc<ResourceState>]) -> Option<&Arc<ResourceState>> {
    let roots = || {
        let live = records.iter().filter(|state| !state.delete);
        live.filter(|state| state.urn.is_root_stack())
    };
    let is_usual = |urn: &Urn| *urn == Urn::root_stack(urn.stack(), urn.project());
    roots()
        .find(|state| is_usual(&state.urn))
        .or_else(|| roots().next())
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

//! Features: the extensions of version 3 that a deployment uses. A reader that lacks one refuses the deployment.

use std::collections::BTreeSet;

use crate::{
    error::{Error, ErrorKind, Result},
    property::{PropertyMap, PropertyValue},
    resource::ResourceState,
    state::Snapshot,
};

/// The features that this engine can read.
pub(super) const KNOWN: [&str; 8] = [
    "byteString",
    "extensionParameterization",
    "hooks",
    "refreshBeforeUpdate",
    "replaceWith",
    "snippets-prototype",
    "taint",
    "views",
];

/// Returns the features that a snapshot uses, sorted; a snapshot that uses any is of version 4.
#[must_use]
pub(super) fn features(snapshot: &Snapshot) -> BTreeSet<&'static str> {
    let mut features = BTreeSet::new();
    let pending = snapshot
        .pending_operations
        .iter()
        .map(|pending| &pending.resource);
    for record in snapshot.resources.iter().chain(pending) {
        add_features(record, &mut features);
    }
    let snippets = snapshot
        .extra
        .get("snippets")
        .and_then(serde_json::Value::as_array);
    if snippets.is_some_and(|snippets| !snippets.is_empty()) {
        features.insert("snippets-prototype");
    }
    features
}

fn add_features(record: &ResourceState, features: &mut BTreeSet<&'static str>) {
    let used = [
        ("refreshBeforeUpdate", record.refresh_before_update),
        ("views", record.view_of.is_some()),
        ("hooks", !record.options.resource_hooks.is_empty()),
        ("taint", record.taint),
        ("replaceWith", !record.options.replace_with.is_empty()),
        ("snippets-prototype", !record.snippet_id.is_empty()),
        ("extensionParameterization", !record.extension_ref.is_empty()),
    ];
    features.extend(used.iter().filter(|(_, used)| *used).map(|(name, _)| *name));
    if !features.contains("byteString") && holds_bytes(&record.inputs) | holds_bytes(&record.outputs) {
        features.insert("byteString");
    }
}

fn holds_bytes(map: &PropertyMap) -> bool {
    map.values()
        .any(|value| value.any(&mut |value| matches!(value, PropertyValue::Bytes(_))))
}

/// Refuses features that this engine does not know.
pub(super) fn check(features: &[String]) -> Result<()> {
    let unknown: Vec<_> = features
        .iter()
        .map(String::as_str)
        .filter(|feature| !KNOWN.contains(feature))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown = unknown.join(", ");
    let message = format!("this stack's deployment needs support for the following features: {unknown}");
    Err(Error::new(ErrorKind::State, message))
}

//! The documents of pending operations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{
    outputs::{OutputDocument, documents},
    records::with_values,
};
use crate::{
    error::Result,
    property::{PropertyValue, json::to_vec},
    resource::{PendingOperation, PendingOperationKind},
    state::PendingEntry,
};

/// A change that an interrupted operation has begun, and whose outcome is not known.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PendingOperation")]
pub(super) struct PendingDocument<'a> {
    /// The id by which the pending operation is adopted, read or forgotten. It stays the same while others come and go; where
    /// several are equal in kind, URN and id of the resource, they have new ids once one of them is gone.
    id: &'a str,
    /// The kind of the change.
    kind: PendingOperationKind,
    /// The URN of the resource.
    urn: &'a str,
    /// The type of the resource.
    #[serde(rename = "type")]
    resource_type: &'a str,
    /// The name of the resource.
    name: &'a str,
    /// The id of the resource; empty when it is not known, as for most creations.
    resource_id: &'a str,
    /// The inputs of the resource by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-python" = "Mapping[str, OutputValue[PropertyValue]]",
        "x-typescript" = "{ readonly [name: string]: OutputValue }"
    ))]
    inputs: Option<BTreeMap<String, OutputDocument>>,
    /// Whether the process that holds the stack's lock may be executing it.
    in_progress: bool,
}

/// A pending operation that an operation dropped from the state without resolving it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DroppedOperation")]
pub(super) struct DroppedDocument<'a> {
    /// The kind of the change.
    kind: PendingOperationKind,
    /// The URN of the resource.
    urn: &'a str,
    /// The type of the resource.
    #[serde(rename = "type")]
    resource_type: &'a str,
    /// The name of the resource.
    name: &'a str,
    /// The id of the resource; empty when it is not known.
    resource_id: &'a str,
}

impl<'a> PendingDocument<'a> {
    /// Returns the document of an entry without its inputs.
    fn of(entry: &'a PendingEntry) -> Self {
        let resource = &entry.operation.resource;
        Self {
            id: &entry.id,
            kind: entry.operation.kind,
            urn: resource.urn.as_str(),
            resource_type: resource.resource_type.as_str(),
            name: resource.urn.name(),
            resource_id: resource.id.as_str(),
            inputs: None,
            in_progress: entry.in_progress,
        }
    }

    fn with_inputs(entry: &'a PendingEntry, show_secrets: bool) -> Self {
        Self {
            inputs: Some(documents(&entry.operation.resource.inputs, show_secrets)),
            ..Self::of(entry)
        }
    }
}

impl<'a> From<&'a PendingOperation> for DroppedDocument<'a> {
    fn from(pending: &'a PendingOperation) -> Self {
        let resource = &pending.resource;
        Self {
            kind: pending.kind,
            urn: resource.urn.as_str(),
            resource_type: resource.resource_type.as_str(),
            name: resource.urn.name(),
            resource_id: resource.id.as_str(),
        }
    }
}

/// Writes a pending operation as JSON, without its inputs, which bindings hand out as values of their language.
#[must_use]
pub fn pending_facts(entry: &PendingEntry) -> Value {
    serde_json::to_value(PendingDocument::of(entry)).unwrap_or_default()
}

/// Returns a pending operation as a value with the members of its document; inputs are those of [`super::output_values`].
///
/// # Errors
/// Those of [`super::record_value`].
pub fn pending_value(entry: &PendingEntry) -> Result<PropertyValue> {
    with_values(
        pending_facts(entry),
        [("inputs", &entry.operation.resource.inputs)],
    )
}

/// Writes a pending operation as JSON. Secret values are `[secret]` unless they are to be shown.
///
/// # Errors
/// [`crate::ErrorKind::State`] for values that nest deeper than [`crate::property::MAX_DEPTH`].
pub fn pending_entry_document(entry: &PendingEntry, show_secrets: bool) -> Result<Vec<u8>> {
    to_vec(&PendingDocument::with_inputs(entry, show_secrets))
}

/// Writes pending operations as a JSON array, as [`pending_entry_document`] does.
///
/// # Errors
/// Those of [`pending_entry_document`].
pub fn pending_document(entries: &[PendingEntry], show_secrets: bool) -> Result<Vec<u8>> {
    let documents = entries
        .iter()
        .map(|entry| PendingDocument::with_inputs(entry, show_secrets));
    to_vec(&documents.collect::<Vec<_>>())
}

/// Writes the dropped pending operations of a result as JSON, one document each.
#[must_use]
pub fn dropped_document(pending: &PendingOperation) -> Value {
    serde_json::to_value(DroppedDocument::from(pending)).unwrap_or_default()
}

//! The documents of recorded resources, and of the references between them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::outputs::{OutputDocument, documents, output_values};
use crate::{
    error::{Error, Result},
    property::{
        PropertyMap, PropertyValue,
        json::{PlainValue, to_vec},
    },
    resource::ResourceState,
    state::{ReferenceKind, ResourceGraph},
};

/// A recorded resource.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ResourceRecord")]
pub(super) struct RecordDocument<'a> {
    /// The URN. Only an old copy that waits for its deletion shares it with another record.
    urn: &'a str,
    /// The type.
    #[serde(rename = "type")]
    resource_type: &'a str,
    /// The name.
    name: &'a str,
    /// The id that its provider gave it; empty for components, and for the stack itself.
    id: &'a str,
    /// Whether a provider manages it; components and the stack itself are not custom.
    custom: bool,
    /// The inputs by name, as its provider checked them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-python" = "Mapping[str, OutputValue[PropertyValue]]",
        "x-typescript" = "{ readonly [name: string]: OutputValue }"
    ))]
    inputs: Option<BTreeMap<String, OutputDocument>>,
    /// The outputs by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-python" = "Mapping[str, OutputValue[PropertyValue]]",
        "x-typescript" = "{ readonly [name: string]: OutputValue }"
    ))]
    outputs: Option<BTreeMap<String, OutputDocument>>,
    /// The URN of its parent.
    parent: Option<&'a str>,
    /// The URNs of the resources that it depends on as a whole.
    dependencies: Vec<&'a str>,
    /// The URNs of the resources that its inputs depend on, by the names of the inputs.
    property_dependencies: BTreeMap<&'a str, Vec<&'a str>>,
    /// The reference of its provider, `urn::id`; empty for components and providers.
    provider: &'a str,
    /// The URN of the resource whose deletion makes its own unnecessary.
    deleted_with: Option<&'a str>,
    /// The URNs of the resources with which it is replaced.
    replace_with: Vec<&'a str>,
    /// The URN of the resource that it is a view of.
    view_of: Option<&'a str>,
    /// Whether its deletion is refused.
    protect: bool,
    /// Whether the next update replaces it.
    taint: bool,
    /// Whether it is only read, and managed elsewhere.
    external: bool,
    /// Whether it is an old copy that waits for its deletion.
    delete: bool,
    /// Whether it was deleted for a replacement that has not been created yet.
    pending_replacement: bool,
    /// Whether its deletion keeps the real resource.
    retain_on_delete: bool,
    /// What has failed in its initialization; empty when it succeeded.
    init_errors: &'a [String],
    /// The names of outputs that are secret by its options.
    additional_secret_outputs: &'a [String],
    /// The paths of inputs whose changes are ignored.
    ignore_changes: &'a [String],
    /// The id that its program imported it by; empty when it was not.
    import_id: &'a str,
    /// When it was created, in the form of RFC 3339.
    created: Option<String>,
    /// When it was last changed, likewise.
    modified: Option<String>,
    /// Where its program registered it, as `file:///…#line,column`.
    source_position: Option<&'a str>,
}

/// A resource in a graph.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GraphNode")]
pub(super) struct NodeDocument<'a> {
    /// The URN.
    urn: &'a str,
    /// The type.
    #[serde(rename = "type")]
    resource_type: &'a str,
    /// The name.
    name: &'a str,
    /// The id that its provider gave it; empty for components.
    id: &'a str,
    /// Whether it is an old copy that waits for its deletion. It can have the URN of another node.
    delete: bool,
}

/// A reference from one resource to another.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GraphEdge")]
pub(super) struct EdgeDocument<'a> {
    /// The position of the resource that refers, among the nodes.
    source: usize,
    /// The position of the resource that it refers to, which is lower.
    target: usize,
    /// The kind of the reference.
    kind: ReferenceKind,
    /// The name of the input that depends on the other resource, for the kind `property`.
    property: Option<&'a str>,
}

/// The recorded resources of a stack, and the references between them.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ResourceGraph")]
pub(super) struct GraphDocument<'a> {
    /// The resources: each stands after all that it refers to.
    nodes: Vec<NodeDocument<'a>>,
    /// The references, in the order of the resources that refer.
    edges: Vec<EdgeDocument<'a>>,
}

impl<'a> RecordDocument<'a> {
    /// Returns the document of a record without its inputs and outputs.
    fn of(record: &'a ResourceState) -> Self {
        let urns = |urns: &'a [crate::urn::Urn]| urns.iter().map(|urn| urn.as_str()).collect();
        let options = &record.options;
        Self {
            urn: record.urn.as_str(),
            resource_type: record.resource_type.as_str(),
            name: record.urn.name(),
            id: record.id.as_str(),
            custom: record.custom,
            inputs: None,
            outputs: None,
            parent: record.parent.as_ref().map(|urn| urn.as_str()),
            dependencies: urns(&record.dependencies),
            property_dependencies: record
                .property_dependencies
                .iter()
                .map(|(name, list)| (name.as_str(), urns(list)))
                .collect(),
            provider: record.provider.as_str(),
            deleted_with: options.deleted_with.as_ref().map(|urn| urn.as_str()),
            replace_with: urns(&options.replace_with),
            view_of: record.view_of.as_ref().map(|urn| urn.as_str()),
            protect: record.protect,
            taint: record.taint,
            external: record.external,
            delete: record.delete,
            pending_replacement: record.pending_replacement,
            retain_on_delete: record.retain_on_delete,
            init_errors: &record.init_errors,
            additional_secret_outputs: &options.additional_secret_outputs,
            ignore_changes: &options.ignore_changes,
            import_id: options.import_id.as_str(),
            created: record.created.map(|time| time.to_string()),
            modified: record.modified.map(|time| time.to_string()),
            source_position: record.source_position.as_deref(),
        }
    }

    fn with_values(record: &'a ResourceState, show_secrets: bool) -> Self {
        Self {
            inputs: Some(documents(&record.inputs, show_secrets)),
            outputs: Some(documents(&record.outputs, show_secrets)),
            ..Self::of(record)
        }
    }
}

/// Writes a record as JSON, without its inputs and outputs, which bindings hand out as values of their language.
#[must_use]
pub fn record_facts(record: &ResourceState) -> Value {
    serde_json::to_value(RecordDocument::of(record)).unwrap_or_default()
}

/// Returns a record as a value with the members of its document; inputs and outputs are those of [`output_values`].
///
/// # Errors
/// [`crate::ErrorKind::Internal`] when the document is no JSON.
pub fn record_value(record: &ResourceState) -> Result<PropertyValue> {
    with_values(
        record_facts(record),
        [("inputs", &record.inputs), ("outputs", &record.outputs)],
    )
}

/// Adds values to the members of a document.
pub(super) fn with_values<const N: usize>(
    facts: Value,
    values: [(&str, &PropertyMap); N],
) -> Result<PropertyValue> {
    let facts: PlainValue = serde_json::from_value(facts)
        .map_err(|error| Error::internal(format!("a document is no value: {error}")))?;
    let PropertyValue::Object(facts) = facts.0 else {
        return Err(Error::internal("a document is no object"));
    };
    let members = facts.iter().map(|(name, value)| (name.clone(), value.clone()));
    let values = values.into_iter().map(|(name, values)| {
        let values = PropertyValue::from(output_values(values));
        (name.into(), values)
    });
    Ok(members.chain(values).collect::<PropertyMap>().into())
}

/// Writes a record as JSON; `null` where there is none. Secret values are `[secret]` unless they are to be shown.
///
/// # Errors
/// [`crate::ErrorKind::State`] for values that nest deeper than [`crate::property::MAX_DEPTH`].
pub fn record_document(record: Option<&ResourceState>, show_secrets: bool) -> Result<Vec<u8>> {
    to_vec(&record.map(|record| RecordDocument::with_values(record, show_secrets)))
}

/// Writes records as a JSON array. Secret values are `[secret]` unless they are to be shown.
///
/// # Errors
/// Those of [`record_document`].
pub fn records_document<'a>(
    records: impl IntoIterator<Item = &'a ResourceState>,
    show_secrets: bool,
) -> Result<Vec<u8>> {
    let records = records
        .into_iter()
        .map(|record| RecordDocument::with_values(record, show_secrets));
    to_vec(&records.collect::<Vec<_>>())
}

/// Writes a graph as JSON.
#[must_use]
pub fn graph_document(graph: &ResourceGraph) -> Value {
    let nodes = graph.nodes.iter().map(|record| NodeDocument {
        urn: record.urn.as_str(),
        resource_type: record.resource_type.as_str(),
        name: record.urn.name(),
        id: record.id.as_str(),
        delete: record.delete,
    });
    let edges = graph.edges.iter().map(|edge| EdgeDocument {
        source: edge.source,
        target: edge.target,
        kind: edge.kind,
        property: edge.property.as_deref(),
    });
    let document = GraphDocument {
        nodes: nodes.collect(),
        edges: edges.collect(),
    };
    serde_json::to_value(document).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{token::TypeToken, urn::Urn};

    fn record() -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut record = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        record.id = "a-1".into();
        record.inputs = [
            ("key", PropertyValue::secret("hunter2".into())),
            ("size", 3.0.into()),
        ]
        .into_iter()
        .collect();
        record.created = Some("2026-01-02T03:04:05Z".parse().unwrap());
        record
    }

    fn parsed(show_secrets: bool) -> Value {
        serde_json::from_slice(&record_document(Some(&record()), show_secrets).unwrap()).unwrap()
    }

    #[test]
    fn secret_values_of_a_record_are_masked_unless_they_are_shown() {
        let masked = parsed(false);
        assert_eq!(
            masked["inputs"]["key"],
            serde_json::json!({"value": "[secret]", "secret": true})
        );
        assert_eq!(
            masked["inputs"]["size"],
            serde_json::json!({"value": 3, "secret": false})
        );
        assert_eq!(masked["created"], "2026-01-02T03:04:05Z");
        assert_eq!(
            (&masked["type"], &masked["name"]),
            (&"pkg:index:Type".into(), &"a".into())
        );
        assert_eq!(parsed(true)["inputs"]["key"]["value"], "hunter2");
        assert_eq!(record_document(None, true).unwrap(), b"null");
    }

    #[test]
    fn a_record_as_a_value_has_its_secrets_as_outputs() {
        let PropertyValue::Object(members) = record_value(&record()).unwrap() else {
            panic!("an object is expected")
        };
        assert_eq!(members.get("id"), Some(&"a-1".into()));
        let Some(PropertyValue::Object(inputs)) = members.get("inputs") else {
            panic!("inputs are expected")
        };
        assert!(matches!(inputs.get("key"), Some(PropertyValue::Output(key)) if key.secret));
    }
}

//! The report of an import: what has become of each resource, and its source code.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    importer::Settled,
    row::{Parent, Row, RowKind},
};
use crate::{
    error::Error,
    operation::OperationRun,
    property::PropertyMap,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// The requested resources, in the order of the request.
    pub resources: Vec<ImportedResource>,
    /// The programs that declare the imported resources.
    pub code: SourceCode,
    /// The values of the stack's configuration that the programs read, as texts by key (`project:name`): the secrets among the
    /// inputs. A value that is no text is its JSON.
    pub configuration: ImportConfiguration,
}

/// Secret values of the configuration by key. Debug output shows the keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ImportConfiguration(pub BTreeMap<String, String>);

impl fmt::Debug for ImportConfiguration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Programs that declare the imported resources, those that were recorded before included. No program contains a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportCode")]
pub struct SourceCode {
    /// A program of this library for Python; empty where no code was requested, as all others.
    pub python: String,
    /// A program of this library for Node: TypeScript that is JavaScript, too.
    pub typescript: String,
    /// A program of this library for Rust.
    pub rust: String,
    /// A program of this library for C.
    pub c: String,
    /// A program of the Pulumi SDK for Python, where the provider of a package serves its schema; it has the resources of such
    /// packages alone.
    pub sdk_python: Option<String>,
    /// A program of the Pulumi SDK for TypeScript, likewise.
    pub sdk_typescript: Option<String>,
}

/// What has become of a resource to import; the names are those of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// It is recorded, or would be in a preview.
    Imported,
    /// It had been recorded before, with this id.
    Existing,
    /// It could not be imported.
    Failed,
    /// It was not tried: its parent or its provider failed, or the import has ended before.
    NotTried,
}

/// A requested resource.
#[derive(Clone, Debug)]
pub struct ImportedResource {
    /// The name in the request.
    pub name: String,
    /// The URN.
    pub urn: Urn,
    /// The type.
    pub resource_type: TypeToken,
    /// What has become of it.
    pub outcome: ImportOutcome,
    /// Why it was not imported.
    pub error: Option<Error>,
    /// The id; empty for components.
    pub id: ResourceId,
    /// The parent; `None` for the stack.
    pub parent: Option<Urn>,
    /// The reference of its provider; empty for providers and components.
    pub provider: String,
    /// Whether it is protected.
    pub protect: bool,
    /// The inputs, as they are recorded.
    pub inputs: PropertyMap,
    /// The outputs, as they are recorded.
    pub outputs: PropertyMap,
}

/// Reports what has become of each row.
pub(super) fn report(run: &OperationRun, rows: &[Row], settled: &[Settled]) -> ImportReport {
    let resources = rows
        .iter()
        .zip(settled)
        .map(|(row, settled)| resource(run, rows, row, settled));
    ImportReport {
        resources: resources.collect(),
        ..ImportReport::default()
    }
}

fn resource(run: &OperationRun, rows: &[Row], row: &Row, settled: &Settled) -> ImportedResource {
    let parent = match &row.parent {
        Parent::Root => None,
        Parent::Row(parent) => rows.get(*parent).map(|parent| parent.urn.clone()),
        Parent::Recorded(urn) => Some(urn.clone()),
    };
    let (outcome, error) = match settled {
        Settled::Imported(_) => (ImportOutcome::Imported, None),
        Settled::Existing(_) => (ImportOutcome::Existing, None),
        Settled::Failed(error) => (ImportOutcome::Failed, Some(error)),
        Settled::NotTried(error) => (ImportOutcome::NotTried, Some(error)),
    };
    let mut resource = ImportedResource {
        name: row.name.clone(),
        urn: row.urn.clone(),
        resource_type: row.resource_type.clone(),
        outcome,
        error: error.map(|error| error.clone().scrubbed(|text| run.events.redactor().scrub(text))),
        id: row.id.as_str().into(),
        parent,
        provider: String::new(),
        protect: false,
        inputs: PropertyMap::new(),
        outputs: PropertyMap::new(),
    };
    if let Some(record) = settled.record() {
        resource.id = record.id.clone();
        resource.parent = record.parent.clone().filter(|parent| !parent.is_root_stack());
        resource.provider = record.provider.to_string();
        resource.protect = record.protect;
        resource.inputs = match row.kind {
            RowKind::Provider => crate::provider::settings::ProviderSettings::strip(&record.inputs),
            RowKind::Custom | RowKind::Component => record.inputs.clone(),
        };
        resource.outputs = record.outputs.clone();
    }
    resource
}

//! The source code of imported resources.

use std::{borrow::Cow, sync::Arc, time::Duration};

use rustc_hash::{FxHashMap, FxHashSet};
use semver::Version;

use super::{
    importer::Settled,
    order::edges,
    report::{ImportConfiguration, ImportReport, ImportedResource, SourceCode},
    row::{Row, RowKind},
};
use crate::{
    codegen::{
        Declaration, DeclaredKind, DeclaredPackage, PackageForm, PackageSchema, Program, Reference,
        SdkLanguage, own_program, sdk_program,
    },
    message::Language,
    operation::{OperationRun, prepare::Prepared},
    property::{PropertyMap, PropertyValue},
    provider::{ProviderSpec, SchemaRequest, settings::ProviderSettings},
    resource::{ProviderReference, ResourceState},
    secrets::Redactor,
    state::PriorState,
    urn::Urn,
};

/// How long a provider may take to serve its schema.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(60);

/// Adds programs that declare the rows that have a record.
pub(super) async fn generate(
    run: &OperationRun,
    prepared: &Prepared,
    rows: &[Row],
    settled: &[Settled],
    report: &mut ImportReport,
) {
    let known = Known::new(prepared, settled);
    let schemas = schemas(run, &known, settled).await;
    for resource in &mut report.resources {
        mark_secrets(resource, &schemas);
        for properties in [&mut resource.inputs, &mut resource.outputs] {
            *properties = known_marked(properties, run.events.redactor());
        }
    }
    let packages = rows.iter().zip(settled);
    let packages: Vec<_> = packages
        .map(|(row, settled)| package(row, settled.record()?, &known))
        .collect();
    let declarations = declarations(rows, settled, &report.resources, packages, &prepared.base);
    let taken = run
        .stack
        .config
        .iter()
        .map(|(key, _)| key.to_string())
        .collect::<Vec<_>>();
    let taken = taken.iter().map(String::as_str);
    let program = Program::new(&run.stack.project, declarations, taken, &schemas);
    report.configuration = ImportConfiguration(program.secrets().0.clone());
    report.code = SourceCode {
        python: own_program(&program, Language::Python),
        typescript: own_program(&program, Language::Node),
        rust: own_program(&program, Language::Rust),
        c: own_program(&program, Language::C),
        sdk_python: sdk_program(&program, &schemas, SdkLanguage::Python),
        sdk_typescript: sdk_program(&program, &schemas, SdkLanguage::TypeScript),
    };
}

/// Marks the properties of a resource that are secret by the schema of its package: a provider may return them without a mark.
fn mark_secrets(resource: &mut ImportedResource, schemas: &[PackageSchema]) {
    let token = &resource.resource_type;
    let (package, member) = match token.provided_package() {
        Some(package) => (package, None),
        None => (token.asked_package(), Some(token.as_str())),
    };
    if let Some(schema) = schemas.iter().find(|schema| schema.name == package) {
        resource.inputs = schema.marked(member, &resource.inputs);
        resource.outputs = schema.marked(member, &resource.outputs);
    }
}

/// Returns properties in which each text with a secret of the operation is a secret: a provider may repeat what its own
/// configuration has.
fn known_marked(properties: &PropertyMap, redactor: &Redactor) -> PropertyMap {
    let entries = properties.iter();
    let marked = entries.map(|(name, value)| (name.to_owned(), with_known_marks(value, redactor)));
    marked.collect()
}

fn with_known_marks(value: &PropertyValue, redactor: &Redactor) -> PropertyValue {
    match value {
        PropertyValue::String(text) if matches!(redactor.scrub(text), Cow::Owned(_)) => {
            PropertyValue::secret(value.clone())
        }
        PropertyValue::Array(values) => {
            let values = values.iter().map(|value| with_known_marks(value, redactor));
            PropertyValue::from(values.collect::<Vec<_>>())
        }
        PropertyValue::Object(map) => PropertyValue::from(known_marked(map, redactor)),
        _ => value.clone(),
    }
}

/// The providers of the records.
struct Known<'a> {
    prepared: &'a Prepared,
    /// The records of the rows, by URN.
    rows: FxHashMap<&'a Urn, &'a Arc<ResourceState>>,
}

impl<'a> Known<'a> {
    fn new(prepared: &'a Prepared, settled: &'a [Settled]) -> Self {
        let records = settled.iter().filter_map(Settled::record);
        let rows = records.map(|record| (&record.urn, record)).collect();
        Self { prepared, rows }
    }

    /// Returns the settings of a provider that is recorded, or has been created.
    fn settings(&self, reference: &ProviderReference) -> Option<ProviderSettings> {
        let urn = &reference.urn;
        let recorded = self
            .prepared
            .base
            .live(urn)
            .map(|record| Arc::clone(&record.state));
        let published = || self.prepared.executor.published(urn);
        let created = || self.rows.get(urn).copied().cloned();
        let provider = recorded.or_else(published).or_else(created)?;
        ProviderSettings::read(reference.package(), &provider.inputs).ok()
    }
}

/// Returns the schemas of the packages of the records: those of providers that serve one.
async fn schemas(run: &OperationRun, known: &Known<'_>, settled: &[Settled]) -> Vec<PackageSchema> {
    let mut seen = FxHashSet::default();
    let records = settled.iter().filter_map(Settled::record);
    let references = records.filter_map(|record| match record.is_provider() {
        true => Some(ProviderReference::new(record.urn.clone(), record.id.clone())),
        false => ProviderReference::parse(&record.provider).ok(),
    });
    let mut schemas = Vec::new();
    for reference in references {
        if !seen.insert(reference.package().to_owned()) {
            continue;
        }
        let clock = Arc::clone(&run.stack.engine.runtime.clock);
        let served = tokio::select! {
            biased;
            served = schema(known, &reference) => served,
            () = clock.wait(SCHEMA_TIMEOUT) => None,
            () = run.control.cancelled() => None,
        };
        schemas.extend(served.and_then(|json| PackageSchema::read(&json).ok()));
    }
    schemas
}

/// Asks a provider for the schema of its package; one that is not loaded is loaded for that.
async fn schema(known: &Known<'_>, reference: &ProviderReference) -> Option<String> {
    let registry = &known.prepared.registry;
    let spec = ProviderSpec::from(known.settings(reference)?);
    let parameter = spec.parameter.as_ref();
    let request = SchemaRequest {
        subpackage_name: parameter.map(|made| made.name.clone()).unwrap_or_default(),
        subpackage_version: parameter.map(|made| made.version.clone()).unwrap_or_default(),
    };
    if let Some(handle) = registry.get(reference) {
        return handle.provider.backend().get_schema(request).await.ok();
    }
    let loaded = registry.source().load_package(&spec).await.ok()?;
    let served = loaded.provider.get_schema(request).await.ok();
    loaded.release().await;
    served
}

/// Returns the plugin that serves the package of a row's record, where that is not the one of the package's name.
fn package(row: &Row, record: &ResourceState, known: &Known<'_>) -> Option<DeclaredPackage> {
    let extensions = known.prepared.base.extensions();
    let recorded = || extensions.of_record(record).ok().flatten();
    if let Some(extension) = row.extension.as_ref().or_else(recorded) {
        let provider = ProviderReference::parse(&record.provider).ok()?;
        return Some(DeclaredPackage {
            plugin: provider.package().to_owned(),
            version: row.version.clone(),
            download_url: row.download_url.clone(),
            form: PackageForm::Extension,
            parameter: (extension.name.clone(), extension.version.clone()),
            value: extension.value.clone(),
        });
    }
    let settings = match row.kind {
        RowKind::Provider => {
            ProviderSettings::read(row.resource_type.provided_package()?, &record.inputs).ok()?
        }
        _ if is_explicit(&record.provider) => return None,
        _ => known.settings(&ProviderReference::parse(&record.provider).ok()?)?,
    };
    let version = |version: Option<Version>| version.map(|version| version.to_string()).unwrap_or_default();
    let base = settings.base?;
    Some(DeclaredPackage {
        plugin: base.name,
        version: version(base.version),
        download_url: settings.download_url,
        form: PackageForm::Parameterization,
        parameter: (settings.package, version(settings.version)),
        value: base.value,
    })
}

/// Returns the declarations of the rows that have a record, each after those that it refers to.
fn declarations(
    rows: &[Row],
    settled: &[Settled],
    resources: &[ImportedResource],
    mut packages: Vec<Option<DeclaredPackage>>,
    base: &PriorState,
) -> Vec<Declaration> {
    let mut order = Vec::new();
    let mut seen = vec![false; rows.len()];
    for index in 0..rows.len() {
        visit(index, rows, &mut seen, &mut order);
    }
    let order = order
        .into_iter()
        .filter(|index| settled[*index].record().is_some());
    let order: Vec<usize> = order.collect();
    let places: FxHashMap<&Urn, usize> = order
        .iter()
        .enumerate()
        .map(|(place, index)| (&rows[*index].urn, place))
        .collect();
    // The provider that children of a declared resource inherit.
    let mut inherited: FxHashMap<&Urn, &str> = FxHashMap::default();
    let mut declarations = Vec::with_capacity(order.len());
    for index in &order {
        let (row, resource) = (&rows[*index], &resources[*index]);
        let from_parent = resource
            .parent
            .as_ref()
            .and_then(|parent| inherited_from(parent, &inherited, base));
        if is_explicit(&resource.provider) {
            inherited.insert(&row.urn, &resource.provider);
        } else if let Some(from_parent) = from_parent.filter(|_| row.kind == RowKind::Component) {
            inherited.insert(&row.urn, from_parent);
        }
        let mut declaration = declaration(row, resource, &places, from_parent);
        if let Some(record) = settled[*index].record().filter(|_| row.kind == RowKind::Provider) {
            set_plugin(&mut declaration, record);
        }
        if let Some(package) = packages.get_mut(*index).and_then(Option::take) {
            declaration.served_by(package);
        }
        declarations.push(declaration);
    }
    declarations
}

/// Appends a row after those that it refers to; references have no cycle.
fn visit(index: usize, rows: &[Row], seen: &mut [bool], order: &mut Vec<usize>) {
    let mut path = vec![(index, 0)];
    while let Some((row, followed)) = path.last_mut() {
        let next = edges(&rows[*row]).get(*followed).copied();
        *followed += 1;
        match next {
            _ if seen[*row] => drop(path.pop()),
            Some(next) => path.push((next, 0)),
            None => {
                seen[*row] = true;
                order.push(*row);
                path.pop();
            }
        }
    }
}

/// Returns the provider that a child of `parent` gets when it names none.
fn inherited_from<'a>(
    parent: &Urn,
    inherited: &FxHashMap<&Urn, &'a str>,
    base: &'a PriorState,
) -> Option<&'a str> {
    let of_base = || base.live(parent).map(|record| record.state.provider.as_str());
    let provider = inherited.get(parent).copied().or_else(of_base);
    provider.filter(|provider| is_explicit(provider))
}

/// Returns whether a reference is that of a provider which is no default provider.
fn is_explicit(reference: &str) -> bool {
    ProviderReference::parse(reference).is_ok_and(|reference| !reference.urn.is_default_provider())
}

fn declaration(
    row: &Row,
    resource: &ImportedResource,
    places: &FxHashMap<&Urn, usize>,
    from_parent: Option<&str>,
) -> Declaration {
    let parent = resource.parent.as_ref().map(|parent| match places.get(parent) {
        Some(place) => Reference::Declared(*place),
        None => Reference::Recorded(parent.to_string()),
    });
    let reference = ProviderReference::parse(&resource.provider).ok();
    let package = |reference: &str| {
        ProviderReference::parse(reference)
            .ok()
            .map(|it| it.package().to_owned())
    };
    // A child inherits the provider of its parent, where that is one of its package.
    let inherits = from_parent
        .filter(|provider| package(provider).as_deref() == Some(row.resource_type.asked_package()));
    let provider = reference.filter(|_| match inherits {
        Some(inherited) => inherited != resource.provider,
        None => is_explicit(&resource.provider),
    });
    let provider = provider.map(|reference| match places.get(&reference.urn) {
        Some(place) => Reference::Declared(*place),
        None => Reference::Recorded(resource.provider.clone()),
    });
    let is_provider = row.kind == RowKind::Provider;
    // A resource of the default provider asks for the plugin; the options of a provider are set afterwards.
    let asked = |text: &String| match provider.is_none() && !is_provider {
        true => text.clone(),
        false => String::new(),
    };
    Declaration {
        kind: match (row.kind, row.remote) {
            (RowKind::Custom, _) => DeclaredKind::Custom,
            (RowKind::Provider, _) => DeclaredKind::Provider,
            (RowKind::Component, true) => DeclaredKind::Remote,
            (RowKind::Component, false) => DeclaredKind::Component,
        },
        resource_type: row.resource_type.to_string(),
        name: row.urn.name().to_owned(),
        urn: row.urn.to_string(),
        reference: match is_provider {
            true => format!("{}::{}", row.urn, resource.id),
            false => String::new(),
        },
        label: row.name.clone(),
        inputs: resource.inputs.clone(),
        parent,
        version: asked(&row.version),
        download_url: asked(&row.download_url),
        provider,
        package: None,
        protect: resource.protect,
    }
}

/// Makes the plugin of a provider's record options of its declaration, which are no inputs there.
fn set_plugin(declaration: &mut Declaration, record: &ResourceState) {
    let package = record.resource_type.provided_package().unwrap_or_default();
    let Ok(settings) = ProviderSettings::read(package, &record.inputs) else {
        return;
    };
    if let Some(version) = settings.version {
        declaration.version = version.to_string();
        declaration.inputs.remove("version");
    }
    // A key of this name among the inputs is the user's own.
    if !declaration.inputs.contains_key("pluginDownloadURL") {
        declaration.download_url = settings.download_url;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_repeat_a_known_secret_are_secrets_at_any_depth() {
        let redactor = Redactor::new();
        redactor.learn(["prov-token-xyz"]);
        let properties = |hidden: &dyn Fn(PropertyValue) -> PropertyValue| -> PropertyMap {
            let url = hidden("https://prov-token-xyz@host".into());
            let inner: PropertyMap = [("url", url)].into_iter().collect();
            let list = vec![hidden("prov-token-xyz".into()), "other".into()];
            let entries = [
                ("size", PropertyValue::from(3.0)),
                ("plain", "text".into()),
                ("list", list.into()),
                ("inner", inner.into()),
            ];
            entries.into_iter().collect()
        };
        let read = properties(&|value| value);
        assert_eq!(known_marked(&read, &redactor), properties(&PropertyValue::secret));
    }
}

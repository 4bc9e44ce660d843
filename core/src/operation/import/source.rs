//! The source code of imported resources.

use std::{sync::Arc, time::Duration};

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
    provider::{ProviderSpec, SchemaRequest, settings::ProviderSettings},
    resource::{ProviderReference, ResourceState},
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
    let packages = rows
        .iter()
        .zip(settled)
        .map(|(row, settled_row)| package(row, settled_row.record()?, prepared, settled));
    let packages: Vec<_> = packages.collect();
    let declarations = declarations(rows, settled, &report.resources, packages, &prepared.base);
    let taken = run
        .stack
        .config
        .iter()
        .map(|(key, _)| key.to_string())
        .collect::<Vec<_>>();
    let program = Program::new(&run.stack.project, declarations, taken.iter().map(String::as_str));
    report.configuration = ImportConfiguration(program.secrets().0.clone());
    let schemas = schemas(run, prepared, settled).await;
    report.code = SourceCode {
        python: own_program(&program, Language::Python),
        typescript: own_program(&program, Language::Node),
        rust: own_program(&program, Language::Rust),
        c: own_program(&program, Language::C),
        sdk_python: sdk_program(&program, &schemas, SdkLanguage::Python),
        sdk_typescript: sdk_program(&program, &schemas, SdkLanguage::TypeScript),
    };
}

/// Returns the schemas of the packages of the records: those of providers that serve one.
async fn schemas(run: &OperationRun, prepared: &Prepared, settled: &[Settled]) -> Vec<PackageSchema> {
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
            served = schema(prepared, settled, &reference) => served,
            () = clock.wait(SCHEMA_TIMEOUT) => None,
            () = run.control.cancelled() => None,
        };
        schemas.extend(served.and_then(|json| PackageSchema::read(&json).ok()));
    }
    schemas
}

/// Asks a provider for the schema of its package; one that is not loaded is loaded for that.
async fn schema(prepared: &Prepared, settled: &[Settled], reference: &ProviderReference) -> Option<String> {
    let spec = ProviderSpec::from(provider_settings(prepared, settled, reference)?);
    let parameter = spec.parameter.as_ref();
    let request = SchemaRequest {
        subpackage_name: parameter.map(|made| made.name.clone()).unwrap_or_default(),
        subpackage_version: parameter.map(|made| made.version.clone()).unwrap_or_default(),
    };
    if let Some(handle) = prepared.registry.get(reference) {
        return handle.provider.backend().get_schema(request).await.ok();
    }
    let loaded = prepared.registry.source().load_package(&spec).await.ok()?;
    let served = loaded.provider.get_schema(request).await.ok();
    loaded.release().await;
    served
}

/// Returns the settings of a provider that is recorded, or has been created.
fn provider_settings(
    prepared: &Prepared,
    settled: &[Settled],
    reference: &ProviderReference,
) -> Option<ProviderSettings> {
    let recorded = || {
        let record = prepared.base.live(&reference.urn);
        record.map(|record| Arc::clone(&record.state))
    };
    // Only what neither the state nor this run has published is searched for.
    let created = || {
        let mut records = settled.iter().filter_map(Settled::record);
        records.find(|record| record.urn == reference.urn).cloned()
    };
    let published = || prepared.executor.published(&reference.urn);
    let provider = recorded().or_else(published).or_else(created)?;
    ProviderSettings::read(reference.package(), &provider.inputs).ok()
}

/// Returns the plugin that serves the package of a row's record, where that is not the one of the package's name.
fn package(
    row: &Row,
    record: &ResourceState,
    prepared: &Prepared,
    settled: &[Settled],
) -> Option<DeclaredPackage> {
    let extensions = prepared.base.extensions();
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
        _ => provider_settings(
            prepared,
            settled,
            &ProviderReference::parse(&record.provider).ok()?,
        )?,
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
    ProviderReference::parse(reference)
        .is_ok_and(|reference| !crate::executor::is_default_provider_name(reference.urn.name()))
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
    let mut inputs = resource.inputs.clone();
    if is_provider && !row.version.is_empty() {
        // The option of the same name sets it.
        inputs.remove("version");
    }
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
        inputs,
        parent,
        version: if provider.is_none() || is_provider {
            row.version.clone()
        } else {
            String::new()
        },
        download_url: if provider.is_none() || is_provider {
            row.download_url.clone()
        } else {
            String::new()
        },
        provider,
        package: None,
        protect: resource.protect,
    }
}

//! The check of a request: names and references become rows in which no name is left to find. All faults are reported
//! together, before anything happens.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustc_hash::FxHashMap;
use semver::Version;

use super::{
    order::{cycle, edges},
    request::{ImportRequest, ImportResource},
};
use crate::{
    error::{Error, Result},
    property::PropertyMap,
    provider::{BasePlugin, settings::ProviderSettings},
    resource::Extension,
    token::TypeToken,
    urn::Urn,
};

/// The parent of a resource to import.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parent {
    /// The stack.
    Root,
    /// Another resource of the import, by its position.
    Row(usize),
    /// A resource that must be recorded.
    Recorded(Urn),
}

/// The provider of a resource to import.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowProvider {
    /// A component of the program, or a provider, has none.
    None,
    /// The default provider of a package.
    Default(Box<ProviderSettings>),
    /// A provider of the import, by its position.
    Row(usize),
    /// A provider that is recorded, or is created with these inputs.
    Recorded(Urn, PropertyMap),
}

/// The kind of a resource to import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A provider manages it.
    Custom,
    /// It groups others; a remote one belongs to a provider.
    Component,
    /// It is a provider, which is created.
    Provider,
}

/// A resource to import, with all names resolved.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The name in source code.
    pub(super) name: String,
    pub(super) kind: RowKind,
    pub(super) resource_type: TypeToken,
    pub(super) urn: Urn,
    pub(super) id: String,
    pub(super) parent: Parent,
    pub(super) provider: RowProvider,
    pub(super) inputs: PropertyMap,
    pub(super) outputs: Option<PropertyMap>,
    pub(super) properties: Vec<String>,
    pub(super) remote: bool,
    /// The requested version and address of the package, for source code.
    pub(super) version: String,
    pub(super) download_url: String,
    pub(super) extension: Option<Arc<Extension>>,
}

/// Returns the rows of a request for a stack.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with all faults of the request.
pub(super) fn check(request: &ImportRequest, stack: &str, project: &str) -> Result<Vec<Row>> {
    let mut faults = Vec::new();
    let names = Names::new(request);
    let given = &request.resources;
    let parents: Vec<Parent> = (0..given.len())
        .map(|index| names.parent(index, &mut faults))
        .collect();
    let of_rows: Vec<Vec<usize>> = parents
        .iter()
        .map(|parent| match parent {
            Parent::Row(row) => vec![*row],
            _ => Vec::new(),
        })
        .collect();
    refuse_cycle(given, &of_rows, "parent", &mut faults);
    if !faults.is_empty() {
        faults.splice(
            0..0,
            given
                .iter()
                .enumerate()
                .flat_map(|(index, row)| own_faults(index, row)),
        );
        return Err(joined(faults));
    }
    let mut urns: Vec<Option<Urn>> = vec![None; given.len()];
    for index in 0..given.len() {
        urn_of(index, given, &parents, (stack, project), &mut urns);
    }
    let mut rows = Vec::with_capacity(given.len());
    for (index, (row, parent)) in given.iter().zip(parents).enumerate() {
        faults.extend(own_faults(index, row));
        let provider = names.provider(index, &mut faults);
        let Some(urn) = urns.get_mut(index).and_then(Option::take) else {
            continue;
        };
        match resolved(index, row, urn, parent, provider) {
            Ok(row) => rows.push(row),
            Err(fault) => faults.push(fault),
        }
    }
    refuse_equal_urns(&rows, &mut faults);
    if !faults.is_empty() {
        return Err(joined(faults));
    }
    refer_to_rows(&mut rows);
    let all: Vec<Vec<usize>> = rows.iter().map(edges).collect();
    refuse_cycle(given, &all, "parent or provider", &mut faults);
    match faults.is_empty() {
        true => Ok(rows),
        false => Err(joined(faults)),
    }
}

/// Returns the error of all faults.
fn joined(mut faults: Vec<String>) -> Error {
    faults.dedup();
    if faults.len() == 1 {
        return Error::invalid(faults.remove(0));
    }
    Error::invalid(format!(
        "{} errors occurred:\n  * {}",
        faults.len(),
        faults.join("\n  * ")
    ))
}

/// Describes a resource in faults.
fn described(index: usize, row: &ImportResource) -> String {
    match (own_name(row), row.resource_type.as_str(), row.id.as_str()) {
        ("", "", "") => format!("resource {index}"),
        ("", "", id) => format!("resource {index} with the ID '{id}'"),
        ("", kind, _) => format!("resource {index} of type '{kind}'"),
        (name, "", _) => format!("resource '{name}'"),
        (name, kind, _) => format!("resource '{name}' of type '{kind}'"),
    }
}

/// Returns the name by which other rows refer to a row.
fn own_name(row: &ImportResource) -> &str {
    if row.name.is_empty() {
        &row.logical_name
    } else {
        &row.name
    }
}

/// Returns the name in the URN of a row.
fn logical_name(row: &ImportResource) -> &str {
    if row.logical_name.is_empty() {
        &row.name
    } else {
        &row.logical_name
    }
}

fn is_provider(row: &ImportResource) -> bool {
    TypeToken::from(row.resource_type.as_str()).is_provider()
}

/// Returns the faults of a row in itself.
fn own_faults(index: usize, row: &ImportResource) -> Vec<String> {
    let it = described(index, row);
    let token = TypeToken::from(row.resource_type.as_str());
    let provider = token.is_provider();
    let unknown = |values: &Option<super::request::GivenInputs>| {
        values.as_ref().is_some_and(|values| values.0.contains_unknowns())
    };
    let needs_full = !row.component || row.remote;
    [
        (row.resource_type.is_empty(), "has no type"),
        (own_name(row).is_empty(), "has no name"),
        (row.id.is_empty() && !row.component && !provider, "has no ID"),
        (
            !row.id.is_empty() && row.component,
            "has an ID, but is marked as a component",
        ),
        (
            row.remote && !row.component,
            "is marked as remote, but not as a component",
        ),
        (
            !row.id.is_empty() && provider,
            "has an ID, but is a provider, which is created rather than read",
        ),
        (
            provider && row.component,
            "is a provider and may not be marked as a component",
        ),
        (
            provider && row.outputs.is_some(),
            "is a provider and may not have outputs",
        ),
        (
            row.component && !row.remote && !row.provider.is_empty(),
            "is a component without a provider of its own, and may not name one",
        ),
        (
            row.component && (row.inputs.is_some() || row.outputs.is_some()),
            "is a component, which is recorded without inputs and outputs",
        ),
        (
            row.parameterization.is_some() && row.extension.is_some(),
            "has both a parameterization and an extension, which are mutually exclusive",
        ),
        (
            row.parameterization.is_some() && row.version.is_empty(),
            "has a parameterization: version must be provided",
        ),
    ]
    .into_iter()
    .filter(|(is_wrong, _)| *is_wrong)
    .map(|(_, fault)| format!("{it} {fault}"))
    .chain(
        (!row.resource_type.is_empty() && needs_full && !token.is_full()).then(|| {
            format!(
                "import type {:?} is not a valid resource type token. Type tokens must be of the format \
             <package>:<module>:<type> - refer to the import section of the provider resource documentation.",
                row.resource_type
            )
        }),
    )
    .chain(
        unknown(&row.inputs)
            .then(|| format!("the inputs for {it} contain unknown values; fill them in before importing")),
    )
    .chain(
        unknown(&row.outputs)
            .then(|| format!("the outputs for {it} contain unknown values; fill them in before importing")),
    )
    .collect()
}

/// The names of a request, and the rows that have them.
struct Names<'a> {
    request: &'a ImportRequest,
    rows: FxHashMap<&'a str, Vec<usize>>,
}

/// What a name refers to.
enum Referent {
    Row(usize),
    Recorded(Urn),
}

impl<'a> Names<'a> {
    fn new(request: &'a ImportRequest) -> Self {
        let mut rows: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, row) in request.resources.iter().enumerate() {
            rows.entry(own_name(row)).or_default().push(index);
        }
        Self { request, rows }
    }

    /// Finds what a text refers to; `accepts` selects the rows that it can mean.
    fn find(
        &self,
        text: &str,
        what: &str,
        index: usize,
        accepts: impl Fn(&ImportResource) -> bool,
    ) -> Result<Referent, String> {
        let rows = &self.request.resources;
        let it = || {
            rows.get(index)
                .map(|row| described(index, row))
                .unwrap_or_default()
        };
        if let Ok(urn) = Urn::parse(text) {
            return Ok(Referent::Recorded(urn));
        }
        let named = self.rows.get(text).into_iter().flatten().copied();
        let named = named.filter(|row| rows.get(*row).is_some_and(&accepts));
        let named: Vec<usize> = named.collect();
        match (named.as_slice(), self.request.name_table.get(text)) {
            ([row], None) => Ok(Referent::Row(*row)),
            ([], Some(urn)) => Urn::parse(urn)
                .map(Referent::Recorded)
                .map_err(|_| format!("the entry '{text}' of the name table is no URN")),
            ([], None) => {
                let hint = self.nearest(text);
                let hint = hint
                    .map(|near| format!("; did you mean '{near}'?"))
                    .unwrap_or_default();
                let places = match what {
                    "provider" => "in 'nameTable' or 'resources'",
                    _ => "in 'nameTable'",
                };
                Err(format!(
                    "the {what} '{text}' for {} has no entry {places}{hint}",
                    it()
                ))
            }
            _ => Err(format!("{} has an ambiguous {what}", it())),
        }
    }

    /// Returns the known name that is most like a text.
    fn nearest(&self, text: &str) -> Option<&str> {
        let table = self.request.name_table.keys().map(String::as_str);
        let names = self
            .rows
            .keys()
            .copied()
            .chain(table)
            .filter(|name| !name.is_empty());
        let near = names.map(|name| (strsim::osa_distance(text, name), name));
        let near = near.filter(|(distance, name)| distance * 3 <= name.len().max(text.len()));
        near.min().map(|(_, name)| name)
    }

    fn parent(&self, index: usize, faults: &mut Vec<String>) -> Parent {
        let text = self.request.resources.get(index).map(|row| row.parent.as_str());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Parent::Root;
        };
        match self.find(text, "parent", index, |_| true) {
            Ok(Referent::Row(row)) => Parent::Row(row),
            Ok(Referent::Recorded(urn)) => Parent::Recorded(urn),
            Err(fault) => {
                faults.push(fault);
                Parent::Root
            }
        }
    }

    /// Returns the provider that a row names; `None` without a name.
    fn provider(&self, index: usize, faults: &mut Vec<String>) -> Option<RowProvider> {
        let row = self.request.resources.get(index)?;
        let text = Some(row.provider.as_str()).filter(|text| !text.is_empty())?;
        let it = described(index, row);
        let wanted = TypeToken::from(row.resource_type.as_str());
        // Names of other resources may be those of a provider.
        let found = self
            .find(text, "provider", index, is_provider)
            .or_else(|fault| self.find(text, "provider", index, |_| true).map_err(|_| fault));
        let (kind, provider) = match found {
            Err(fault) => {
                faults.push(fault);
                return None;
            }
            Ok(Referent::Row(row)) => {
                let kind = self
                    .request
                    .resources
                    .get(row)
                    .map(|row| row.resource_type.clone());
                (kind.unwrap_or_default(), RowProvider::Row(row))
            }
            Ok(Referent::Recorded(urn)) => {
                let inputs = self.request.provider_inputs.get(text);
                let inputs = inputs.map(|inputs| inputs.0.clone()).unwrap_or_default();
                (urn.resource_type().to_owned(), RowProvider::Recorded(urn, inputs))
            }
        };
        match TypeToken::from(kind.as_str()).provided_package() {
            None => faults.push(format!("the provider '{text}' for {it} is not a provider")),
            Some(package) if package != wanted.asked_package() => faults.push(format!(
                "the provider '{text}' for {it} is one of the package '{package}', not of '{}'",
                wanted.asked_package()
            )),
            Some(_) => {}
        }
        Some(provider)
    }
}

/// Returns a row of the import.
fn resolved(
    index: usize,
    row: &ImportResource,
    urn: Urn,
    parent: Parent,
    provider: Option<RowProvider>,
) -> Result<Row, String> {
    let it = described(index, row);
    let resource_type = TypeToken::from(row.resource_type.as_str());
    let kind = match (resource_type.is_provider(), row.component) {
        (true, _) => RowKind::Provider,
        (false, true) => RowKind::Component,
        (false, false) => RowKind::Custom,
    };
    let version = parse_version(&row.version)
        .map_err(|error| format!("could not parse version '{}' for {it}: {error}", row.version))?;
    let decoded = |value: &str, of: &str| {
        STANDARD
            .decode(value)
            .map_err(|_| format!("the value of the {of} of {it} is not base64"))
    };
    let base = match &row.parameterization {
        None => None,
        Some(made) => Some(BasePlugin {
            name: made.plugin_name.clone(),
            version: parse_version(&made.plugin_version).map_err(|error| {
                format!(
                    "could not parse version '{}' for {it}: {error}",
                    made.plugin_version
                )
            })?,
            value: decoded(&made.value, "parameterization")?,
        }),
    };
    let extension = match &row.extension {
        None => None,
        Some(extension) => Some(Arc::new(Extension::new(
            &extension.name,
            &extension.version,
            decoded(&extension.value, "extension")?,
        ))),
    };
    let settings = || ProviderSettings {
        package: resource_type.asked_package().to_owned(),
        version: version.clone(),
        download_url: row.plugin_download_url.trim_end_matches('/').to_owned(),
        base: base.clone(),
        ..ProviderSettings::default()
    };
    let provider = match (kind, provider) {
        (RowKind::Component, _) if !row.remote => RowProvider::None,
        (RowKind::Provider, _) => RowProvider::None,
        (_, Some(named)) => named,
        (_, None) => RowProvider::Default(Box::new(settings())),
    };
    let given = |values: &Option<super::request::GivenInputs>| values.as_ref().map(|values| values.0.clone());
    let mut inputs = given(&row.inputs).unwrap_or_default();
    if kind == RowKind::Provider {
        let settings = settings();
        if settings.version.is_some() || !settings.download_url.is_empty() || settings.base.is_some() {
            inputs = settings.write(inputs);
        }
    }
    Ok(Row {
        name: own_name(row).to_owned(),
        kind,
        resource_type,
        urn,
        id: row.id.clone(),
        parent,
        provider,
        inputs,
        outputs: given(&row.outputs),
        properties: row.properties.clone(),
        remote: row.remote,
        version: row.version.clone(),
        download_url: row.plugin_download_url.clone(),
        extension,
    })
}

/// Parses a version; a leading `v` and missing parts are accepted.
fn parse_version(text: &str) -> Result<Option<Version>, semver::Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let core = text.find(['-', '+']).map_or(text, |end| &text[..end]);
    let missing = match core.matches('.').count() {
        0 => ".0.0",
        1 => ".0",
        _ => "",
    };
    let completed = format!("{core}{missing}{}", &text[core.len()..]);
    Version::parse(&completed).map(Some)
}

/// Fills in the URN of a row, those of its parents first. Parents have no cycle.
fn urn_of(
    index: usize,
    given: &[ImportResource],
    parents: &[Parent],
    (stack, project): (&str, &str),
    urns: &mut [Option<Urn>],
) {
    // From the row to the first ancestor whose URN is known; the depth is not limited by the stack of calls.
    let mut path = vec![index];
    while let Some(Parent::Row(parent)) = path.last().and_then(|last| parents.get(*last)) {
        if urns.get(*parent).is_some_and(Option::is_some) {
            break;
        }
        path.push(*parent);
    }
    for row in path.into_iter().rev() {
        let parent_type = match parents.get(row) {
            Some(Parent::Row(parent)) => urns.get(*parent).and_then(Option::as_ref).map(qualified),
            Some(Parent::Recorded(urn)) => Some(qualified(urn)),
            _ => None,
        };
        if let (Some(place), Some(given)) = (urns.get_mut(row), given.get(row)) {
            let parent_type = parent_type.unwrap_or_default();
            *place = Some(Urn::new(
                stack,
                project,
                &parent_type,
                &given.resource_type,
                logical_name(given),
            ));
        }
    }
}

/// Returns the part of a child's qualified type that comes from its parent.
fn qualified(parent: &Urn) -> String {
    match parent.is_root_stack() {
        true => String::new(),
        false => parent.qualified_type().to_owned(),
    }
}

/// Refuses two resources of one URN.
fn refuse_equal_urns(rows: &[Row], faults: &mut Vec<String>) {
    let mut seen = FxHashMap::default();
    for row in rows {
        if seen.insert(&row.urn, ()).is_some() {
            let (name, kind) = (&row.name, &row.resource_type);
            faults.push(format!(
                "resource '{name}' of type '{kind}' has an ambiguous URN, set name (or logical name) to be unique"
            ));
        }
    }
}

/// Makes references by URN to resources of the import references to their rows.
fn refer_to_rows(rows: &mut [Row]) {
    let places: FxHashMap<Urn, usize> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| (row.urn.clone(), index))
        .collect();
    for row in rows {
        if let Parent::Recorded(urn) = &row.parent {
            if urn.is_root_stack() && urn.stack() == row.urn.stack() && urn.project() == row.urn.project() {
                row.parent = Parent::Root;
            } else if let Some(place) = places.get(urn) {
                row.parent = Parent::Row(*place);
            }
        }
        if let RowProvider::Recorded(urn, _) = &row.provider
            && let Some(place) = places.get(urn)
        {
            row.provider = RowProvider::Row(*place);
        }
    }
}

/// Refuses resources that wait for each other.
fn refuse_cycle(given: &[ImportResource], edges: &[Vec<usize>], what: &str, faults: &mut Vec<String>) {
    let Some(cycle) = cycle(edges) else { return };
    let named = cycle
        .iter()
        .filter_map(|index| Some((*index, given.get(*index)?)));
    let named: Vec<String> = named.map(|(index, row)| described(index, row)).collect();
    faults.push(format!(
        "{} has a cyclic {what}: {}",
        named[0],
        named.join(", then ")
    ));
}

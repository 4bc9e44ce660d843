//! A resource to import, with all names resolved.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use semver::Version;

use super::{
    faults::{described, own_name},
    request::{GivenInputs, ImportResource},
};
use crate::{
    property::PropertyMap,
    provider::{BasePlugin, settings::ProviderSettings},
    resource::{Extension, ProviderReference},
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
    /// A provider that must be recorded, with this id.
    Referred(ProviderReference),
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

/// Returns a row of the import.
pub(super) fn resolved(
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
    let given = |values: &Option<GivenInputs>| values.as_ref().map(|values| values.0.clone());
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

//! Requests about a package: its schema, and its mappings from other ecosystems. Their provider is loaded for the
//! request and need not be configured.

use async_trait::async_trait;

use crate::{
    error::{Error, ErrorKind, Result},
    provider::{
        PreparedProvider, ProviderError, ProviderResult, ProviderSpec, ProviderStatus, builtin,
        grpc::Parameter,
    },
};

/// The requested format of schemas; the protocol defines no other.
pub(crate) const SCHEMA_FORMAT: i32 = 0;

/// The request of GetSchema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaRequest {
    /// The parameterized package; empty for the provider's own package.
    pub subpackage_name: String,
    /// Its version.
    pub subpackage_version: String,
}

/// The request of GetMapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingRequest {
    /// The ecosystem: `terraform` for instance.
    pub key: String,
    /// The foreign provider; empty for the only one that this provider maps.
    pub provider: String,
}

/// A mapping of a foreign provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The foreign provider; empty without a mapping.
    pub provider: String,
    /// The mapping in the format of the ecosystem; empty without a mapping.
    pub data: Vec<u8>,
}

/// Loads providers for requests about their packages.
#[async_trait]
pub(crate) trait PackageSource: Send + Sync + 'static {
    /// Loads a separate provider for one request.
    async fn load_package(&self, spec: &ProviderSpec) -> Result<PreparedProvider>;

    /// Completes a request with a version that the program requires.
    fn complete(&self, _wish: &mut ProviderSpec) {}

    /// Returns the known packages that may contain a mapping.
    fn known(&self) -> Vec<ProviderSpec> {
        Vec::new()
    }
}

/// The error of a request about a package.
#[derive(Clone, Debug)]
pub(crate) struct PackageError {
    pub(crate) status: ProviderStatus,
    pub(crate) message: String,
}

impl PackageError {
    pub(crate) fn new(status: ProviderStatus, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, message }
    }

    fn unloaded(plugin: &str, error: &Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => ProviderStatus::InvalidArgument,
            ErrorKind::NotFound | ErrorKind::Plugin => ProviderStatus::NotFound,
            ErrorKind::Cancelled => ProviderStatus::Cancelled,
            ErrorKind::Unavailable => ProviderStatus::Unavailable,
            _ => ProviderStatus::Unknown,
        };
        let why = error.message();
        Self::new(status, format!("package {plugin:?} cannot be loaded: {why}"))
    }
}

impl From<ProviderError> for PackageError {
    fn from(error: ProviderError) -> Self {
        Self::new(error.status, error.message)
    }
}

/// Returns the schema of a package, as JSON.
pub(crate) async fn schema(
    source: &dyn PackageSource,
    mut spec: ProviderSpec,
) -> Result<String, PackageError> {
    if spec.plugin == builtin::PACKAGE {
        return Err(no_schema(&spec.plugin));
    }
    source.complete(&mut spec);
    let loaded = source.load_package(&spec).await;
    let prepared = loaded.map_err(|error| PackageError::unloaded(&spec.plugin, &error))?;
    let parameter = spec.parameter.as_ref();
    let request = SchemaRequest {
        subpackage_name: parameter.map(|made| made.name.clone()).unwrap_or_default(),
        subpackage_version: parameter.map(|made| made.version.clone()).unwrap_or_default(),
    };
    let answer = prepared.provider.get_schema(request).await;
    prepared.release().await;
    match answer {
        Err(error) if error.status == ProviderStatus::Unimplemented => Err(no_schema(&spec.plugin)),
        answer => Ok(answer?),
    }
}

fn no_schema(package: &str) -> PackageError {
    let text = format!("the provider of package {package:?} has no schema");
    PackageError::new(ProviderStatus::Unimplemented, text)
}

/// A request for a mapping.
pub(crate) struct MappingQuestion {
    /// The ecosystem.
    pub(crate) ecosystem: String,
    /// The foreign provider.
    pub(crate) provider: String,
    /// The plugin that probably contains the mapping; empty for the plugin with the name of `provider`.
    pub(crate) plugin: String,
    /// The parameter of that plugin's package.
    pub(crate) parameter: Option<Parameter>,
}

/// Returns the mapping of a foreign provider: that of the probable plugin, else that of the first other known package;
/// empty without a mapping. Missing plugins are skipped.
pub(crate) async fn mapping(
    source: &dyn PackageSource,
    question: MappingQuestion,
) -> Result<Vec<u8>, PackageError> {
    let MappingQuestion {
        ecosystem,
        provider,
        plugin,
        parameter,
    } = question;
    let mut likely = ProviderSpec {
        plugin: if plugin.is_empty() {
            provider.clone()
        } else {
            plugin
        },
        parameter,
        ..ProviderSpec::default()
    };
    source.complete(&mut likely);
    let others = source.known().into_iter();
    let same = |known: &ProviderSpec| known.plugin == likely.plugin && known.parameter == likely.parameter;
    let others = others.filter(|known| !same(known));
    let mut candidates: Vec<_> = others.collect();
    candidates.insert(0, likely);
    for (place, spec) in candidates.iter().enumerate() {
        let prepared = match source.load_package(spec).await {
            Ok(prepared) => prepared,
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                return Err(PackageError::unloaded(&spec.plugin, &error));
            }
            Err(error) => {
                tracing::debug!(plugin = spec.plugin, %error, "a plugin could not be loaded for a mapping");
                continue;
            }
        };
        let answer = ask_for_mapping(&prepared, &ecosystem, &provider).await;
        prepared.release().await;
        match answer {
            Ok(data) if data.is_empty() => {}
            Ok(data) => return Ok(data),
            // A mapping of another package would be a guess, indistinguishable from the right one.
            Err(error) if place == 0 => return Err(error.into()),
            Err(error) => {
                tracing::debug!(plugin = spec.plugin, %error, "a plugin failed to return a mapping");
            }
        }
    }
    Ok(Vec::new())
}

/// Requests a mapping from one provider. A provider that lists no mappings is asked for its only one.
async fn ask_for_mapping(
    prepared: &PreparedProvider,
    ecosystem: &str,
    foreign: &str,
) -> ProviderResult<Vec<u8>> {
    let asked = &prepared.provider;
    let mapped = unless_unimplemented(asked.get_mappings(ecosystem.to_owned()).await)?.unwrap_or_default();
    let key = ecosystem.to_owned();
    let request = if mapped.is_empty() {
        let provider = String::new();
        MappingRequest { key, provider }
    } else if mapped.iter().any(|name| name == foreign) {
        let provider = foreign.to_owned();
        MappingRequest { key, provider }
    } else {
        return Ok(Vec::new());
    };
    let mapping = unless_unimplemented(asked.get_mapping(request).await)?.unwrap_or_default();
    Ok(if mapping.provider == foreign {
        mapping.data
    } else {
        Vec::new()
    })
}

fn unless_unimplemented<T>(answer: ProviderResult<T>) -> ProviderResult<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.status == ProviderStatus::Unimplemented => Ok(None),
        Err(error) => Err(error),
    }
}

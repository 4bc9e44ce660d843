//! What a package says of itself: its schema, and its mappings from other ecosystems. Asked of a provider that is loaded
//! for the question and need not be configured.

use async_trait::async_trait;

use crate::{
    error::{Error, ErrorKind, Result},
    provider::{
        PreparedProvider, ProviderError, ProviderResult, ProviderStatus, ProviderWish, builtin,
        grpc::Parameter,
    },
};

/// The format of schemas that is asked for; the protocol knows no other.
pub(crate) const SCHEMA_FORMAT: i32 = 0;

/// Asks a provider for the schema of its package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaRequest {
    /// The package that a parameter made of the provider; empty for the provider's own.
    pub subpackage_name: String,
    /// Its version.
    pub subpackage_version: String,
}

/// Asks a provider for a mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingRequest {
    /// The ecosystem that is mapped, `terraform` for instance.
    pub key: String,
    /// The foreign provider; empty for the one that this provider maps, if it maps one only.
    pub provider: String,
}

/// A mapping of a foreign provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The foreign provider; empty when there is none.
    pub provider: String,
    /// What only those understand who asked; empty when there is none.
    pub data: Vec<u8>,
}

/// Loads providers to ask them about their packages.
#[async_trait]
pub(crate) trait PackageSource: Send + Sync + 'static {
    /// Loads a provider of its own for one question.
    async fn load_package(&self, wish: &ProviderWish) -> Result<PreparedProvider>;

    /// Completes what a question leaves open: a version that the program requires.
    fn complete(&self, _wish: &mut ProviderWish) {}

    /// Returns the packages that may hold a mapping although nobody names them.
    fn known(&self) -> Vec<ProviderWish> {
        Vec::new()
    }
}

/// Why a question about a package has no answer.
#[derive(Clone, Debug)]
pub(crate) struct Unanswered {
    pub(crate) status: ProviderStatus,
    pub(crate) message: String,
}

impl Unanswered {
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

impl From<ProviderError> for Unanswered {
    fn from(error: ProviderError) -> Self {
        Self::new(error.status, error.message)
    }
}

/// Returns the schema of a package, as JSON.
pub(crate) async fn schema(source: &dyn PackageSource, mut wish: ProviderWish) -> Result<String, Unanswered> {
    if wish.plugin == builtin::PACKAGE {
        return Err(no_schema(&wish.plugin));
    }
    source.complete(&mut wish);
    let loaded = source.load_package(&wish).await;
    let prepared = loaded.map_err(|error| Unanswered::unloaded(&wish.plugin, &error))?;
    let parameter = wish.parameter.as_ref();
    let request = SchemaRequest {
        subpackage_name: parameter.map(|made| made.name.clone()).unwrap_or_default(),
        subpackage_version: parameter.map(|made| made.version.clone()).unwrap_or_default(),
    };
    let answer = prepared.provider.get_schema(request).await;
    prepared.release().await;
    match answer {
        Err(error) if error.status == ProviderStatus::Unimplemented => Err(no_schema(&wish.plugin)),
        answer => Ok(answer?),
    }
}

fn no_schema(package: &str) -> Unanswered {
    let text = format!("the provider of package {package:?} has no schema");
    Unanswered::new(ProviderStatus::Unimplemented, text)
}

/// Which mapping is wanted.
pub(crate) struct MappingQuestion {
    /// The ecosystem that is mapped.
    pub(crate) ecosystem: String,
    /// The foreign provider.
    pub(crate) provider: String,
    /// The plugin that is thought to know it; empty for the one of the same name.
    pub(crate) plugin: String,
    /// What makes the package out of that plugin.
    pub(crate) parameter: Option<Parameter>,
}

/// Returns the mapping of a foreign provider: that of the plugin which is thought to know it, else that of the first other
/// package that is known; empty when none has it. A plugin that is not there has none.
pub(crate) async fn mapping(
    source: &dyn PackageSource,
    question: MappingQuestion,
) -> Result<Vec<u8>, Unanswered> {
    let MappingQuestion {
        ecosystem,
        provider,
        plugin,
        parameter,
    } = question;
    let mut likely = ProviderWish {
        plugin: if plugin.is_empty() {
            provider.clone()
        } else {
            plugin
        },
        parameter,
        ..ProviderWish::default()
    };
    source.complete(&mut likely);
    let others = source.known().into_iter();
    let same = |known: &ProviderWish| known.plugin == likely.plugin && known.parameter == likely.parameter;
    let others = others.filter(|known| !same(known));
    let mut candidates: Vec<_> = others.collect();
    candidates.insert(0, likely);
    for (place, wish) in candidates.iter().enumerate() {
        let prepared = match source.load_package(wish).await {
            Ok(prepared) => prepared,
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                return Err(Unanswered::unloaded(&wish.plugin, &error));
            }
            Err(error) => {
                tracing::debug!(plugin = wish.plugin, %error, "a plugin cannot be asked for a mapping");
                continue;
            }
        };
        let answer = ask_for_mapping(&prepared, &ecosystem, &provider).await;
        prepared.release().await;
        match answer {
            Ok(data) if data.is_empty() => {}
            Ok(data) => return Ok(data),
            // That of another package would be a guess that nobody can tell from the right one.
            Err(error) if place == 0 => return Err(error.into()),
            Err(error) => {
                tracing::debug!(plugin = wish.plugin, %error, "a plugin failed to give a mapping");
            }
        }
    }
    Ok(Vec::new())
}

/// Asks one provider. Those that do not list what they map are asked for the one mapping that they have.
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

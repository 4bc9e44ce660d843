//! The documents of the format as they are parsed.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    RecordsJson, StateJson, feature,
    free_form::{self, FreeForm},
    record::Time,
    write::SecretsJson,
};
use crate::{
    error::{Error, ErrorKind, Result},
    resource::PendingOperationKind,
};

/// The newest version of the format.
pub(crate) const NEWEST_VERSION: u64 = 4;

/// The hint for a document that is no JSON at all.
const NO_PATH: &str = "the document is the text itself, and not the path of a file";

/// Parses a deployment document. The error names the JSON type of a document that is not an object.
pub(super) fn parse_document<'a>(bytes: &'a [u8]) -> Result<Envelope<'a>> {
    let found = match bytes.trim_ascii_start().first() {
        Some(b'"') => "a text",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        None | Some(b'{') => return parse(bytes),
        _ => return parse(bytes).map_err(|error| error.with_hint(NO_PATH)),
    };
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if !is_json {
        return parse(bytes).map_err(|error| error.with_hint(NO_PATH));
    }
    let text = format!("cannot read the state: a deployment document is a JSON object, not {found}");
    Err(malformed(text).with_phase("load"))
}

pub(super) fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::State, message.into())
}

/// Parses a text from which the result may borrow. Serde's recursion limit is off: values inside count their nesting.
pub(in crate::state) fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let read =
        |error: serde_json::Error| malformed(format!("cannot read the state: {error}")).with_phase("load");
    let document = T::deserialize(&mut deserializer).map_err(read)?;
    deserializer.end().map_err(read)?;
    Ok(document)
}

/// Reads a version. The error names the field and the expected type.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<u64>, D::Error> {
    struct Version;

    impl Visitor<'_> for Version {
        type Value = Option<u64>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a whole number as the field 'version'")
        }

        fn visit_u64<E>(self, version: u64) -> std::result::Result<Self::Value, E> {
            Ok(Some(version))
        }
    }

    deserializer.deserialize_u64(Version)
}

#[derive(Deserialize)]
#[serde(expecting = "a JSON object with the fields 'version' and 'checkpoint' or 'deployment'")]
pub(super) struct Envelope<'a> {
    #[serde(default, deserialize_with = "version")]
    pub(super) version: Option<u64>,
    #[serde(default)]
    features: Option<Vec<String>>,
    #[serde(borrow)]
    pub(super) checkpoint: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) deployment: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Checks the features. They have a meaning from version 4 on.
    pub(super) fn check_features(&self) -> Result<()> {
        match &self.features {
            Some(features) if self.version.unwrap_or_default() >= NEWEST_VERSION => feature::check(features),
            _ => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a checkpoint as a JSON object")]
pub(super) struct CheckpointJson<'a> {
    #[serde(borrow, default)]
    pub(super) stack: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) latest: Option<&'a RawValue>,
}

/// A checkpoint of a current version, parsed in one pass. `R` is the type of its list of records.
#[derive(Deserialize)]
#[serde(bound = "R: Deserialize<'de> + Default")]
pub(super) struct WholeCheckpoint<R = RecordsJson> {
    version: u64,
    #[serde(default)]
    features: Option<Vec<String>>,
    pub(super) checkpoint: WholeContent<R>,
}

#[derive(Deserialize)]
#[serde(bound = "R: Deserialize<'de> + Default")]
pub(super) struct WholeContent<R> {
    #[serde(default)]
    pub(super) stack: String,
    pub(super) latest: Option<DeploymentJson<R>>,
}

impl<'de, R: Deserialize<'de> + Default> WholeCheckpoint<R> {
    /// Returns `None` for any other document. The step-by-step reader then reports the error.
    pub(super) fn read(bytes: &'de [u8]) -> Option<Self> {
        let whole: Self = parse(bytes).ok()?;
        let known = match whole.version {
            1..NEWEST_VERSION => true,
            NEWEST_VERSION => feature::check(whole.features.as_deref().unwrap_or_default()).is_ok(),
            _ => false,
        };
        known.then_some(whole)
    }
}

impl<R> WholeCheckpoint<R> {
    /// Returns the value that was read for the list of records.
    pub(super) fn records(&self) -> Option<&R> {
        Some(&self.checkpoint.latest.as_ref()?.resources)
    }

    /// Replaces the value that was read for the list of records by `records`.
    pub(super) fn with_records(self, records: RecordsJson) -> WholeCheckpoint {
        let latest = self.checkpoint.latest.map(|latest| DeploymentJson {
            manifest: latest.manifest,
            secrets_providers: latest.secrets_providers,
            resources: records,
            pending_operations: latest.pending_operations,
            metadata: latest.metadata,
            extra: latest.extra,
        });
        WholeCheckpoint {
            version: self.version,
            features: self.features,
            checkpoint: WholeContent {
                stack: self.checkpoint.stack,
                latest,
            },
        }
    }
}

#[derive(Default)]
pub(super) struct DeploymentJson<R = RecordsJson> {
    pub(super) manifest: ManifestJson,
    pub(super) secrets_providers: Option<SecretsJson>,
    pub(super) resources: R,
    pub(super) pending_operations: Option<Vec<PendingJson>>,
    pub(super) metadata: Option<serde_json::Map<String, Value>>,
    pub(super) extra: BTreeMap<String, Value>,
}

/// Written by hand: a derived implementation with a flattened map reads the other members recursively without a limit.
impl<'de, R: Deserialize<'de> + Default> Deserialize<'de> for DeploymentJson<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader<R>(PhantomData<R>);

        impl<'de, R: Deserialize<'de> + Default> Visitor<'de> for Reader<R> {
            type Value = DeploymentJson<R>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a deployment")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut access: A,
            ) -> std::result::Result<DeploymentJson<R>, A::Error> {
                let mut read = DeploymentJson::default();
                while let Some(name) = access.next_key::<String>()? {
                    match name.as_str() {
                        "manifest" => read.manifest = access.next_value()?,
                        "secrets_providers" => read.secrets_providers = access.next_value()?,
                        "resources" => read.resources = access.next_value()?,
                        "pending_operations" => read.pending_operations = access.next_value()?,
                        "metadata" => read.metadata = access.next_value::<Metadata>()?.0,
                        _ => drop(read.extra.insert(name, access.next_value::<FreeForm>()?.0)),
                    }
                }
                Ok(read)
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Metadata(#[serde(deserialize_with = "free_form::map")] Option<serde_json::Map<String, Value>>);

#[derive(Default, Deserialize)]
#[serde(expecting = "a manifest as a JSON object")]
pub(super) struct ManifestJson {
    pub(super) time: Option<Time>,
    #[serde(default)]
    pub(super) magic: String,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default, deserialize_with = "free_form::list")]
    pub(super) plugins: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a pending operation as a JSON object")]
pub(super) struct PendingJson {
    pub(super) resource: StateJson,
    #[serde(rename = "type")]
    pub(super) kind: PendingOperationKind,
}

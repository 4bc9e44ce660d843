//! Reading snapshots: the version is checked first, then the records are parsed, then secrets are decrypted in one
//! batch.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    RecordsJson, StateJson, feature,
    free_form::{self, FreeForm},
    magic, parts,
    record::Time,
    write::SecretsJson,
};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    property::json::SealedSecrets,
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    runtime::Spawner,
    secrets::{LockedSecrets, SecretsManager, SecretsProvider, open_or_lock},
    state::{Manifest, Snapshot, integrity},
};

/// The newest version of the format.
pub(crate) const NEWEST_VERSION: u64 = 4;

/// Whether the secrets of a snapshot are decrypted.
#[derive(Clone, Copy)]
pub enum SecretsAccess<'a> {
    /// They are decrypted with the manager that this provider opens. A manager that cannot be opened is an error only
    /// when there is a secret.
    Open(&'a dyn SecretsProvider),
    /// They stay encrypted, for callers that read only the other parts or copy the document.
    Sealed,
}

/// A stack's checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    /// The stack's full name, `organization/<project>/<stack>`.
    pub stack: String,
    /// Its state; `None` for a stack that was only created.
    pub snapshot: Option<Snapshot>,
}

/// Reads a checkpoint as stores keep it. With `verify`, a snapshot that violates an integrity rule is refused.
///
/// # Errors
/// [`ErrorKind::State`] when the text is malformed, of an unknown version or violates an integrity rule;
/// [`ErrorKind::Decrypt`] when a secret cannot be decrypted.
pub async fn read_checkpoint(bytes: &[u8], secrets: SecretsAccess<'_>, verify: bool) -> Result<Checkpoint> {
    if let Some(whole) = WholeCheckpoint::read(bytes) {
        return whole.complete(secrets, verify).await;
    }
    let failed = |error: Error| Error::new(error.kind(), format!("failed to load checkpoint: {error}"));
    let envelope: Envelope<'_> = parse(bytes)?;
    let content = match envelope.version.unwrap_or_default() {
        // Version 0 has no envelope: the whole file is the checkpoint.
        0 => std::str::from_utf8(bytes).map_err(|_| failed(malformed("it is not UTF-8")))?,
        1..=NEWEST_VERSION => {
            envelope.check_features().map_err(failed)?;
            envelope
                .checkpoint
                .ok_or_else(|| failed(malformed("it has no field 'checkpoint'")))?
                .get()
        }
        version => {
            return Err(failed(malformed(format!(
                "unsupported checkpoint version {version}"
            ))));
        }
    };
    let inner: CheckpointJson<'_> = parse(content.as_bytes())?;
    if envelope.version.unwrap_or_default() == 0 && inner.stack.is_empty() && inner.latest.is_none() {
        // Any other document would be read as a stack without resources, and be overwritten.
        return Err(failed(malformed("it has none of the fields of a checkpoint")));
    }
    let snapshot = match inner.latest {
        Some(latest) => Some(read_snapshot(latest.get().as_bytes(), secrets, verify).await?),
        None => None,
    };
    Ok(Checkpoint {
        stack: inner.stack.into_owned(),
        snapshot,
    })
}

/// As [`read_checkpoint`]; a large one is read by several threads, in the blocking pool of `spawner`.
///
/// # Errors
/// As [`read_checkpoint`].
pub(crate) async fn read_large_checkpoint(
    bytes: &Bytes,
    secrets: SecretsAccess<'_>,
    verify: bool,
    spawner: &Spawner,
) -> Result<Checkpoint> {
    match parts::read(bytes, spawner).await {
        Some(whole) => whole.complete(secrets, verify).await,
        None => read_checkpoint(bytes, secrets, verify).await,
    }
}

/// Reads an untyped deployment, as export and import exchange it.
///
/// # Errors
/// As [`read_checkpoint`].
pub async fn read_deployment(bytes: &[u8], secrets: SecretsAccess<'_>, verify: bool) -> Result<Snapshot> {
    let envelope: Envelope<'_> = parse_document(bytes)?;
    let readable = format!("versions 1 to {NEWEST_VERSION} can be read");
    match envelope.version {
        None => {
            let reason = "the deployment document has no field 'version'";
            return Err(wrong_version("old", &format!("{reason}; {readable}")));
        }
        Some(1..=NEWEST_VERSION) => envelope.check_features()?,
        Some(version) => {
            let side = if version == 0 { "old" } else { "new" };
            return Err(wrong_version(side, &format!("version {version}; {readable}")));
        }
    }
    let deployment = envelope
        .deployment
        .ok_or_else(|| malformed("the deployment has no field 'deployment'"))?;
    read_snapshot(deployment.get().as_bytes(), secrets, verify).await
}

/// Returns the error for an unsupported deployment version: the reference engine's text and the version found.
fn wrong_version(side: &str, found: &str) -> Error {
    let reference = format!("this stack's deployment version is too {side}");
    let library = format!("{reference}: {found}");
    Error::new(ErrorKind::State, Text::pair(reference, library))
}

/// Parses a deployment document. The error names the JSON type of a document that is not an object.
fn parse_document<'a>(bytes: &'a [u8]) -> Result<Envelope<'a>> {
    let found = match bytes.trim_ascii_start().first() {
        Some(b'"') => "a text",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => return parse(bytes),
    };
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if !is_json {
        return parse(bytes);
    }
    let text = format!("cannot read the state: a deployment document is a JSON object, not {found}");
    Err(malformed(text).with_phase("load"))
}

fn malformed(message: impl Into<String>) -> Error {
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
struct Envelope<'a> {
    #[serde(default, deserialize_with = "version")]
    version: Option<u64>,
    #[serde(default)]
    features: Option<Vec<String>>,
    #[serde(borrow)]
    checkpoint: Option<&'a RawValue>,
    #[serde(borrow)]
    deployment: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Checks the features. They have a meaning from version 4 on.
    fn check_features(&self) -> Result<()> {
        match &self.features {
            Some(features) if self.version.unwrap_or_default() >= NEWEST_VERSION => feature::check(features),
            _ => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a checkpoint as a JSON object")]
struct CheckpointJson<'a> {
    #[serde(borrow, default)]
    stack: Cow<'a, str>,
    #[serde(borrow)]
    latest: Option<&'a RawValue>,
}

/// A checkpoint of a current version, parsed in one pass. `R` is the type of its list of records.
#[derive(Deserialize)]
#[serde(bound = "R: Deserialize<'de> + Default")]
pub(super) struct WholeCheckpoint<R = RecordsJson> {
    version: u64,
    #[serde(default)]
    features: Option<Vec<String>>,
    checkpoint: WholeContent<R>,
}

#[derive(Deserialize)]
#[serde(bound = "R: Deserialize<'de> + Default")]
struct WholeContent<R> {
    #[serde(default)]
    stack: String,
    latest: Option<DeploymentJson<R>>,
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

impl WholeCheckpoint {
    /// Returns the document as a checkpoint, with its secrets decrypted and its integrity checked.
    pub(super) async fn complete(self, secrets: SecretsAccess<'_>, verify: bool) -> Result<Checkpoint> {
        let content = self.checkpoint;
        let snapshot = match content.latest {
            Some(latest) => Some(complete(latest, secrets, verify).await?),
            None => None,
        };
        Ok(Checkpoint {
            stack: content.stack,
            snapshot,
        })
    }
}

#[derive(Default)]
struct DeploymentJson<R = RecordsJson> {
    manifest: ManifestJson,
    secrets_providers: Option<SecretsJson>,
    resources: R,
    pending_operations: Option<Vec<PendingJson>>,
    metadata: Option<serde_json::Map<String, Value>>,
    extra: BTreeMap<String, Value>,
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
struct ManifestJson {
    time: Option<Time>,
    #[serde(default)]
    magic: String,
    #[serde(default)]
    version: String,
    #[serde(default, deserialize_with = "free_form::list")]
    plugins: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a pending operation as a JSON object")]
struct PendingJson {
    resource: StateJson,
    #[serde(rename = "type")]
    kind: PendingOperationKind,
}

async fn read_snapshot(text: &[u8], access: SecretsAccess<'_>, verify: bool) -> Result<Snapshot> {
    complete(parse(text)?, access, verify).await
}

/// Returns the document as a snapshot, with its secrets decrypted and its integrity checked.
async fn complete(deployment: DeploymentJson, access: SecretsAccess<'_>, verify: bool) -> Result<Snapshot> {
    let refuse = |error: Error| {
        let message = format!("snapshot integrity failure; refusing to use it: {error}");
        error
            .urn()
            .cloned()
            .into_iter()
            .fold(Error::new(ErrorKind::State, message), Error::with_urn)
    };
    let manifest = deployment.manifest;
    if verify && manifest.magic != magic(&manifest.version) {
        return Err(refuse(malformed(
            "magic cookie mismatch; possible tampering/corruption detected",
        )));
    }
    let mut records = deployment.resources.0;
    let pending = deployment.pending_operations.unwrap_or_default();
    let (kinds, pending): (Vec<_>, Vec<_>) = pending
        .into_iter()
        .map(|pending| (pending.kind, Arc::new(pending.resource.0)))
        .unzip();
    let count = records.len();
    records.extend(pending);
    records.iter().try_for_each(|record| check_record(record))?;
    let secrets = open_secrets(&mut records, deployment.secrets_providers, access).await?;
    let mut records = records.into_iter();
    let snapshot = Snapshot {
        manifest: Manifest {
            time: manifest
                .time
                .map(|time| time.0)
                .filter(|time| time.as_second() > ZERO_TIME),
            version: manifest.version,
            plugins: manifest.plugins.unwrap_or_default(),
        },
        secrets,
        resources: records.by_ref().take(count).collect(),
        pending_operations: records
            .zip(kinds)
            .map(|(resource, kind)| PendingOperation { resource, kind })
            .collect(),
        metadata: deployment.metadata.unwrap_or_default(),
        extra: deployment.extra,
    };
    if verify {
        integrity::verify(&snapshot).map_err(refuse)?;
    }
    Ok(snapshot)
}

/// The first second of the year 1, as a Unix timestamp: the format's value for a missing time.
const ZERO_TIME: i64 = -62_135_596_800;

/// Checks the rules whose violation makes a record malformed, as opposed to the integrity rules.
pub(in crate::state) fn check_record(record: &ResourceState) -> Result<()> {
    let urn = &record.urn;
    if !record.resource_type.is_empty() {
        return Ok(());
    }
    let message = format!("resource '{urn}' missing required 'type' field");
    Err(malformed(message).with_urn(urn.clone()))
}

async fn open_secrets(
    records: &mut [Arc<ResourceState>],
    named: Option<SecretsJson>,
    access: SecretsAccess<'_>,
) -> Result<Option<Arc<dyn SecretsManager>>> {
    let manager = match (named, access) {
        (None, _) => None,
        (Some(named), SecretsAccess::Open(provider)) => {
            Some(open_or_lock(provider, &named.kind, named.state.as_ref()).await)
        }
        (Some(named), SecretsAccess::Sealed) => {
            let error = Error::new(ErrorKind::Secrets, "the state was read without its secrets");
            Some(Arc::new(LockedSecrets::new(&named.kind, named.state, error)) as Arc<dyn SecretsManager>)
        }
    };
    if matches!(access, SecretsAccess::Open(_)) {
        decrypt(records, manager.as_deref()).await?;
    }
    Ok(manager)
}

/// Decrypts, in one batch, all sealed secrets of `records`, which have no other owner yet.
pub(in crate::state) async fn decrypt(
    records: &mut [Arc<ResourceState>],
    manager: Option<&dyn SecretsManager>,
) -> Result<()> {
    let mut sealed = SealedSecrets::new();
    let mut holders = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let in_inputs = sealed.collect(&record.inputs);
        let in_outputs = sealed.collect(&record.outputs);
        let in_trigger = record
            .options
            .replacement_trigger
            .as_ref()
            .is_some_and(|trigger| sealed.collect_value(trigger));
        if in_inputs | in_outputs | in_trigger {
            holders.push(index);
        }
    }
    let Some(first) = holders.first() else {
        return Ok(());
    };
    let Some(manager) = manager else {
        let urn = records[*first].urn.clone();
        let message =
            format!("resource {urn} has an encrypted value, but the state names no secrets manager");
        return Err(Error::new(ErrorKind::Decrypt, message).with_urn(urn));
    };
    let plaintexts = manager.decrypt(sealed.ciphertexts()).await?;
    let opened = sealed.open(&plaintexts, &manager.identity())?;
    for index in holders {
        let record = Arc::make_mut(&mut records[index]);
        opened.fill(&mut record.inputs);
        opened.fill(&mut record.outputs);
        record
            .options
            .replacement_trigger
            .iter_mut()
            .for_each(|trigger| opened.fill_value(trigger));
    }
    Ok(())
}

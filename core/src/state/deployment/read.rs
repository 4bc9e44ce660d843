//! Reading snapshots: the version is checked first, then the records are parsed, then secrets are decrypted in one
//! batch.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    document::{
        CheckpointJson, DeploymentJson, Envelope, NEWEST_VERSION, WholeCheckpoint, malformed, parse,
        parse_document,
    },
    magic, magic_mismatch, parts,
    write::SecretsJson,
};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    property::json::SealedSecrets,
    resource::{PendingOperation, ResourceState},
    runtime::Spawner,
    secrets::{LockedSecrets, SecretsManager, SecretsProvider, open_or_lock},
    state::{Manifest, Snapshot, integrity},
};

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
///
/// # Cancel safety
/// Cancel safe.
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

/// Reads a checkpoint; a large one is read by several threads, in the blocking pool of `spawner`.
///
/// # Errors
/// Those of [`read_checkpoint`].
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
/// Those of [`read_checkpoint`].
///
/// # Cancel safety
/// Cancel safe.
pub async fn read_deployment(bytes: &[u8], secrets: SecretsAccess<'_>, verify: bool) -> Result<Snapshot> {
    let envelope: Envelope<'_> = parse_document(bytes)?;
    let readable = format!("versions 1 to {NEWEST_VERSION} can be read");
    match envelope.version {
        None => {
            let reason = match envelope.deployment {
                Some(_) => "the deployment document has no field 'version'",
                None => "the document has neither 'version' nor 'deployment', as an exported deployment has",
            };
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

/// Returns the error for an unsupported deployment version: the reference engine's text, and what was found.
fn wrong_version(side: &str, found: &str) -> Error {
    let reference = format!("this stack's deployment version is too {side}");
    let library = match found.starts_with("version") {
        true => format!("{reference}: {found}"),
        // Without a version, the document is no old one.
        false => found.to_owned(),
    };
    Error::new(ErrorKind::State, Text::pair(reference, library))
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
        return Err(refuse(magic_mismatch()));
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

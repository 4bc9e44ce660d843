//! Writing snapshots: secrets are encrypted in one batch, then the records are serialized into one buffer.

use std::collections::BTreeSet;

use futures::FutureExt as _;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;

use super::{RecordJson, content_hash, feature, magic, record::Time};
use crate::{
    error::{Error, ErrorKind, Result},
    property::json::{self, Ciphertexts, SecretCollector, SecretForm},
    resource::{PendingOperation, ResourceState},
    runtime::Spawner,
    secrets::{SecretsManager, kind},
    state::{Manifest, Snapshot},
};

/// The buffer capacity for each record, in bytes; more than most records take.
const RECORD_CAPACITY: usize = 2_048;

/// The form of the secrets in a written snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretsShown {
    /// Encrypted by the snapshot's manager. Ciphertexts that it has created before are reused.
    #[default]
    Encrypted,
    /// In plaintext, for exports that show secrets.
    Plaintext,
    /// As they were read without decryption (see [`super::SecretsAccess::Sealed`]).
    Sealed,
}

/// The layout of a written document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// On one line, as stores keep it.
    #[default]
    Compact,
    /// Indented by four spaces and with a newline at the end, as exports are written.
    Pretty,
}

/// Writes a checkpoint: `{"version", "features"?, "checkpoint": {"stack", "latest"}}`.
///
/// `stack` is `organization/<project>/<stack>`.
///
/// # Errors
/// [`ErrorKind::Secrets`] when a secret cannot be encrypted, or there is no manager for it.
///
/// # Cancel safety
/// Cancel safe.
pub async fn write_checkpoint(stack: &str, snapshot: &Snapshot, secrets: SecretsShown) -> Result<Vec<u8>> {
    write(snapshot, secrets, Layout::Compact, Some(stack)).await
}

/// Writes an untyped deployment, as export and import exchange it: `{"version", "features"?, "deployment"}`.
///
/// # Errors
/// Those of [`write_checkpoint`].
///
/// # Cancel safety
/// Cancel safe.
pub async fn write_deployment(snapshot: &Snapshot, secrets: SecretsShown, layout: Layout) -> Result<Vec<u8>> {
    write(snapshot, secrets, layout, None).await
}

/// Writes a deployment as [`write_deployment`] does, without a call of the secrets manager: all secrets have been encrypted
/// by it before.
///
/// # Errors
/// [`ErrorKind::Secrets`] when one has not.
pub(crate) fn write_encrypted_deployment(snapshot: &Snapshot) -> Result<Vec<u8>> {
    let unsealed = || {
        let text = "the state has secrets that the operation could not encrypt";
        Error::new(ErrorKind::Secrets, text)
    };
    let ciphertexts = match snapshot.secrets.as_deref() {
        None => refuse_secrets(records(snapshot))?,
        Some(manager) => {
            manager.ready().now_or_never().ok_or_else(unsealed)??;
            let collector = collect(records(snapshot), manager);
            if !collector.is_empty() {
                return Err(unsealed());
            }
            collector.finish(Vec::new())?
        }
    };
    lay_out(
        snapshot,
        SecretForm::Encrypted(&ciphertexts),
        Layout::Compact,
        None,
    )
}

async fn write(
    snapshot: &Snapshot,
    secrets: SecretsShown,
    layout: Layout,
    stack: Option<&str>,
) -> Result<Vec<u8>> {
    if let Some(manager) = &snapshot.secrets {
        manager.ready().await?;
    }
    let ciphertexts = match secrets {
        SecretsShown::Encrypted => encrypt(records(snapshot), snapshot.secrets.as_deref()).await?,
        SecretsShown::Plaintext | SecretsShown::Sealed => Ciphertexts::sealed(),
    };
    let form = match secrets {
        SecretsShown::Plaintext => SecretForm::Plaintext,
        _ => SecretForm::Encrypted(&ciphertexts),
    };
    lay_out(snapshot, form, layout, stack)
}

/// Writes a checkpoint as [`write_checkpoint`] does, and returns it with its hash and the other result of `build`.
/// Building, writing and hashing are done on threads for blocking work.
///
/// # Errors
/// Those of `build`, and as [`write_checkpoint`].
pub(crate) async fn write_beside<T: Send + 'static>(
    stack: String,
    build: impl FnOnce() -> Result<(Snapshot, T)> + Send + 'static,
    spawner: &Spawner,
) -> Result<(Vec<u8>, String, T)> {
    let composing = spawner.spawn_blocking(move || {
        let (snapshot, more) = build()?;
        let collected = match &snapshot.secrets {
            Some(manager) => Ok(collect(records(&snapshot), &**manager)),
            None => Err(refuse_secrets(records(&snapshot))?),
        };
        let plaintexts = match &collected {
            Ok(collector) => collector.plaintexts()?,
            Err(_) => Vec::new(),
        };
        Ok::<_, Error>((snapshot, more, collected, plaintexts))
    });
    let (snapshot, more, collected, plaintexts) = composing.await??;
    if let Some(manager) = &snapshot.secrets {
        manager.ready().await?;
    }
    let ciphertexts = match &snapshot.secrets {
        Some(manager) if !plaintexts.is_empty() => manager.encrypt(plaintexts).await?,
        _ => Vec::new(),
    };
    let writing = spawner.spawn_blocking(move || {
        let ciphertexts = match collected {
            Ok(collector) => collector.finish(ciphertexts)?,
            Err(none) => none,
        };
        let form = SecretForm::Encrypted(&ciphertexts);
        let text = lay_out(&snapshot, form, Layout::Compact, Some(&stack))?;
        let hash = content_hash(&text);
        Ok((text, hash, more))
    });
    writing.await?
}

fn records(snapshot: &Snapshot) -> impl Iterator<Item = &ResourceState> {
    let pending = snapshot.pending_operations.iter();
    let pending = pending.map(|pending| &pending.resource);
    snapshot.resources.iter().chain(pending).map(|record| &**record)
}

fn lay_out(
    snapshot: &Snapshot,
    form: SecretForm<'_>,
    layout: Layout,
    stack: Option<&str>,
) -> Result<Vec<u8>> {
    // The reference engine refuses checkpoints that name this manager; it is only needed where there is a secret.
    let is_encoder =
        |manager: &dyn SecretsManager| manager.kind() == kind::ENCODED && manager.state().is_none();
    let names_manager = snapshot
        .secrets
        .as_deref()
        .is_some_and(|manager| !is_encoder(manager) || records(snapshot).any(has_secret));
    let envelope = Envelope {
        stack,
        features: feature::features(snapshot),
        deployment: Deployment {
            snapshot,
            form,
            names_manager,
        },
    };
    match layout {
        Layout::Compact => {
            // Unused capacity costs no memory pages; a buffer that grows is copied each time.
            let mut text = Vec::with_capacity(snapshot.resources.len() * RECORD_CAPACITY + RECORD_CAPACITY);
            json::to_writer(&mut text, &envelope)?;
            Ok(text)
        }
        Layout::Pretty => {
            let mut text = json::to_vec_pretty(&envelope, "    ")?;
            text.push(b'\n');
            Ok(text)
        }
    }
}

/// Encrypts, in one batch, all secrets of `records` without a ciphertext of `manager`.
pub(in crate::state) async fn encrypt<'a>(
    records: impl Iterator<Item = &'a ResourceState>,
    manager: Option<&dyn SecretsManager>,
) -> Result<Ciphertexts> {
    let Some(manager) = manager else {
        return refuse_secrets(records);
    };
    let collector = collect(records, manager);
    let ciphertexts = match collector.is_empty() {
        true => Vec::new(),
        false => manager.encrypt(collector.plaintexts()?).await?,
    };
    collector.finish(ciphertexts)
}

fn collect<'a>(
    records: impl Iterator<Item = &'a ResourceState>,
    manager: &dyn SecretsManager,
) -> SecretCollector {
    let mut collector = SecretCollector::new(manager.identity());
    for record in records {
        collector.collect(&record.inputs);
        collector.collect(&record.outputs);
        record
            .options
            .replacement_trigger
            .iter()
            .for_each(|trigger| collector.collect_value(trigger));
    }
    collector
}

fn has_secret(record: &ResourceState) -> bool {
    let trigger = record.options.replacement_trigger.as_ref();
    record.inputs.contains_secrets()
        || record.outputs.contains_secrets()
        || trigger.is_some_and(crate::property::PropertyValue::contains_secrets)
}

fn refuse_secrets<'a>(mut records: impl Iterator<Item = &'a ResourceState>) -> Result<Ciphertexts> {
    match records.find(|record| has_secret(record)) {
        None => Ok(Ciphertexts::remembered("none".into())),
        Some(record) => {
            let urn = record.urn.clone();
            let message = format!("resource {urn} has a secret value, but the stack has no secrets manager");
            Err(Error::new(ErrorKind::Secrets, message).with_urn(urn))
        }
    }
}

struct Envelope<'a> {
    stack: Option<&'a str>,
    features: BTreeSet<&'static str>,
    deployment: Deployment<'a>,
}

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("version", if self.features.is_empty() { &3 } else { &4 })?;
        if !self.features.is_empty() {
            fields.serialize_entry("features", &self.features)?;
        }
        match self.stack {
            None => fields.serialize_entry("deployment", &self.deployment)?,
            Some(stack) => fields.serialize_entry(
                "checkpoint",
                &StackDeployment {
                    stack,
                    latest: &self.deployment,
                },
            )?,
        }
        fields.end()
    }
}

#[derive(Serialize)]
struct StackDeployment<'a> {
    stack: &'a str,
    latest: &'a Deployment<'a>,
}

struct Deployment<'a> {
    snapshot: &'a Snapshot,
    form: SecretForm<'a>,
    /// Whether the secrets manager is written.
    names_manager: bool,
}

impl Serialize for Deployment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            snapshot,
            form,
            names_manager,
        } = *self;
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("manifest", &ManifestJson(&snapshot.manifest))?;
        if let Some(manager) = snapshot.secrets.as_ref().filter(|_| names_manager) {
            let provider = SecretsJson {
                kind: manager.kind(),
                state: manager.state(),
            };
            fields.serialize_entry("secrets_providers", &provider)?;
        }
        if !snapshot.resources.is_empty() {
            let records = Each(|| {
                snapshot
                    .resources
                    .iter()
                    .map(|record| RecordJson::new(record, form))
            });
            fields.serialize_entry("resources", &records)?;
        }
        if !snapshot.pending_operations.is_empty() {
            let pending = Each(|| {
                snapshot
                    .pending_operations
                    .iter()
                    .map(|pending| PendingJson { pending, form })
            });
            fields.serialize_entry("pending_operations", &pending)?;
        }
        fields.serialize_entry("metadata", &snapshot.metadata)?;
        // The known members come first, in the format's order; unknown ones follow.
        let known = ["snippets", "extensions"];
        for name in known {
            if let Some(value) = snapshot.extra.get(name) {
                fields.serialize_entry(name, value)?;
            }
        }
        for (name, value) in snapshot
            .extra
            .iter()
            .filter(|(name, _)| !known.contains(&name.as_str()))
        {
            fields.serialize_entry(name, value)?;
        }
        fields.end()
    }
}

/// A list that is serialized element by element.
struct Each<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

struct ManifestJson<'a>(&'a Manifest);

impl Serialize for ManifestJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self.0.time {
            Some(time) => fields.serialize_entry("time", &Time(time))?,
            None => fields.serialize_entry("time", "0001-01-01T00:00:00Z")?,
        }
        fields.serialize_entry("magic", &magic(&self.0.version))?;
        fields.serialize_entry("version", &self.0.version)?;
        if !self.0.plugins.is_empty() {
            fields.serialize_entry("plugins", &self.0.plugins)?;
        }
        fields.end()
    }
}

/// A secrets manager as deployments and journal headers name it.
#[derive(Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
pub(in crate::state) struct SecretsJson<K = String> {
    #[serde(rename = "type")]
    pub(in crate::state) kind: K,
    #[serde(
        default,
        deserialize_with = "super::maybe_free_form",
        skip_serializing_if = "Option::is_none"
    )]
    pub(in crate::state) state: Option<Value>,
}

struct PendingJson<'a> {
    pending: &'a PendingOperation,
    form: SecretForm<'a>,
}

impl Serialize for PendingJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("resource", &RecordJson::new(&self.pending.resource, self.form))?;
        fields.serialize_entry("type", &self.pending.kind)?;
        fields.end()
    }
}

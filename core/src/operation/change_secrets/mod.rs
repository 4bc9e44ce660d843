//! Changing the secrets manager of a stack: its state, and the configuration that its source keeps, get another key.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    StackContext,
    edit::{warn, write},
    secrets::config_manager,
};
use crate::{
    config::{ConfigSource, RekeyedConfig},
    error::{Error, ErrorKind, Result},
    secrets::{KeyService, SecretsManager, SecretsProvider, kind},
    state::{
        Snapshot,
        edit::{EditReport, SettingsEdit},
    },
    store::{LoadedStack, Rekeying, StackSession, StackStorage},
};

/// The warning for a stack that was opened without a project folder.
const NO_PROJECT: &str = "the stack was opened without its project folder: where it has a settings file, `Pulumi.<stack>.yaml`, the \
                          encrypted values in it and its `encryptionsalt` keep the former key. To change them with the state, open the \
                          stack with `project`";

/// The name of the operation in locks and journals.
const NAME: &str = "change-secrets";

/// Encrypts the secrets of a state, and those of the configuration's source, with a new manager of `secrets`.
///
/// # Errors
/// [`ErrorKind::Decrypt`] when the stack was opened with a key that is not its own; [`ErrorKind::Secrets`] when the new manager
/// fails; [`ErrorKind::Conflict`] while the stack is locked elsewhere, and when an earlier change is not finished.
pub(crate) async fn change_secrets(
    stack: &StackContext,
    secrets: &dyn SecretsProvider,
    dry_run: bool,
) -> Result<EditReport> {
    if dry_run {
        stack.storage.refuse_unsettled().await?;
        if stack.config_source.is_none() && Rekeying::of(&stack.storage).await?.is_some() {
            return Err(unfinished(&stack.storage));
        }
        let loaded = stack.storage.load_unlocked(&*stack.secrets).await?;
        require_key(stack, &loaded.snapshot).await?;
        let gets_key_service = match secrets.for_key_service("") {
            Some(_) => is_named_in_settings(secrets, &*secrets.create().await?),
            None => false,
        };
        let kept = kept_config(stack, loaded.snapshot.secrets.as_ref(), gets_key_service).await?;
        let report = report_of(stack, &loaded);
        return Ok(EditReport {
            dry_run,
            settings: kept.map(|_| SettingsEdit::Encrypted),
            ..report
        });
    }
    let lock = stack.storage.lock_for(NAME).await?;
    let changed = change_locked(stack, secrets).await;
    let released = lock.release().await;
    changed.and_then(|report| released.map(|()| report))
}

async fn change_locked(stack: &StackContext, secrets: &dyn SecretsProvider) -> Result<EditReport> {
    let storage = &stack.storage;
    match &stack.config_source {
        Some(source) => settle_locked(storage, &**source).await?,
        None if Rekeying::of(storage).await?.is_some() => return Err(unfinished(storage)),
        None => {}
    }
    let loaded = storage.load(&*stack.secrets).await?;
    require_key(stack, &loaded.snapshot).await?;
    let mut report = report_of(stack, &loaded);
    let manager = secrets.create().await?;
    manager.ready().await?;
    let config = rekeyed_config(stack, loaded.snapshot.secrets.as_ref(), secrets, &*manager).await?;
    report.settings = config.as_ref().map(|_| SettingsEdit::Encrypted);
    let mut edited = Snapshot {
        secrets: Some(Arc::new(NewKey(Arc::clone(&manager)))),
        ..loaded.snapshot.clone()
    };
    let mut current = loaded.snapshot.clone();
    // A journal that a crash left becomes the checkpoint first.
    let session = StackSession::begin(storage, loaded, &mut current, NAME).await?;
    warn(&mut report, session.notes());
    edited.manifest.clone_from(&current.manifest);
    if let Some(config) = config.clone() {
        Rekeying::note(storage, &*manager, config).await?;
    }
    if let Err(error) = write(stack, &session, Some(&current), &mut edited).await {
        if let Some(source) = &stack.config_source
            && config.is_some()
        {
            // The error of the change is reported. What stays is settled when the stack is next opened.
            drop(settle_locked(storage, &**source).await);
        }
        return Err(error);
    }
    if let Some(source) = &stack.config_source
        && let Some(config) = config
    {
        source.rekey(&config).await.map_err(|error| {
            error.with_hint(format!(
                "the state of stack '{}' has the new key; opening the stack with it finishes the change of its configuration",
                storage.name()
            ))
        })?;
        Rekeying::forget(storage).await?;
    }
    Ok(report)
}

/// Finishes or forgets a change of the secrets manager that was interrupted.
///
/// # Errors
/// [`ErrorKind::Conflict`] while the change is in progress; those of store and source.
pub(crate) async fn settle_secrets(storage: &StackStorage, source: &dyn ConfigSource) -> Result<()> {
    if Rekeying::of(storage).await?.is_none() {
        return Ok(());
    }
    let lock = storage.lock_for(NAME).await?;
    let settled = settle_locked(storage, source).await;
    let released = lock.release().await;
    settled.and(released)
}

async fn settle_locked(storage: &StackStorage, source: &dyn ConfigSource) -> Result<()> {
    let Some(rekeying) = Rekeying::of(storage).await? else {
        return Ok(());
    };
    if rekeying.is_written(storage).await? {
        source.rekey(&rekeying.config).await?;
    }
    Rekeying::forget(storage).await
}

/// Fails when the stack was opened with another key than that of its state. Without secrets, a manager that this engine does not
/// know has no key to prove.
pub(super) async fn require_key(stack: &StackContext, snapshot: &Snapshot) -> Result<()> {
    let Some(manager) = &snapshot.secrets else {
        return Ok(());
    };
    let state = manager.state();
    let opened = stack.secrets.open(manager.kind(), state.as_ref()).await;
    if let Err(error) = &opened
        && error.kind() != ErrorKind::Decrypt
        && EditReport::of_secrets(snapshot).records.is_empty()
    {
        return Ok(());
    }
    opened
        .map(drop)
        .map_err(|error| error.of_stack(stack.storage.name()))
}

/// What the configuration's source keeps encrypted.
struct KeptConfig {
    ciphertexts: Vec<String>,
    former: Arc<dyn SecretsManager>,
    /// Whether it names a key service that the stack's secrets know.
    has_key_service: bool,
}

/// Returns whether the settings must name the key service of a new manager: the reference engine's command finds it only there.
fn is_named_in_settings(secrets: &dyn SecretsProvider, manager: &dyn SecretsManager) -> bool {
    // A host that encrypts for the kind `cloud` in its own way has its settings as they are.
    manager.kind() == kind::KEY_SERVICE && secrets.for_key_service("").is_some()
}

/// Returns the ciphertexts that the configuration's source keeps, and their manager; `None` when it keeps nothing encrypted.
///
/// # Errors
/// [`ErrorKind::Decrypt`] with the key of a value that cannot be decrypted; those of the source.
async fn kept_config(
    stack: &StackContext,
    former: Option<&Arc<dyn SecretsManager>>,
    gets_key_service: bool,
) -> Result<Option<KeptConfig>> {
    let Some(source) = &stack.config_source else {
        return Ok(None);
    };
    let Some(kept) = source.kept().await? else {
        return Ok(None);
    };
    let ciphertexts = kept.config.ciphertexts();
    let key_service = kept.key_service.as_ref();
    let key_service = key_service.filter(|service| stack.secrets.for_key_service(&service.url).is_some());
    let has_manager = kept.encryption_salt.is_some() || key_service.is_some();
    if ciphertexts.is_empty() && !has_manager && !gets_key_service {
        return Ok(None);
    }
    let salt = kept.encryption_salt.as_deref();
    let former = config_manager(&*stack.secrets, salt, key_service, former).await?;
    drop(kept.config.decrypt(&*former).await?);
    Ok(Some(KeptConfig {
        ciphertexts,
        former,
        has_key_service: key_service.is_some(),
    }))
}

/// Encrypts what the configuration's source keeps with the new manager; `None` when it keeps nothing encrypted.
async fn rekeyed_config(
    stack: &StackContext,
    former: Option<&Arc<dyn SecretsManager>>,
    secrets: &dyn SecretsProvider,
    manager: &dyn SecretsManager,
) -> Result<Option<RekeyedConfig>> {
    let gets_key_service = is_named_in_settings(secrets, manager);
    let Some(kept) = kept_config(stack, former, gets_key_service).await? else {
        return Ok(None);
    };
    let KeptConfig {
        ciphertexts, former, ..
    } = kept;
    let renewed = match ciphertexts.is_empty() {
        true => Vec::new(),
        false => {
            let plaintexts = former.decrypt(ciphertexts.clone()).await?;
            manager.encrypt(plaintexts).await?
        }
    };
    if renewed.len() != ciphertexts.len() {
        return Err(Error::internal("a secrets manager did not answer all values"));
    }
    let state = manager.state().filter(|_| manager.kind() == kind::PASSPHRASE);
    let salt = state.as_ref().and_then(|state| state.get("salt")?.as_str());
    Ok(Some(RekeyedConfig {
        encryption_salt: salt.map(str::to_owned),
        drops_key_service: kept.has_key_service && manager.kind() != kind::KEY_SERVICE,
        key_service: KeyService::of_manager(manager).filter(|_| gets_key_service),
        ciphertexts: ciphertexts.into_iter().zip(renewed).collect(),
    }))
}

fn report_of(stack: &StackContext, loaded: &LoadedStack) -> EditReport {
    let mut report = EditReport::of_secrets(&loaded.snapshot);
    warn(&mut report, &loaded.warnings);
    if stack.config_source.is_none() {
        report.warnings.push(NO_PROJECT.to_owned());
    }
    let encrypted = stack.config.encrypted_keys();
    if !encrypted.is_empty() {
        let keys: Vec<_> = encrypted.iter().map(ToString::to_string).collect();
        report.warnings.push(format!(
            "the configuration that the host supplies stays encrypted with the former key: {}; operations on the stack fail until these \
             values are encrypted with the new key, or are supplied as secrets in plaintext",
            keys.join(", ")
        ));
    }
    report
}

/// The error for a stack whose change of the secrets manager is not finished.
pub(super) fn unfinished(storage: &StackStorage) -> Error {
    let text = format!(
        "an earlier change of the secrets manager of stack '{}' was interrupted before its configuration had the new key",
        storage.name()
    );
    Error::new(ErrorKind::Conflict, text)
        .with_hint("open the stack with its project folder, which finishes that change")
}

/// A manager with an identity of its own: no ciphertext is kept, also where the former manager has the same name and state.
struct NewKey(Arc<dyn SecretsManager>);

#[async_trait]
impl SecretsManager for NewKey {
    fn kind(&self) -> &str {
        self.0.kind()
    }

    fn is_open(&self) -> bool {
        self.0.is_open()
    }

    async fn ready(&self) -> Result<()> {
        self.0.ready().await
    }

    fn state(&self) -> Option<serde_json::Value> {
        self.0.state()
    }

    fn identity(&self) -> Arc<str> {
        format!("new:{}", self.0.identity()).into()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.0.encrypt(plaintexts).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.0.decrypt(ciphertexts).await
    }
}

#[cfg(test)]
mod tests;

//! The context of a stack for operations.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use crate::{
    config::{Config, ConfigSource},
    error::{Error, ErrorKind, Result},
    executor::Control,
    operation::{
        EngineParts, OperationResult,
        opening::{create_unless_there, explained, missing},
        stack_key::recorded_manager,
    },
    secrets::{KeyService, SecretsProvider, kind},
    state::{edit::StateEdit, integrity, journal::JournalReceiver},
    store::{StackName, StackStorage},
};

/// The hint for a state with another key than the handle of the stack.
const CHANGED_KEY: &str = "the stack was opened with another key than its secrets have now: after change_secrets() open it again, with \
                           the new passphrase or encryption";

/// The hint for a state that violates integrity rules.
const REPAIRABLE: &str = "repair() sorts the records and drops references to missing ones; with a dry run it reports what it would change";

/// The storage of a stack, its name and settings, and the engine that it belongs to.
#[derive(Clone)]
pub(crate) struct StackContext {
    pub(crate) engine: Arc<EngineParts>,
    pub(crate) storage: StackStorage,
    /// Whether the host supplied the state: `storage` is then in memory and exclusive to this stack.
    pub(crate) is_supplied: bool,
    /// Distinguishes the stack from all others of the engine: stacks with a state of the host can share names.
    pub(crate) identity: String,
    pub(crate) organization: String,
    pub(crate) project: String,
    pub(crate) stack: String,
    pub(crate) root_directory: Option<PathBuf>,
    pub(crate) runtime_options: BTreeMap<String, serde_json::Value>,
    pub(crate) config: Config,
    /// Supplies the configuration of each operation; `config` is then what the host sets beside it.
    pub(crate) config_source: Option<Arc<dyn ConfigSource>>,
    pub(crate) encryption_salt: Option<String>,
    /// That of the settings.
    pub(crate) key_service: Option<KeyService>,
    pub(crate) journal: Option<Arc<dyn JournalReceiver>>,
    pub(crate) tags: BTreeMap<String, String>,
    /// Facts about the environment, for the history.
    pub(crate) environment: BTreeMap<String, String>,
    /// The stack's own, or the engine's.
    pub(crate) secrets: Arc<dyn SecretsProvider>,
    /// Of the stacks that it refers to, by their names.
    pub(crate) reference_secrets: BTreeMap<String, Arc<dyn SecretsProvider>>,
    /// Whether the stack did not exist when it was opened; the first write creates it.
    pub(crate) is_new: bool,
    /// The name that a renaming through this handle gave the stack.
    pub(crate) renamed: Arc<OnceLock<StackName>>,
}

impl StackContext {
    /// Returns the stack that a reference in this one names.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a name that no stack can have.
    pub(crate) fn referred_stack(&self, text: &str) -> Result<StackName> {
        // Programs qualify names by the organization of their run.
        let own = text
            .strip_prefix(self.organization.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|rest| rest.contains('/'));
        match text.contains('/') {
            true => StackName::parse(own.unwrap_or(text)),
            false => StackName::new(&self.project, text),
        }
    }

    /// Returns whether a write creates the stack. One that has been renamed would exist twice.
    pub(crate) fn is_created_by_writes(&self) -> bool {
        self.is_new && self.renamed.get().is_none()
    }

    /// Creates the stack if it did not exist when it was opened.
    pub(crate) async fn create_if_new(&self) -> Result<()> {
        match self.is_created_by_writes() {
            true => create_unless_there(&self.storage).await,
            false => Ok(()),
        }
    }

    /// Returns the stack with the configuration of one operation, and whether the operation reads every resource first.
    /// `None` when no source supplies a configuration.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) async fn configured(&self, runs_program: bool) -> Result<Option<(Self, bool)>> {
        let Some(source) = &self.config_source else {
            return Ok(None);
        };
        let loaded = source.load(&self.config, runs_program).await?;
        let stack = Self {
            config: loaded.config,
            config_source: None,
            encryption_salt: loaded.encryption_salt.or_else(|| self.encryption_salt.clone()),
            key_service: loaded.key_service.or_else(|| self.key_service.clone()),
            ..self.clone()
        };
        Ok(Some((stack, loaded.refresh)))
    }

    /// Adds hints to an error: for a stack that does not exist its new name, or similar names and the functions that create one;
    /// for one with another key that it was changed; for a damaged state that it can be repaired.
    pub(crate) async fn explained(&self, error: Error) -> Error {
        match (error.kind(), self.renamed.get()) {
            (ErrorKind::NotFound, Some(name)) if !self.storage.exists().await.unwrap_or(true) => {
                error.with_hint(format!("it was renamed to '{name}': open the stack of that name"))
            }
            (ErrorKind::Decrypt | ErrorKind::Secrets, _) if self.has_other_key().await => {
                error.with_hint(CHANGED_KEY)
            }
            (ErrorKind::State, _) if self.is_repairable().await => error.with_hint(REPAIRABLE),
            _ => explained(&self.storage, error).await,
        }
    }

    /// Returns whether the state has another key than that with which the stack was opened.
    async fn has_other_key(&self) -> bool {
        let stored = self.storage.read().await.ok();
        let Some((kind, state)) = stored.as_ref().and_then(recorded_manager) else {
            return false;
        };
        match self.secrets.open(&kind, state.as_ref()).await {
            // A key service that fails is not another key.
            Err(error) => kind != kind::KEY_SERVICE || error.kind() != ErrorKind::Decrypt,
            Ok(_) => false,
        }
    }

    /// Returns whether the state violates integrity rules in a way that a repair corrects.
    async fn is_repairable(&self) -> bool {
        match self.storage.load_unverified(&*self.secrets).await {
            Ok(loaded) if integrity::verify(&loaded.snapshot).is_err() => {
                StateEdit::Repair.apply(&loaded.snapshot).is_ok()
            }
            _ => false,
        }
    }

    /// Fails for a stack that existed when it was opened, and does not exist any more.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], with hints.
    pub(crate) async fn require_existing(&self) -> Result<()> {
        if self.is_supplied || self.is_created_by_writes() || self.storage.exists().await? {
            return Ok(());
        }
        Err(self.explained(missing(self.storage.name())).await)
    }

    /// Returns the result of an operation whose task panicked.
    pub(crate) fn died(&self, error: Error, control: &Control) -> OperationResult {
        control.cancel();
        let recovery = match self.is_supplied {
            true => "an export returns the state that it left",
            false => "it is recovered when it is next opened",
        };
        let error = error.with_hint(format!("stack '{}/{}': {recovery}", self.project, self.stack));
        OperationResult::without_run(error, false)
    }
}

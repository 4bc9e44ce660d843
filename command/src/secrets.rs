//! The passphrase of the environment: needed only by what encrypts or decrypts.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use serde_json::Value;
use stackwright::{
    Error, ErrorKind,
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider, SecretsManager, SecretsProvider},
};

use crate::{
    failure::{Failure, NO_PASSPHRASE, Result},
    invocation::Invocation,
};

/// Maximum number of passphrases whose derived keys are kept.
const MAX_PASSPHRASES: usize = 64;

/// The kind of secrets managers that only encode.
const ENCODED: &str = "b64";

/// The passphrases of former invocations, so that their keys are derived once: that takes long.
#[derive(Default)]
pub(crate) struct Passphrases(Mutex<HashMap<String, Arc<PassphraseProvider>>>);

impl Passphrases {
    /// Returns the secrets of an invocation.
    ///
    /// # Errors
    /// For a file of the passphrase that cannot be read.
    pub(crate) fn of(&self, invocation: &Invocation, runtime: &Runtime) -> Result<EnvironmentSecrets> {
        let passphrase = match invocation.environment.get("PULUMI_CONFIG_PASSPHRASE") {
            Some(passphrase) => Some(passphrase.clone()),
            None => match invocation.variable("PULUMI_CONFIG_PASSPHRASE_FILE") {
                Some(file) => {
                    let read = fs::read_to_string(invocation.path(file));
                    let text = read.map_err(|error| {
                        Failure::new(format!("unable to read PULUMI_CONFIG_PASSPHRASE_FILE: {error}"))
                    })?;
                    Some(text.trim().to_owned())
                }
                None => None,
            },
        };
        Ok(EnvironmentSecrets {
            provider: passphrase.map(|passphrase| self.provider(passphrase, runtime)),
            verifies: false,
        })
    }

    fn provider(&self, passphrase: String, runtime: &Runtime) -> Arc<PassphraseProvider> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = known.get(&passphrase) {
            return Arc::clone(provider);
        }
        if known.len() >= MAX_PASSPHRASES {
            known.clear();
        }
        let provider = Arc::new(PassphraseProvider::new(passphrase.as_str(), runtime.clone()));
        known.insert(passphrase, Arc::clone(&provider));
        provider
    }
}

/// Encrypts with the passphrase of the environment, if there is one.
#[derive(Clone)]
pub(crate) struct EnvironmentSecrets {
    provider: Option<Arc<PassphraseProvider>>,
    verifies: bool,
}

impl EnvironmentSecrets {
    /// Returns secrets that check the passphrase when a stack is opened.
    pub(crate) fn verifying(&self) -> Self {
        Self {
            verifies: self.provider.is_some(),
            ..self.clone()
        }
    }

    /// Refuses a missing passphrase.
    pub(crate) fn require(&self) -> Result {
        self.given().map(drop).map_err(Failure::from)
    }

    fn given(&self) -> stackwright::Result<&PassphraseProvider> {
        let missing = || Error::new(ErrorKind::Secrets, NO_PASSPHRASE);
        self.provider.as_deref().ok_or_else(missing)
    }
}

#[async_trait]
impl SecretsProvider for EnvironmentSecrets {
    async fn create(&self) -> stackwright::Result<Arc<dyn SecretsManager>> {
        self.given()?.create().await
    }

    async fn open(&self, kind: &str, state: Option<&Value>) -> stackwright::Result<Arc<dyn SecretsManager>> {
        match &self.provider {
            // Secrets that are only encoded need no passphrase.
            None if kind == ENCODED => Base64Provider.open(kind, state).await,
            _ => self.given()?.open(kind, state).await,
        }
    }

    fn verifies_key(&self) -> bool {
        self.verifies
    }
}

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
    secrets::{
        Base64Provider, KeyServiceProvider, PassphraseProvider, SecretsManager, SecretsProvider,
        kind::{ENCODED, KEY_SERVICE},
    },
};

use crate::{
    failure::{Failure, NO_PASSPHRASE, Result, WRONG_PASSPHRASE},
    invocation::{Ask, Cancellation, Invocation, Output},
};

/// Maximum number of passphrases whose derived keys are kept.
const MAX_PASSPHRASES: usize = 64;

/// How often a passphrase is asked for.
const MAX_ATTEMPTS: usize = 3;

/// The questions of the reference engine.
const UNLOCK: &str = "Enter your passphrase to unlock config/secrets\n    (set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to remember): ";
const PROTECT: &str = "Enter your passphrase to protect config/secrets: ";
const CONFIRM: &str = "Re-enter your passphrase to confirm: ";
/// The error of the reference engine for two different answers.
const DIFFERENT: &str = "passphrases do not match";

/// The passphrases of former invocations, so that their keys are derived once: that takes long.
#[derive(Default)]
pub(crate) struct Passphrases(Mutex<HashMap<String, Arc<PassphraseProvider>>>);

impl Passphrases {
    /// Returns the secrets of an invocation. Where its environment has no passphrase, a terminal is asked once one is needed.
    ///
    /// # Errors
    /// For a file of the passphrase that cannot be read.
    pub(crate) fn of(
        self: &Arc<Self>,
        invocation: &Invocation,
        runtime: &Runtime,
    ) -> Result<EnvironmentSecrets> {
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
        let source = match (passphrase, &invocation.terminal.ask_hidden) {
            (Some(passphrase), _) => Source::Given(self.provider(passphrase, runtime)),
            (None, Some(ask)) => Source::Asked(Arc::new(Asking {
                ask: Arc::clone(ask),
                stderr: Arc::clone(&invocation.stderr),
                cancellation: invocation.cancellation.clone(),
                passphrases: Arc::clone(self),
                runtime: runtime.clone(),
                accepted: Mutex::default(),
                wrong_answers: tokio::sync::Mutex::default(),
            })),
            (None, None) => Source::Missing,
        };
        let client = invocation.key_service.as_ref();
        Ok(EnvironmentSecrets {
            source,
            verifies: false,
            keys: client.map(|client| KeyServiceProvider::of_client(Arc::clone(client), runtime.clone())),
            url: None,
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

/// Where the passphrase of an invocation comes from.
#[derive(Clone)]
enum Source {
    Given(Arc<PassphraseProvider>),
    Asked(Arc<Asking>),
    Missing,
}

/// Asks a terminal for the passphrase, one question at a time. What opens a state is not asked for again.
struct Asking {
    ask: Ask,
    stderr: Output,
    cancellation: Cancellation,
    passphrases: Arc<Passphrases>,
    runtime: Runtime,
    accepted: Mutex<Option<Arc<PassphraseProvider>>>,
    /// Locked while a question is asked.
    wrong_answers: tokio::sync::Mutex<usize>,
}

impl Asking {
    fn accepted(&self) -> Option<Arc<PassphraseProvider>> {
        self.accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn accept(&self, provider: Arc<PassphraseProvider>) {
        *self.accepted.lock().unwrap_or_else(PoisonError::into_inner) = Some(provider);
    }

    /// Asks one question. The end of the input is no passphrase.
    async fn typed(&self, question: &str) -> stackwright::Result<String> {
        let answer = self.cancellation.answer(&self.ask, question).await;
        let answer = answer.map_err(|failure| Error::new(ErrorKind::Cancelled, failure.message))?;
        let line = answer.ok_or_else(|| Error::new(ErrorKind::Secrets, NO_PASSPHRASE))?;
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Opens a manager with the passphrase that is typed; a wrong one is asked for again, so often in all.
    async fn open(&self, kind: &str, state: Option<&Value>) -> stackwright::Result<Arc<dyn SecretsManager>> {
        let mut wrong_answers = self.wrong_answers.lock().await;
        if let Some(provider) = self.accepted() {
            return provider.open(kind, state).await;
        }
        while *wrong_answers < MAX_ATTEMPTS {
            let passphrase = self.typed(UNLOCK).await?;
            let provider = self.passphrases.provider(passphrase, &self.runtime);
            match provider.open(kind, state).await {
                Err(error) if error.kind() == ErrorKind::Decrypt => {
                    *wrong_answers += 1;
                    if *wrong_answers < MAX_ATTEMPTS {
                        (self.stderr)(&format!("error: {WRONG_PASSPHRASE}\n"));
                    }
                }
                opened => {
                    if opened.is_ok() {
                        self.accept(provider);
                    }
                    return opened;
                }
            }
        }
        Err(Error::new(ErrorKind::Decrypt, WRONG_PASSPHRASE))
    }

    /// Returns the passphrase of something new, which is typed twice.
    async fn chosen(&self) -> stackwright::Result<Arc<PassphraseProvider>> {
        let _turn = self.wrong_answers.lock().await;
        if let Some(provider) = self.accepted() {
            return Ok(provider);
        }
        for attempt in 1..=MAX_ATTEMPTS {
            let passphrase = self.typed(PROTECT).await?;
            if self.typed(CONFIRM).await? == passphrase {
                let provider = self.passphrases.provider(passphrase, &self.runtime);
                self.accept(Arc::clone(&provider));
                return Ok(provider);
            }
            if attempt < MAX_ATTEMPTS {
                (self.stderr)(&format!("error: {DIFFERENT}\n"));
            }
        }
        Err(Error::new(ErrorKind::Secrets, DIFFERENT))
    }
}

/// A new manager of a key service that has wrapped its data key already: what is made next gets it.
#[derive(Clone)]
pub(crate) struct PreparedSecrets {
    url: String,
    manager: Arc<dyn SecretsManager>,
    provider: Arc<dyn SecretsProvider>,
}

impl PreparedSecrets {
    /// Has a data key wrapped, with the key that `url` names.
    ///
    /// # Errors
    /// Those of the key service.
    pub(crate) async fn new(url: &str, provider: Arc<dyn SecretsProvider>) -> Result<Self> {
        let manager = provider.create().await?;
        manager.ready().await?;
        Ok(Self {
            url: url.to_owned(),
            manager,
            provider,
        })
    }
}

#[async_trait]
impl SecretsProvider for PreparedSecrets {
    async fn open(&self, kind: &str, state: Option<&Value>) -> stackwright::Result<Arc<dyn SecretsManager>> {
        self.provider.open(kind, state).await
    }

    fn for_key_service(&self, url: &str) -> Option<Arc<dyn SecretsProvider>> {
        match url == self.url {
            true => Some(Arc::new(self.clone())),
            false => self.provider.for_key_service(url),
        }
    }

    async fn create(&self) -> stackwright::Result<Arc<dyn SecretsManager>> {
        Ok(Arc::clone(&self.manager))
    }
}

/// Encrypts with the passphrase of the environment, or with one that is typed at a terminal.
#[derive(Clone)]
pub(crate) struct EnvironmentSecrets {
    source: Source,
    verifies: bool,
    /// Opens the stacks of key services; `None` without a client.
    keys: Option<KeyServiceProvider>,
    /// The key service of new managers, in place of the passphrase.
    url: Option<String>,
}

impl EnvironmentSecrets {
    /// Returns secrets that check the passphrase when a stack is opened.
    pub(crate) fn verifying(&self) -> Self {
        Self {
            verifies: !matches!(self.source, Source::Missing) || self.keys.is_some(),
            ..self.clone()
        }
    }

    /// Refuses a missing passphrase, where there is no terminal to ask.
    pub(crate) fn require(&self) -> Result {
        match self.source {
            Source::Missing => Err(Failure::from(missing())),
            Source::Given(_) | Source::Asked(_) => Ok(()),
        }
    }

    /// Refuses a missing passphrase before something new is made, for which a terminal is asked.
    pub(crate) async fn require_new(&self) -> Result {
        match &self.source {
            Source::Asked(asking) => asking.chosen().await.map(drop).map_err(Failure::from),
            Source::Given(_) | Source::Missing => self.require(),
        }
    }
}

fn no_client(state: Option<&Value>) -> Error {
    let url = state.and_then(|state| state.get("url")?.as_str());
    let url = url.unwrap_or("the key service of the stack");
    let message = format!(
        "{url}: this command has no client of key services; the Automation API of the packages for Python and Node makes one from \
         the URL"
    );
    Error::new(ErrorKind::Secrets, message)
        .with_hint("an engine whose `secrets` are a key service has one, too")
}

fn missing() -> Error {
    Error::new(ErrorKind::Secrets, NO_PASSPHRASE)
}

#[async_trait]
impl SecretsProvider for EnvironmentSecrets {
    async fn create(&self) -> stackwright::Result<Arc<dyn SecretsManager>> {
        if let (Some(keys), Some(url)) = (&self.keys, &self.url)
            && let Some(keys) = keys.for_key_service(url)
        {
            return keys.create().await;
        }
        match &self.source {
            Source::Given(provider) => provider.create().await,
            Source::Asked(asking) => asking.chosen().await?.create().await,
            Source::Missing => Err(missing()),
        }
    }

    async fn open(&self, kind: &str, state: Option<&Value>) -> stackwright::Result<Arc<dyn SecretsManager>> {
        if kind == KEY_SERVICE {
            return match &self.keys {
                Some(keys) => keys.open(kind, state).await,
                None => Err(no_client(state)),
            };
        }
        match &self.source {
            Source::Given(provider) => provider.open(kind, state).await,
            // Secrets that are only encoded need no passphrase.
            _ if kind == ENCODED => Base64Provider.open(kind, state).await,
            Source::Asked(asking) => asking.open(kind, state).await,
            Source::Missing => Err(missing()),
        }
    }

    fn verifies_key(&self) -> bool {
        self.verifies
    }

    fn for_key_service(&self, url: &str) -> Option<Arc<dyn SecretsProvider>> {
        self.keys.as_ref()?;
        Some(Arc::new(Self {
            url: Some(url.to_owned()),
            ..self.clone()
        }))
    }
}

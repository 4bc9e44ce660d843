//! The engine object of the façade.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use napi::{Env, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use stackwright::{
    Error, Language, Opening, StackSettings,
    binding::{self, EngineDocument},
    config::{Config, ConfigKey, ConfigValue},
    property::{PropertyValue, json::PlainValue},
    runtime::Runtime,
    secrets::{Base64Provider, CallbackProvider, PassphraseProvider, SecretsProvider},
    store,
};

use crate::{
    bridge::{Bridge, Shared},
    convert, errors,
    host::JsHost,
    program::ProgramEntry,
    provider::{ProviderEntry, provider_of},
    stack::Stack,
};

/// A host's own encryption.
#[napi(object)]
pub struct SecretsEntry {
    /// The façade's number of the object.
    pub number: u32,
    /// The name of its kind in states.
    pub kind: String,
    /// The manager's state in deployments, as JSON.
    pub state: Option<String>,
}

/// The components of an engine.
#[napi(object)]
pub struct EngineSettings {
    /// The settings as a JSON document.
    pub document: String,
    /// Providers in this process.
    pub providers: Vec<ProviderEntry>,
    /// The resolver of packages, described as a provider.
    pub resolver: Option<ProviderEntry>,
    /// The façade's number of the object that reads other stacks.
    pub stack_reader: Option<u32>,
    /// The host's own encryption.
    pub secrets: Option<SecretsEntry>,
    /// The façade's number of the object that fetches remote assets.
    pub fetch: Option<u32>,
    /// The façade's number of the autonamer.
    pub autonamer: Option<u32>,
    /// The façade's number of the object that installs plugins.
    pub installer: Option<u32>,
}

/// The options of opening a stack.
#[napi(object)]
pub struct StackEntry {
    /// The program.
    pub program: Option<ProgramEntry>,
    /// The façade's number of the object that receives the journal.
    pub journal: Option<u32>,
    /// The salt of the configuration's secrets.
    pub encryption_salt: Option<String>,
    /// The organization that programs read.
    pub organization: Option<String>,
    /// The stack's tags, by name.
    pub tags: HashMap<String, String>,
    /// The folder of the project.
    pub root_directory: Option<String>,
    /// The options of the project's runtime by name, as JSON.
    pub runtime_options: String,
    /// The name of the core's `Opening`: the stack has to exist, must not exist, or is created when missing.
    pub opening: String,
    /// The state, as a deployment document; it replaces the one in the store.
    pub deployment: Option<String>,
    /// The passphrase that its secrets are encrypted with.
    pub passphrase: Option<String>,
    /// The host's own encryption of its secrets.
    pub secrets: Option<SecretsEntry>,
    /// The passphrases of referenced stacks, by their names.
    pub reference_passphrases: HashMap<String, String>,
}

/// An engine.
#[napi]
pub struct Engine {
    engine: stackwright::Engine,
    shared: Arc<Shared>,
}

#[napi]
impl Engine {
    /// Builds an engine on a bridge of its own.
    #[napi(constructor, catch_unwind)]
    pub fn new(bridge: &Bridge, settings: EngineSettings) -> Result<Self> {
        let shared = Arc::clone(&bridge.shared);
        build(&shared, settings)
            .map(|engine| Self { engine, shared })
            .map_err(|error| errors::to_napi(&error))
    }

    /// Reads a configuration's values, for `stack`.
    #[napi(catch_unwind, ts_args_type = "project: string, values: unknown")]
    pub fn config(&self, env: &Env, project: String, values: Unknown<'_>) -> Result<StackConfig> {
        let values = convert::map_of(env, &values, "config")?;
        let entries = values.into_iter().map(|(name, value)| {
            let key = ConfigKey::parse_in_project(&name, &project)?;
            Ok((key, config_value(value).map_err(|error| named(&name, &error))?))
        });
        let config = entries
            .collect::<stackwright::Result<Config>>()
            .map_err(|error| errors::to_napi(&error))?;
        Ok(StackConfig(config))
    }

    /// Opens a stack.
    #[napi]
    pub async fn stack(&self, name: String, config: &StackConfig, entry: StackEntry) -> Result<Stack> {
        let journal = entry.journal.map(|number| JsHost::new(&self.shared, number) as _);
        let default = StackSettings::default();
        let napi = |error: Error| errors::to_napi(&error);
        let passphrase = |text: String| self.engine.passphrase(text).map_err(napi);
        let mut secrets = entry.passphrase.map(passphrase).transpose()?;
        if let Some(entry) = &entry.secrets {
            let others = secrets.unwrap_or_else(|| self.engine.secrets());
            secrets = Some(host_secrets(&self.shared, entry, others).map_err(napi)?);
        }
        let references = entry.reference_passphrases.into_iter();
        let references = references.map(|(stack, text)| Ok((stack, passphrase(text)?)));
        let settings = StackSettings {
            secrets,
            reference_secrets: references.collect::<Result<_>>()?,
            organization: entry.organization.unwrap_or(default.organization),
            tags: entry.tags.into_iter().collect(),
            program: entry.program.map(|program| program.take(&self.shared)),
            journal,
            config: config.0.clone(),
            encryption_salt: entry.encryption_salt,
            root_directory: entry.root_directory.map(PathBuf::from),
            runtime_options: StackSettings::runtime_options_from_json(&entry.runtime_options)
                .map_err(napi)?,
            opening: Opening::named(&entry.opening).map_err(|error| errors::to_napi(&error))?,
            deployment: entry.deployment.map(Into::into),
        };
        match self.engine.stack(&name, settings).await {
            Ok(stack) => Ok(Stack::new(stack, Arc::clone(&self.shared))),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Lists stacks, as `project/stack`.
    #[napi]
    pub async fn stacks(&self, project: Option<String>) -> Result<Vec<String>> {
        match self.engine.stacks(project.as_deref()).await {
            Ok(names) => Ok(names.iter().map(ToString::to_string).collect()),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Ends the idle plugin processes.
    #[napi]
    pub async fn close(&self) {
        self.engine.close().await;
    }
}

/// Returns the name of the `Opening` for the option `create`.
#[napi(catch_unwind)]
#[must_use]
pub fn opening_of(create: Option<bool>, has_program: bool) -> &'static str {
    Opening::of_create(create, has_program).name()
}

/// A stack's configuration.
#[napi]
pub struct StackConfig(Config);

fn build(shared: &Arc<Shared>, settings: EngineSettings) -> stackwright::Result<stackwright::Engine> {
    let runtime = Runtime::system(shared.handle().clone());
    let document: EngineDocument = binding::read(settings.document.as_bytes(), Language::Node, "an engine")?;
    let base = document.base_directory.unwrap_or_default();
    let store = store::open(&document.store, &base, &runtime)?;
    let secrets = secrets(shared, &settings, document.passphrase, &runtime)?;
    let (plugins, pool) = document.plugins.into_settings()?;
    let mut builder = stackwright::Engine::builder(shared.handle().clone())
        .runtime(runtime)
        .store(store)
        .secrets(secrets)
        .plugins(plugins)
        .pool(pool)
        .trusted_peers(document.trusted_peers);
    if let Some(entry) = settings.resolver {
        builder = builder.resolver(Arc::new(provider_of(shared, entry)));
    }
    if let Some(number) = settings.stack_reader {
        builder = builder.stacks(JsHost::new(shared, number));
    }
    if let Some(number) = settings.fetch {
        builder = builder.fetch(JsHost::new(shared, number));
    }
    if let Some(number) = settings.autonamer {
        builder = builder.autonamer(JsHost::new(shared, number));
    }
    if let Some(number) = settings.installer {
        builder = builder.installer(JsHost::new(shared, number));
    }
    for entry in settings.providers {
        let package = entry.package.clone();
        builder = builder.provider(package, Arc::new(provider_of(shared, entry)));
    }
    builder.build()
}

/// Returns the secrets provider: the host's encryption if there is one, and the passphrase for all other secrets.
fn secrets(
    shared: &Arc<Shared>,
    settings: &EngineSettings,
    passphrase: Option<String>,
    runtime: &Runtime,
) -> stackwright::Result<Arc<dyn SecretsProvider>> {
    let passphrase: Arc<dyn SecretsProvider> = match passphrase {
        Some(passphrase) => Arc::new(PassphraseProvider::new(passphrase, runtime.clone())),
        None => Arc::new(Base64Provider),
    };
    match &settings.secrets {
        None => Ok(passphrase),
        Some(entry) => host_secrets(shared, entry, passphrase),
    }
}

/// Returns the host's encryption; secrets of another manager's kind go to `others`.
fn host_secrets(
    shared: &Arc<Shared>,
    entry: &SecretsEntry,
    others: Arc<dyn SecretsProvider>,
) -> stackwright::Result<Arc<dyn SecretsProvider>> {
    let state = entry.state.as_deref().map(serde_json::from_str).transpose();
    let state = state.map_err(|error| Error::invalid(format!("secrets.state is no JSON: {error}")))?;
    let host = JsHost::new(shared, entry.number);
    Ok(Arc::new(
        CallbackProvider::new(entry.kind.as_str(), state, host).or(others),
    ))
}

fn named(name: &str, error: &Error) -> Error {
    Error::invalid(format!("config {name}: {}", error.message()))
}

/// Makes a configuration value from the engine's plain JSON form, which marks secrets.
fn config_value(value: PropertyValue) -> stackwright::Result<ConfigValue> {
    let json = serde_json::to_value(PlainValue(value))
        .map_err(|error| Error::invalid(format!("the value can not be written: {error}")))?;
    ConfigValue::from_plain_json(json)
}

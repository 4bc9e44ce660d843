//! Default providers: one for each package and version that is used without an explicit provider.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use futures::future::{BoxFuture, FutureExt as _, Shared};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::{
    error::Error,
    executor::Failure,
    generator::Unanswered,
    monitor::{Monitor, PackageChoice, WireStatus, register::Refused},
    program::RunInfo,
    property::{PropertyMap, PropertyValue},
    provider::settings::ProviderSettings,
    resource::{Goal, ProviderReference},
    state::Base,
    token::TypeToken,
    urn::Urn,
};

/// The default providers of one run, each started once, independently of the others.
pub(super) struct DefaultProviders {
    /// By key ([`ProviderSettings::key`]).
    started: Mutex<FxHashMap<String, Start>>,
    /// What the last run used of each package, where the program does not say.
    recorded: BTreeMap<String, ProviderSettings>,
    /// Packages whose default provider the configuration forbids, or what is wrong with what it says.
    denied: Result<Vec<String>, String>,
}

/// The provider that serves a request; all that it serves share the text of its reference.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) reference: ProviderReference,
    pub(super) text: SmolStr,
}

impl From<ProviderReference> for Serving {
    fn from(reference: ProviderReference) -> Self {
        let text = smol_str::format_smolstr!("{reference}");
        Self { reference, text }
    }
}

/// The start of a default provider, which any number of requests wait for.
type Start = Shared<BoxFuture<'static, Started>>;

/// What came of it.
#[derive(Clone)]
enum Started {
    /// There it is.
    Ready(Serving),
    /// It failed, and the run goes on all the same.
    Failed,
    /// The run is ending.
    Ending,
}

/// What a provider is wanted for, as refusals name it.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// A resource that is registered.
    Resource(&'a Urn),
    /// A function, or a type that is read.
    Token(&'a str),
}

/// The configuration that says which packages have no default provider.
const DENIED: &str = "pulumi:disable-default-providers";

/// Whole stack configurations go to the providers of dynamic resources, other packages see their own namespace.
const DYNAMIC_PACKAGES: &[&str] = &["pulumi-nodejs", "pulumi-python"];

impl DefaultProviders {
    pub(super) fn new(run: &RunInfo, base: &Base) -> Self {
        let mut recorded: BTreeMap<String, ProviderSettings> = BTreeMap::new();
        for record in base.records() {
            let Some(package) = record.state.resource_type.provided_package() else {
                continue;
            };
            let Ok(settings) = ProviderSettings::read(package, &record.state.inputs) else {
                continue;
            };
            if settings.version.is_none() && settings.download_url.is_empty() {
                continue;
            }
            let newer = recorded
                .get(package)
                .is_none_or(|known| known.version < settings.version);
            if newer {
                recorded.insert(package.to_owned(), settings);
            }
        }
        let denied = run.config.get(DENIED).map(String::as_str).unwrap_or_default();
        Self {
            started: Mutex::default(),
            recorded,
            denied: read_denied(denied),
        }
    }

    /// Returns what is wrong with the configuration of default providers.
    pub(super) fn fault(&self) -> Option<Error> {
        self.denied.as_ref().err().map(Error::invalid)
    }

    fn is_denied(&self, package: &str) -> bool {
        package != "pulumi"
            && self
                .denied
                .iter()
                .flatten()
                .any(|denied| denied == "*" || denied == package)
    }

    /// Completes an explicit provider's settings, when it says neither version nor address.
    pub(super) fn complete_explicit(&self, settings: &mut ProviderSettings) {
        if settings.version.is_none() && settings.download_url.is_empty() {
            self.complete(settings);
        }
    }

    fn complete(&self, settings: &mut ProviderSettings) {
        let Some(recorded) = self.recorded.get(&settings.package) else {
            return;
        };
        if settings.version.is_none() {
            settings.version.clone_from(&recorded.version);
        }
        if settings.download_url.is_empty() {
            settings.download_url.clone_from(&recorded.download_url);
        }
        if settings.checksums.is_empty() {
            settings.checksums.clone_from(&recorded.checksums);
        }
    }
}

impl Monitor {
    /// Returns the settings of a request's package, from the package it names or from its options.
    pub(super) fn settings_of(
        &self,
        package: &str,
        choice: &PackageChoice,
    ) -> Result<ProviderSettings, WireStatus> {
        if !choice.package_ref.is_empty() {
            return self.0.packages.get(&choice.package_ref).ok_or_else(|| {
                WireStatus::unknown(format!("unknown provider package '{}'", choice.package_ref))
            });
        }
        let version = match choice.version.as_str() {
            "" => None,
            text => Some(
                semver::Version::parse(text.trim_start_matches('v')).map_err(|error| {
                    WireStatus::unknown(format!("parse provider request: parse version {text}: {error}"))
                })?,
            ),
        };
        Ok(ProviderSettings {
            package: package.to_owned(),
            version,
            download_url: choice.download_url.trim_end_matches('/').to_owned(),
            checksums: choice.checksums.clone(),
        })
    }

    /// Returns the provider that a request is served by: the explicit one, or the package's default one. `None` when
    /// that one failed, and the run goes on all the same.
    pub(super) async fn provider_for(
        &self,
        package: &str,
        choice: &PackageChoice,
        what: Wanted<'_>,
    ) -> Result<Option<Serving>, Refused> {
        if !choice.provider.is_empty() {
            return match ProviderReference::parse(&choice.provider) {
                Ok(reference) => Ok(Some(reference.into())),
                Err(error) => Err(WireStatus::unknown(error.message().to_owned()).into()),
            };
        }
        let mut settings = self.settings_of(package, choice)?;
        if self.0.defaults.is_denied(&settings.package) {
            return Err(self.denied(&settings.package, what));
        }
        self.0.defaults.complete(&mut settings);
        let start = {
            let key = settings.key();
            let defaults = &self.0.defaults;
            let mut started = defaults.started.lock().unwrap_or_else(PoisonError::into_inner);
            match started.get(&key) {
                Some(start) => start.clone(),
                None => started.entry(key).or_insert(self.start(settings)).clone(),
            }
        };
        let started = match start.peek() {
            Some(started) => started.clone(),
            None => tokio::select! {
                biased;
                started = start => started,
                () = self.0.generator.executor().control().stopped() => Started::Ending,
            },
        };
        match started {
            Started::Ready(serving) => Ok(Some(serving)),
            Started::Failed => Ok(None),
            Started::Ending => Err(Refused::Unanswered(Unanswered::Ending)),
        }
    }

    fn denied(&self, package: &str, what: Wanted<'_>) -> Refused {
        let text = |what: &str| {
            format!("Default provider for '{package}' disabled. '{what}' must use an explicit provider.")
        };
        match what {
            // The program does not hear of it: the deployment fails.
            Wanted::Resource(urn) => {
                Refused::Unanswered(self.0.generator.refuse(Some(urn), text(urn.as_str())))
            }
            Wanted::Token(token) => WireStatus::unknown(text(token)).into(),
        }
    }

    /// Starts a default provider in a task of its own: whoever waits for it may go away, and what was begun is brought
    /// to its end.
    fn start(&self, settings: ProviderSettings) -> Start {
        let monitor = self.clone();
        // Whoever wants the provider is in flight, so that there is room for this.
        let flight = self.0.in_flight.enter();
        let task = self.runtime().spawner.spawn(async move {
            let started = monitor.start_default(settings).await;
            drop(flight);
            started
        });
        let control = self.0.generator.executor().control().clone();
        let start = task.map(move |started| match started {
            Ok(Ok(started)) => started,
            Ok(Err(Unanswered::Ending)) => Started::Ending,
            Err(error) => {
                control.fail(Failure::Fatal(error), true);
                Started::Ending
            }
        });
        start.boxed().shared()
    }

    async fn start_default(&self, settings: ProviderSettings) -> Result<Started, Unanswered> {
        let inputs = settings.write(config_inputs(&settings.package, &self.0.run));
        let goal = Box::new(Goal {
            resource_type: TypeToken::provider_of(&settings.package),
            name: default_name(&settings),
            custom: true,
            inputs,
            ..Goal::default()
        });
        let generator = &self.0.generator;
        let claim = generator.claim(&goal)?;
        let outcome = generator.register(claim, goal).await?;
        let state = outcome.state;
        Ok(if outcome.succeeded {
            Started::Ready(ProviderReference::new(state.urn.clone(), state.id.clone()).into())
        } else {
            Started::Failed
        })
    }
}

/// Reads which packages have no default provider: a JSON array of their names, or nothing.
fn read_denied(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Ok(serde_json::Value::Array(elements)) = serde_json::from_str(text) else {
        return Err(format!("Unexpected encoding of {DENIED}"));
    };
    let names = elements
        .into_iter()
        .enumerate()
        .map(|(index, element)| match element {
            serde_json::Value::String(name) => Ok(name),
            _ => Err(format!("{DENIED}[{index}] must be a string")),
        });
    names.collect()
}

/// Returns the stack's configuration of a package as a provider's inputs; secret values stay secret.
fn config_inputs(package: &str, run: &RunInfo) -> PropertyMap {
    let whole = DYNAMIC_PACKAGES.contains(&package);
    run.config
        .iter()
        .filter_map(|(key, value)| {
            let name = match key.split_once(':') {
                _ if whole => key.as_str(),
                Some((namespace, name)) if namespace == package => name,
                _ => return None,
            };
            let secret = run.config_secret_keys.iter().any(|secret| secret == key);
            let value = PropertyValue::from(value.as_str());
            Some((
                name,
                if secret {
                    PropertyValue::secret(value)
                } else {
                    value
                },
            ))
        })
        .collect()
}

/// Returns the name of a default provider: `default`, its version and its download address, as a name may hold them.
fn default_name(settings: &ProviderSettings) -> String {
    let mut name = "default".to_owned();
    if let Some(version) = &settings.version {
        name.push_str(&format!("_{}_{}_{}", version.major, version.minor, version.patch));
        for part in [version.pre.as_str(), version.build.as_str()] {
            if !part.is_empty() {
                name.push('_');
                name.push_str(&part.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_"));
            }
        }
    }
    if !settings.download_url.is_empty() {
        let parts: Vec<String> = settings
            .download_url
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| {
                part.replace(
                    |letter: char| !(letter.is_ascii_alphanumeric() || "_.-".contains(letter)),
                    "_",
                )
            })
            .collect();
        name.push('_');
        name.push_str(&parts.join("/"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(version: &str, url: &str) -> String {
        default_name(&ProviderSettings {
            version: semver::Version::parse(version).ok(),
            download_url: url.to_owned(),
            ..ProviderSettings::default()
        })
    }

    #[test]
    fn what_says_nothing_clear_of_denied_packages_is_refused() {
        assert_eq!(read_denied(""), Ok(Vec::new()));
        assert_eq!(
            read_denied(r#"["a", "*"]"#),
            Ok(vec!["a".to_owned(), "*".to_owned()])
        );
        for text in ["a", "{}", "\"a\"", "[\"a\""] {
            assert_eq!(
                read_denied(text),
                Err("Unexpected encoding of pulumi:disable-default-providers".to_owned())
            );
        }
        assert_eq!(
            read_denied(r#"["a", 1]"#),
            Err("pulumi:disable-default-providers[1] must be a string".to_owned())
        );
    }

    #[test]
    fn names_are_those_of_the_reference_engine() {
        assert_eq!(name("", ""), "default");
        assert_eq!(name("1.0.0-beta.1+b.2", ""), "default_1_0_0_beta_1_b_2");
        assert_eq!(
            name("1.0.0", "https://ex.com/p/q:1"),
            "default_1_0_0_https_/ex.com/p/q_1"
        );
        assert_eq!(name("", "http://ex.com"), "default_http_/ex.com");
    }
}

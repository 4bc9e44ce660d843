//! Default providers: one for each package and version that is used without an explicit provider.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::sync::OnceCell;

use crate::{
    generator::Unanswered,
    monitor::{Monitor, PackageChoice, WireStatus},
    program::RunInfo,
    property::{PropertyMap, PropertyValue},
    provider::settings::ProviderSettings,
    resource::{Goal, ProviderReference},
    state::Base,
    token::TypeToken,
};

/// The default providers of one run, each started once, independently of the others.
pub(super) struct DefaultProviders {
    /// By key ([`ProviderSettings::key`]).
    started: Mutex<FxHashMap<String, Arc<OnceCell<Serving>>>>,
    /// What the last run used of each package, where the program does not say.
    recorded: BTreeMap<String, ProviderSettings>,
    /// Packages whose default provider the configuration forbids.
    denied: Vec<String>,
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
        let denied = run
            .config
            .get("pulumi:disable-default-providers")
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        Self {
            started: Mutex::default(),
            recorded,
            denied,
        }
    }

    fn is_denied(&self, package: &str) -> bool {
        package != "pulumi"
            && self
                .denied
                .iter()
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

    /// Returns the provider that a request is served by: the explicit one, or the package's default one.
    pub(super) async fn provider_for(
        &self,
        package: &str,
        choice: &PackageChoice,
        what: &str,
    ) -> Result<Serving, WireStatus> {
        if !choice.provider.is_empty() {
            return ProviderReference::parse(&choice.provider)
                .map(Serving::from)
                .map_err(|error| WireStatus::unknown(error.message().to_owned()));
        }
        let mut settings = self.settings_of(package, choice)?;
        if self.0.defaults.is_denied(&settings.package) {
            return Err(WireStatus::unknown(format!(
                "Default provider for '{}' disabled. '{what}' must use an explicit provider.",
                settings.package
            )));
        }
        self.0.defaults.complete(&mut settings);
        let cell = {
            let mut started = self
                .0
                .defaults
                .started
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(started.entry(settings.key()).or_default())
        };
        if let Some(serving) = cell.get() {
            return Ok(serving.clone());
        }
        // One registration in very many starts the provider: the others must not have room for it.
        match cell
            .get_or_try_init(|| Box::pin(self.start_default(settings)))
            .await
        {
            Ok(serving) => Ok(serving.clone()),
            Err(reason) => Err(self.unanswered(reason).await),
        }
    }

    async fn start_default(&self, settings: ProviderSettings) -> Result<Serving, Unanswered> {
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
        if !outcome.succeeded {
            return Err(Unanswered::Ending);
        }
        Ok(ProviderReference::new(outcome.state.urn.clone(), outcome.state.id.clone()).into())
    }
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

//! Default providers: one for each package and version that is used without an explicit provider.

mod configuration;
mod known;
mod name;
mod recorded;
mod start;

use std::sync::{Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::{
    error::Error,
    generator::RunEnded,
    monitor::RunInfo,
    monitor::{Monitor, PackageChoice, Registration, WireStatus, register::Refused},
    provider::settings::ProviderSettings,
    resource::ProviderReference,
    state::Base,
    urn::Urn,
};

use known::Known;
pub(crate) use known::recorded_packages;
use name::default_name;
pub(crate) use recorded::UnrecordedDefaults;
use start::{Start, Started};

/// The default providers of one run, each started once, independently of the others.
pub(super) struct DefaultProviders {
    /// By key ([`ProviderSettings::key`]).
    started: Mutex<FxHashMap<String, Start>>,
    /// What the last run used of each package, where the program does not say.
    recorded: Known,
    /// What the program's language runtime says that it needs; once it says anything, the last run has no say.
    required: OnceLock<Known>,
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

/// What a provider is wanted for, as refusals name it.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// A resource that is registered.
    Resource(&'a Urn),
    /// A resource that is read; refusals name its type.
    Read(&'a Urn, &'a str),
    /// A function.
    Token(&'a str),
}

impl DefaultProviders {
    pub(super) fn new(run: &RunInfo, base: &Base) -> Self {
        Self {
            started: Mutex::default(),
            recorded: Known::of_base(base),
            required: OnceLock::new(),
            denied: configuration::denied(run),
        }
    }

    /// Takes what the program's language runtime says that it needs. Only the first that says anything is heard.
    pub(super) fn require(&self, packages: Vec<ProviderSettings>) {
        if !packages.is_empty() {
            drop(self.required.set(packages.into_iter().collect()));
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

    /// Completes an explicit provider's settings, when it says neither version nor address. Of the version that is known
    /// as made by a parameter it is made by that in any case.
    pub(super) fn complete_explicit(&self, settings: &mut ProviderSettings) {
        if settings.version.is_none() && settings.download_url.is_empty() {
            self.complete(settings);
        } else {
            self.at_hand().parameterize(settings);
        }
    }

    /// Returns what is known of packages that requests do not say.
    fn at_hand(&self) -> &Known {
        self.required.get().unwrap_or(&self.recorded)
    }

    /// Returns what is known of packages before the program names any.
    pub(super) fn known(&self) -> impl Iterator<Item = ProviderSettings> {
        self.at_hand().packages()
    }

    pub(super) fn complete(&self, settings: &mut ProviderSettings) {
        self.at_hand().complete(settings);
    }
}

impl Monitor {
    /// Returns the settings of a request's package, from the package it names or from its options.
    pub(super) fn settings_of(
        &self,
        package: &str,
        choice: &PackageChoice,
    ) -> Result<ProviderSettings, WireStatus> {
        if let Some(announced) = self.announced(choice)? {
            return Ok(announced);
        }
        Ok(ProviderSettings {
            package: package.to_owned(),
            version: version_of(choice)?,
            download_url: choice.download_url.clone(),
            checksums: choice.checksums.clone(),
            base: None,
        })
    }

    /// Returns the package that a request names by its reference, if it does.
    fn announced(&self, choice: &PackageChoice) -> Result<Option<ProviderSettings>, WireStatus> {
        if choice.package_ref.is_empty() {
            return Ok(None);
        }
        let announced = self.0.packages.get(&choice.package_ref);
        let unknown = || WireStatus::unknown(format!("unknown provider package '{}'", choice.package_ref));
        announced.map(Some).ok_or_else(unknown)
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
            // What the request says of its package does not count then, and must make sense all the same.
            if self.announced(choice)?.is_none() {
                version_of(choice)?;
            }
            return match ProviderReference::parse(&choice.provider) {
                Ok(reference) => Ok(Some(reference.into())),
                Err(error) => Err(WireStatus::unknown(error.message().to_owned()).into()),
            };
        }
        let start = self.default_for(package, choice, what)?;
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
            Started::Ending => Err(Refused::Unanswered(RunEnded)),
        }
    }

    /// Returns the URN of the default provider that a registration asks for, if it does.
    pub(super) fn default_asked_for(&self, registration: &Registration) -> Option<Urn> {
        let Registration {
            resource_type,
            package,
            custom,
            ..
        } = registration;
        if !custom || resource_type.is_provider() || !package.provider.is_empty() {
            return None;
        }
        let settings = self.default_settings(resource_type.package(), package).ok()?;
        let run = &self.0.run;
        let provider_type = format!("pulumi:providers:{}", settings.package);
        Some(Urn::new(
            &run.stack,
            &run.project,
            "",
            &provider_type,
            &default_name(&settings),
        ))
    }

    /// Returns the settings of the default provider that a request asks for.
    fn default_settings(
        &self,
        package: &str,
        choice: &PackageChoice,
    ) -> Result<ProviderSettings, WireStatus> {
        let mut settings = self.settings_of(package, choice)?;
        // Only those of default providers: what an explicit one says is recorded as it stands.
        let trimmed = settings.download_url.trim_end_matches('/').len();
        settings.download_url.truncate(trimmed);
        self.0.defaults.complete(&mut settings);
        Ok(settings)
    }

    /// Returns the start of the default provider that a request asks for; the first such request begins it.
    fn default_for(&self, package: &str, choice: &PackageChoice, what: Wanted<'_>) -> Result<Start, Refused> {
        let settings = self.default_settings(package, choice)?;
        if self.0.defaults.is_denied(&settings.package) {
            return Err(self.denied(&settings.package, what));
        }
        let key = settings.key();
        let defaults = &self.0.defaults;
        let mut started = defaults.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match started.get(&key) {
            Some(start) => start.clone(),
            None => started.entry(key).or_insert(self.start(settings, what)).clone(),
        })
    }

    fn denied(&self, package: &str, what: Wanted<'_>) -> Refused {
        let text = |what: &str| {
            format!("Default provider for '{package}' disabled. '{what}' must use an explicit provider.")
        };
        match what {
            // The program does not hear of it: the deployment fails.
            Wanted::Resource(urn) => Refused::Unanswered(self.0.generator.bail(urn, text(urn.as_str()))),
            Wanted::Read(_, token) | Wanted::Token(token) => WireStatus::unknown(text(token)).into(),
        }
    }
}

/// Reads the version that a request asks for, if it does.
fn version_of(choice: &PackageChoice) -> Result<Option<semver::Version>, WireStatus> {
    let text = choice.version.as_str();
    if text.is_empty() {
        return Ok(None);
    }
    let version = semver::Version::parse(text);
    let bad = |error| WireStatus::unknown(format!("parse provider request: parse version {text}: {error}"));
    version.map(Some).map_err(bad)
}

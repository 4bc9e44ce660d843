//! The providers of requests: explicit ones, and default ones for each package and version that is used without an
//! explicit provider.

mod configuration;
mod known;
mod name;
mod planned;
mod recorded;
mod start;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::{
    error::Error,
    generator::{Generator, RunEnded},
    monitor::{
        PackageChoice, Registration, RunInfo, WireStatus,
        in_flight::InFlight,
        packages::{AnnouncedPackage, Packages},
        register::Refused,
    },
    provider::settings::ProviderSettings,
    resource::{Extension, ProviderReference},
    urn::Urn,
};

use known::Known;
pub(crate) use known::recorded_packages;
use name::default_name;
pub(crate) use planned::PlannedDefaults;
pub(crate) use recorded::UnrecordedDefaults;
use start::{Start, Started, start};

/// The default providers of one run, each started once, independently of the others.
pub(super) struct DefaultProviders {
    generator: Arc<Generator>,
    run: Arc<RunInfo>,
    in_flight: InFlight,
    /// The packages that the program has announced.
    announced: Packages,
    /// By key ([`ProviderSettings::key`]).
    started: Mutex<FxHashMap<String, Start>>,
    /// The settings of packages in the last run.
    recorded: Known,
    /// The packages that the program's language runtime requires; they replace those of the last run.
    required: OnceLock<Known>,
    /// Packages whose default provider the configuration forbids, or the fault of the configuration.
    denied: Result<Vec<String>, String>,
}

/// The provider of a request; all requests that it serves share the text of its reference.
#[derive(Clone)]
pub(super) struct ResolvedProvider {
    pub(super) reference: ProviderReference,
    pub(super) text: SmolStr,
}

impl From<ProviderReference> for ResolvedProvider {
    fn from(reference: ProviderReference) -> Self {
        let text = smol_str::format_smolstr!("{reference}");
        Self { reference, text }
    }
}

/// The use of a provider, as refusals name it.
#[derive(Clone, Copy)]
pub(super) enum ProviderUse<'a> {
    /// A resource that is registered.
    Resource(&'a Urn),
    /// A resource that is read; refusals name its type.
    Read(&'a Urn, &'a str),
    /// A function.
    Token(&'a str),
}

impl DefaultProviders {
    pub(super) fn new(generator: Arc<Generator>, run: Arc<RunInfo>, in_flight: InFlight) -> Self {
        Self {
            started: Mutex::default(),
            recorded: Known::of_base(generator.base()),
            required: OnceLock::new(),
            denied: configuration::denied(&run),
            announced: Packages::default(),
            generator,
            run,
            in_flight,
        }
    }

    /// Sets the packages that the program's language runtime requires; only the first call that has any counts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when one version of a package has two sources.
    pub(super) fn require(&self, packages: Vec<ProviderSettings>) -> Result<(), Error> {
        if !packages.is_empty() {
            drop(self.required.set(Known::of_required(packages)?));
        }
        Ok(())
    }

    /// Returns the fault of the configuration of default providers.
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

    /// Fills in an explicit provider's settings without version and address. A version that is known to be
    /// parameterized gets its parameter in any case.
    pub(super) fn complete_explicit(&self, settings: &mut ProviderSettings) {
        if settings.version.is_none() && settings.download_url.is_empty() {
            self.complete(settings);
        } else {
            self.at_hand().parameterize(settings);
        }
    }

    /// Returns the known settings of packages.
    fn at_hand(&self) -> &Known {
        self.required.get().unwrap_or(&self.recorded)
    }

    /// Announces a package and returns its reference.
    pub(super) fn announce(&self, package: AnnouncedPackage) -> String {
        let random = &self.generator.executor().runtime().random;
        self.announced.register(package, random.as_ref())
    }

    /// Returns the extension that a request needs of its provider.
    ///
    /// # Errors
    /// When the request names an unknown package.
    pub(super) fn extension_of(&self, choice: &PackageChoice) -> Result<Option<Arc<Extension>>, WireStatus> {
        Ok(self.announced_by(choice)?.and_then(|package| package.extension))
    }

    /// Returns whether an announced package is an extension.
    pub(super) fn is_extension(&self, package_ref: &str) -> bool {
        let announced = self.announced.get(package_ref);
        announced.is_some_and(|package| package.extension.is_some())
    }

    /// Returns the packages with known settings, then those that the program has announced.
    pub(super) fn known(&self) -> impl Iterator<Item = ProviderSettings> {
        self.at_hand().packages().chain(self.announced.announced())
    }

    /// Fills in missing settings of a package.
    pub(super) fn complete(&self, settings: &mut ProviderSettings) {
        self.at_hand().complete(settings);
    }

    /// Returns the settings of a request's package: those of the announced package that it names, or its options.
    pub(super) fn settings_of(
        &self,
        package: &str,
        choice: &PackageChoice,
    ) -> Result<ProviderSettings, WireStatus> {
        if let Some(announced) = self.announced_by(choice)? {
            return Ok(announced.settings);
        }
        Ok(ProviderSettings {
            package: package.to_owned(),
            version: version_of(choice)?,
            download_url: choice.download_url.clone(),
            checksums: choice.checksums.clone(),
            ..ProviderSettings::default()
        })
    }

    /// Returns the package that a request names by its reference, if it does.
    fn announced_by(&self, choice: &PackageChoice) -> Result<Option<AnnouncedPackage>, WireStatus> {
        if choice.package_ref.is_empty() {
            return Ok(None);
        }
        let announced = self.announced.get(&choice.package_ref);
        let unknown = || WireStatus::unknown(format!("unknown provider package '{}'", choice.package_ref));
        announced.map(Some).ok_or_else(unknown)
    }

    /// Returns the provider of a request: the explicit one, or the package's default one. `None` when that one failed
    /// and the run continues.
    pub(super) async fn provider_for(
        &self,
        package: &str,
        choice: &PackageChoice,
        what: ProviderUse<'_>,
    ) -> Result<Option<ResolvedProvider>, Refused> {
        if !choice.provider.is_empty() {
            // The request's options of its package are ignored then, but must be valid.
            if self.announced_by(choice)?.is_none() {
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
                () = self.generator.executor().control().stopped() => Started::Ending,
            },
        };
        match started {
            Started::Ready(provider) => Ok(Some(provider)),
            Started::Failed => Ok(None),
            Started::Ending => Err(Refused::Unanswered(RunEnded)),
        }
    }

    /// Returns the URN of the default provider of a registration, if it requires one.
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
        let run = &self.run;
        let provider_type = format!("pulumi:providers:{}", settings.package);
        Some(Urn::new(
            &run.stack,
            &run.project,
            "",
            &provider_type,
            &default_name(&settings),
        ))
    }

    /// Returns the settings of the default provider of a request.
    fn default_settings(
        &self,
        package: &str,
        choice: &PackageChoice,
    ) -> Result<ProviderSettings, WireStatus> {
        let mut settings = self.settings_of(package, choice)?;
        // Only those of default providers: the address of an explicit one is recorded as it is.
        let trimmed = settings.download_url.trim_end_matches('/').len();
        settings.download_url.truncate(trimmed);
        self.complete(&mut settings);
        Ok(settings)
    }

    /// Returns the start of the default provider of a request; the first such request begins it.
    fn default_for(
        &self,
        package: &str,
        choice: &PackageChoice,
        what: ProviderUse<'_>,
    ) -> Result<Start, Refused> {
        let settings = self.default_settings(package, choice)?;
        if self.is_denied(&settings.package) {
            return Err(self.refuse_denied(&settings.package, what));
        }
        let key = settings.key();
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match started.get(&key) {
            Some(start) => start.clone(),
            None => {
                let first = start(&self.generator, &self.run, &self.in_flight, settings, what);
                started.entry(key).or_insert(first).clone()
            }
        })
    }

    fn refuse_denied(&self, package: &str, what: ProviderUse<'_>) -> Refused {
        let text = |what: &str| {
            format!("Default provider for '{package}' disabled. '{what}' must use an explicit provider.")
        };
        match what {
            // The request is not answered: the deployment fails.
            ProviderUse::Resource(urn) => Refused::Unanswered(self.generator.bail(urn, text(urn.as_str()))),
            ProviderUse::Read(_, token) | ProviderUse::Token(token) => {
                WireStatus::unknown(text(token)).into()
            }
        }
    }
}

/// Reads the version of a request, if it has one.
fn version_of(choice: &PackageChoice) -> Result<Option<semver::Version>, WireStatus> {
    let text = choice.version.as_str();
    if text.is_empty() {
        return Ok(None);
    }
    let version = semver::Version::parse(text);
    let bad = |error| WireStatus::unknown(format!("parse provider request: parse version {text}: {error}"));
    version.map(Some).map_err(bad)
}

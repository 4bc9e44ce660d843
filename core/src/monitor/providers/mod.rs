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
    executor::AbandonedCall,
    generator::Generator,
    monitor::{
        PackageChoice, PackageSource, Registration, RunInfo, WireStatus,
        admission::Admission,
        packages::{AnnouncedPackage, Packages},
        request_error::RequestError,
    },
    property::PropertyMap,
    provider::{ProviderHandle, settings::ProviderSettings},
    resource::{Extension, ProviderReference},
    urn::Urn,
};

pub(crate) use known::recorded_packages;
use known::{Known, refuse_conflict};
use name::default_name;
pub(crate) use planned::PlannedDefaults;
pub(crate) use recorded::UnrecordedDefaults;
use start::{Start, Started, start};

/// The providers of one run's requests. Each default one is started once, independently of the others.
pub(super) struct RequestProviders {
    generator: Arc<Generator>,
    run: Arc<RunInfo>,
    admission: Arc<Admission>,
    /// The packages that the program has announced.
    announced: Packages,
    /// By key ([`ProviderSettings::key`]).
    started: Mutex<FxHashMap<String, DefaultProvider>>,
    /// The settings of packages in the last run.
    recorded: Known,
    /// The packages that the program's language runtime requires; they replace those of the last run.
    required: OnceLock<Known>,
    /// Packages whose default provider the configuration forbids, or the fault of the configuration.
    denied: Result<Vec<String>, String>,
}

/// A default provider that has been started, with the settings of the first request that needed it.
struct DefaultProvider {
    settings: ProviderSettings,
    start: Start,
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

impl ProviderUse<'_> {
    /// Returns the resource or the function.
    fn subject(&self) -> &str {
        match self {
            Self::Resource(urn) | Self::Read(urn, _) => urn.as_str(),
            Self::Token(token) => token,
        }
    }
}

impl RequestProviders {
    pub(super) fn new(generator: Arc<Generator>, run: Arc<RunInfo>, admission: Arc<Admission>) -> Self {
        Self {
            started: Mutex::default(),
            recorded: Known::of_base(generator.base()),
            required: OnceLock::new(),
            denied: configuration::denied(&run),
            announced: Packages::default(),
            generator,
            run,
            admission,
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

    /// Returns the inputs of an explicit provider of a package, with the settings of its registration.
    ///
    /// # Errors
    /// When the package is an extension, or the registration names an unknown one.
    pub(super) fn inputs_of_explicit(
        &self,
        package: &str,
        registration: &Registration,
        inputs: PropertyMap,
    ) -> Result<PropertyMap, WireStatus> {
        let choice = &registration.package;
        let mut settings = self.settings_of(package, choice)?;
        let base = &settings.package;
        if package != base
            && let Some(extension) = self.extension_of(choice)?
        {
            return Err(WireStatus::invalid(format!(
                "there is no provider of the package '{package}': a provider of '{base}' serves it, with the extension \
                 '{extension}'"
            )));
        }
        self.complete_explicit(&mut settings);
        settings.environment.clone_from(&registration.env_var_mappings);
        Ok(settings.write(inputs))
    }

    /// Fills in an explicit provider's settings without version and address. A version that is known to be
    /// parameterized gets its parameter in any case.
    fn complete_explicit(&self, settings: &mut ProviderSettings) {
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

    /// Announces a package, and returns the reference by which requests name it.
    pub(super) fn announce(&self, source: PackageSource) -> Result<String, WireStatus> {
        let package = AnnouncedPackage::of(source)?;
        let random = &self.generator.executor().runtime().random;
        Ok(self.announced.register(package, random.as_ref()))
    }

    /// Announces the package that a request describes, and names it.
    pub(super) fn name_package(&self, choice: &mut PackageChoice) -> Result<(), WireStatus> {
        if let Some(source) = choice.source.take() {
            choice.package_ref = self.announce(Arc::unwrap_or_clone(source))?;
        }
        Ok(())
    }

    /// Returns the extension that a request needs of its provider.
    ///
    /// # Errors
    /// When the request names an unknown package.
    pub(super) fn extension_of(&self, choice: &PackageChoice) -> Result<Option<Arc<Extension>>, WireStatus> {
        Ok(self.announced_by(choice)?.and_then(|package| package.extension))
    }

    /// Gives a provider the extension of a request, if it has one; `user` is what the request is about. Nothing is recorded:
    /// no record refers to the extension.
    pub(super) async fn add_extension(
        &self,
        choice: &PackageChoice,
        provider: &ProviderReference,
        user: &str,
    ) -> Result<(), RequestError> {
        let Some(extension) = self.extension_of(choice)? else {
            return Ok(());
        };
        let provider = provider.to_string();
        let adding = self.generator.registry().extend(&provider, &extension, user);
        let abandoned = || AbandonedCall::of(user, "parameterize");
        let added = self.admission.unless_ended(adding, abandoned).await?;
        added.map_err(|error| WireStatus::unknown(error.message()).into())
    }

    /// Returns a configured provider.
    pub(super) fn configured(&self, reference: &ProviderReference) -> Result<ProviderHandle, WireStatus> {
        let found = self.generator.registry().get(reference);
        found.ok_or_else(|| WireStatus::unknown(format!("unknown provider '{reference}'")))
    }

    /// Returns the configured provider of a component or a method, with the extension that it needs.
    pub(super) async fn serving(
        &self,
        package: &str,
        choice: &PackageChoice,
        what: ProviderUse<'_>,
    ) -> Result<ProviderHandle, RequestError> {
        let chosen = self.provider_for(package, choice, what).await?;
        let chosen = chosen.ok_or_else(|| failed_default(package))?;
        self.add_extension(choice, &chosen.reference, what.subject())
            .await?;
        Ok(self.configured(&chosen.reference)?)
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
    ) -> Result<Option<ResolvedProvider>, RequestError> {
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
            Started::Ending => Err(RequestError::RunEnded),
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
    ///
    /// # Errors
    /// When the default provider is disabled, and when it has been started from another source of the package.
    fn default_for(
        &self,
        package: &str,
        choice: &PackageChoice,
        what: ProviderUse<'_>,
    ) -> Result<Start, RequestError> {
        let settings = self.default_settings(package, choice)?;
        if self.is_denied(&settings.package) {
            return Err(self.refuse_denied(&settings.package, what));
        }
        let key = settings.key();
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = started.get(&key) {
            return match refuse_conflict(&known.settings, &settings) {
                Ok(()) => Ok(known.start.clone()),
                Err(error) => Err(conflicting(&error).into()),
            };
        }
        let start = start(
            &self.generator,
            &self.run,
            &self.admission.in_flight,
            settings.clone(),
            what,
        );
        let first = DefaultProvider { settings, start };
        Ok(started.entry(key).or_insert(first).start.clone())
    }

    fn refuse_denied(&self, package: &str, what: ProviderUse<'_>) -> RequestError {
        let text = |what: &str| {
            format!("Default provider for '{package}' disabled. '{what}' must use an explicit provider.")
        };
        match what {
            // The request is not answered: the deployment fails.
            ProviderUse::Resource(urn) => self.generator.bail(urn, text(urn.as_str())).into(),
            ProviderUse::Read(_, token) | ProviderUse::Token(token) => {
                WireStatus::unknown(text(token)).into()
            }
        }
    }
}

/// Returns the status of a request whose default provider has failed.
pub(super) fn failed_default(package: &str) -> WireStatus {
    WireStatus::unknown(format!("the default provider of package '{package}' failed"))
}

/// Returns the status of a request whose default provider has been started from another source.
fn conflicting(error: &Error) -> WireStatus {
    let text = error.message();
    WireStatus::invalid(format!(
        "{text}; use one source, or an explicit provider for each of them"
    ))
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

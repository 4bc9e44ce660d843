//! Packages that the program has announced: the plugin and its version, for resources that refer to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    monitor::{PackageParameter, PackageSource, WireStatus},
    provider::{BasePlugin, settings::ProviderSettings},
    resource::Extension,
    runtime::Random,
};

/// An announced package.
#[derive(Clone, PartialEq)]
pub(super) struct AnnouncedPackage {
    /// The package whose provider serves it.
    pub(super) settings: ProviderSettings,
    /// The extension that its provider needs for it; `None` for most packages.
    pub(super) extension: Option<Arc<Extension>>,
}

impl AnnouncedPackage {
    /// Reads the plugin and the parameters of a package.
    pub(super) fn of(source: PackageSource) -> Result<Self, WireStatus> {
        if source.plugin.is_empty() {
            return Err(WireStatus::unknown("package name is empty"));
        }
        let extension = extension(&source)?;
        let plugin_version = version("package", &source.version)?;
        let (package, version, base) = match source.parameterization {
            None => (source.plugin, plugin_version, None),
            Some(made) if made.name.is_empty() => {
                return Err(WireStatus::unknown(
                    "the name of the parameterized package is empty",
                ));
            }
            Some(made) => {
                let base = BasePlugin {
                    name: source.plugin,
                    version: plugin_version,
                    value: made.value,
                };
                (made.name, version("parameter", &made.version)?, Some(base))
            }
        };
        let settings = ProviderSettings {
            package,
            version,
            download_url: source.download_url.trim_end_matches('/').to_owned(),
            checksums: source.checksums,
            base,
            ..ProviderSettings::default()
        };
        Ok(Self { settings, extension })
    }
}

/// Reads the extension of a package: the package itself is the one whose provider serves the extension.
fn extension(source: &PackageSource) -> Result<Option<Arc<Extension>>, WireStatus> {
    let Some(extension) = &source.extension else {
        return Ok(None);
    };
    let refused = |text: String| Err(WireStatus::invalid(text));
    if extension.name.is_empty() {
        return refused(format!(
            "the extension of the package '{}' has no name",
            source.plugin
        ));
    }
    if let Some(made) = &source.parameterization {
        return refused(format!(
            "the package '{}' has both a parameterization ('{}') and an extension ('{}'), which are mutually exclusive",
            source.plugin, made.name, extension.name
        ));
    }
    version("extension", &extension.version)?;
    let PackageParameter { name, version, value } = extension.clone();
    Ok(Some(Arc::new(Extension::new(name, version, value))))
}

/// Reads a version that may be left out.
fn version(whose: &str, text: &str) -> Result<Option<semver::Version>, WireStatus> {
    if text.is_empty() {
        return Ok(None);
    }
    let version = semver::Version::parse(text);
    let bad = |error| WireStatus::unknown(format!("parse {whose} version {text}: {error}"));
    version.map(Some).map_err(bad)
}

/// The announced packages of one run.
#[derive(Default)]
pub(super) struct Packages(Mutex<Vec<(String, AnnouncedPackage)>>);

impl Packages {
    /// Returns the reference of a package; the same package always gets the same reference. That of an extension follows
    /// from its content: a later announcement with another base replaces the first.
    pub(super) fn register(&self, package: AnnouncedPackage, random: &dyn Random) -> String {
        let mut packages = self.lock();
        if let Some((reference, _)) = packages.iter().find(|(_, known)| *known == package) {
            return reference.clone();
        }
        let reference = match &package.extension {
            Some(extension) => extension.reference().to_string(),
            None => random.uuid(),
        };
        packages.retain(|(known, _)| *known != reference);
        packages.push((reference.clone(), package));
        reference
    }

    /// Returns the packages that have been announced so far. An extension is no package with a provider of its own.
    pub(super) fn announced(&self) -> Vec<ProviderSettings> {
        let packages = self.lock();
        let own = packages.iter().filter(|(_, package)| package.extension.is_none());
        own.map(|(_, package)| package.settings.clone()).collect()
    }

    /// Returns the package behind a reference.
    pub(super) fn get(&self, reference: &str) -> Option<AnnouncedPackage> {
        let packages = self.lock();
        let found = packages.iter().find(|(known, _)| known == reference);
        found.map(|(_, package)| package.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, AnnouncedPackage)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Packages that the program has announced: the plugin and its version, for resources that refer to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{provider::settings::ProviderSettings, resource::Extension, runtime::Random};

/// An announced package.
#[derive(Clone, PartialEq)]
pub(super) struct AnnouncedPackage {
    /// The package whose provider serves it.
    pub(super) settings: ProviderSettings,
    /// The extension that its provider needs for it; `None` for most packages.
    pub(super) extension: Option<Arc<Extension>>,
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

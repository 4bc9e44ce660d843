//! Packages that the program has announced: the plugin and its version, for resources that refer to them.

use std::sync::{Mutex, PoisonError};

use crate::{provider::settings::ProviderSettings, runtime::Random};

/// The announced packages of one run.
#[derive(Default)]
pub(super) struct Packages(Mutex<Vec<(String, ProviderSettings)>>);

impl Packages {
    /// Returns the reference of a package; the same package always gets the same reference.
    pub(super) fn register(&self, settings: ProviderSettings, random: &dyn Random) -> String {
        let mut packages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((reference, _)) = packages.iter().find(|(_, known)| *known == settings) {
            return reference.clone();
        }
        let reference = random.uuid();
        packages.push((reference.clone(), settings));
        reference
    }

    /// Returns the packages that have been announced so far.
    pub(super) fn announced(&self) -> Vec<ProviderSettings> {
        let packages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        packages.iter().map(|(_, settings)| settings.clone()).collect()
    }

    /// Returns the package behind a reference.
    pub(super) fn get(&self, reference: &str) -> Option<ProviderSettings> {
        let packages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        packages
            .iter()
            .find(|(known, _)| known == reference)
            .map(|(_, settings)| settings.clone())
    }
}

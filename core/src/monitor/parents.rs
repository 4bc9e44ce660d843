//! What children take over from their parents: options that they do not set themselves, and providers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::{monitor::Registration, urn::Urn};

/// What each registered resource hands down.
#[derive(Default)]
pub(super) struct Parents(Mutex<Legacies>);

#[derive(Default)]
struct Legacies {
    of: FxHashMap<Urn, Arc<Legacy>>,
    /// The one that was recorded last: most resources hand down what the one before does, and share it.
    last: Arc<Legacy>,
}

/// What one resource hands down.
#[derive(Default)]
struct Legacy {
    protect: Option<bool>,
    retain_on_delete: Option<bool>,
    deleted_with: Option<Urn>,
    provider: String,
    providers: BTreeMap<String, String>,
}

impl Parents {
    /// Completes a registration with its own providers, and with what its parent hands down.
    pub(super) fn complete(&self, registration: &mut Registration) {
        choose_provider(registration);
        let Some(parent) = &registration.parent else {
            return;
        };
        let parents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(legacy) = parents.of.get(parent) else {
            return;
        };
        registration.protect = registration.protect.or(legacy.protect);
        registration.retain_on_delete = registration.retain_on_delete.or(legacy.retain_on_delete);
        if registration.options.deleted_with.is_none() {
            registration.options.deleted_with.clone_from(&legacy.deleted_with);
        }
        let provider = &mut registration.package.provider;
        if registration.custom {
            let package = registration.resource_type.package();
            if provider.is_empty() && !registration.resource_type.is_provider() {
                if provider_package(&legacy.provider) == package {
                    provider.clone_from(&legacy.provider);
                } else if let Some(inherited) = legacy.providers.get(package) {
                    provider.clone_from(inherited);
                }
            }
        } else {
            // One that the component gives its children itself counts more than its parent's.
            let inherited = provider_package(&legacy.provider);
            if provider.is_empty() && !registration.providers.contains_key(inherited) {
                provider.clone_from(&legacy.provider);
            }
            for (package, inherited) in &legacy.providers {
                registration
                    .providers
                    .entry(package.clone())
                    .or_insert_with(|| inherited.clone());
            }
        }
    }

    /// Returns the provider that a component hands down for a package.
    pub(super) fn provider_for(&self, parent: &Urn, package: &str) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .of
            .get(parent)?
            .providers
            .get(package)
            .cloned()
    }

    /// Remembers what a resource hands down, `provider` being who manages it; nothing is kept for the many that hand
    /// down nothing.
    pub(super) fn record(&self, urn: &Urn, registration: &Registration, provider: &str) {
        let given = Given {
            registration,
            provider,
        };
        if given.is(&Legacy::default()) {
            return;
        }
        let mut legacies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.is(&legacies.last) {
            legacies.last = Arc::new(given.to_legacy());
        }
        let shared = Arc::clone(&legacies.last);
        legacies.of.insert(urn.clone(), shared);
    }
}

/// Takes the provider of a resource from those that it names by package, unless it names its own.
fn choose_provider(registration: &mut Registration) {
    let Registration {
        resource_type,
        package,
        providers,
        ..
    } = registration;
    if !registration.custom || !package.provider.is_empty() || resource_type.is_provider() {
        return;
    }
    if let Some(provider) = providers.get(resource_type.package()) {
        package.provider.clone_from(provider);
    }
}

/// Providers of what hands none down.
static NO_PROVIDERS: BTreeMap<String, String> = BTreeMap::new();

/// What a registration hands down, before anybody has copied it.
struct Given<'a> {
    registration: &'a Registration,
    provider: &'a str,
}

impl Given<'_> {
    /// Returns the providers for what is below a component; what a provider manages gives its own to nobody.
    fn providers(&self) -> &BTreeMap<String, String> {
        if self.registration.custom {
            &NO_PROVIDERS
        } else {
            &self.registration.providers
        }
    }

    fn is(&self, legacy: &Legacy) -> bool {
        let registration = self.registration;
        legacy.protect == registration.protect
            && legacy.retain_on_delete == registration.retain_on_delete
            && legacy.deleted_with == registration.options.deleted_with
            && legacy.provider == self.provider
            && legacy.providers == *self.providers()
    }

    fn to_legacy(&self) -> Legacy {
        let registration = self.registration;
        Legacy {
            protect: registration.protect,
            retain_on_delete: registration.retain_on_delete,
            deleted_with: registration.options.deleted_with.clone(),
            provider: self.provider.to_owned(),
            providers: self.providers().clone(),
        }
    }
}

fn provider_package(reference: &str) -> &str {
    reference
        .split("::")
        .nth(2)
        .and_then(|qualified| qualified.rsplit(':').next())
        .unwrap_or_default()
}

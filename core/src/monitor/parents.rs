//! The options and providers that children inherit from their parents.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::{
    monitor::{PackageChoice, Registration},
    resource::Goal,
    urn::Urn,
};

/// The inheritable options of each registered resource.
#[derive(Default)]
pub(super) struct Parents(Mutex<Inherited>);

#[derive(Default)]
struct Inherited {
    of: FxHashMap<Urn, Arc<InheritedOptions>>,
    /// The options of the last record: most resources inherit the same ones and share them.
    last: Arc<InheritedOptions>,
}

/// The inheritable options of one resource.
#[derive(Default)]
struct InheritedOptions {
    protect: Option<bool>,
    retain_on_delete: Option<bool>,
    deleted_with: Option<Urn>,
    provider: String,
    /// The type's package and how the registration chooses its default provider.
    choice: Option<(String, PackageChoice)>,
    /// True when the choice is empty, as for most resources.
    is_plain: bool,
    /// The provider of this choice, for later registrations with the same choice.
    found: OnceLock<String>,
    providers: BTreeMap<String, String>,
}

impl Parents {
    /// Completes a registration with its own providers, and with the options of its parent.
    pub(super) fn complete(&self, registration: &mut Registration) {
        self.complete_options(registration);
        self.complete_providers(registration);
    }

    /// Completes a registration with its own provider, and with all options of its parent but the providers of a
    /// component's children. Transforms see this form.
    pub(super) fn complete_options(&self, registration: &mut Registration) {
        choose_provider(registration);
        let Some(parent) = &registration.parent else {
            return;
        };
        let parents = self.lock();
        let Some(options) = parents.of.get(parent) else {
            return;
        };
        let handed_down = options.found.get().unwrap_or(&options.provider);
        registration.protect = registration.protect.or(options.protect);
        registration.retain_on_delete = registration.retain_on_delete.or(options.retain_on_delete);
        if registration.options.deleted_with.is_none() {
            registration
                .options
                .deleted_with
                .clone_from(&options.deleted_with);
        }
        if registration.custom || registration.remote {
            let package = registration.resource_type.package();
            let provider = &mut registration.package.provider;
            if provider.is_empty() && !registration.resource_type.is_provider() {
                let choice = options.choice.as_ref().filter(|(handed, _)| handed == package);
                if provider_package(handed_down) == package {
                    provider.clone_from(handed_down);
                } else if let Some((_, choice)) = choice {
                    registration.package.clone_from(choice);
                } else if let Some(inherited) = options.providers.get(package) {
                    provider.clone_from(inherited);
                }
            }
        } else {
            // A provider of the component itself takes precedence over its parent's.
            let inherited = provider_package(handed_down);
            let provider = &mut registration.package.provider;
            if provider.is_empty() && !registration.providers.contains_key(inherited) {
                provider.clone_from(handed_down);
            }
        }
    }

    /// Completes the providers of a component's children with those of its parent.
    pub(super) fn complete_providers(&self, registration: &mut Registration) {
        let Some(parent) = registration.parent.as_ref().filter(|_| !registration.custom) else {
            return;
        };
        let parents = self.lock();
        let Some(options) = parents.of.get(parent) else {
            return;
        };
        for (package, inherited) in &options.providers {
            registration
                .providers
                .entry(package.clone())
                .or_insert_with(|| inherited.clone());
        }
    }

    /// Returns the provider that a resource hands down for a package: one of its providers, or its own one.
    pub(super) fn provider_for(&self, parent: &Urn, package: &str) -> Option<String> {
        let parents = self.lock();
        let options = parents.of.get(parent)?;
        let own = (provider_package(&options.provider) == package).then_some(&options.provider);
        options.providers.get(package).or(own).cloned()
    }

    /// Records the inheritable options of a claimed registration, before its default provider is found; none are kept
    /// when they are empty.
    pub(super) fn record(&self, urn: &Urn, registration: &Registration, goal: &Goal) {
        let given = Given { registration, goal };
        let mut inherited = self.lock();
        let Inherited { of, last } = &mut *inherited;
        if given.is_nothing() {
            // A released registration of the same URN may have left an entry.
            of.remove(urn);
            return;
        }
        if !given.is(last) {
            *last = Arc::new(given.to_options());
        }
        of.insert(urn.clone(), Arc::clone(last));
    }

    /// Records the default provider that was found for a registration.
    pub(super) fn record_found(&self, urn: &Urn, provider: &str) {
        if let Some(options) = self.lock().of.get(urn) {
            options.found.get_or_init(|| provider.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inherited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    let has_provider = registration.custom || registration.remote;
    if !has_provider || !package.provider.is_empty() || resource_type.is_provider() {
        return;
    }
    if let Some(provider) = providers.get(resource_type.package()) {
        package.provider.clone_from(provider);
    }
}

/// The providers of a resource without inheritable ones.
static NO_PROVIDERS: BTreeMap<String, String> = BTreeMap::new();

/// The inheritable options of a registration, before they are copied.
struct Given<'a> {
    registration: &'a Registration,
    /// Copies the registration's options.
    goal: &'a Goal,
}

impl Given<'_> {
    /// Returns the inheritable providers of a component; those of custom resources are not inherited.
    fn providers(&self) -> &BTreeMap<String, String> {
        if self.registration.custom {
            &NO_PROVIDERS
        } else {
            &self.registration.providers
        }
    }

    fn provider(&self) -> &str {
        &self.registration.package.provider
    }

    /// Returns the type's package and the choice of a default provider.
    fn choice(&self) -> Option<(&str, &PackageChoice)> {
        let Registration {
            resource_type,
            package,
            custom,
            ..
        } = self.registration;
        let is_open = *custom && !resource_type.is_provider() && package.provider.is_empty();
        is_open.then(|| (resource_type.package(), package))
    }

    fn is_nothing(&self) -> bool {
        self.choice().is_none() && self.is(&InheritedOptions::default())
    }

    /// Compares before copying, because every registration is compared.
    fn is(&self, options: &InheritedOptions) -> bool {
        let is_same_choice = match (&options.choice, self.choice()) {
            (None, None) => true,
            (Some((package, choice)), Some((given, other))) => {
                package == given && (options.is_plain && other.is_plain() || choice == other)
            }
            _ => false,
        };
        is_same_choice
            && options.protect == self.registration.protect
            && options.retain_on_delete == self.registration.retain_on_delete
            && options.deleted_with == self.goal.options.deleted_with
            && options.provider == self.provider()
            && options.providers == *self.providers()
    }

    fn to_options(&self) -> InheritedOptions {
        let choice = self.choice();
        InheritedOptions {
            protect: self.registration.protect,
            retain_on_delete: self.registration.retain_on_delete,
            deleted_with: self.goal.options.deleted_with.clone(),
            provider: self.provider().to_owned(),
            choice: choice.map(|(package, choice)| (package.to_owned(), choice.clone())),
            is_plain: choice.is_some_and(|(_, choice)| choice.is_plain()),
            found: OnceLock::new(),
            providers: self.providers().clone(),
        }
    }
}

/// Returns the package of a provider by its reference; empty for an empty one.
pub(super) fn provider_package(reference: &str) -> &str {
    reference
        .split("::")
        .nth(2)
        .and_then(|qualified| qualified.rsplit(':').next())
        .unwrap_or_default()
}

//! The placement of resources: their parents, the options that they inherit from these, and their URNs.

use std::sync::{Arc, OnceLock};

use crate::{
    generator::{Generator, References},
    monitor::{Registration, RunInfo, parents::Parents, providers::RequestProviders},
    token::TypeToken,
    urn::{ROOT_STACK_TYPE, Urn},
};

/// Places the resources of one run.
pub(super) struct Placement {
    generator: Arc<Generator>,
    run: Arc<RunInfo>,
    providers: Arc<RequestProviders>,
    /// The options that children inherit.
    pub(super) parents: Parents,
    /// The root stack's URN, once it is registered.
    pub(super) root: Arc<OnceLock<Urn>>,
}

impl Placement {
    /// Creates the placement of a run without resources.
    pub(super) fn new(
        generator: Arc<Generator>,
        run: Arc<RunInfo>,
        providers: Arc<RequestProviders>,
    ) -> Self {
        Self {
            generator,
            run,
            providers,
            parents: Parents::default(),
            root: Arc::default(),
        }
    }

    /// Completes a registration with its parent.
    pub(super) fn place(&self, registration: &mut Registration) {
        self.refer(registration);
        let is_root = registration.resource_type.as_str() == ROOT_STACK_TYPE;
        if registration.parent.is_none() && !registration.no_parent && !is_root {
            registration.parent = self.root.get().cloned();
        }
    }

    /// Completes a registration with its parent, and with the options that it inherits from that.
    pub(super) fn inherit(&self, registration: &mut Registration) {
        self.place(registration);
        self.keeping_extension(registration, |registration| self.parents.complete(registration));
    }

    /// Completes a placed registration with the options of its parent, without the providers of a component's children.
    pub(super) fn inherit_options(&self, registration: &mut Registration) {
        self.keeping_extension(registration, |registration| {
            self.parents.complete_options(registration);
        });
    }

    /// Completes a registration with what its parent hands down. An extension that the registration names itself stays:
    /// children inherit providers, and another version of an extension may be one of the parent's.
    fn keeping_extension(&self, registration: &mut Registration, complete: impl FnOnce(&mut Registration)) {
        let own = registration.package.package_ref.clone();
        complete(registration);
        if registration.package.package_ref != own && self.providers.is_extension(&own) {
            registration.package.package_ref = own;
        }
    }

    /// Makes the references of a registration those of the program.
    pub(super) fn refer(&self, registration: &mut Registration) {
        self.generator.refer_to_registered(References {
            parent: &mut registration.parent,
            dependencies: &mut registration.dependencies,
            property_dependencies: registration.property_dependencies.as_mut(),
            options: &mut registration.options,
        });
    }

    /// Returns the provider that a registered component hands down for a package; empty without one.
    pub(super) fn inherited_provider(&self, parent: Option<&Urn>, package: &str) -> String {
        let inherited = parent.and_then(|parent| self.parents.provider_for(parent, package));
        inherited.unwrap_or_default()
    }

    /// Returns the URN that a resource will have: a component, when its provider registers it.
    pub(super) fn urn_of(&self, registration: &Registration) -> Urn {
        let Registration {
            parent,
            resource_type,
            name,
            ..
        } = registration;
        self.urn_below(parent.as_ref(), resource_type, name)
    }

    /// Returns the URN of a resource below a parent.
    pub(super) fn urn_below(&self, parent: Option<&Urn>, resource_type: &TypeToken, name: &str) -> Urn {
        let parent = parent.map_or("", Urn::qualified_type);
        let RunInfo { stack, project, .. } = &*self.run;
        Urn::new(stack, project, parent, resource_type.as_str(), name)
    }
}

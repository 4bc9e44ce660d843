//! Transforms of resources: their trait, and the inputs and options that they change.

use std::{collections::BTreeMap, fmt};

use async_trait::async_trait;

use crate::{
    error::Result,
    monitor::{PackageChoice, Registration},
    property::PropertyMap,
    resource::{Alias, SharedOptions},
    token::TypeToken,
    urn::Urn,
};

/// A registration as a transform sees it. Only inputs and options can be changed.
#[derive(Clone, Debug)]
pub struct TransformArgs {
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// True for a resource that a provider manages, false for a component.
    pub custom: bool,
    /// The parent.
    pub parent: Option<Urn>,
    /// The inputs, possibly with unknowns, secrets and output values. Where the resource itself was given transforms, an
    /// input with dependencies is an output value.
    pub inputs: PropertyMap,
    /// The options.
    pub options: TransformOptions,
    /// The request came without transforms, so that those behind the protocol do not change its dependencies.
    pub(in crate::monitor) keeps_dependencies: bool,
}

/// The options of a registration that a transform can change.
#[derive(Clone, Debug, Default)]
pub struct TransformOptions {
    /// What the resource depends on as a whole.
    pub depends_on: Vec<Urn>,
    /// Options that choose the provider that manages it. The reference of RegisterPackage cannot be changed.
    pub package: PackageChoice,
    /// Providers by package: those of a component for its children.
    pub providers: BTreeMap<String, String>,
    /// Whether deletion is refused.
    pub protect: Option<bool>,
    /// Whether a replacement deletes first.
    pub delete_before_replace: Option<bool>,
    /// Former names.
    pub aliases: Vec<Alias>,
    /// Whether deletion keeps the real resource.
    pub retain_on_delete: Option<bool>,
    /// Options that most resources leave out.
    pub others: SharedOptions,
}

/// A function that changes the inputs and the options of resources before they are registered. Closures that return a
/// future are such functions.
///
/// Calls are concurrent. One that takes longer than five minutes fails; a call is dropped when the run is cancelled.
#[async_trait]
pub trait ResourceTransform: Send + Sync + 'static {
    /// Returns the changed registration; `None` leaves it as it is.
    ///
    /// # Errors
    /// The failure of the transform, which refuses the registration.
    async fn transform(&self, args: TransformArgs) -> Result<Option<TransformArgs>>;
}

#[async_trait]
impl<F, R> ResourceTransform for F
where
    F: Fn(TransformArgs) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<TransformArgs>>> + Send,
{
    async fn transform(&self, args: TransformArgs) -> Result<Option<TransformArgs>> {
        self(args).await
    }
}

impl fmt::Debug for dyn ResourceTransform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ResourceTransform")
    }
}

impl TransformArgs {
    /// Takes the inputs and the options out of a registration.
    pub(super) fn take_from(registration: &mut Registration, keeps_dependencies: bool) -> Self {
        Self {
            resource_type: registration.resource_type.clone(),
            name: registration.name.clone(),
            custom: registration.custom,
            parent: registration.parent.clone(),
            inputs: std::mem::take(&mut registration.inputs),
            options: TransformOptions {
                depends_on: std::mem::take(&mut registration.dependencies),
                package: std::mem::take(&mut registration.package),
                providers: std::mem::take(&mut registration.providers),
                protect: registration.protect,
                delete_before_replace: registration.delete_before_replace,
                aliases: std::mem::take(&mut registration.aliases),
                retain_on_delete: registration.retain_on_delete,
                others: std::mem::take(&mut registration.options),
            },
            keeps_dependencies,
        }
    }

    /// Puts the options back into their registration, and returns the inputs.
    pub(super) fn put_into(self, registration: &mut Registration) -> PropertyMap {
        let options = self.options;
        registration.dependencies = options.depends_on;
        registration.package = options.package;
        registration.providers = options.providers;
        registration.protect = options.protect;
        registration.delete_before_replace = options.delete_before_replace;
        registration.aliases = options.aliases;
        registration.retain_on_delete = options.retain_on_delete;
        registration.options = options.others;
        self.inputs
    }

    /// Replaces inputs and options by changed ones; the rest cannot be changed.
    pub(super) fn change(&mut self, changed: Self) {
        let package_ref = std::mem::take(&mut self.options.package.package_ref);
        self.inputs = changed.inputs;
        self.options = changed.options;
        self.options.package.package_ref = package_ref;
    }
}

//! The types of the typed API: requests to register, read and invoke, and their results.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    monitor::ResourceTransform,
    property::{PropertyMap, PropertyValue},
    resource::{Alias, PropertyDependencies, ProviderReference, SharedOptions, SourcePosition},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// A resource registration with all options.
#[derive(Clone, Debug, Default)]
pub struct Registration {
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// True for a resource that a provider manages, false for a component.
    pub custom: bool,
    /// True for a component that its provider constructs.
    pub remote: bool,
    /// The inputs. What the output values in them depend on counts as dependencies, too; see [`Registered::output`].
    pub inputs: PropertyMap,
    /// The parent; `None` is the root stack, when there is one.
    pub parent: Option<Urn>,
    /// True for a resource that has no parent at all, not even the root stack.
    pub no_parent: bool,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// The dependencies of each input; `None` when each depends on all of `dependencies`.
    pub property_dependencies: Option<PropertyDependencies>,
    /// Options that choose the provider that manages it.
    pub package: PackageChoice,
    /// Providers by package: a component's for its children, a resource's for itself where it names no provider.
    pub providers: BTreeMap<String, String>,
    /// Whether deletion is refused.
    pub protect: Option<bool>,
    /// Whether a replacement deletes first.
    pub delete_before_replace: Option<bool>,
    /// Former names.
    pub aliases: Vec<Alias>,
    /// Whether deletion keeps the real resource.
    pub retain_on_delete: Option<bool>,
    /// For a provider: variables of the host's environment, by name, with the names under which its plugin sees their values,
    /// too. Providers of the host have no process, and see none.
    pub env_var_mappings: BTreeMap<String, String>,
    /// Options that most resources leave out.
    pub options: SharedOptions,
    /// Transforms of the resource and of everything below it, in order.
    pub transforms: Vec<Arc<dyn ResourceTransform>>,
    /// Where the program registered it.
    pub source_position: SourcePosition,
    /// The stack trace of the registration.
    pub stack_trace: Vec<SourcePosition>,
}

impl Registration {
    /// Adds what the output values in the inputs depend on: to the dependencies of their inputs, and to those of the resource.
    pub(super) fn adopt_output_dependencies(&mut self) {
        if !self.inputs.contains_outputs() {
            return;
        }
        let mut known = self.property_dependencies.take().unwrap_or_else(|| {
            let names = self.inputs.keys().cloned();
            PropertyDependencies::sharing(names, self.dependencies.clone())
        });
        for (name, value) in self.inputs.iter() {
            known.add_outputs(name, value);
            add_dependencies(&mut self.dependencies, value);
        }
        self.property_dependencies = Some(known);
    }
}

impl Invoke {
    /// Takes the output values out of the arguments; the call depends on what they depend on.
    pub(super) fn adopt_output_dependencies(&mut self) {
        for value in self.arguments.values() {
            add_dependencies(&mut self.depends_on, value);
        }
        self.arguments = std::mem::take(&mut self.arguments).collapse_outputs();
    }
}

/// Adds the dependencies of the output values in a value to a list, each once.
fn add_dependencies(list: &mut Vec<Urn>, value: &PropertyValue) {
    value.any(&mut |value| {
        if let PropertyValue::Output(output) = value {
            for urn in &output.dependencies {
                if !list.contains(urn) {
                    list.push(urn.clone());
                }
            }
        }
        false
    });
}

/// The provider of a request: an explicit one, or the default one of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageChoice {
    /// The provider, as `<urn>::<id>`; empty for the default one.
    pub provider: String,
    /// The version of the package that is wanted; empty for any.
    pub version: String,
    /// The download URL of the plugin; empty for the default.
    pub download_url: String,
    /// Hex checksums of the plugin by platform.
    pub checksums: BTreeMap<String, String>,
    /// The package, as RegisterPackage named it; empty for none.
    pub package_ref: String,
    /// The plugin that serves the package, where that is not the one of its name, or an extension of it; in the place of
    /// [`Self::package_ref`].
    pub source: Option<Arc<PackageSource>>,
}

/// The plugin that serves a package: one of another name, which is given a parameter, or an extension, for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageSource {
    /// The name of the plugin.
    pub plugin: String,
    /// The version of the plugin; empty for any.
    pub version: String,
    /// The download URL of the plugin; empty for the default.
    pub download_url: String,
    /// Hex checksums of the plugin by platform.
    pub checksums: BTreeMap<String, String>,
    /// The parameter with which the plugin serves the package of its name and version.
    pub parameterization: Option<PackageParameter>,
    /// The extension that a provider of the plugin's own package is given, to serve the package of its name, too.
    pub extension: Option<PackageParameter>,
}

/// The parameter of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageParameter {
    /// The name of the package.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// The value, whose meaning the plugin knows.
    pub value: Vec<u8>,
}

impl PackageChoice {
    /// Describes the explicit provider where it is of another package than the type or the function `token`, which it would not know.
    pub(crate) fn misplaced(&self, token: &str) -> Option<String> {
        // The provider of an extension has the name of the package that is extended.
        if self.provider.is_empty() || !self.package_ref.is_empty() || self.source.is_some() {
            return None;
        }
        let reference = ProviderReference::parse(&self.provider).ok()?;
        reference.misplaced(TypeToken::from(token).asked_package())
    }

    /// Returns whether the request sets nothing.
    pub(crate) fn is_plain(&self) -> bool {
        let Self {
            provider,
            version,
            download_url,
            checksums,
            package_ref,
            source,
        } = self;
        provider.is_empty()
            && version.is_empty()
            && download_url.is_empty()
            && package_ref.is_empty()
            && source.is_none()
            && checksums.is_empty()
    }
}

/// The result of a registration or a read.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The resource.
    pub urn: Urn,
    /// The id; empty for components, and in previews while it is not known.
    pub id: ResourceId,
    /// The outputs; during previews possibly with unknowns.
    pub outputs: PropertyMap,
    /// The dependencies of each output; empty except for remote components.
    pub output_dependencies: PropertyDependencies,
    /// True when the resource does not exist and its creation was skipped: all of its outputs are unknown.
    pub unknown: bool,
    /// True when it failed and the run continues.
    pub failed: bool,
    /// True when it was not tried because a dependency failed.
    pub skipped: bool,
}

impl Registered {
    /// Returns an output as an input of other resources, which then depend on what it comes from; `None` when the resource
    /// does not have it. Each output of a resource that does not exist, because it failed or was skipped, is unknown.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<PropertyValue> {
        let value = match self.outputs.get(name) {
            Some(value) => value.clone(),
            None if self.unknown || self.failed => PropertyValue::unknown(),
            None => return None,
        };
        Some(value.with_dependencies(&self.sources_of(name)))
    }

    /// Returns the resources that an output comes from: this one, and those from which the provider of a remote component has
    /// made it.
    #[must_use]
    pub fn sources_of(&self, output: &str) -> Vec<Urn> {
        let mut sources = vec![self.urn.clone()];
        for urn in self.output_dependencies.get(output).unwrap_or_default() {
            if !sources.contains(urn) {
                sources.push(urn.clone());
            }
        }
        sources
    }
}

/// A resource to be read without managing it.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// The id of the resource to read.
    pub id: ResourceId,
    /// The parent; `None` is the root stack, when there is one.
    pub parent: Option<Urn>,
    /// True for a resource that has no parent at all, not even the root stack.
    pub no_parent: bool,
    /// Known properties.
    pub inputs: PropertyMap,
    /// What it depends on.
    pub dependencies: Vec<Urn>,
    /// Options that choose the provider that reads it.
    pub package: PackageChoice,
    /// Names of outputs to be treated as secret.
    pub additional_secret_outputs: Vec<String>,
    /// The source position of the read.
    pub source_position: SourcePosition,
    /// The stack trace of the read.
    pub stack_trace: Vec<SourcePosition>,
}

/// A function to be called.
#[derive(Clone, Debug, Default)]
pub struct Invoke {
    /// The function: `package:module:member`.
    pub token: String,
    /// The arguments; the call depends on what output values in them depend on, too.
    pub arguments: PropertyMap,
    /// Options that choose the provider that has it.
    pub package: PackageChoice,
    /// The component whose providers are the defaults.
    pub parent: Option<Urn>,
    /// Resources that must exist before the call; while one does not, the result is unknown.
    pub depends_on: Vec<Urn>,
    /// A transform of functions makes the call, which is not transformed then: that transform would wait for itself. Set by
    /// [`crate::monitor::Monitor::invoke`] where the future of a transform calls it.
    pub in_transform: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_of_a_resource_that_does_not_exist_is_unknown_and_comes_from_it() {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Thing", "a");
        let made = Registered {
            urn: urn.clone(),
            id: "a-1".into(),
            outputs: [("size", 1.0.into())].into_iter().collect(),
            output_dependencies: PropertyDependencies::new(),
            unknown: false,
            failed: false,
            skipped: false,
        };
        let from = |value: PropertyValue| Some(value.with_dependencies(std::slice::from_ref(&urn)));
        assert_eq!(made.output("size"), from(1.0.into()));
        assert_eq!(made.output("other"), None);
        let missing = |unknown, failed| Registered {
            outputs: PropertyMap::new(),
            unknown,
            failed,
            ..made.clone()
        };
        for missing in [missing(true, false), missing(false, true)] {
            assert_eq!(missing.output("size"), from(PropertyValue::unknown()));
        }
    }
}

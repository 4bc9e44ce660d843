//! Resources as functions of policies receive them.

use crate::{
    policy::{
        Subject,
        subject::{provider_properties, shown},
    },
    property::PropertyMap,
    resource::{CustomTimeouts, PropertyDependencies, ResourceState},
    token::TypeToken,
    urn::Urn,
};

/// A resource that a policy checks or remediates.
#[derive(Clone, Debug)]
pub struct PolicyResource {
    /// The URN.
    pub urn: Urn,
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// The properties: the inputs in checks and remediations of a resource, the outputs in checks of a stack.
    pub props: PropertyMap,
    /// The inputs.
    pub inputs: PropertyMap,
    /// The options.
    pub options: PolicyResourceOptions,
    /// The provider; `None` for components and providers.
    pub provider: Option<PolicyProvider>,
    /// The parent.
    pub parent: Option<Urn>,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// What each input depends on.
    pub property_dependencies: PropertyDependencies,
    /// The settings of the policy; empty in checks of a stack, which has them itself.
    pub config: PropertyMap,
}

/// The options of a resource.
#[derive(Clone, Debug, Default)]
pub struct PolicyResourceOptions {
    /// Whether deletion is refused.
    pub protect: bool,
    /// Paths of inputs whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// Whether a replacement deletes the old resource first; `None` if the program does not set it.
    pub delete_before_replace: Option<bool>,
    /// Names of outputs that are treated as secret.
    pub additional_secret_outputs: Vec<String>,
    /// The aliases that the program gives as URNs.
    pub aliases: Vec<String>,
    /// Limits of the provider's calls.
    pub custom_timeouts: CustomTimeouts,
}

/// The provider of a resource.
#[derive(Clone, Debug)]
pub struct PolicyProvider {
    /// The URN.
    pub urn: Urn,
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// The configuration.
    pub props: PropertyMap,
}

/// All resources of a stack.
#[derive(Clone, Debug)]
pub struct PolicyStack {
    /// The resources. Providers and components are among them, resources that are only read are not.
    pub resources: Vec<PolicyResource>,
    /// The settings of the policy.
    pub config: PropertyMap,
}

impl PolicyResource {
    /// Describes a resource by its inputs.
    pub(super) fn of_inputs(subject: &Subject<'_>, inputs: &PropertyMap) -> Self {
        let inputs = shown(inputs);
        Self::new(subject, inputs.clone(), inputs)
    }

    /// Describes a resource by its outputs.
    pub(super) fn of_outputs(subject: &Subject<'_>) -> Self {
        let state = subject.state;
        Self::new(subject, shown(&state.outputs), shown(&state.inputs))
    }

    fn new(subject: &Subject<'_>, props: PropertyMap, inputs: PropertyMap) -> Self {
        let state = subject.state;
        Self {
            urn: state.urn.clone(),
            resource_type: state.resource_type.clone(),
            name: state.urn.name().to_owned(),
            props,
            inputs,
            options: PolicyResourceOptions {
                protect: state.protect,
                ignore_changes: state.options.ignore_changes.clone(),
                delete_before_replace: subject.delete_before_replace,
                additional_secret_outputs: state.options.additional_secret_outputs.clone(),
                aliases: subject.aliases.clone(),
                custom_timeouts: state.options.custom_timeouts,
            },
            provider: subject.provider.as_deref().map(PolicyProvider::new),
            parent: state.parent.clone(),
            dependencies: state.dependencies.clone(),
            property_dependencies: state.property_dependencies.clone(),
            config: PropertyMap::new(),
        }
    }
}

impl PolicyProvider {
    fn new(state: &ResourceState) -> Self {
        Self {
            urn: state.urn.clone(),
            resource_type: state.resource_type.clone(),
            name: state.urn.name().to_owned(),
            props: provider_properties(state),
        }
    }
}

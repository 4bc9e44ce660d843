//! The goal: what a program asks a resource to be.

use smol_str::SmolStr;

use crate::{
    property::{PropertyMap, PropertyValue},
    resource::{Alias, CustomTimeouts, HookBindings, PropertyDependencies, SourcePosition},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// What a program asks a resource to be, with every option resolved against its parent.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// The type.
    pub resource_type: TypeToken,
    /// The name.
    pub name: String,
    /// True for a resource that a provider manages, false for a component.
    pub custom: bool,
    /// The inputs, before Check.
    pub inputs: PropertyMap,
    /// The parent; `None` only for root stacks and resources without one.
    pub parent: Option<Urn>,
    /// Whether deletion is refused; `None` when neither the program nor a parent said.
    pub protect: Option<bool>,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// The provider reference `<urn>::<id>`; empty for components and provider resources.
    pub provider: SmolStr,
    /// What each input depends on.
    pub property_dependencies: PropertyDependencies,
    /// Whether a replacement deletes first; `None` leaves it to the provider.
    pub delete_before_replace: Option<bool>,
    /// Paths of inputs whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// Names of outputs to be treated as secret.
    pub additional_secret_outputs: Vec<String>,
    /// Former names.
    pub aliases: Vec<Alias>,
    /// The id to import; empty for none.
    pub import_id: ResourceId,
    /// Limits of the provider's calls.
    pub custom_timeouts: CustomTimeouts,
    /// Paths of inputs whose changes force a replacement.
    pub replace_on_changes: Vec<String>,
    /// Whether deletion leaves the real thing alone.
    pub retain_on_delete: Option<bool>,
    /// The resource whose deletion makes this one's unnecessary.
    pub deleted_with: Option<Urn>,
    /// Resources whose replacement replaces this one.
    pub replace_with: Vec<Urn>,
    /// Paths of properties whose diffs are not shown.
    pub hide_diffs: Vec<String>,
    /// A value whose change forces a replacement.
    pub replacement_trigger: Option<PropertyValue>,
    /// Hooks by moment.
    pub resource_hooks: HookBindings,
    /// Where the program registered it.
    pub source_position: SourcePosition,
    /// How the program got there.
    pub stack_trace: Vec<SourcePosition>,
}

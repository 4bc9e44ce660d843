//! The goal: the desired state of a resource.

use std::sync::Arc;

use smol_str::SmolStr;

use crate::{
    property::PropertyMap,
    resource::{Alias, Extension, PropertyDependencies, SharedOptions, SourcePosition},
    token::TypeToken,
    urn::Urn,
};

/// The desired state of a resource, with every option resolved against its parent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
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
    /// Whether deletion is refused; `None` when neither the program nor a parent sets it.
    pub protect: Option<bool>,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// The provider reference `<urn>::<id>`; empty for components and provider resources.
    pub provider: SmolStr,
    /// The extension that its provider needs; `None` for most resources.
    pub extension: Option<Arc<Extension>>,
    /// What each input depends on.
    pub property_dependencies: PropertyDependencies,
    /// Whether a replacement deletes first; `None` leaves it to the provider.
    pub delete_before_replace: Option<bool>,
    /// Former names.
    pub aliases: Vec<Alias>,
    /// Whether deletion keeps the real resource.
    pub retain_on_delete: Option<bool>,
    /// Options that most resources leave out.
    pub options: SharedOptions,
    /// Where the program registered it.
    pub source_position: SourcePosition,
    /// The stack trace of the registration.
    pub stack_trace: Vec<SourcePosition>,
}

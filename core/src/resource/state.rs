//! The state: what is recorded of a resource, field by field as the deployment format has it.

use smol_str::SmolStr;

use crate::{
    property::{PropertyMap, PropertyValue},
    resource::{CustomTimeouts, HookBindings, PropertyDependencies, SourcePosition},
    runtime::Timestamp,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// What is recorded of a resource. Shared as `Arc<ResourceState>` and never changed in place.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceState {
    /// The identity.
    pub urn: Urn,
    /// True for a resource that a provider manages.
    pub custom: bool,
    /// True for an old copy that waits for its deletion.
    pub delete: bool,
    /// The provider's id; empty for components and before creation.
    pub id: ResourceId,
    /// The type.
    pub resource_type: TypeToken,
    /// The inputs as Check left them.
    pub inputs: PropertyMap,
    /// What the provider, or the component, gave back.
    pub outputs: PropertyMap,
    /// The parent.
    pub parent: Option<Urn>,
    /// Whether deletion is refused.
    pub protect: bool,
    /// Whether the next update replaces it.
    pub taint: bool,
    /// True when it was only read: nobody manages it here.
    pub external: bool,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// Why its initialization failed; empty when it did not.
    pub init_errors: Vec<String>,
    /// The provider reference; empty for components and providers.
    pub provider: SmolStr,
    /// What each input depends on.
    pub property_dependencies: PropertyDependencies,
    /// True when it was deleted for a replacement that has not been created yet.
    pub pending_replacement: bool,
    /// Names of outputs that are treated as secret.
    pub additional_secret_outputs: Vec<String>,
    /// Former URNs; only while an operation runs, a saved state has none.
    pub aliases: Vec<Urn>,
    /// Limits of the provider's calls.
    pub custom_timeouts: CustomTimeouts,
    /// The id that it was imported from; empty when it was not.
    pub import_id: ResourceId,
    /// Whether deletion leaves the real thing alone.
    pub retain_on_delete: bool,
    /// The resource whose deletion makes this one's unnecessary.
    pub deleted_with: Option<Urn>,
    /// Resources whose replacement replaces this one.
    pub replace_with: Vec<Urn>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it was last changed.
    pub modified: Option<Timestamp>,
    /// Where the program registered it.
    pub source_position: SourcePosition,
    /// How the program got there.
    pub stack_trace: Vec<SourcePosition>,
    /// Paths of inputs whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// Paths of properties whose diffs are not shown.
    pub hide_diffs: Vec<String>,
    /// Paths of inputs whose changes force a replacement.
    pub replace_on_changes: Vec<String>,
    /// A value whose change forces a replacement.
    pub replacement_trigger: Option<PropertyValue>,
    /// Whether it wants to be read before each update.
    pub refresh_before_update: bool,
    /// The resource that this one is a view of.
    pub view_of: Option<Urn>,
    /// Hooks by moment.
    pub resource_hooks: HookBindings,
    /// The extension of its provider that it needs; empty for none.
    pub extension_ref: SmolStr,
    /// The snippet that registered it; empty for none.
    pub snippet_id: SmolStr,
}

impl ResourceState {
    /// Creates a record of which only the identity is known.
    #[must_use]
    pub fn new(urn: Urn, resource_type: TypeToken, custom: bool) -> Self {
        Self {
            urn,
            custom,
            delete: false,
            id: ResourceId::default(),
            resource_type,
            inputs: PropertyMap::new(),
            outputs: PropertyMap::new(),
            parent: None,
            protect: false,
            taint: false,
            external: false,
            dependencies: Vec::new(),
            init_errors: Vec::new(),
            provider: SmolStr::default(),
            property_dependencies: PropertyDependencies::new(),
            pending_replacement: false,
            additional_secret_outputs: Vec::new(),
            aliases: Vec::new(),
            custom_timeouts: CustomTimeouts::default(),
            import_id: ResourceId::default(),
            retain_on_delete: false,
            deleted_with: None,
            replace_with: Vec::new(),
            created: None,
            modified: None,
            source_position: None,
            stack_trace: Vec::new(),
            ignore_changes: Vec::new(),
            hide_diffs: Vec::new(),
            replace_on_changes: Vec::new(),
            replacement_trigger: None,
            refresh_before_update: false,
            view_of: None,
            resource_hooks: HookBindings::new(),
            extension_ref: SmolStr::default(),
            snippet_id: SmolStr::default(),
        }
    }

    /// Tells whether this is a provider resource.
    #[must_use]
    pub fn is_provider(&self) -> bool {
        self.resource_type.is_provider()
    }

    /// Calls `visit` with every resource that must stand before this one in a snapshot, except its provider.
    pub fn for_each_dependency<'a>(&'a self, mut visit: impl FnMut(&'a Urn)) {
        self.parent.iter().for_each(&mut visit);
        self.dependencies.iter().for_each(&mut visit);
        self.property_dependencies.lists().flatten().for_each(&mut visit);
        self.deleted_with.iter().for_each(&mut visit);
        self.replace_with.iter().for_each(&mut visit);
    }

    /// Returns the URN of the provider resource that manages this one.
    #[must_use]
    pub fn provider_urn(&self) -> Option<Urn> {
        let (urn, _) = self.provider.rsplit_once("::")?;
        Urn::parse(urn).ok()
    }
}

/// A change that had begun when the engine last wrote the state.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingOperation {
    /// The resource as it was to become, or as it was when its deletion began.
    pub resource: std::sync::Arc<ResourceState>,
    /// What had begun.
    pub kind: PendingOperationKind,
}

/// What had begun; the names are those of the deployment format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PendingOperationKind {
    Creating,
    Updating,
    Deleting,
    Reading,
    Importing,
}

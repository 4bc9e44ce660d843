//! The state: the record of a resource, with the fields of the deployment format.

use smol_str::SmolStr;

use crate::{
    property::PropertyMap,
    resource::{PropertyDependencies, SharedOptions, SourcePosition, UnknownMembers},
    runtime::Timestamp,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The record of a resource. Shared as `Arc<ResourceState>` and immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceState {
    /// The identity.
    pub urn: Urn,
    /// True for a resource that a provider manages.
    pub custom: bool,
    /// True for an old copy whose deletion is pending.
    pub delete: bool,
    /// The provider's id; empty for components and before creation.
    pub id: ResourceId,
    /// The type.
    pub resource_type: TypeToken,
    /// The inputs as Check left them.
    pub inputs: PropertyMap,
    /// The outputs of the provider or the component.
    pub outputs: PropertyMap,
    /// The parent.
    pub parent: Option<Urn>,
    /// Whether deletion is refused.
    pub protect: bool,
    /// Whether the next update replaces it.
    pub taint: bool,
    /// True for a resource that was only read and is not managed by the stack.
    pub external: bool,
    /// What it depends on as a whole.
    pub dependencies: Vec<Urn>,
    /// The initialization errors; empty when it succeeded.
    pub init_errors: Vec<String>,
    /// The provider reference; empty for components and providers.
    pub provider: SmolStr,
    /// What each input depends on.
    pub property_dependencies: PropertyDependencies,
    /// True when it was deleted for a replacement that has not been created yet.
    pub pending_replacement: bool,
    /// Former URNs; only while an operation runs, a saved state has none.
    pub aliases: Vec<Urn>,
    /// Whether deletion keeps the real resource.
    pub retain_on_delete: bool,
    /// Options that most resources leave out.
    pub options: SharedOptions,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it was last changed.
    pub modified: Option<Timestamp>,
    /// Where the program registered it.
    pub source_position: SourcePosition,
    /// The stack trace of the registration.
    pub stack_trace: Vec<SourcePosition>,
    /// Whether the resource is read before each update.
    pub refresh_before_update: bool,
    /// The resource that this one is a view of.
    pub view_of: Option<Urn>,
    /// The extension of its provider that it needs; empty for none.
    pub extension_ref: SmolStr,
    /// The snippet that registered it; empty for none.
    pub snippet_id: SmolStr,
    /// Members of the format that this engine does not know. A registration replaces the record without them.
    pub unknown_members: UnknownMembers,
}

impl ResourceState {
    /// Creates a record with an identity only.
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
            aliases: Vec::new(),
            retain_on_delete: false,
            options: SharedOptions::default(),
            created: None,
            modified: None,
            source_position: None,
            stack_trace: Vec::new(),
            refresh_before_update: false,
            view_of: None,
            extension_ref: SmolStr::default(),
            snippet_id: SmolStr::default(),
            unknown_members: UnknownMembers::default(),
        }
    }

    /// Returns whether this is a provider resource.
    #[must_use]
    pub fn is_provider(&self) -> bool {
        self.resource_type.is_provider()
    }

    /// Calls `visit` with every resource that must precede this one in a snapshot, except its provider.
    pub fn for_each_dependency<'a>(&'a self, mut visit: impl FnMut(&'a Urn)) {
        self.parent.iter().for_each(&mut visit);
        self.dependencies.iter().for_each(&mut visit);
        self.property_dependencies.lists().flatten().for_each(&mut visit);
        self.options.deleted_with.iter().for_each(&mut visit);
        self.options.replace_with.iter().for_each(&mut visit);
    }

    /// Removes every reference that [`Self::for_each_dependency`] visits and `keep` rejects.
    pub(crate) fn retain_dependencies(&mut self, keep: impl Fn(&Urn) -> bool) {
        self.parent = self.parent.take().filter(&keep);
        self.dependencies.retain(&keep);
        self.property_dependencies.for_each_mut(|urns| urns.retain(&keep));
        self.options.deleted_with = self.options.deleted_with.take().filter(&keep);
        self.options.replace_with.retain(&keep);
    }

    /// Returns the URN of the provider resource that manages this one.
    #[must_use]
    pub fn provider_urn(&self) -> Option<Urn> {
        let (urn, _) = self.provider.rsplit_once("::")?;
        Urn::parse(urn).ok()
    }
}

/// A change that was in progress when the state was last written.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingOperation {
    /// The intended state of the resource, or its record when a deletion was in progress.
    pub resource: std::sync::Arc<ResourceState>,
    /// The kind of change.
    pub kind: PendingOperationKind,
}

/// The kind of change; the names are those of the deployment format.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "named after their values")]
pub enum PendingOperationKind {
    Creating,
    Updating,
    Deleting,
    Reading,
    Importing,
}

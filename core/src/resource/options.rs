//! Options that goals and states have in common.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::{Arc, LazyLock},
};

use smol_str::SmolStr;

use crate::{
    property::{PropertyPath, PropertyValue},
    token::ResourceId,
    urn::Urn,
};

/// The less frequent options of a resource, with the same values in goal and record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceOptions {
    /// Paths of inputs whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// Paths of inputs whose changes force a replacement.
    pub replace_on_changes: Vec<String>,
    /// Names of outputs to be treated as secret.
    pub additional_secret_outputs: Vec<String>,
    /// The id to import, or that it was imported from; empty for none.
    pub import_id: ResourceId,
    /// Limits of the provider's calls.
    pub custom_timeouts: CustomTimeouts,
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
}

impl ResourceOptions {
    /// Writes the paths of `hide_diffs` in the form of the state: `tags.env` for `tags["env"]`. Malformed ones stay.
    pub(crate) fn normalize_paths(&mut self) {
        for text in &mut self.hide_diffs {
            if let Ok(path) = PropertyPath::parse(text) {
                *text = path.to_string();
            }
        }
    }

    /// Returns the names of the deletion hooks, those before the deletion first.
    pub fn delete_hooks(&self) -> impl Iterator<Item = &str> {
        let moments = [HookMoment::BeforeDelete, HookMoment::AfterDelete];
        let names = moments.into_iter().flat_map(|moment| self.hooks(moment));
        names.map(String::as_str)
    }

    /// Returns the names of the hooks of a moment, in the order in which they run.
    pub(crate) fn hooks(&self, moment: HookMoment) -> &[String] {
        self.resource_hooks.get(moment.name()).map_or(&[], Vec::as_slice)
    }
}

/// [`ResourceOptions`] shared by a goal and its records; nothing is allocated when no option is set.
///
/// Dereferences to the options. A change copies shared options first.
#[derive(Clone, Default)]
pub struct SharedOptions(Option<Arc<ResourceOptions>>);

static NO_OPTIONS: LazyLock<ResourceOptions> = LazyLock::new(ResourceOptions::default);

impl From<ResourceOptions> for SharedOptions {
    fn from(options: ResourceOptions) -> Self {
        Self((options != *NO_OPTIONS).then(|| Arc::new(options)))
    }
}

impl Deref for SharedOptions {
    type Target = ResourceOptions;

    fn deref(&self) -> &ResourceOptions {
        self.0.as_deref().unwrap_or(&NO_OPTIONS)
    }
}

impl DerefMut for SharedOptions {
    fn deref_mut(&mut self) -> &mut ResourceOptions {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl PartialEq for SharedOptions {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(left), Some(right)) if Arc::ptr_eq(left, right) => true,
            _ => **self == **other,
        }
    }
}

impl std::fmt::Debug for SharedOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(formatter)
    }
}

/// How long each call to the provider may take, in seconds; `None` leaves it to the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CustomTimeouts {
    /// For Create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<f64>,
    /// For Update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<f64>,
    /// For Delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<f64>,
    /// For Read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
}

impl CustomTimeouts {
    /// Returns whether no option is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The names of the hooks bound to a resource, by the moment at which they run (`BeforeCreate`, `OnError`…).
pub(crate) type HookBindings = BTreeMap<String, Vec<String>>;

/// The moment at which a hook of a resource runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookMoment {
    BeforeCreate,
    AfterCreate,
    BeforeUpdate,
    AfterUpdate,
    BeforeDelete,
    AfterDelete,
    OnError,
}

impl HookMoment {
    /// All moments.
    pub(crate) const ALL: [Self; 7] = [
        Self::BeforeCreate,
        Self::AfterCreate,
        Self::BeforeUpdate,
        Self::AfterUpdate,
        Self::BeforeDelete,
        Self::AfterDelete,
        Self::OnError,
    ];

    /// Returns the name of the moment in records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BeforeCreate => "BeforeCreate",
            Self::AfterCreate => "AfterCreate",
            Self::BeforeUpdate => "BeforeUpdate",
            Self::AfterUpdate => "AfterUpdate",
            Self::BeforeDelete => "BeforeDelete",
            Self::AfterDelete => "AfterDelete",
            Self::OnError => "OnError",
        }
    }
}

/// A source position, as `project:///<path>#<line>[,<column>]`; `None` for an unknown frame.
pub(crate) type SourcePosition = Option<SmolStr>;

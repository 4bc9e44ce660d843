//! Parts of goals and states: timeouts, hooks, source positions.

use std::collections::BTreeMap;

use smol_str::SmolStr;

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
    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The names of the hooks bound to a resource, by the moment at which they run (`BeforeCreate`, `OnError`…).
pub type HookBindings = BTreeMap<String, Vec<String>>;

/// A place in the program, as `project:///<path>#<line>[,<column>]`; `None` for a frame that is not known.
pub type SourcePosition = Option<SmolStr>;

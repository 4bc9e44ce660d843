//! Views: parts of a resource that its provider reports, each displayed and recorded as a resource of its own.
//!
//! A provider may publish steps on views while it creates, reads, updates or deletes their owner. The engine does not
//! execute them: it records and displays them after the step of their owner, or before it if the owner is deleted.

mod publisher;
mod json;
#[cfg(test)]
mod tests;

use crate::{
    event::{DetailedDiff, OperationStatus},
    property::PropertyMap,
    step::StepOp,
    token::TypeToken,
};

pub use publisher::Views;
pub(crate) use publisher::{Effect, PublishedView};

/// The state of a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The parent view of the same owner; `None` if the owner itself is the parent.
    pub parent: Option<ViewName>,
    /// Its inputs.
    pub inputs: PropertyMap,
    /// Its outputs.
    pub outputs: PropertyMap,
}

/// Identifies a view of an owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewName {
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
}

impl ViewName {
    /// Creates a name from type and name; `None` if both are empty.
    #[must_use]
    pub fn given(resource_type: String, name: String) -> Option<Self> {
        let given = !(resource_type.is_empty() && name.is_empty());
        given.then(|| Self {
            resource_type: resource_type.into(),
            name,
        })
    }
}

/// One step on one view: performed by the provider, or planned in a preview.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewStep {
    /// The operation. In a refresh, it is the result for the view.
    pub op: StepOp,
    /// The type of the view.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The old state; the recorded one takes precedence.
    pub old: Option<View>,
    /// The new state; required unless the step removes the view.
    pub new: Option<View>,
    /// Properties that force a replacement.
    pub keys: Vec<String>,
    /// Properties that differ.
    pub diffs: Vec<String>,
    /// The kind of each change; `None` if the provider reports none.
    pub detailed_diff: Option<DetailedDiff>,
    /// The status after a failure; `Ok` without an error is success.
    pub status: OperationStatus,
    /// The error message; empty on success.
    pub error: String,
}

impl ViewStep {
    /// Creates a step with an operation and states only.
    #[must_use]
    pub fn new(op: StepOp, old: Option<View>, new: Option<View>) -> Self {
        let subject = new.as_ref().or(old.as_ref());
        let (resource_type, name) = subject
            .map(|view| (view.resource_type.clone(), view.name.clone()))
            .unwrap_or_default();
        Self {
            op,
            resource_type,
            name,
            old,
            new,
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
            status: OperationStatus::Ok,
            error: String::new(),
        }
    }

    /// Returns whether the step failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.status != OperationStatus::Ok || !self.error.is_empty()
    }
}

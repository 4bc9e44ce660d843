//! Views: the parts of a resource that its provider tells of, each shown and recorded as a resource of its own.
//!
//! A provider may say, while it creates, reads, updates or deletes a resource, what it does to the parts of that. Nobody
//! performs such steps: they are recorded and shown after the step of their owner, and before it where the owner goes.

mod desk;
mod json;
#[cfg(test)]
mod tests;

use crate::{
    event::{DetailedDiff, OperationStatus},
    property::PropertyMap,
    step::StepOp,
    token::TypeToken,
};

pub use desk::Views;
pub(crate) use desk::{Effect, PublishedView};

/// The state of a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The view of the same owner that it lies in; `None` when it lies in the owner itself.
    pub parent: Option<ViewName>,
    /// Its inputs.
    pub inputs: PropertyMap,
    /// Its outputs.
    pub outputs: PropertyMap,
}

/// What tells one view of an owner from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewName {
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
}

impl ViewName {
    /// Returns the name that type and name make; `None` when both are empty.
    #[must_use]
    pub fn given(resource_type: String, name: String) -> Option<Self> {
        let given = !(resource_type.is_empty() && name.is_empty());
        given.then(|| Self {
            resource_type: resource_type.into(),
            name,
        })
    }
}

/// One step on one view, as the provider has taken it, or would take it while previewing.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewStep {
    /// What was done. During a refresh this is what the refresh of the view came to.
    pub op: StepOp,
    /// The type of the view.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The state before; the recorded one counts where there is one.
    pub old: Option<View>,
    /// The state after; needed by all that leaves a view behind.
    pub new: Option<View>,
    /// Properties that force a replacement.
    pub keys: Vec<String>,
    /// Properties that differ.
    pub diffs: Vec<String>,
    /// How each differs; `None` when the provider does not say.
    pub detailed_diff: Option<DetailedDiff>,
    /// What is known of the view after a failure; `Ok` without an error is success.
    pub status: OperationStatus,
    /// What went wrong; empty when nothing did.
    pub error: String,
}

impl ViewStep {
    /// Creates a step of which only the operation and the states matter.
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

    /// Tells whether the provider says that the step failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.status != OperationStatus::Ok || !self.error.is_empty()
    }
}

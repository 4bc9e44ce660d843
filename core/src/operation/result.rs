//! The result of an operation: what was done, what failed, and the state as it is now.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    diagnostic::Diagnostic,
    error::{Error, Result},
    event::{OperationOutcome, StepEvent, render},
    plan::Plan,
    property::PropertyMap,
    state::Snapshot,
};

/// What an operation came to. Also a failed one has a result: what succeeded is in it.
#[derive(Clone, Debug)]
pub struct OperationResult {
    /// Why it failed; `None` when it succeeded.
    pub error: Option<Error>,
    /// How it ended.
    pub outcome: OperationOutcome,
    /// How many resources each operation was applied to, by the operation's name.
    pub changes: BTreeMap<&'static str, u64>,
    /// The stack's outputs.
    pub outputs: PropertyMap,
    /// The steps that changed something, or would, in the order in which they ended.
    pub steps: Vec<Arc<StepEvent>>,
    /// What was said, debug messages left out.
    pub diagnostics: Vec<Diagnostic>,
    /// What was found, for a later operation to be held to: of every successful preview of an update, and of whatever
    /// else the options ask for one. Its document is written where the options ask for it.
    pub plan: Option<Arc<Plan>>,
    /// The state after the operation; before it, for a preview.
    pub snapshot: Arc<Snapshot>,
    /// How long it took.
    pub duration: Duration,
}

impl OperationResult {
    /// Draws the steps as a tree for people; below it stands why the operation failed, when it did.
    #[must_use]
    pub fn tree(&self) -> String {
        let mut tree = render(&self.steps, &self.changes);
        if let Some(error) = &self.error {
            tree.push_str(&format!("\n{error}\n"));
            for hint in error.hints() {
                tree.push_str(&format!("  hint: {hint}\n"));
            }
        }
        tree
    }

    /// Turns a failed operation's result into its error.
    ///
    /// # Errors
    /// Whatever the operation failed with.
    pub fn into_result(self) -> Result<Self> {
        match self.error.clone() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

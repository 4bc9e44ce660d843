//! The result of an operation: what was done, what failed, and the state as it is now.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use rustc_hash::FxHashMap;

use super::outcome::is_terminal;
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind, Result},
    event::{OperationOutcome, PropertyChange, StepResult, render},
    plan::Plan,
    property::PropertyMap,
    resource::ResourceState,
    secrets::Redactor,
    state::{
        Snapshot,
        deployment::{Layout, SecretsShown, write_deployment},
    },
    urn::Urn,
};

/// The result of an operation. A failed one has a result, too, with the steps that succeeded.
#[derive(Clone, Debug)]
pub struct OperationResult {
    /// Why it failed; `None` when it succeeded.
    pub error: Option<Error>,
    /// How it ended: canceled where the host cancelled it and it ended for that. The summary among the events counts as the
    /// reference engine does, for which an operation whose running calls were left to finish has failed.
    pub outcome: OperationOutcome,
    /// How many resources each operation was applied to, by the operation's name.
    pub changes: BTreeMap<&'static str, u64>,
    /// The stack's outputs.
    pub outputs: PropertyMap,
    /// Whether the outputs differ from those before.
    pub outputs_changed: bool,
    /// The steps that changed something, or would, and those that failed, in the order in which they ended.
    pub steps: Vec<StepResult>,
    /// The diagnostics, without debug messages.
    pub diagnostics: Vec<Diagnostic>,
    /// What was found, for a later operation to be held to: of every successful preview of an update, and of whatever
    /// else the options ask for one. Its document is written where the options ask for it.
    pub plan: Option<Arc<Plan>>,
    /// The state after the operation; before it, for a preview. Empty when it was never read.
    pub snapshot: Arc<Snapshot>,
    /// How long it took.
    pub duration: Duration,
    /// The redactor with the secrets of the operation.
    pub(crate) redactor: Redactor,
    /// Whether it was a preview, which leaves nothing.
    pub(crate) is_preview: bool,
    /// Whether the snapshot is the state at the end.
    pub(crate) knows_state: bool,
}

impl OperationResult {
    /// Returns whether anything was changed, or would be: a resource, or the stack's outputs.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.outputs_changed || self.changes.iter().any(|(op, count)| *op != "same" && *count > 0)
    }

    /// Draws the steps as a tree for people; below it stand warnings and what failed, and why the operation did.
    #[must_use]
    pub fn tree(&self) -> String {
        // An operation that is refused before its first resource has no counts.
        let came_to_nothing = self.error.is_some() && self.steps.is_empty() && self.changes.is_empty();
        let mut tree = match came_to_nothing {
            true => String::new(),
            false => self.draw(),
        };
        let said: Vec<_> = self
            .diagnostics
            .iter()
            .filter(|said| {
                said.severity >= Severity::Warning && !self.is_why_it_failed(said) && !self.is_of_a_step(said)
            })
            .map(told)
            .collect();
        if !said.is_empty() {
            append(&mut tree, &said.join("\n"));
        }
        if let Some(error) = &self.error {
            // The message of a failed program ends with the error: a traceback, for instance.
            let is_told =
                error.kind() == ErrorKind::Program && said.iter().any(|text| text.contains(error.message()));
            if !is_told {
                append(&mut tree, error.message());
            }
            if let Some(urn) = error.urn() {
                tree.push_str(&format!("  resource: {urn}\n"));
            }
            for hint in error.hints() {
                tree.push_str(&format!("  hint: {hint}\n"));
            }
        }
        tree
    }

    /// Returns the properties that a step of the operation changes, secrets masked.
    #[must_use]
    pub fn changes_of(&self, step: &StepResult) -> Vec<PropertyChange> {
        step.step.metadata.changes(&self.redactor)
    }

    /// Returns whether the row of a failed step has the same text: that of the resource which the message is about, or,
    /// for a default provider, that of a resource which needs it.
    fn is_of_a_step(&self, said: &Diagnostic) -> bool {
        let Some(about) = said.urn.as_ref().filter(|_| said.severity == Severity::Error) else {
            return false;
        };
        let is_provider = about.resource_type().starts_with("pulumi:providers:");
        self.steps.iter().any(|step| {
            step.failure.as_ref().is_some_and(|failure| {
                let is_its_own = *about == step.step.metadata.urn;
                (is_its_own || is_provider && failure.refused)
                    && failure.error.message() == said.message.library()
            })
        })
    }

    fn draw(&self) -> String {
        let recorded = OnceCell::new();
        let standing = |urn: &Urn| {
            // Only looked for where a resource without a step stands above one that has some.
            let recorded: &FxHashMap<&Urn, &ResourceState> = recorded.get_or_init(|| {
                let live = self.snapshot.resources.iter().filter(|state| !state.delete);
                live.map(|state| (&state.urn, &**state)).collect()
            });
            let state = recorded.get(urn)?;
            Some((state.resource_type.clone(), state.parent.clone()))
        };
        render(&self.steps, &self.changes, &self.redactor, standing)
    }

    /// Returns whether the operation's error has the same text.
    fn is_why_it_failed(&self, said: &Diagnostic) -> bool {
        self.error.as_ref().is_some_and(|error| {
            let is_told =
                error.message().contains(said.message.library()) || is_terminal(said.message.reference());
            is_told && (said.urn.is_none() || said.urn.as_ref() == error.urn())
        })
    }

    /// Writes the state that the operation left, also one that failed or was cancelled, as a deployment document on one
    /// line (`{"version", "features"?, "deployment"}`), secrets encrypted. `None` for a preview, and for an operation that
    /// failed before it read the state, or so that the saved state is not known.
    ///
    /// Each call writes the document anew. It does not block: all secrets were encrypted when the state was saved.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when the operation could not encrypt what it was to save.
    pub fn deployment(&self) -> Result<Option<Vec<u8>>> {
        if self.is_preview || !self.knows_state {
            return Ok(None);
        }
        let writing = pin!(write_deployment(
            &self.snapshot,
            SecretsShown::Encrypted,
            Layout::Compact
        ));
        match writing.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(document) => document.map(Some),
            Poll::Pending => Err(Error::new(
                ErrorKind::Secrets,
                "the state has secrets that the operation could not encrypt",
            )),
        }
    }

    /// Turns a failed operation's result into its error.
    ///
    /// # Errors
    /// The error of the operation.
    pub fn into_result(self) -> Result<Self> {
        match self.error.clone() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

/// Adds a paragraph.
fn append(tree: &mut String, paragraph: &str) {
    if !tree.is_empty() {
        tree.push('\n');
    }
    tree.push_str(paragraph);
    tree.push('\n');
}

/// Returns a diagnostic as a line for people.
fn told(said: &Diagnostic) -> String {
    let severity = said.severity.name();
    match &said.urn {
        Some(urn) => format!(
            "{severity}: {} ({}): {}",
            urn.name(),
            urn.resource_type(),
            said.message.library()
        ),
        None => format!("{severity}: {}", said.message.library()),
    }
}

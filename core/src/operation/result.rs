//! The result of an operation: steps, errors, and the current state.

use std::{cell::OnceCell, collections::BTreeMap, sync::Arc, time::Duration};

use rustc_hash::FxHashMap;

use super::{
    ImportReport,
    outcome::{is_change, is_terminal},
};
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind, Result},
    event::{
        DiffKind, OperationOutcome, PropertyChange, StepResult, SuggestedMove, changes_between, render,
        render_moves, value_text,
    },
    executor::Rerecorded,
    moves::ProgramLanguage,
    picture::Picture,
    plan::Plan,
    property::{PropertyMap, PropertyValue},
    resource::{PendingOperation, ResourceState},
    secrets::Redactor,
    state::{Snapshot, deployment::write_encrypted_deployment},
    store::StackName,
    urn::Urn,
};

/// Maximum length of a shown output, in characters.
const MAX_OUTPUT_LENGTH: usize = 120;

/// The result of an operation. A failed operation has a result as well, with the steps that succeeded.
#[derive(Clone, Debug)]
pub struct OperationResult {
    /// The error; `None` when it succeeded.
    pub error: Option<Error>,
    /// How it ended: canceled when the host cancelled it and it ended for that reason. The summary event follows the
    /// reference engine, for which an operation whose running calls completed has failed.
    pub outcome: OperationOutcome,
    /// How many resources each operation was applied to, by the operation's name.
    pub changes: BTreeMap<&'static str, u64>,
    /// The stack's outputs.
    pub outputs: PropertyMap,
    /// Whether the outputs differ from those before.
    pub outputs_changed: bool,
    /// The steps that changed or would change a resource, and those that failed, in the order in which they ended.
    pub steps: Vec<StepResult>,
    /// The moves that the operation has applied, and those that it suggests, the most probable ones first. Only updates
    /// and their previews have any; see [`crate::operation::OperationOptions::accept_moves`].
    pub suggested_moves: Vec<SuggestedMove>,
    /// The diagnostics, without debug messages.
    pub diagnostics: Vec<Diagnostic>,
    /// The plan, for a later operation: of every successful preview of an update, and of other operations when the
    /// options request one. Its document is written when the options request it.
    pub plan: Option<Arc<Plan>>,
    /// The report of an import; `None` for other operations, and for an import that was refused.
    pub imported: Option<Arc<ImportReport>>,
    /// The state after the operation; before it, for a preview. Empty when it was not loaded.
    pub snapshot: Arc<Snapshot>,
    /// The pending operations of an earlier run that the operation dropped from the state without resolving them: no step has
    /// worked on their resources. A successful operation drops all but creations, as the reference engine does.
    pub dropped_pending: Vec<PendingOperation>,
    /// The duration.
    pub duration: Duration,
    /// Whether an earlier operation with the same run id had ended: the result is the recorded one, without steps and diagnostics. See
    /// [`crate::operation::OperationOptions::run_id`].
    pub is_recorded: bool,
    /// The stacks that the program has tried to read before they had ended; see
    /// [`crate::operation::OperationOptions::unfinished_stacks`].
    pub unfinished_reads: Vec<StackName>,
    /// The record of the resource that was adopted, or only read for an adoption.
    pub(crate) adopted: Option<Arc<ResourceState>>,
    /// The outputs before; `None` when they are not known.
    pub(crate) outputs_before: Option<PropertyMap>,
    /// The records that a preview keeps with another parent, URN or options.
    pub(crate) rerecorded: Vec<Rerecorded>,
    /// The redactor with the operation's secrets.
    pub(crate) redactor: Redactor,
    /// The language of the program.
    pub(crate) language: ProgramLanguage,
    /// The operation and the stack, as a title.
    pub(crate) title: String,
    /// Whether it was a preview.
    pub(crate) is_preview: bool,
    /// Whether the snapshot is the state at the end.
    pub(crate) knows_state: bool,
}

impl OperationResult {
    /// Returns the result of an operation that did nothing, or of which nothing is known.
    pub(crate) fn without_run(error: Error, is_preview: bool) -> Self {
        let outcome = match error.kind() {
            ErrorKind::Cancelled => OperationOutcome::Canceled,
            _ => OperationOutcome::Failed,
        };
        Self {
            error: Some(error),
            outcome,
            changes: BTreeMap::new(),
            outputs: PropertyMap::new(),
            outputs_changed: false,
            outputs_before: None,
            steps: Vec::new(),
            suggested_moves: Vec::new(),
            language: ProgramLanguage::Unknown,
            diagnostics: Vec::new(),
            plan: None,
            imported: None,
            snapshot: Arc::default(),
            dropped_pending: Vec::new(),
            is_recorded: false,
            unfinished_reads: Vec::new(),
            adopted: None,
            rerecorded: Vec::new(),
            duration: Duration::ZERO,
            redactor: Redactor::new(),
            title: String::new(),
            is_preview,
            knows_state: false,
        }
    }

    /// Returns whether a resource or the stack's outputs were changed, or would be.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.outputs_changed || self.has_resource_changes()
    }

    /// Returns whether a resource was changed, or would be: reading one is no change.
    #[must_use]
    pub fn has_resource_changes(&self) -> bool {
        self.changes.iter().any(|(op, count)| is_change(op) && *count > 0)
    }

    /// Returns the resources with what the operation did, or would do, to be drawn.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let (state, steps) = (&self.snapshot, &self.steps);
        let picture = Picture::of_steps(self.title.clone(), state, steps, self.is_preview, &self.redactor);
        let error = self.error.as_ref().map(Error::message);
        picture.ended(self.outcome, error, &self.redactor).with_outputs(
            self.output_changes(),
            &self.outputs,
            &self.redactor,
        )
    }

    /// Returns the stack's outputs that differ from those before, or would, in the order of their names; secrets are masked.
    #[must_use]
    pub fn output_changes(&self) -> Vec<PropertyChange> {
        match &self.outputs_before {
            Some(before) => changes_between(before, &self.outputs, &self.redactor),
            None => Vec::new(),
        }
    }

    /// Renders the steps as a text tree, followed by warnings, errors and the error of the operation.
    #[must_use]
    pub fn tree(&self) -> String {
        // An operation that is refused before its first resource has no counts.
        let came_to_nothing = self.error.is_some() && self.steps.is_empty() && self.changes.is_empty();
        let mut tree = match came_to_nothing {
            true => String::new(),
            false => self.draw(),
        };
        let shown: Vec<_> = self
            .diagnostics
            .iter()
            .filter(|diagnostic| {
                diagnostic.severity >= Severity::Warning
                    && !self.is_in_error(diagnostic)
                    && !self.is_in_step(diagnostic)
            })
            .map(|diagnostic| diagnostic_line(diagnostic, &self.redactor))
            .collect();
        let mut outputs = self.output_changes();
        if self.has_resource_changes() {
            // Outputs come and go with the resources that they are of, and follow from what these will be.
            let is_known = |change: &PropertyChange| {
                let new = change.new.as_ref();
                !new.is_some_and(PropertyValue::contains_unknowns)
            };
            outputs.retain(|change| {
                !matches!(change.kind, DiffKind::Add | DiffKind::Delete) && is_known(change)
            });
        }
        if !outputs.is_empty() {
            append(&mut tree, &outputs_text(&outputs));
        }
        if let Some(moves) = render_moves(&self.suggested_moves) {
            append(&mut tree, &self.redactor.scrub(&moves));
        }
        if !shown.is_empty() {
            append(&mut tree, &shown.join("\n"));
        }
        if let Some(error) = &self.error {
            // The message of a failed program, a traceback for instance, contains the error.
            let is_shown =
                error.kind() == ErrorKind::Program && shown.iter().any(|text| text.contains(error.message()));
            let scrub = |text: &str| self.redactor.scrub(text).into_owned();
            if !is_shown {
                append(&mut tree, &scrub(error.message()));
            }
            if let Some(urn) = error.urn() {
                tree.push_str(&format!("  resource: {}\n", scrub(urn.as_str())));
            }
            for hint in error.hints() {
                tree.push_str(&format!("  hint: {}\n", scrub(hint)));
            }
        }
        tree
    }

    /// Returns the properties that a step of the operation changes, secrets masked.
    #[must_use]
    pub fn changes_of(&self, step: &StepResult) -> Vec<PropertyChange> {
        step.step.metadata.changes(&self.redactor)
    }

    /// Returns whether a failed step has the same message: that of the message's resource or, for a default provider,
    /// that of a refused resource.
    fn is_in_step(&self, diagnostic: &Diagnostic) -> bool {
        let is_error = diagnostic.severity == Severity::Error;
        let Some(about) = diagnostic.urn.as_ref().filter(|_| is_error) else {
            return false;
        };
        let is_provider = about.resource_type().starts_with("pulumi:providers:");
        self.steps.iter().any(|step| {
            step.failure.as_ref().is_some_and(|failure| {
                let is_its_own = *about == step.step.metadata.urn;
                (is_its_own || is_provider && failure.refused)
                    && failure.error.message() == diagnostic.message.library()
            })
        })
    }

    fn draw(&self) -> String {
        let recorded = OnceCell::new();
        let find_ancestor = |urn: &Urn| {
            // Only built when a resource without a step is above one with a step.
            let recorded: &FxHashMap<&Urn, &ResourceState> = recorded.get_or_init(|| {
                let live = self.snapshot.resources.iter().filter(|state| !state.delete);
                live.map(|state| (&state.urn, &**state)).collect()
            });
            let state = recorded.get(urn)?;
            Some((state.resource_type.clone(), state.parent.clone()))
        };
        render(&self.steps, &self.changes, &self.redactor, find_ancestor)
    }

    /// Returns whether the operation's error has the same message.
    fn is_in_error(&self, diagnostic: &Diagnostic) -> bool {
        self.error.as_ref().is_some_and(|error| {
            let message = &diagnostic.message;
            let is_repeated = error.message().contains(message.library()) || is_terminal(message.reference());
            is_repeated && (diagnostic.urn.is_none() || diagnostic.urn.as_ref() == error.urn())
        })
    }

    /// Serializes the state after the operation, also after a failure or cancellation, as a deployment document on one
    /// line (`{"version", "features"?, "deployment"}`) with encrypted secrets. `None` for a preview, and for an
    /// operation that failed before it loaded the state or whose saved state is unknown.
    ///
    /// Each call serializes again. It does not block: all secrets were encrypted when the state was saved.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when the operation could not encrypt a secret of the state.
    pub fn deployment(&self) -> Result<Option<Vec<u8>>> {
        if self.is_preview || !self.knows_state {
            return Ok(None);
        }
        write_encrypted_deployment(&self.snapshot).map(Some)
    }

    /// Returns the error of a failed operation instead of its result.
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

/// Appends a paragraph.
fn append(tree: &mut String, paragraph: &str) {
    if !tree.is_empty() {
        tree.push('\n');
    }
    tree.push_str(paragraph);
    tree.push('\n');
}

/// Lists changed outputs, one in each line.
fn outputs_text(changes: &[PropertyChange]) -> String {
    let text = |value: &Option<PropertyValue>| {
        let value = value.as_ref().map(|value| value_text(value, MAX_OUTPUT_LENGTH));
        value.unwrap_or_default()
    };
    let lines = changes.iter().map(|change| match change.kind {
        DiffKind::Add => format!("  + {}: {}", change.path, text(&change.new)),
        DiffKind::Delete => format!("  - {}: {}", change.path, text(&change.old)),
        _ => format!(
            "  ~ {}: {} → {}",
            change.path,
            text(&change.old),
            text(&change.new)
        ),
    });
    let lines: Vec<String> = lines.collect();
    format!("outputs:\n{}", lines.join("\n"))
}

/// Returns a diagnostic as one line. Secrets are masked.
fn diagnostic_line(diagnostic: &Diagnostic, redactor: &Redactor) -> String {
    let severity = diagnostic.severity.name();
    let message = redactor.scrub(diagnostic.message.library());
    match &diagnostic.urn {
        Some(urn) => format!(
            "{severity}: {} ({}): {message}",
            redactor.scrub(urn.name()),
            redactor.scrub(urn.resource_type()),
        ),
        None => format!("{severity}: {message}"),
    }
}

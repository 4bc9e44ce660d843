//! The state of a run, which becomes the result of the operation.

use std::sync::Arc;

use super::{ImportReport, outcome::Ending};
use crate::{
    event::{StepResult, SuggestedMove, Summary},
    executor::{Control, Rerecorded},
    moves::ProgramLanguage,
    plan::Plan,
    property::PropertyMap,
    resource::PendingOperation,
    state::Snapshot,
    store::{Holder, StackName},
};

/// The state of a run: the parts of the result so far.
#[derive(Default)]
pub(super) struct RunState {
    pub(super) outputs: Option<PropertyMap>,
    /// The stack's outputs as they were; `None` when the state could not be loaded.
    pub(super) outputs_before: Option<PropertyMap>,
    pub(super) snapshot: Arc<Snapshot>,
    /// Whether the snapshot is the current one: not before it is loaded, and not when changes to it are lost.
    pub(super) knows_state: bool,
    pub(super) summary: Option<Summary>,
    pub(super) steps: Vec<StepResult>,
    pub(super) moves: Vec<SuggestedMove>,
    /// The records that a preview keeps with another parent, URN or options.
    pub(super) rerecorded: Vec<Rerecorded>,
    pub(super) language: ProgramLanguage,
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) imported: Option<Arc<ImportReport>>,
    /// The pending operations that were dropped without being resolved.
    pub(super) dropped_pending: Vec<PendingOperation>,
    /// Whether the run had ended before: its recorded result is returned.
    pub(super) is_recorded: bool,
    /// The unfinished stacks that the program of that run has tried to read.
    pub(super) recorded_reads: Vec<StackName>,
    /// The cancellations of the host when the verb was over; `None` before that.
    pub(super) ending: Option<Ending>,
}

impl RunState {
    /// Returns the cancellations of the host when the verb was over, or those so far.
    pub(super) fn ending(&self, control: &Control) -> Ending {
        self.ending.unwrap_or_else(|| Ending::of(control))
    }
}

/// The state that an operation starts from.
#[derive(Default)]
pub(super) struct LoadedState {
    pub(super) snapshot: Snapshot,
    /// The holder of the lock, whose operation may be in progress.
    pub(super) holder: Option<Holder>,
}

//! Operations: a verb of the user in each of `update.rs`, `refresh.rs`, `destroy.rs`, `adopt.rs` and `import/`, over one run that locks,
//! loads, prepares, commits and reports. A preview is a verb with the option `dry_run`.

mod adopt;
mod analysis;
mod autonaming;
mod base;
mod change_secrets;
mod destroy;
mod edit;
#[cfg(test)]
mod edit_journal;
#[cfg(test)]
mod edit_notes;
#[cfg(test)]
mod edit_sequences;
mod engine_parts;
mod execute;
mod handle;
#[cfg(test)]
mod hint_tests;
mod import;
mod migrate;
mod missing;
mod move_resources;
mod moves;
mod opening;
mod options;
mod outcome;
mod pending;

mod plan;
mod policies;
mod prepare;
mod providers;
mod reading;
mod recorded_run;
mod refresh;
mod rehearsal;
mod relation;
mod rename_stack;
mod replace_state;
mod resolve;
mod result;
mod run;
mod run_program;
mod run_state;
mod secrets;
mod session;
mod set_member;
mod stack_context;
mod stack_key;
mod targets;
#[cfg(test)]
pub(crate) mod test_key;
mod unstarted;
mod update;
mod with_program;

pub use adopt::Adoption;
pub(crate) use analysis::analyze;
pub use analysis::{AnalysisOptions, PolicyAnalysis};
pub(crate) use change_secrets::{change_secrets, settle_secrets};
pub(crate) use edit::{edit, forget_pending};
pub(crate) use engine_parts::EngineParts;
pub use handle::Operation;
pub use import::{
    GivenInputs, ImportConfiguration, ImportExtension, ImportOutcome, ImportParameterization, ImportReport,
    ImportRequest, ImportResource, ImportedResource, SourceCode,
};
pub(crate) use move_resources::move_resources;
pub use opening::Opening;

pub use options::OperationOptions;
pub(crate) use options::lock_limit;
pub(crate) use rename_stack::rename_stack;
pub(crate) use replace_state::{import as replace_by_import, restore};
pub(crate) use resolve::PendingWork;
pub use result::OperationResult;
pub(crate) use run::OperationRun;
pub(crate) use session::{Session, SessionLease};
pub(crate) use set_member::{Peers, SetMember};
pub(crate) use stack_context::StackContext;
pub(crate) use stack_key::{WRONG_KEY, recorded_manager, verify_key, with_way_out};
pub use targets::Unprotected;
pub(crate) use unstarted::{Unstarted, Work};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Create, update and delete resources until the stack matches its program.
    Update,
    /// Read every resource and record its current state.
    Refresh,
    /// Delete every resource.
    Destroy,
    /// Record existing resources, which are managed from then on.
    Import,
    /// Record the resource of a pending operation.
    Adopt,
}

impl OperationKind {
    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Refresh => "refresh",
            Self::Destroy => "destroy",
            Self::Import => "import",
            Self::Adopt => "adopt",
        }
    }

    /// Returns the name in histories, where the reference engine has a name of its own.
    pub(crate) const fn history_name(self) -> &'static str {
        match self {
            Self::Import | Self::Adopt => "resource-import",
            other => other.name(),
        }
    }
}

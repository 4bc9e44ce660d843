//! Operations: one file for each verb of the user, over one frame that opens, journals and closes a stack.

mod autonaming;
mod base;
mod engine_parts;
mod frame;
mod handle;
mod migrate;
mod opening;
mod options;
mod pending;
mod plan;
mod policies;
mod pre_install;
mod providers;
mod refresh;
mod rehearsal;
mod result;
mod run_program;
mod secrets;
mod session;
mod stack_context;
mod targets;
mod verdict;
mod with_program;
mod work;

pub(crate) use engine_parts::EngineParts;
pub(crate) use frame::Frame;
pub use handle::Operation;
pub use opening::Opening;
pub use options::OperationOptions;
pub use result::OperationResult;
pub(crate) use session::{Session, SessionLease};
pub(crate) use stack_context::StackContext;

/// What the user asks for; the names are those of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Bring the stack to what its program says.
    Update,
    /// Read every resource and record what is there.
    Refresh,
    /// Delete every resource.
    Destroy,
}

impl OperationKind {
    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Refresh => "refresh",
            Self::Destroy => "destroy",
        }
    }
}

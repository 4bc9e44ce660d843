//! State: the snapshot of a stack, its JSON, its integrity, and the journal that every change goes through.

mod ciphertext;
mod elision;
mod entry;
mod extensions;
mod normalise;
mod pending;
mod prior_state;
mod rebase;
mod rebuild;
mod replay;
mod snapshot;

pub mod deployment;
pub mod edit;
pub(crate) mod graph;
pub mod integrity;
pub mod journal;

pub(crate) use elision::keep_order;
pub(crate) use elision::may_elide_write;
pub use entry::StateId;
pub use entry::StateMark;
pub use entry::{JournalEntry, JournalRecord, OperationId, StateRef};
pub(crate) use extensions::Extensions;
pub use graph::DependencyGraph;
pub use graph::EdgeKind;
pub(crate) use graph::{Cycles, stable_order, valid_order};
pub use graph::{ReferenceKind, ResourceEdge, ResourceGraph};
pub use journal::Journal;
pub use normalise::normalise;
pub use pending::PendingEntry;
pub(crate) use pending::with_recorded_id;
pub(crate) use prior_state::PriorState;
pub use rebase::Rebase;
pub(crate) use rebuild::rebuild;
pub(crate) use replay::Changes;
pub use replay::JournalReplay;
pub use snapshot::Manifest;
pub use snapshot::Snapshot;
pub(crate) use snapshot::root_stack_of;

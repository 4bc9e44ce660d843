//! State: the snapshot of a stack, its JSON, its integrity, and the journal that every change goes through.

mod base;
mod ciphertext;
mod elision;
mod entry;
mod ledger;
mod normalise;
mod rebase;
mod rebuild;
mod snapshot;

pub mod deployment;
pub(crate) mod graph;
pub mod integrity;
pub mod journal;

pub(crate) use base::Base;
pub(crate) use elision::keep_order;
pub(crate) use elision::may_elide;
pub use entry::StateId;
pub use entry::StateMark;
pub use entry::{JournalEntry, JournalRecord, OperationId, StateRef};
pub use graph::DependencyGraph;
pub use graph::EdgeKind;
pub(crate) use graph::{Circles, stable_order, valid_order};
pub use journal::Journal;
pub(crate) use ledger::Changes;
pub use ledger::Ledger;
pub use normalise::normalise;
pub use rebase::Rebase;
pub(crate) use rebuild::rebuild;
pub use snapshot::Manifest;
pub use snapshot::Snapshot;

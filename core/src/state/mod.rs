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
pub mod graph;
pub mod integrity;
pub mod journal;

pub use base::Base;
pub(crate) use elision::keep_order;
pub use elision::may_elide;
pub use entry::{JournalEntry, JournalRecord, OperationId, StateId, StateMark, StateRef};
pub(crate) use graph::{Circles, stable_order, valid_order};
pub use graph::{DependencyGraph, EdgeKind};
pub use journal::{Appended, Journal, JournalSink};
pub use ledger::{Changes, Ledger};
pub use normalise::normalise;
pub use rebase::Rebase;
pub use rebuild::{Rebuilt, rebuild};
pub use snapshot::{Manifest, Snapshot};

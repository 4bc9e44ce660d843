//! Code of users that a run awaits, and that may make requests of its own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The number of methods and hooks in flight. Cloning is cheap; all clones count the same ones.
#[derive(Clone, Default)]
pub(super) struct AwaitedCode(Arc<AtomicUsize>);

/// A method or a hook in flight; dropping it ends it.
pub(crate) struct AwaitedCodeGuard(Arc<AtomicUsize>);

impl AwaitedCode {
    pub(super) fn begin(&self) -> AwaitedCodeGuard {
        self.0.fetch_add(1, Ordering::AcqRel);
        AwaitedCodeGuard(Arc::clone(&self.0))
    }

    /// Returns whether none is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

impl Drop for AwaitedCodeGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

//! The sources of nondeterminism behind traits: time, randomness and tasks. Tests can replace them.

mod clock;
mod peers;
mod random;
mod task;
#[cfg(test)]
mod virtual_clock;

use std::sync::Arc;

use crate::metrics::Meter;

pub use clock::{Clock, SystemClock, Timestamp};
pub(crate) use peers::Peer;
pub use peers::TrustedPeers;
pub use random::Random;
pub use random::SeededRandom;
pub(crate) use random::SystemRandom;
pub use task::Spawner;
pub use task::Task;
pub use task::in_place;
#[cfg(test)]
pub(crate) use virtual_clock::VirtualClock;

/// The runtime services of an engine. Cloning is cheap.
#[derive(Clone)]
pub struct Runtime {
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Supplies random bytes and UUIDs.
    pub random: Arc<dyn Random>,
    /// Starts tasks on the host's Tokio runtime.
    pub spawner: Spawner,
    /// The users whose processes may be at the other end of a loopback connection.
    pub peers: TrustedPeers,
    /// Counts the work. An engine has one of its own, whichever runtime it is built with.
    pub meter: Meter,
}

impl Runtime {
    /// Creates a runtime with the system's clock and randomness over a Tokio runtime that the host owns.
    #[must_use]
    pub fn system(handle: tokio::runtime::Handle) -> Self {
        Self {
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            spawner: Spawner::new(handle),
            peers: TrustedPeers::default(),
            meter: Meter::default(),
        }
    }
}

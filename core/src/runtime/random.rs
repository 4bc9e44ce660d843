//! Randomness: bytes for seeds and nonces, UUIDs for ids.

use std::sync::{Mutex, PoisonError};

use rand::{Rng as _, SeedableRng as _, TryRng as _, rngs::SysRng};

/// Supplies random bytes.
pub trait Random: Send + Sync + 'static {
    /// Fills `bytes` with random ones.
    fn fill(&self, bytes: &mut [u8]);

    /// Returns a random version 4 UUID in its usual text form.
    fn uuid(&self) -> String {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

/// The operating system's generator, fit for key material. It is asked each time: a generator of the process would give the same bytes
/// in each child that the host forks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        if SysRng.try_fill_bytes(bytes).is_err() {
            rand::rng().fill_bytes(bytes);
        }
    }
}

/// A generator that gives the same bytes for the same seed: for simulations and tests, never for secrets.
#[derive(Debug)]
pub struct SeededRandom(Mutex<rand::rngs::StdRng>);

impl SeededRandom {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(rand::rngs::StdRng::seed_from_u64(seed)))
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fill_bytes(bytes);
    }
}

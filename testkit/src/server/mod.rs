//! Real servers of stores on loopback, and a fake of one that cannot be had: started by tests, and stopped with them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod azurite;
mod bucket;
pub mod collector;
mod guard;
mod minio;
mod moto;
mod postgres;

pub use azurite::Azurite;
pub use bucket::{FakeBucket, Fault, HeldWrite};
pub use minio::Minio;
pub use moto::Moto;
pub use postgres::Postgres;

/// The reason why a server cannot be had on this machine.
#[derive(Clone, Debug)]
pub struct Missing(pub String);

/// The variable that makes a missing server an error, for machines that must have all of them.
const REQUIRED: &str = "STACKWRIGHT_TEST_STORES_REQUIRED";

impl Missing {
    /// Prints what is not tested. The line is not captured by the test harness.
    ///
    /// # Panics
    /// When `STACKWRIGHT_TEST_STORES_REQUIRED` names the server.
    #[expect(
        clippy::disallowed_methods,
        clippy::panic,
        reason = "the build names the servers that it has"
    )]
    pub fn report(&self, server: &str) {
        use std::io::Write as _;

        let required = std::env::var(REQUIRED).unwrap_or_default();
        if required.split(',').any(|name| name == server) {
            panic!("{server} is required, and missing: {}", self.0);
        }
        let line = format!("skipped: stores on {server} were not tested: {}\n", self.0);
        // A report that cannot be printed changes nothing.
        std::io::stderr().write_all(line.as_bytes()).ok();
    }
}

/// Returns a variable of the environment that the build sets.
#[expect(
    clippy::disallowed_methods,
    reason = "the build names the places of the servers"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

//! S3 by moto's server, which runs one request at a time: its conditions are not atomic between threads.

use super::{
    Missing,
    guard::{Guard, User},
    variable,
};

/// The Python that has moto.
const PYTHON: &str = "STACKWRIGHT_TEST_MOTO";

/// Serves on a free port, which it prints.
const SCRIPT: &str = include_str!("moto.py");

/// A running server.
#[derive(Debug)]
pub struct Moto {
    _guard: Guard,
    address: String,
}

impl Moto {
    /// Starts a server with the bucket `state`.
    ///
    /// # Errors
    /// [`Missing`] where `STACKWRIGHT_TEST_MOTO` names no Python with moto.
    pub async fn start() -> Result<Self, Missing> {
        let Some(python) = variable(PYTHON) else {
            return Err(Missing(format!("{PYTHON} names no Python that has moto")));
        };
        let start = move || Guard::start(&[&python, "-c", SCRIPT], None, User::Own, Some("port "));
        let started = tokio::task::spawn_blocking(start).await;
        let started = started.map_err(|error| Missing(error.to_string()))?;
        let (guard, line) = started.map_err(Missing)?;
        Ok(Self {
            _guard: guard,
            address: format!("127.0.0.1:{}", line.trim_start_matches("port ")),
        })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the URL of a store under a prefix.
    #[must_use]
    pub fn url(&self, prefix: &str) -> String {
        format!(
            "s3://state/{prefix}?endpoint={}&disableSSL=true&region=eu-west-1",
            self.address
        )
    }
}

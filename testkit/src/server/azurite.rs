//! Azure Blob Storage by azurite.

use super::{
    Missing,
    guard::{Guard, User, free_port},
    variable,
};

/// The script of its blob service.
const SCRIPT: &str = "STACKWRIGHT_TEST_AZURITE";

/// Its account, which is public.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A running server.
#[derive(Debug)]
pub struct Azurite {
    _guard: Guard,
    address: String,
}

impl Azurite {
    /// Starts a server without containers.
    ///
    /// # Errors
    /// [`Missing`] where `STACKWRIGHT_TEST_AZURITE` names no script.
    pub async fn start() -> Result<Self, Missing> {
        let Some(script) = variable(SCRIPT) else {
            return Err(Missing(format!("{SCRIPT} names no script of azurite")));
        };
        let port = free_port()
            .map_err(|error| Missing(format!("no port: {error}")))?
            .to_string();
        let address = format!("127.0.0.1:{port}");
        let start = move || {
            let command = [
                "node",
                &script,
                "--inMemoryPersistence",
                "--skipApiVersionCheck",
                "--disableTelemetry",
                "--silent",
                "--blobHost",
                "127.0.0.1",
                "--blobPort",
                &port,
            ];
            Guard::start(&command, None, User::Own, Some("successfully listens"))
        };
        let started = tokio::task::spawn_blocking(start).await;
        let started = started.map_err(|error| Missing(error.to_string()))?;
        let (guard, _) = started.map_err(Missing)?;
        Ok(Self {
            _guard: guard,
            address,
        })
    }

    /// Returns the account's name and key.
    #[must_use]
    pub const fn account() -> (&'static str, &'static str) {
        (ACCOUNT, KEY)
    }

    /// Returns the address of the account.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}/{ACCOUNT}", self.address)
    }

    /// Returns the URL of a store under a prefix of the container `state`.
    #[must_use]
    pub fn url(&self, prefix: &str) -> String {
        format!(
            "azblob://state/{prefix}?storage_account={ACCOUNT}&localemu=true&protocol=http&domain={}",
            self.address
        )
    }
}

//! S3 by MinIO, whose conditions are atomic between its threads.

use super::{
    Missing,
    guard::{Guard, User, free_port},
    variable,
};

/// The executable.
const PROGRAM: &str = "STACKWRIGHT_TEST_MINIO";

/// A running server.
#[derive(Debug)]
pub struct Minio {
    _guard: Guard,
    address: String,
}

impl Minio {
    /// The region of the server.
    pub const REGION: &str = "us-east-1";

    /// Starts a server without buckets, whose only user has these keys.
    ///
    /// # Errors
    /// [`Missing`] where `STACKWRIGHT_TEST_MINIO` names no executable.
    pub async fn start(access_key: &str, secret_key: &str) -> Result<Self, Missing> {
        let Some(program) = variable(PROGRAM) else {
            return Err(Missing(format!("{PROGRAM} names no executable")));
        };
        let missing = |error: std::io::Error| Missing(format!("no place for its data: {error}"));
        let folder = tempfile::tempdir().map_err(missing)?.keep();
        let port = free_port().map_err(missing)?;
        let address = format!("127.0.0.1:{port}");
        let settings = [
            format!("MINIO_ROOT_USER={access_key}"),
            format!("MINIO_ROOT_PASSWORD={secret_key}"),
            "MINIO_BROWSER=off".to_owned(),
            "MINIO_UPDATE=off".to_owned(),
        ];
        let listens = address.clone();
        let start = move || {
            let (data, keys) = (folder.join("data"), folder.join("keys"));
            let (data, keys) = (data.display().to_string(), keys.display().to_string());
            let [user, password, browser, update] = &settings;
            // It announces itself on its standard error.
            let command = [
                "sh",
                "-c",
                "exec \"$@\" 2>&1",
                "minio",
                "env",
                user,
                password,
                browser,
                update,
                &program,
                "server",
                "--address",
                &listens,
                "--certs-dir",
                &keys,
                &data,
            ];
            Guard::start(&command, Some(&folder), User::Own, Some("API: "))
        };
        let started = tokio::task::spawn_blocking(start).await;
        let started = started.map_err(|error| Missing(error.to_string()))?;
        let (guard, _) = started.map_err(Missing)?;
        Ok(Self {
            _guard: guard,
            address,
        })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the URL of a store under a prefix of the bucket `state`.
    #[must_use]
    pub fn url(&self, prefix: &str) -> String {
        format!(
            "s3://state/{prefix}?endpoint={}&disableSSL=true&region={}",
            self.address,
            Self::REGION
        )
    }
}

//! A private cluster of PostgreSQL in a temporary folder.

use std::{
    fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Missing,
    guard::{Guard, User, free_port},
};
use crate::wait::{Within as _, until};

/// Where Debian has the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The user and group without rights.
const UNPRIVILEGED: u32 = 65534;

/// How often a port is tried that another process may take meanwhile.
const MAX_PORTS: usize = 3;

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    _guard: Guard,
    programs: PathBuf,
    address: String,
}

impl Postgres {
    /// Starts a server. Not as root, which the server refuses.
    ///
    /// # Errors
    /// [`Missing`] where it is not installed, or does not start.
    pub async fn start() -> Result<Self, Missing> {
        let Some(programs) = programs() else {
            return Err(Missing(format!("it is not installed in {VERSIONS}")));
        };
        for _ in 0..MAX_PORTS {
            let folder = tempfile::Builder::new()
                .prefix("stackwright-postgres-")
                .tempdir()
                .map_err(|error| Missing(format!("no temporary folder: {error}")))?;
            let user = match fs::metadata(folder.path())
                .map(|folder| std::os::unix::fs::MetadataExt::uid(&folder))
            {
                Ok(0) => User::Unprivileged(UNPRIVILEGED),
                _ => User::Own,
            };
            if let User::Unprivileged(user) = user {
                chown(folder.path(), Some(user), Some(user))
                    .map_err(|error| Missing(format!("the folder cannot be another user's: {error}")))?;
            }
            let folder = folder.keep();
            let data = folder.join("data").display().to_string();
            create(&programs, &data, user)?;
            let port = free_port()
                .map_err(|error| Missing(format!("no port: {error}")))?
                .to_string();
            let server = programs.join("postgres").display().to_string();
            let sockets = folder.display().to_string();
            let command = [
                server.as_str(),
                "-D",
                &data,
                "-p",
                &port,
                "-k",
                &sockets,
                "-c",
                "listen_addresses=127.0.0.1",
                // Nothing here survives the machine, and a kill of the server keeps what it was given.
                "-c",
                "fsync=off",
            ];
            let (mut guard, _) = Guard::start(&command, Some(&folder), user, None).map_err(Missing)?;
            let ready = programs.join("pg_isready");
            let mut is_ready = false;
            until("the start of PostgreSQL", || {
                is_ready = accepts(&ready, &port);
                is_ready || !guard.is_running()
            })
            .await;
            if is_ready {
                return Ok(Self {
                    _guard: guard,
                    programs,
                    address: format!("127.0.0.1:{port}"),
                });
            }
        }
        Err(Missing(format!("it did not start on {MAX_PORTS} ports")))
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the URL of a store in a table of its own, without TLS.
    #[must_use]
    pub fn url(&self, table: &str) -> String {
        format!(
            "postgres://postgres@{}/postgres?sslmode=disable&table={table}",
            self.address
        )
    }

    /// Runs SQL, and returns what it prints: values without a frame.
    ///
    /// # Panics
    /// When it fails.
    pub async fn query(&self, text: &str) -> String {
        let url = format!("postgres://postgres@{}/postgres", self.address);
        let done = tokio::process::Command::new(self.programs.join("psql"))
            .args([&url, "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", text])
            .kill_on_drop(true)
            .output();
        let done = done.within("the end of psql").await.unwrap();
        assert!(
            done.status.success(),
            "{text}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }
}

/// Returns the folder of the newest version's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.filter_map(Result::ok);
    let numbered = versions.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        programs.join("postgres").exists().then_some((version, programs))
    });
    numbered.max().map(|(_, programs)| programs)
}

fn create(programs: &Path, data: &str, user: User) -> Result<(), Missing> {
    let mut command = Command::new(programs.join("initdb"));
    command.args([
        "-D",
        data,
        "-A",
        "trust",
        "-U",
        "postgres",
        "-E",
        "UTF8",
        "--locale=C",
        "-N",
    ]);
    command.current_dir("/");
    if let User::Unprivileged(user) = user {
        std::os::unix::process::CommandExt::uid(&mut command, user);
        std::os::unix::process::CommandExt::gid(&mut command, user);
    }
    // Blocking: other tests wait for the same server.
    match command.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(Missing(format!(
            "initdb failed: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        ))),
        Err(error) => Err(Missing(format!("initdb cannot be run: {error}"))),
    }
}

fn accepts(ready: &Path, port: &str) -> bool {
    let status = Command::new(ready)
        .args(["-q", "-h", "127.0.0.1", "-p", port])
        .status();
    status.is_ok_and(|status| status.success())
}

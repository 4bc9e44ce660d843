//! One connection to a server, and the limit within which it is opened.

use std::{ops::Deref, sync::Arc, time::Duration};

use tokio_postgres::{Client, Config, Error, config::Host};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;

use crate::{error::Result, runtime::Runtime};

/// The limit of an attempt to connect to an address where the URL has none: TCP, TLS and login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The port of a URL without one.
const DEFAULT_PORT: u16 = 5432;

/// A connection that was opened. It is closed once it is dropped and the server has answered what it was sent.
pub(super) struct Connection {
    client: Client,
    discarded: CancellationToken,
}

/// The end of an attempt to connect.
pub(super) enum Attempt {
    Connected(Arc<Connection>),
    Failed(Error),
    /// The server has not answered within this time.
    Silent(Duration),
}

impl Connection {
    /// Opens a connection, within the `connect_timeout` of the configuration for each of the addresses of its hosts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Internal`] when the host's runtime has ended.
    pub(super) async fn open(
        mut config: Config,
        tls: MakeRustlsConnect,
        runtime: &Runtime,
    ) -> Result<Attempt> {
        let timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        config.connect_timeout(timeout);
        // The sockets belong to the host's runtime, and the caller may be on another thread. The limit is in the task, which would
        // outlast its caller.
        let clock = Arc::clone(&runtime.clock);
        let connecting = runtime.spawner.spawn(async move {
            let addresses = tokio::select! {
                biased;
                addresses = address_count(&config) => addresses,
                () = clock.wait(timeout) => return Err(timeout),
            };
            let limit = timeout.saturating_mul(addresses);
            tokio::select! {
                biased;
                connected = config.connect(tls) => Ok(connected),
                () = clock.wait(limit) => Err(limit),
            }
        });
        let (client, driver) = match connecting.await? {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return Ok(Attempt::Failed(error)),
            Err(limit) => return Ok(Attempt::Silent(limit)),
        };
        let discarded = CancellationToken::new();
        let end = discarded.clone();
        drop(runtime.spawner.spawn(async move {
            if let Some(Err(error)) = end.run_until_cancelled(driver).await {
                tracing::debug!(%error, "a connection to a database has ended");
            }
        }));
        Ok(Attempt::Connected(Arc::new(Self { client, discarded })))
    }

    /// Closes the socket at once: statements that wait for an answer fail as after a lost connection.
    pub(super) fn discard(&self) {
        self.discarded.cancel();
    }
}

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Returns the number of the addresses to which the client connects in turn, at least 1.
async fn address_count(config: &Config) -> u32 {
    let hosts = config.get_hosts().iter().enumerate();
    let mut count = config.get_hostaddrs().len();
    for (index, host) in hosts.skip(count) {
        count += match host {
            Host::Tcp(name) => {
                let ports = config.get_ports();
                let port = ports.get(index).or(ports.first()).copied();
                let found = tokio::net::lookup_host((&**name, port.unwrap_or(DEFAULT_PORT))).await;
                found.map_or(1, Iterator::count)
            }
            #[cfg(unix)]
            Host::Unix(_) => 1,
        };
    }
    u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

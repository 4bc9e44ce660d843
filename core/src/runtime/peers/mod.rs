//! Verification of the processes at the other end of loopback connections.

mod sock_diag;
mod table;

use std::{
    collections::BTreeSet,
    io::{Error as IoError, ErrorKind as IoErrorKind, Result as IoResult},
    net::SocketAddr,
    sync::Arc,
};

use tokio::net::TcpStream;

use super::Runtime;

/// The users whose processes may connect to the engine on loopback, and that the engine connects to: the engine's own
/// user, root, and those that the host names.
///
/// The kernel reports the user at the other end.
#[derive(Clone, Debug)]
pub struct TrustedPeers(Arc<BTreeSet<u32>>);

impl Default for TrustedPeers {
    fn default() -> Self {
        Self::with([])
    }
}

impl TrustedPeers {
    /// Trusts `users` (numbers) beside the engine's own user and root.
    #[must_use]
    pub fn with(users: impl IntoIterator<Item = u32>) -> Self {
        let own = rustix::process::geteuid().as_raw();
        Self(Arc::new(users.into_iter().chain([0, own]).collect()))
    }

    /// Returns whether the other end of a connection is a trusted user's process. Connections to other machines are not
    /// checked.
    ///
    /// # Errors
    /// When neither the netlink request nor the kernel's tables give a result.
    pub(crate) async fn trusts(&self, stream: &TcpStream, runtime: &Runtime) -> IoResult<Peer> {
        let (local, remote) = (stream.local_addr()?, stream.peer_addr()?);
        if !is_within_machine(local, remote) {
            return Ok(Peer::Trusted);
        }
        let found = runtime
            .spawner
            .spawn_blocking(move || user_of(remote, local))
            .await
            .map_err(|error| IoError::other(error.to_string()))??;
        Ok(match found {
            None => Peer::Unknown,
            Some(user) if self.0.contains(&user) => Peer::Trusted,
            Some(user) => Peer::Foreign(user),
        })
    }
}

/// Returns whether both ends of a connection are on this machine. A client may reach a loopback listener from any
/// address of the machine, so one loopback end is enough.
fn is_within_machine(local: SocketAddr, remote: SocketAddr) -> bool {
    let (local, remote) = (local.ip().to_canonical(), remote.ip().to_canonical());
    local.is_loopback() || remote.is_loopback() || local == remote
}

/// The process at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A trusted user's process.
    Trusted,
    /// Another user's.
    Foreign(u32),
    /// No process holds the other end: it was closed, or the connection has not been accepted yet.
    Unknown,
}

impl Peer {
    /// Returns the error of a connection that is refused.
    pub(crate) fn refusal(self, address: SocketAddr) -> IoError {
        let text = match self {
            Self::Foreign(user) => {
                format!("the process at {address} belongs to user {user}, who is not among the trusted peers")
            }
            Self::Trusted | Self::Unknown => format!("no process holds the connection at {address}"),
        };
        IoError::new(IoErrorKind::PermissionDenied, text)
    }
}

/// Returns the user whose process holds the socket at `own`, connected to `other`.
///
/// The kernel is queried for this connection by netlink. Where that is not supported, or the connection is not found,
/// the tables of all connections are read, which takes milliseconds.
fn user_of(own: SocketAddr, other: SocketAddr) -> IoResult<Option<u32>> {
    if let Some(socket) = sock_diag::find(own, other) {
        return Ok(socket.holder());
    }
    table::user_of(own, other)
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a skipped test is reported")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_own_user_is_trusted_and_one_that_is_not_named_is_not() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let waiting = TrustedPeers::default().trusts(&client, &runtime).await.unwrap();
        assert_eq!(waiting, Peer::Unknown, "not accepted yet");
        let (server, _) = listener.accept().await.unwrap();
        for stream in [&client, &server] {
            let trusted = TrustedPeers::default().trusts(stream, &runtime).await.unwrap();
            assert_eq!(trusted, Peer::Trusted);
        }
        let own = rustix::process::geteuid().as_raw();
        let peer = TrustedPeers(Arc::new([own + 1].into()))
            .trusts(&server, &runtime)
            .await
            .unwrap();
        assert_eq!(peer, Peer::Foreign(own));
    }

    #[tokio::test]
    async fn a_client_at_another_address_of_the_machine_is_checked_too() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        // No packet is sent: the kernel determines the source address.
        let route = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let own_address = route.connect("192.0.2.1:9").and_then(|()| route.local_addr());
        let Ok(own_address) = own_address else {
            eprintln!("skipped: this machine has no address beside loopback");
            return;
        };
        let others = TrustedPeers(Arc::new([rustix::process::geteuid().as_raw() + 1].into()));
        for listening in [
            "127.0.0.1:0".parse().unwrap(),
            SocketAddr::new(own_address.ip(), 0),
        ] {
            let listener = tokio::net::TcpListener::bind(listening).await.unwrap();
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::new(own_address.ip(), 0)).unwrap();
            let client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            for stream in [&client, &server] {
                let peer = others.trusts(stream, &runtime).await.unwrap();
                assert!(matches!(peer, Peer::Foreign(_)), "{listening}: {peer:?}");
                let peer = TrustedPeers::default().trusts(stream, &runtime).await.unwrap();
                assert_eq!(peer, Peer::Trusted, "{listening}");
            }
        }
    }
}

//! Fakes for the tests of all crates: gRPC servers on loopback, and a provider in this process.

#![expect(
    clippy::unwrap_used,
    reason = "a fake is used by tests only, which fail by panicking"
)]

mod base;
mod boxes;
mod callback_server;
mod callbacks;
mod calls;
mod echo;
mod extensible;
mod language;
mod logging;
mod provider;
mod proxy;
mod resolver;

use std::{io, net::SocketAddr};

use tokio::{net::TcpListener, task::AbortHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::server::{Router, Server};

pub use base::BasePlugins;
pub use boxes::FakeBoxes;
pub use callback_server::FakeCallbackServer;
pub use callbacks::FakeCallbacks;
pub use calls::{ProviderCalls, ProviderServer};
pub use echo::EchoProvider;
pub use extensible::ExtensiblePlugins;
pub use language::FakeRuntime;
pub use logging::{Handshakes, LoggingProvider};
pub use provider::{Answer, FakeProvider};
pub use proxy::FakeProxy;
pub use resolver::{AddressResolver, plugin_processes};

/// Serves on a free port of loopback; returns the address and the handle that ends it.
///
/// # Errors
/// When no port can be bound.
pub async fn listen(router: Router) -> io::Result<(SocketAddr, AbortHandle)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = router.serve_with_incoming(TcpListenerStream::new(listener));
    Ok((address, tokio::spawn(server).abort_handle()))
}

/// Serves on a free port of loopback until the runtime of the test ends; returns the address.
///
/// # Panics
/// When no port can be bound.
pub async fn serve(router: Router) -> SocketAddr {
    listen(router).await.unwrap().0
}

/// Serves a provider until the runtime of the test ends; returns the address.
///
/// # Panics
/// When no port can be bound.
pub async fn serve_provider(provider: impl ProviderCalls) -> SocketAddr {
    serve(Server::builder().add_service(ProviderServer::service(provider))).await
}

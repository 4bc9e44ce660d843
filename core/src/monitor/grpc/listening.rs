//! A gRPC server on its own loopback port, which ends when it is dropped.

use std::{
    future::Future as _,
    io::{Error as IoError, ErrorKind as IoErrorKind, IoSlice, Result as IoResult},
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::StreamExt as _;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};
use tonic::{
    service::Routes,
    transport::{
        Server,
        server::{Connected, TcpConnectInfo},
    },
};

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Peer, Runtime},
};

/// The flow-control window of one stream, in bytes.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
/// The flow-control window of a connection, in bytes.
const CONNECTION_WINDOW: u32 = 32 * 1024 * 1024;
/// Limit for pending responses at the server's end, before connections are cut.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Maximum number of concurrent peer checks.
const MAX_CHECKED: usize = 64;

/// A listening server. Dropping it closes the port at once, and the connections after their pending responses, at the
/// latest after [`SHUTDOWN_GRACE`].
pub(crate) struct Listening {
    address: SocketAddr,
    _stop: DropGuard,
}

impl Listening {
    /// Starts serving on a free port of the loopback interface.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when no port can be had.
    pub(crate) fn start(services: Routes, runtime: &Runtime) -> Result<Self> {
        let (listener, address) = listen(runtime).map_err(|error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("could not listen on a port of 127.0.0.1: {error}"),
            )
            .with_source(error)
        })?;
        let (stop, severed) = (CancellationToken::new(), CancellationToken::new());
        let (stopping, clock) = (stop.clone(), runtime.clock.clone());
        let connections = {
            let severed = severed.clone();
            let runtime = runtime.clone();
            TcpListenerStream::new(listener)
                .map(move |stream| admitted(stream, runtime.clone()))
                .buffer_unordered(MAX_CHECKED)
                .filter_map(std::future::ready)
                .map(move |stream| Severable::new(stream?, &severed))
        };
        let server = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .add_routes(services)
            .serve_with_incoming_shutdown(connections, stop.clone().cancelled_owned());
        drop(runtime.spawner.spawn(async move {
            // Connections are separate tasks: cutting them is the only way to end them early.
            let _cut = severed.drop_guard();
            let too_long = async {
                stopping.cancelled().await;
                clock.wait(SHUTDOWN_GRACE).await;
            };
            tokio::select! {
                biased;
                ended = server => {
                    if let Err(error) = ended {
                        tracing::warn!(%address, %error, "a server of the engine ended");
                    }
                }
                () = too_long => {}
            }
        }));
        Ok(Self {
            address,
            _stop: stop.drop_guard(),
        })
    }

    /// Returns the address, such as `127.0.0.1:4711`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

fn listen(runtime: &Runtime) -> IoResult<(TcpListener, SocketAddr)> {
    // The caller can be on a thread outside of the runtime.
    let _inside = runtime.spawner.handle().enter();
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

/// Returns a connection whose other end is a trusted user's process; `None` for any other.
async fn admitted(stream: IoResult<TcpStream>, runtime: Runtime) -> Option<IoResult<TcpStream>> {
    let stream = match stream {
        Ok(stream) => stream,
        Err(error) => return Some(Err(error)),
    };
    match runtime.peers.trusts(&stream, &runtime).await {
        Ok(Peer::Trusted) => Some(Ok(stream)),
        Ok(Peer::Foreign(user)) => {
            tracing::warn!(
                user,
                "refused a connection of a user who is not among the trusted peers"
            );
            None
        }
        Ok(Peer::Unknown) => None,
        Err(error) => {
            tracing::warn!(%error, "refused a connection, because its user cannot be determined");
            None
        }
    }
}

/// A connection that can be cut from outside.
struct Severable {
    stream: TcpStream,
    severed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Severable {
    fn new(stream: TcpStream, severed: &CancellationToken) -> IoResult<Self> {
        // Responses are small and latency matters.
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            severed: Box::pin(severed.clone().cancelled_owned()),
        })
    }

    /// Fails once the connection is cut, and wakes the connection's task when that happens.
    fn check(&mut self, context: &mut Context<'_>) -> IoResult<()> {
        match self.severed.as_mut().poll(context) {
            Poll::Ready(()) => Err(IoError::from(IoErrorKind::ConnectionAborted)),
            Poll::Pending => Ok(()),
        }
    }
}

impl Connected for Severable {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Severable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<IoResult<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Severable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<IoResult<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<IoResult<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

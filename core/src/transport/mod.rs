//! Connecting to gRPC servers (providers, language runtimes, policy packs), with a check of the server process's owner.

mod corked;
mod single_task;

use std::{error::Error as _, io::Result as IoResult, time::Duration};

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint, Error, Uri};

use crate::runtime::{Peer, Runtime};
use corked::Corked;
use single_task::{SingleTask, Turns};

/// The pause between two attempts to connect to a server that does not listen yet.
pub(crate) const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Why an attempt failed that did not end within its time.
const NO_ANSWER: &str = "it does not answer";
/// How long a server may take to accept a connection.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two checks whether it has accepted.
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// Returns the endpoint of an address: `host:port`, or an `http` URI.
///
/// # Errors
/// If the address is no URI.
pub(crate) fn endpoint(address: &str) -> Result<Endpoint, Error> {
    match address.contains("://") {
        true => Endpoint::from_shared(address.to_owned()),
        false => Endpoint::from_shared(format!("http://{address}")),
    }
}

/// Connects to an endpoint. A server on loopback must be a process of a trusted user, also after each reconnection.
///
/// # Errors
/// If no process listens there, or one of another user.
pub(crate) async fn connect(endpoint: &Endpoint, runtime: &Runtime) -> Result<Channel, Error> {
    let turns = Turns::default();
    let task = SingleTask::start(&runtime.spawner, turns.clone());
    let runtime = runtime.clone();
    let connector = tower::service_fn(move |uri: Uri| {
        let (runtime, turns) = (runtime.clone(), turns.clone());
        async move {
            let socket = dial(&uri, &runtime).await?;
            IoResult::Ok(TokioIo::new(Corked::new(socket, turns)))
        }
    });
    endpoint
        .clone()
        .executor(task)
        .connect_with_connector(connector)
        .await
}

/// Connects to an endpoint as [`connect`] does, with one attempt that ends after `timeout`.
///
/// # Errors
/// The reason.
pub(crate) async fn connect_within(
    endpoint: &Endpoint,
    timeout: Duration,
    runtime: &Runtime,
) -> Result<Channel, String> {
    tokio::select! {
        biased;
        channel = connect(endpoint, runtime) => channel.map_err(|error| with_causes(&error)),
        () = runtime.clock.wait(timeout) => Err(NO_ANSWER.to_owned()),
    }
}

/// Connects to an endpoint as [`connect`] does, with attempts until a server listens there, or `timeout` has passed. After
/// a failed attempt, `end` returns the reason for which none will listen.
///
/// # Errors
/// The reason: that of `end`, or that of the last attempt.
pub(crate) async fn connect_when_ready(
    endpoint: &Endpoint,
    timeout: Duration,
    end: impl Fn() -> Option<String>,
    runtime: &Runtime,
) -> Result<Channel, String> {
    let mut last = None;
    let attempts = async {
        loop {
            match connect(endpoint, runtime).await {
                Ok(channel) => return Ok(channel),
                Err(error) => {
                    if let Some(end) = end() {
                        return Err(end);
                    }
                    last = Some(with_causes(&error));
                    runtime.clock.wait(CONNECT_RETRY_INTERVAL).await;
                }
            }
        }
    };
    tokio::select! {
        biased;
        channel = attempts => return channel,
        () = runtime.clock.wait(timeout) => {}
    }
    Err(last.unwrap_or_else(|| NO_ANSWER.to_owned()))
}

/// Returns the text of an error with those of its causes.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

async fn dial(uri: &Uri, runtime: &Runtime) -> IoResult<TcpStream> {
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(80);
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    let address = stream.peer_addr()?;
    let limit = runtime.clock.elapsed() + ACCEPT_TIMEOUT;
    let mut pause = Duration::from_millis(1);
    loop {
        match runtime.peers.trusts(&stream, runtime).await? {
            Peer::Trusted => return Ok(stream),
            // The server's socket belongs to no process before the connection is accepted.
            Peer::Unknown if runtime.clock.elapsed() < limit => {
                runtime.clock.wait(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            peer => return Err(peer.refusal(address)),
        }
    }
}

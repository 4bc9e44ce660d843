//! The event log: the events of an operation as lines of JSON, in a file or at a server of the caller.

use std::{fs::File, io::Write as _, time::Duration};

use stackwright_proto::pulumirpc::{EventRequest, events_client::EventsClient};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Endpoint;

use crate::invocation::Invocation;

/// What the address of a server begins with.
const SERVER: &str = "tcp://";
/// How long the connection to a server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Receives the events of an operation. What cannot be written is left out: a log never fails an operation.
pub(super) enum EventLog {
    None,
    File(File),
    Server {
        lines: mpsc::UnboundedSender<EventRequest>,
        served: JoinHandle<()>,
    },
}

impl EventLog {
    /// Opens a log: a file, which is emptied, or a server.
    pub(super) async fn open(invocation: &Invocation, place: Option<&str>) -> Self {
        let Some(place) = place else {
            return Self::None;
        };
        let opened = match place.strip_prefix(SERVER) {
            Some(address) => Self::connect(address).await,
            None => File::create(invocation.path(place)).ok().map(Self::File),
        };
        opened.unwrap_or(Self::None)
    }

    async fn connect(address: &str) -> Option<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).ok()?;
        let channel = endpoint.connect_timeout(CONNECT_TIMEOUT).connect().await.ok()?;
        let (lines, receiver) = mpsc::unbounded_channel();
        let served = tokio::spawn(async move {
            let stream = UnboundedReceiverStream::new(receiver);
            // A server that fails has no later events.
            drop(EventsClient::new(channel).stream_events(stream).await);
        });
        Some(Self::Server { lines, served })
    }

    /// Returns whether events are received.
    pub(super) const fn is_open(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Writes the line of an event.
    pub(super) fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        match self {
            Self::None => {}
            Self::File(file) => {
                if file.write_all(line.as_bytes()).is_err() {
                    *self = Self::None;
                }
            }
            Self::Server { lines, .. } => drop(lines.send(EventRequest { event: line })),
        }
    }

    /// Ends the log, and waits until a server has received all of it.
    pub(super) async fn close(self) {
        if let Self::Server { lines, served } = self {
            drop(lines);
            drop(served.await);
        }
    }
}

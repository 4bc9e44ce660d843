//! The event log: the events of an operation as lines of JSON, in a file or at a server.

use std::{
    error::Error,
    fs::File,
    io::{ErrorKind, Write as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use stackwright_proto::pulumirpc::{EventRequest, events_client::EventsClient};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};

use crate::{
    runtime::{Runtime, Task},
    transport,
};

/// What the address of a server begins with.
const SERVER: &str = "tcp://";
/// How long the connection to a server may take: a server in the process of the caller accepts none while that is busy.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Receives the lines of events. What cannot be written is left out: a log never fails an operation.
#[derive(Debug)]
pub struct EventLog(Place);

enum Place {
    File(File),
    Server {
        lines: mpsc::UnboundedSender<EventRequest>,
        served: Task<()>,
    },
    Listener(Arc<dyn Fn(&str) + Send + Sync>),
    /// A file that could not be written.
    Lost,
}

impl EventLog {
    /// Opens a log: a file, which is emptied, or a server of the service `Events` at `tcp://host:port`. A relative path begins at
    /// `folder`. `None` for a file that cannot be made, and an address that is none.
    ///
    /// A server is connected to while the operation runs, and gets the events from before then, too. One that does not answer within 60 s,
    /// or where no process listens, gets none.
    pub fn open(place: &str, folder: &Path, runtime: &Runtime) -> Option<Self> {
        match place.strip_prefix(SERVER) {
            Some(address) => Some(Self::serve(transport::endpoint(address).ok()?, runtime)),
            None => Some(Self(Place::File(File::create(folder.join(place)).ok()?))),
        }
    }

    /// Creates a log that passes its lines to a function, each with its newline.
    pub fn to_listener(listener: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self(Place::Listener(listener))
    }

    fn serve(endpoint: Endpoint, runtime: &Runtime) -> Self {
        let (lines, receiver) = mpsc::unbounded_channel();
        let connecting = runtime.clone();
        let served = runtime.spawner.spawn(async move {
            let channel = tokio::select! {
                biased;
                channel = connected(&endpoint, &connecting) => channel,
                () = connecting.clock.wait(CONNECT_TIMEOUT) => None,
            };
            let Some(channel) = channel else {
                tracing::warn!("the server of the event log does not answer: it gets no events");
                return;
            };
            let stream = UnboundedReceiverStream::new(receiver);
            // A server that fails has no later events.
            drop(EventsClient::new(channel).stream_events(stream).await);
        });
        Self(Place::Server { lines, served })
    }

    /// Writes the line of an event, as [`super::EventJson::line`] returns it.
    pub fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        match &mut self.0 {
            Place::File(file) => {
                if file.write_all(line.as_bytes()).is_err() {
                    self.0 = Place::Lost;
                }
            }
            Place::Server { lines, .. } => drop(lines.send(EventRequest { event: line })),
            Place::Listener(listener) => listener(&line),
            Place::Lost => {}
        }
    }

    /// Ends the log, and waits until a server has received all of it.
    ///
    /// # Cancel safety
    /// Cancel safe: a server still receives all of it.
    pub async fn close(self) {
        if let Place::Server { lines, served } = self.0 {
            drop(lines);
            drop(served.await);
        }
    }
}

/// Connects to a server, with attempts until it accepts the connection; `None` where no process listens.
async fn connected(endpoint: &Endpoint, runtime: &Runtime) -> Option<Channel> {
    loop {
        match transport::connect(endpoint, runtime).await {
            Ok(channel) => return Some(channel),
            Err(error) if is_refused(&error) => return None,
            Err(_) => runtime.clock.wait(transport::CONNECT_RETRY_INTERVAL).await,
        }
    }
}

fn is_refused(error: &(dyn Error + 'static)) -> bool {
    let refused = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    error.downcast_ref().is_some_and(refused) || error.source().is_some_and(is_refused)
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::File(_) => "File",
            Self::Server { .. } => "Server",
            Self::Listener(_) => "Listener",
            Self::Lost => "Lost",
        })
    }
}

//! The event log: the events of an operation as lines of JSON, in a file or at a server.

use std::{fs::File, io::Write as _, path::Path, time::Duration};

use stackwright_proto::pulumirpc::{EventRequest, events_client::EventsClient};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::{
    runtime::{Runtime, Task},
    transport,
};

/// What the address of a server begins with.
const SERVER: &str = "tcp://";
/// How long the connection to a server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Receives the lines of events. What cannot be written is left out: a log never fails an operation.
#[derive(Debug)]
pub struct EventLog(Place);

enum Place {
    File(File),
    Server {
        lines: mpsc::UnboundedSender<EventRequest>,
        served: Task<()>,
    },
    /// A file that could not be written.
    Lost,
}

impl EventLog {
    /// Opens a log: a file, which is emptied, or a server of the service `Events` at `tcp://host:port`. A relative path begins at
    /// `folder`. `None` for a file that cannot be made, and a server that does not answer within 10 s.
    ///
    /// # Cancel safety
    /// A dropped future leaves at most an empty file.
    pub async fn open(place: &str, folder: &Path, runtime: &Runtime) -> Option<Self> {
        match place.strip_prefix(SERVER) {
            Some(address) => Self::connect(address, runtime).await,
            None => Some(Self(Place::File(File::create(folder.join(place)).ok()?))),
        }
    }

    async fn connect(address: &str, runtime: &Runtime) -> Option<Self> {
        let endpoint = transport::endpoint(address).ok()?;
        let channel = tokio::select! {
            channel = transport::connect(&endpoint, runtime) => channel.ok()?,
            () = runtime.clock.wait(CONNECT_TIMEOUT) => return None,
        };
        let (lines, receiver) = mpsc::unbounded_channel();
        let served = runtime.spawner.spawn(async move {
            let stream = UnboundedReceiverStream::new(receiver);
            // A server that fails has no later events.
            drop(EventsClient::new(channel).stream_events(stream).await);
        });
        Some(Self(Place::Server { lines, served }))
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

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::File(_) => "File",
            Self::Server { .. } => "Server",
            Self::Lost => "Lost",
        })
    }
}

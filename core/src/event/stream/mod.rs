//! Event streams: the events of an operation for any number of listeners. Listeners never block the engine.

mod sink;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tokio::sync::mpsc;

use crate::{
    diagnostic::Severity,
    event::{EngineEvent, EventJson, EventPayload},
    secrets::Redactor,
};

pub(crate) use sink::EventSink;

/// Maximum number of queued debug messages of one listener; further ones are dropped.
const MAX_QUEUED_DEBUG_MESSAGES: usize = 16_384;

/// The events of one operation for one listener, in order. The cancel event is the last one.
///
/// Dropping it ends the subscription. Sequence numbers have gaps only where debug messages were dropped.
#[derive(Debug)]
pub struct EventStream {
    events: mpsc::UnboundedReceiver<Arc<EngineEvent>>,
    pressure: Arc<Pressure>,
    redactor: Redactor,
}

impl EventStream {
    /// Waits for the next event; `None` after the cancel event.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future takes no event.
    pub async fn next(&mut self) -> Option<Arc<EngineEvent>> {
        let event = self.events.recv().await;
        self.taken(event)
    }

    /// Waits for the next event on a thread that is not part of the runtime.
    pub fn next_blocking(&mut self) -> Option<Arc<EngineEvent>> {
        let event = self.events.blocking_recv();
        self.taken(event)
    }

    /// Returns the next queued event; `None` when the queue is empty or the stream has ended.
    pub fn try_next(&mut self) -> Option<Arc<EngineEvent>> {
        let event = self.events.try_recv().ok();
        self.taken(event)
    }

    /// Returns the JSON writer of this operation's events; `show_secrets` keeps secret values, base64-encoded.
    #[must_use]
    pub fn json(&self, show_secrets: bool) -> EventJson {
        EventJson {
            show_secrets,
            redactor: self.redactor.clone(),
        }
    }

    /// Returns the number of debug messages that were dropped because of a full queue.
    #[must_use]
    pub fn dropped_debug_messages(&self) -> u64 {
        self.pressure.dropped.load(Ordering::Relaxed)
    }

    fn taken(&self, event: Option<Arc<EngineEvent>>) -> Option<Arc<EngineEvent>> {
        if event.as_deref().is_some_and(is_debug) {
            self.pressure.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        event
    }
}

impl futures::Stream for EventStream {
    type Item = Arc<EngineEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events
            .poll_recv(context)
            .map(|event| self.as_ref().taken(event))
    }
}

/// The counters of debug messages, shared by listener and sink.
#[derive(Default)]
struct Pressure {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

impl Pressure {
    /// Counts one more queued debug message, or one more dropped one.
    fn admit(&self) -> bool {
        let is_admitted = self.waiting.load(Ordering::Relaxed) < MAX_QUEUED_DEBUG_MESSAGES;
        if is_admitted {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        is_admitted
    }
}

impl fmt::Debug for Pressure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pressure")
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

fn is_debug(event: &EngineEvent) -> bool {
    matches!(&event.payload, EventPayload::Diagnostic(diagnostic) if diagnostic.severity == Severity::Debug)
}

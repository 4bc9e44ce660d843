//! The event sink of one operation, with any number of listeners.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::mpsc;

use super::{EventStream, Pressure, is_debug};
use crate::{
    diagnostic::{Diagnostic, Severity},
    event::{EngineEvent, EventPayload},
    runtime::Clock,
    secrets::Redactor,
};

/// Receives the events of one operation and sends them to all listeners. Cloning is cheap; all clones share the sink.
///
/// Emission never waits and never fails. Without listeners it costs an atomic addition. Every listener has an unbounded
/// queue of pointers to shared events. Only debug messages are dropped, and counted, when the queue of a listener
/// contains too many of them.
///
/// Secrets that the sink's [`Redactor`] knows are masked in messages.
#[derive(Clone)]
pub(crate) struct EventSink(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    sequence: AtomicU64,
    listening: AtomicBool,
    listeners: Mutex<Listeners>,
    /// The diagnostics for the result, without debug messages.
    kept: Mutex<Vec<Diagnostic>>,
    redactor: Redactor,
    /// Whether debug messages become events.
    shows_debug: bool,
}

#[derive(Default)]
struct Listeners {
    open: BTreeMap<u64, Listener>,
    next: u64,
    /// The cancel event, once the stream has ended.
    end: Option<Arc<EngineEvent>>,
}

struct Listener {
    queue: mpsc::UnboundedSender<Arc<EngineEvent>>,
    pressure: Arc<Pressure>,
}

impl EventSink {
    /// Creates a sink without listeners; `clock` supplies the timestamps.
    #[must_use]
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_debug(clock, true)
    }

    /// Creates a sink; without `shows_debug`, debug messages are dropped and get no sequence number.
    #[must_use]
    pub(crate) fn with_debug(clock: Arc<dyn Clock>, shows_debug: bool) -> Self {
        Self(Arc::new(Shared {
            clock,
            sequence: AtomicU64::new(0),
            listening: AtomicBool::new(false),
            listeners: Mutex::default(),
            kept: Mutex::default(),
            redactor: Redactor::new(),
            shows_debug,
        }))
    }

    /// Subscribes to all later events. After the end, the stream contains only the cancel event.
    #[must_use]
    pub(crate) fn subscribe(&self) -> EventStream {
        let (queue, events) = mpsc::unbounded_channel();
        let pressure = Arc::new(Pressure::default());
        let mut listeners = self.0.lock();
        if let Some(end) = &listeners.end {
            // The receiver exists: it is returned below.
            drop(queue.send(Arc::clone(end)));
        } else {
            let number = listeners.next;
            listeners.next += 1;
            let listener = Listener {
                queue,
                pressure: Arc::clone(&pressure),
            };
            listeners.open.insert(number, listener);
            self.0.listening.store(true, Ordering::Release);
        }
        EventStream {
            events,
            pressure,
            redactor: self.0.redactor.clone(),
        }
    }

    /// Emits an event; `internal` marks steps that the program did not request.
    pub(crate) fn emit(&self, payload: EventPayload, internal: bool) {
        self.emit_with(internal, || payload);
    }

    /// Emits an event; the payload is only built when there is a listener.
    pub(crate) fn emit_with(&self, internal: bool, payload: impl FnOnce() -> EventPayload) {
        if self.0.listening.load(Ordering::Acquire) {
            self.0.deliver(internal, payload());
        } else {
            self.0.sequence.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the redactor of messages, so that further secrets can be registered.
    #[must_use]
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    /// Adds a diagnostic to the result, without an event.
    pub(crate) fn keep_for_result(&self, diagnostic: Diagnostic) {
        let diagnostic = self.scrubbed(diagnostic);
        self.0
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(diagnostic);
    }

    fn scrubbed(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        if let Some(scrubbed) = diagnostic.message.scrubbed(|text| self.0.redactor.scrub(text)) {
            diagnostic.message = scrubbed;
        }
        diagnostic
    }

    /// Emits a diagnostic; known secrets are masked.
    pub(crate) fn diagnostic(&self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Debug && !self.0.shows_debug {
            return;
        }
        let diagnostic = self.scrubbed(diagnostic);
        if diagnostic.severity > Severity::Debug && !diagnostic.ephemeral {
            self.keep_for_result(diagnostic.clone());
        }
        self.emit_with(false, || EventPayload::Diagnostic(diagnostic));
    }

    /// Returns the diagnostics so far, without debug and ephemeral ones.
    #[must_use]
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether there is a listener.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn has_listeners(&self) -> bool {
        self.0.listening.load(Ordering::Acquire)
    }

    /// Ends the stream with the cancel event. Later events are dropped; a second end has no effect.
    pub(crate) fn end(&self) {
        self.0.end();
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventSink").finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns sequence number and timestamp to an event and sends it; the lock gives all listeners the same order.
    fn deliver(&self, internal: bool, payload: EventPayload) {
        let mut listeners = self.lock();
        if listeners.end.is_some() {
            return;
        }
        let event = self.stamp(internal, payload);
        let is_debug = is_debug(&event);
        let mut gone = Vec::new();
        for (number, listener) in &listeners.open {
            if is_debug && !listener.pressure.admit() {
                continue;
            }
            if listener.queue.send(Arc::clone(&event)).is_err() {
                gone.push(*number);
            }
        }
        for number in gone {
            listeners.open.remove(&number);
        }
        if listeners.open.is_empty() {
            self.listening.store(false, Ordering::Release);
        }
    }

    fn stamp(&self, internal: bool, payload: EventPayload) -> Arc<EngineEvent> {
        Arc::new(EngineEvent {
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            timestamp: self.clock.now(),
            internal,
            payload,
        })
    }

    fn end(&self) {
        let mut listeners = self.lock();
        if listeners.end.is_some() {
            return;
        }
        let event = self.stamp(false, EventPayload::Cancel);
        for listener in std::mem::take(&mut listeners.open).into_values() {
            // A dropped listener needs no cancel event.
            drop(listener.queue.send(Arc::clone(&event)));
        }
        listeners.end = Some(event);
        self.listening.store(false, Ordering::Release);
    }
}

impl Drop for Shared {
    /// Ends the streams of an operation that was dropped.
    fn drop(&mut self) {
        self.end();
    }
}

//! Event streams: how events reach any number of listeners without ever holding up the engine.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tokio::sync::mpsc;

use crate::{
    diagnostic::{Diagnostic, Severity},
    event::{EngineEvent, EventJson, EventPayload},
    runtime::Clock,
    secrets::Redactor,
};

/// How many debug messages wait for one listener before further ones are dropped.
const DEBUG_LIMIT: usize = 16_384;

/// Takes the events of one operation and hands them to all listeners. Cloning is cheap; all clones are one sink.
///
/// Emission never waits and never fails. Without listeners it costs an atomic addition. Every listener has a queue
/// of its own, without bound, of pointers to shared events: what a slow one keeps alive is what has happened, not
/// copies of it. Only debug messages are dropped, and counted, when very many wait for the same listener.
///
/// Secrets that the sink's [`Redactor`] knows are taken out of messages before anybody sees them.
#[derive(Clone)]
pub struct EventSink(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    sequence: AtomicU64,
    listening: AtomicBool,
    listeners: Mutex<Listeners>,
    /// What people should read, debug messages left out.
    said: Mutex<Vec<Diagnostic>>,
    redactor: Redactor,
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

/// What listener and sink both know of the debug messages between them.
#[derive(Default)]
struct Pressure {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

impl EventSink {
    /// Creates a sink without listeners that takes the time of events from `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            clock,
            sequence: AtomicU64::new(0),
            listening: AtomicBool::new(false),
            listeners: Mutex::default(),
            said: Mutex::default(),
            redactor: Redactor::new(),
        }))
    }

    /// Starts listening: the stream holds every event from now on. After the end it holds the cancel event only.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        let (queue, events) = mpsc::unbounded_channel();
        let pressure = Arc::new(Pressure::default());
        let mut listeners = self.0.lock();
        if let Some(end) = &listeners.end {
            // The receiver is alive: it is just below.
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

    /// Emits an event; `internal` marks steps that people did not ask for.
    pub fn emit(&self, payload: EventPayload, internal: bool) {
        self.emit_with(internal, || payload);
    }

    /// Emits an event whose payload is made only when somebody listens.
    pub fn emit_with(&self, internal: bool, payload: impl FnOnce() -> EventPayload) {
        if self.0.listening.load(Ordering::Acquire) {
            self.0.deliver(internal, payload());
        } else {
            self.0.sequence.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns what takes secrets out of messages, so that it can be told of more of them.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    /// Emits a message; known secrets in it are taken out.
    pub fn diagnostic(&self, mut diagnostic: Diagnostic) {
        if let Cow::Owned(scrubbed) = self.0.redactor.scrub(&diagnostic.message) {
            diagnostic.message = scrubbed;
        }
        if diagnostic.severity > Severity::Debug && !diagnostic.ephemeral {
            self.0
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(diagnostic.clone());
        }
        self.emit_with(false, || EventPayload::Diagnostic(diagnostic));
    }

    /// Returns the messages so far, debug and passing ones left out.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells whether anybody listens.
    #[must_use]
    pub fn has_listeners(&self) -> bool {
        self.0.listening.load(Ordering::Acquire)
    }

    /// Ends the stream with the cancel event. What is emitted later is dropped; ending twice does nothing.
    pub fn end(&self) {
        self.0.end();
    }
}

impl std::fmt::Debug for EventSink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventSink").finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers, stamps and hands out one event; the lock makes the order the same for all listeners.
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
            // A listener that is gone needs no end.
            drop(listener.queue.send(Arc::clone(&event)));
        }
        listeners.end = Some(event);
        self.listening.store(false, Ordering::Release);
    }
}

impl Drop for Shared {
    /// An operation that died without an end still ends its listeners' streams.
    fn drop(&mut self) {
        self.end();
    }
}

impl Pressure {
    /// Counts one more debug message in, or counts it as dropped.
    fn admit(&self) -> bool {
        let room = self.waiting.load(Ordering::Relaxed) < DEBUG_LIMIT;
        if room {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        room
    }
}

fn is_debug(event: &EngineEvent) -> bool {
    matches!(&event.payload, EventPayload::Diagnostic(diagnostic) if diagnostic.severity == Severity::Debug)
}

/// The events of one operation for one listener, in order. The cancel event is the last, then the stream is over.
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
    pub async fn next(&mut self) -> Option<Arc<EngineEvent>> {
        let event = self.events.recv().await;
        self.taken(event)
    }

    /// Waits for the next event on a thread that is not part of the runtime.
    pub fn next_blocking(&mut self) -> Option<Arc<EngineEvent>> {
        let event = self.events.blocking_recv();
        self.taken(event)
    }

    /// Returns an event that has happened already; `None` when there is none at the moment, or the stream is over.
    pub fn try_next(&mut self) -> Option<Arc<EngineEvent>> {
        let event = self.events.try_recv().ok();
        self.taken(event)
    }

    /// Returns what writes this operation's events as JSON; `show_secrets` keeps secret values, base64-encoded.
    #[must_use]
    pub fn json(&self, show_secrets: bool) -> EventJson {
        EventJson {
            show_secrets,
            redactor: self.redactor.clone(),
        }
    }

    /// Returns how many debug messages this listener missed because too many waited for it.
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

impl std::fmt::Debug for Pressure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Pressure")
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SystemClock;

    fn sink() -> EventSink {
        EventSink::new(Arc::new(SystemClock))
    }

    fn said(text: &str) -> EventPayload {
        EventPayload::Stdout { message: text.into() }
    }

    fn drain(stream: &mut EventStream) -> Vec<Arc<EngineEvent>> {
        std::iter::from_fn(|| stream.next_blocking()).collect()
    }

    #[test]
    fn every_listener_gets_all_from_its_subscription_on_and_the_end_last() {
        let sink = sink();
        let mut early = sink.subscribe();
        sink.emit(said("one"), false);
        let mut late = sink.subscribe();
        sink.emit(said("two"), false);
        sink.end();
        sink.emit(said("after the end"), false);
        let sequences = |events: &[Arc<EngineEvent>]| events.iter().map(|e| e.sequence).collect::<Vec<_>>();
        let (early, late) = (drain(&mut early), drain(&mut late));
        assert_eq!(sequences(&early), [0, 1, 2]);
        assert_eq!(sequences(&late), [1, 2]);
        for events in [early, late] {
            assert!(matches!(events.last().unwrap().payload, EventPayload::Cancel));
        }
    }

    #[test]
    fn a_listener_that_comes_after_the_end_gets_only_the_end() {
        let sink = sink();
        sink.emit(said("missed"), false);
        sink.end();
        sink.end();
        let events = drain(&mut sink.subscribe());
        assert_eq!(events.len(), 1);
        assert!(matches!(events[0].payload, EventPayload::Cancel));
    }

    #[test]
    fn a_sink_that_is_dropped_without_an_end_still_ends_its_streams() {
        let sink = sink();
        let mut stream = sink.subscribe();
        let clone = sink.clone();
        drop(sink);
        clone.emit(said("still alive"), false);
        drop(clone);
        assert_eq!(drain(&mut stream).len(), 2);
    }

    #[test]
    fn no_payload_is_made_when_nobody_listens() {
        let sink = sink();
        sink.emit_with(false, || panic!("made for nobody"));
        let mut stream = sink.subscribe();
        sink.emit(said("heard"), false);
        drop(sink);
        assert_eq!(
            stream.try_next().unwrap().sequence,
            1,
            "what nobody heard still counts"
        );
        drop(stream);
    }

    #[test]
    fn a_listener_that_went_away_is_forgotten() {
        let sink = sink();
        drop(sink.subscribe());
        sink.emit(said("into the void"), false);
        assert!(!sink.has_listeners());
    }

    #[test]
    fn a_slow_listener_misses_only_debug_messages_and_knows_how_many() {
        let sink = sink();
        let mut stream = sink.subscribe();
        for _ in 0..DEBUG_LIMIT + 5 {
            sink.diagnostic(Diagnostic::new(Severity::Debug, "noise"));
            sink.emit(said("result"), false);
        }
        sink.end();
        let events = drain(&mut stream);
        let results = events
            .iter()
            .filter(|event| matches!(event.payload, EventPayload::Stdout { .. }))
            .count();
        assert_eq!(results, DEBUG_LIMIT + 5);
        assert_eq!(events.len(), 2 * DEBUG_LIMIT + 5 + 1);
        assert_eq!(stream.dropped_debug_messages(), 5);
    }

    #[test]
    fn reading_makes_room_for_debug_messages_again() {
        let sink = sink();
        let mut stream = sink.subscribe();
        for _ in 0..3 {
            for _ in 0..DEBUG_LIMIT {
                sink.diagnostic(Diagnostic::new(Severity::Debug, "noise"));
            }
            while stream.try_next().is_some() {}
        }
        assert_eq!(stream.dropped_debug_messages(), 0);
    }

    #[test]
    fn known_secrets_are_taken_out_of_messages_and_of_the_json_of_events() {
        let sink = sink();
        let mut stream = sink.subscribe();
        sink.redactor().learn(["hunter2"]);
        sink.diagnostic(Diagnostic::warning("tried hunter2 in vain"));
        assert_eq!(sink.diagnostics()[0].message, "tried [secret] in vain");
        let EventPayload::Diagnostic(heard) = &stream.try_next().unwrap().payload else {
            panic!("not a message");
        };
        assert_eq!(heard.message, "tried [secret] in vain");
        sink.emit(said("hunter2"), false);
        let event = stream.try_next().unwrap();
        assert!(!stream.json(false).line(&event).contains("hunter2"));
    }

    #[test]
    fn events_from_many_threads_keep_one_order_for_all_listeners() {
        let sink = sink();
        let mut streams = [sink.subscribe(), sink.subscribe()];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| sink.emit(said("x"), false)));
            }
        });
        sink.end();
        for stream in &mut streams {
            let sequences: Vec<_> = drain(stream).iter().map(|event| event.sequence).collect();
            assert_eq!(sequences, (0..=4000).collect::<Vec<_>>());
        }
    }
}

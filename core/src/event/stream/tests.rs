//! The event stream: order, end, slow listeners and redaction.

use std::sync::Arc;

use super::{EventSink, EventStream, MAX_QUEUED_DEBUG_MESSAGES};
use crate::{
    diagnostic::{Diagnostic, Severity},
    event::{EngineEvent, EventPayload},
    runtime::SystemClock,
};

fn sink() -> EventSink {
    EventSink::new(Arc::new(SystemClock))
}

fn message(text: &str) -> EventPayload {
    EventPayload::Stdout { message: text.into() }
}

fn drain(stream: &mut EventStream) -> Vec<Arc<EngineEvent>> {
    std::iter::from_fn(|| stream.next_blocking()).collect()
}

#[test]
fn every_listener_gets_all_from_its_subscription_on_and_the_end_last() {
    let sink = sink();
    let mut early = sink.subscribe();
    sink.emit(message("one"), false);
    let mut late = sink.subscribe();
    sink.emit(message("two"), false);
    sink.end();
    sink.emit(message("after the end"), false);
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
    sink.emit(message("missed"), false);
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
    clone.emit(message("still alive"), false);
    drop(clone);
    assert_eq!(drain(&mut stream).len(), 2);
}

#[test]
fn no_payload_is_built_without_a_listener() {
    let sink = sink();
    sink.emit_with(false, || panic!("built without a listener"));
    let mut stream = sink.subscribe();
    sink.emit(message("received"), false);
    drop(sink);
    assert_eq!(
        stream.try_next().unwrap().sequence,
        1,
        "events without a listener have sequence numbers"
    );
    drop(stream);
}

#[test]
fn a_listener_that_went_away_is_forgotten() {
    let sink = sink();
    drop(sink.subscribe());
    sink.emit(message("into the void"), false);
    assert!(!sink.has_listeners());
}

#[test]
fn a_slow_listener_misses_only_debug_messages_and_knows_how_many() {
    let sink = sink();
    let mut stream = sink.subscribe();
    for _ in 0..MAX_QUEUED_DEBUG_MESSAGES + 5 {
        sink.diagnostic(Diagnostic::new(Severity::Debug, "noise"));
        sink.emit(message("result"), false);
    }
    sink.end();
    let events = drain(&mut stream);
    let results = events
        .iter()
        .filter(|event| matches!(event.payload, EventPayload::Stdout { .. }))
        .count();
    assert_eq!(results, MAX_QUEUED_DEBUG_MESSAGES + 5);
    assert_eq!(events.len(), 2 * MAX_QUEUED_DEBUG_MESSAGES + 5 + 1);
    assert_eq!(stream.dropped_debug_messages(), 5);
}

#[test]
fn reading_makes_room_for_debug_messages_again() {
    let sink = sink();
    let mut stream = sink.subscribe();
    for _ in 0..3 {
        for _ in 0..MAX_QUEUED_DEBUG_MESSAGES {
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
    assert_eq!(sink.diagnostics()[0].message.library(), "tried [secret] in vain");
    let EventPayload::Diagnostic(heard) = &stream.try_next().unwrap().payload else {
        panic!("not a message");
    };
    assert_eq!(heard.message.reference(), "tried [secret] in vain");
    sink.emit(message("hunter2"), false);
    let event = stream.try_next().unwrap();
    assert!(!stream.json(false).line(&event).contains("hunter2"));
}

#[test]
fn events_from_many_threads_keep_one_order_for_all_listeners() {
    let sink = sink();
    let mut streams = [sink.subscribe(), sink.subscribe()];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| sink.emit(message("x"), false)));
        }
    });
    sink.end();
    for stream in &mut streams {
        let sequences: Vec<_> = drain(stream).iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, (0..=4000).collect::<Vec<_>>());
    }
}

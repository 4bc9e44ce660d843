//! Spans that are exported: of one operation, with its secrets replaced.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    TraceParent,
    exporter::Exporter,
    otlp::{KeyValue, SpanMessage, Status, ValueKind},
};
use crate::secrets::Redactor;

const INTERNAL: i32 = 1;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;

/// The trace of an operation.
pub(in crate::telemetry) struct Trace {
    exporter: Exporter,
    id: [u8; 16],
    /// The secrets of the operation and of the previews within it.
    redactors: Mutex<Vec<Redactor>>,
}

/// A span that has not ended.
pub(in crate::telemetry) struct RunningSpan {
    trace: Arc<Trace>,
    id: [u8; 8],
    parent: Option<[u8; 8]>,
    name: &'static str,
    detail: &'static str,
    is_client: bool,
    began: u64,
    state: Mutex<SpanState>,
}

#[derive(Default)]
struct SpanState {
    attributes: Vec<(&'static str, Attribute)>,
    has_failed: bool,
    is_ended: bool,
}

/// The value of an attribute.
pub(in crate::telemetry) enum Attribute {
    Text(String),
    Flag(bool),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A span that has ended.
pub(super) struct EndedSpan {
    trace: Arc<Trace>,
    id: [u8; 8],
    parent: Option<[u8; 8]>,
    name: &'static str,
    detail: &'static str,
    is_client: bool,
    began: u64,
    ended: u64,
    attributes: Vec<(&'static str, Attribute)>,
    has_failed: bool,
}

impl Trace {
    fn now(&self) -> u64 {
        let now = self.exporter.runtime().clock.now().as_nanosecond();
        u64::try_from(now).unwrap_or_default()
    }

    fn span_id(&self) -> [u8; 8] {
        let mut id = [0; 8];
        self.exporter.runtime().random.fill(&mut id);
        // Only zeros are no id.
        id[7] |= u8::from(id == [0; 8]);
        id
    }

    /// Returns a text without the secrets of the operation.
    fn scrub(&self, text: &str) -> String {
        let redactors = self.redactors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = text.to_owned();
        for redactor in &*redactors {
            let scrubbed = redactor.scrub(&text);
            if scrubbed != text.as_str() {
                text = scrubbed.into_owned();
            }
        }
        text
    }
}

impl RunningSpan {
    /// Begins the span of an operation, within that of the caller. `None` where the caller records no spans.
    pub(in crate::telemetry) fn root(
        exporter: &Exporter,
        caller: Option<TraceParent>,
        name: &'static str,
        detail: &'static str,
        attributes: Vec<(&'static str, Attribute)>,
    ) -> Option<Self> {
        if caller.is_some_and(|caller| !caller.is_sampled) {
            return None;
        }
        let id = caller.map_or_else(
            || {
                let mut id = [0; 16];
                exporter.runtime().random.fill(&mut id);
                id[15] |= u8::from(id == [0; 16]);
                id
            },
            |caller| caller.trace,
        );
        let trace = Arc::new(Trace {
            exporter: exporter.clone(),
            id,
            redactors: Mutex::default(),
        });
        let parent = caller.map(|caller| caller.span);
        Some(Self::new(trace, parent, name, detail, false, attributes))
    }

    fn new(
        trace: Arc<Trace>,
        parent: Option<[u8; 8]>,
        name: &'static str,
        detail: &'static str,
        is_client: bool,
        attributes: Vec<(&'static str, Attribute)>,
    ) -> Self {
        Self {
            id: trace.span_id(),
            parent,
            name,
            detail,
            is_client,
            began: trace.now(),
            state: Mutex::new(SpanState {
                attributes,
                ..SpanState::default()
            }),
            trace,
        }
    }

    /// Begins a span within this one. `detail` is the part of its name that depends on the work.
    pub(in crate::telemetry) fn child(
        &self,
        name: &'static str,
        detail: &'static str,
        is_client: bool,
        attributes: Vec<(&'static str, Attribute)>,
    ) -> Self {
        let trace = Arc::clone(&self.trace);
        Self::new(trace, Some(self.id), name, detail, is_client, attributes)
    }

    /// Replaces the secrets of a redactor in all spans of the trace that are not sent yet.
    pub(in crate::telemetry) fn redact_with(&self, redactor: &Redactor) {
        let mut redactors = self
            .trace
            .redactors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        redactors.push(redactor.clone());
    }

    /// Adds an attribute, and marks the span as failed on request.
    pub(in crate::telemetry) fn note(
        &self,
        name: &'static str,
        value: impl Into<Attribute>,
        has_failed: bool,
    ) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.attributes.push((name, value.into()));
        state.has_failed |= has_failed;
    }

    /// Ends the span, once.
    pub(in crate::telemetry) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut state.is_ended, true) {
            return;
        }
        let span = EndedSpan {
            trace: Arc::clone(&self.trace),
            id: self.id,
            parent: self.parent,
            name: self.name,
            detail: self.detail,
            is_client: self.is_client,
            began: self.began,
            ended: self.trace.now().max(self.began),
            attributes: std::mem::take(&mut state.attributes),
            has_failed: state.has_failed,
        };
        drop(state);
        self.trace.exporter.push(span);
    }

    /// Ends the span, and requests that it is sent with those before it.
    pub(in crate::telemetry) fn end_and_send(&self) {
        self.end();
        self.trace.exporter.hurry();
    }
}

impl Drop for RunningSpan {
    fn drop(&mut self) {
        self.end();
    }
}

impl EndedSpan {
    /// Returns the message of the protocol, without the secrets of the operation.
    pub(super) fn message(&self) -> SpanMessage {
        let attributes = self.attributes.iter().map(|(name, value)| match value {
            Attribute::Text(text) => KeyValue::text(name, self.trace.scrub(text)),
            Attribute::Flag(flag) => KeyValue::of(name, ValueKind::Flag(*flag)),
        });
        SpanMessage {
            trace_id: self.trace.id.to_vec(),
            span_id: self.id.to_vec(),
            parent_span_id: self.parent.map(Vec::from).unwrap_or_default(),
            name: format!("{} {}", self.name, self.detail),
            kind: if self.is_client { CLIENT } else { INTERNAL },
            start_time_unix_nano: self.began,
            end_time_unix_nano: self.ended,
            attributes: attributes.collect(),
            status: self.has_failed.then_some(Status { code: ERROR }),
        }
    }
}

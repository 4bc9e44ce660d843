//! The messages of the OpenTelemetry protocol in which spans are exported: those parts of its definitions that are written.

/// The request of an export: `opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

/// The spans of one resource, which in this protocol is the program that made them.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
}

/// A program.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

/// The spans of one library.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<Library>,
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<SpanMessage>,
}

/// A library: `InstrumentationScope`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Library {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

/// A span.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SpanMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    /// 1 is internal, 3 is a client.
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    pub(super) status: Option<Status>,
}

/// The status of a span.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Status {
    /// 2 is an error.
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

/// An attribute.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "ValueKind", tags = "1, 2")]
    pub(super) kind: Option<ValueKind>,
}

/// The kinds of values that are written.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum ValueKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
}

impl KeyValue {
    /// Returns an attribute with a text.
    pub(super) fn text(key: &str, value: impl Into<String>) -> Self {
        Self::of(key, ValueKind::Text(value.into()))
    }

    /// Returns an attribute.
    pub(super) fn of(key: &str, kind: ValueKind) -> Self {
        Self {
            key: key.to_owned(),
            value: Some(AnyValue { kind: Some(kind) }),
        }
    }
}

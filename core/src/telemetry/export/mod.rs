//! The export of spans with the OpenTelemetry protocol (OTLP over HTTP, in its binary form).
//!
//! The crates `opentelemetry` and `tracing-opentelemetry` are not used here, for two reasons. Their spans come from a subscriber of `tracing`, of
//! which a process has one, and which is the host's. And they send a span when it has ended, while secrets that an operation learns later are
//! replaced here in its earlier spans too. A host in Rust can use them with a subscriber of its own.

mod exporter;
mod otlp;
mod span;
mod traceparent;

pub use exporter::Telemetry;
pub(crate) use exporter::{CLOSE_TIMEOUT, Exporter, SpanSender};
pub(super) use span::{Attribute, RunningSpan};
pub(crate) use traceparent::TraceParent;

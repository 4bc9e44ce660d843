//! The export of spans with the OpenTelemetry protocol (OTLP over HTTP, in its binary form).

mod exporter;
mod otlp;
mod span;
mod traceparent;

pub use exporter::Telemetry;
pub(crate) use exporter::{CLOSE_TIMEOUT, Exporter, SpanSender};
pub(super) use span::{Attribute, RunningSpan};
pub(crate) use traceparent::TraceParent;

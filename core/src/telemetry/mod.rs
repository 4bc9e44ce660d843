//! Telemetry: the spans of an operation, of its steps, and of the calls of providers and of the store, and their export; log records for
//! the host's own log.

mod export;
mod log;
mod scope;

pub use export::Telemetry;
pub(crate) use export::{CLOSE_TIMEOUT, Exporter, SpanSender, TraceParent};
pub use log::{LogBatch, LogHub, LogLevel, LogReceiver, LogRecord};
pub(crate) use scope::Scope;

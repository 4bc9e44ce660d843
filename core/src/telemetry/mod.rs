//! Telemetry: the spans of an operation, of its steps, and of the calls of providers and of the store; log records for the host's own log.

mod log;
mod scope;

pub use log::{LogBatch, LogHub, LogLevel, LogReceiver, LogRecord};
pub(crate) use scope::Scope;

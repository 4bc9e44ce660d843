//! The documents of log records.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::{
    error::{Error, Result},
    telemetry::{LogBatch, LogLevel},
};

/// A log record of the engine. Secrets that the engine's operations know are replaced in it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LogRecord")]
pub(super) struct LogRecordDocument<'a> {
    /// The level: `error`, `warn`, `info`, `debug` or `trace`.
    level: &'a str,
    /// The part of the engine, separated by dots: `stackwright.store.file`.
    logger: &'a str,
    /// The message.
    message: &'a str,
    /// The values that belong to the message, as texts.
    #[schemars(with = "BTreeMap<String, String>")]
    fields: Fields<'a>,
    /// When it was made, in seconds since 1970.
    time: f64,
}

/// The values of a record by name, in their order.
struct Fields<'a>(&'a [(&'static str, String)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
    }
}

/// Log records, and how many were dropped before them.
#[derive(Serialize)]
struct BatchDocument<'a> {
    records: Vec<LogRecordDocument<'a>>,
    dropped: u64,
}

/// Writes log records as the text of a JSON object: `records`, and `dropped`, the number of those that were dropped before.
#[must_use]
pub fn log_document(batch: &LogBatch) -> String {
    let records = batch.records.iter().map(|record| LogRecordDocument {
        level: record.level.name(),
        logger: &record.logger,
        message: &record.message,
        fields: Fields(&record.fields),
        time: record.time.as_duration().as_secs_f64(),
    });
    let document = BatchDocument {
        records: records.collect(),
        dropped: batch.dropped,
    };
    serde_json::to_string(&document).unwrap_or_default()
}

/// Reads the level of log records.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a text that names none.
pub fn log_level(name: &str) -> Result<LogLevel> {
    LogLevel::named(name).ok_or_else(|| {
        let names = LogLevel::ALL.map(LogLevel::name).join(", ");
        Error::invalid(format!(
            "the level of log records takes one of {names}, not {name:?}"
        ))
    })
}

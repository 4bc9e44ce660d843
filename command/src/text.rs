//! Forms of what the command writes: documents, times.

use std::io;

use jiff::Timestamp;
use serde::Serialize;
use stackwright::property::json::to_vec_pretty;

use crate::failure::{Failure, Result};

/// The indentation of most documents.
const NARROW: &str = "  ";

/// Returns a document in the form of most commands, without a newline at its end.
pub(crate) fn document(value: &impl Serialize) -> Result<String> {
    utf8(to_vec_pretty(value, NARROW)?)
}

/// Returns JSON as text.
pub(crate) fn utf8(json: Vec<u8>) -> Result<String> {
    String::from_utf8(json).map_err(|_| Failure::new("a document is no text in UTF-8"))
}

/// Returns why a file could not be accessed, without the number of the error.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "not a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// Returns a time in UTC with milliseconds.
pub(crate) fn milliseconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals() {
        let time = Timestamp::from_second(0).unwrap();
        assert_eq!(milliseconds(time), "1970-01-01T00:00:00.000Z");
        let time = Timestamp::from_millisecond(1_732_212_508_974).unwrap();
        assert!(milliseconds(time).ends_with(".974Z"));
    }
}

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

/// The units of times that have passed, in seconds, the largest first.
const UNITS: [(i64, &str); 7] = [
    (31_536_000, "year"),
    (2_592_000, "month"),
    (604_800, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
];

/// Returns how long ago something was: `now`, `1 minute ago`, `3 days ago`.
pub(crate) fn ago(seconds: i64) -> String {
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| seconds >= *unit) else {
        return "now".to_owned();
    };
    match seconds / unit {
        1 => format!("1 {name} ago"),
        count => format!("{count} {name}s ago"),
    }
}

/// Returns a time as `1h2m3s`, without units that would be zero at its begin.
pub(crate) fn duration(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
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

    #[test]
    fn times_that_have_passed_have_one_unit() {
        let shown = [0, 1, 59, 60, 150, 7_200, 90_000, 1_300_000, 9_000_000, 70_000_000].map(ago);
        let expected = [
            "now",
            "1 second ago",
            "59 seconds ago",
            "1 minute ago",
            "2 minutes ago",
            "2 hours ago",
            "1 day ago",
            "2 weeks ago",
            "3 months ago",
            "2 years ago",
        ];
        assert_eq!(shown, expected);
        assert_eq!([0, 65, 3_723].map(duration), ["0s", "1m5s", "1h2m3s"]);
    }
}

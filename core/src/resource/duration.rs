//! Durations as Go writes them: `1h5m30s`, the form of timeouts in the protocol.

use std::fmt::Write as _;

/// Parses a duration such as `1h5m30s` or `-1.5s` into seconds. `None` for a malformed text.
pub(crate) fn parse_seconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    if rest.is_empty() {
        return None;
    }
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut total = 0.0;
    while !rest.is_empty() {
        let number_end = rest.find(|letter| !is_number(letter))?;
        let number: f64 = rest[..number_end].parse().ok()?;
        rest = &rest[number_end..];
        let unit_end = rest.find(is_number).unwrap_or(rest.len());
        // Divided, not multiplied by a fraction: the closest float is the result.
        total += match &rest[..unit_end] {
            "ns" => number / 1e9,
            // The micro sign, and the similar Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => return None,
        };
        rest = &rest[unit_end..];
    }
    Some(sign * total)
}

/// Writes a duration in seconds: `1h5m30s`, `250ms`; empty for none.
pub(crate) fn seconds_text(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return String::new();
    };
    let sign = if seconds < 0.0 { "-" } else { "" };
    // Rounded to nanoseconds; a float holds no more digits.
    let nanos = format!("{:.0}", seconds.abs() * 1e9)
        .parse::<u128>()
        .unwrap_or(u128::MAX);
    let mut text = sign.to_owned();
    let with_fraction = |whole: u128, part: u128, digits: usize| {
        let fraction = format!("{part:0digits$}");
        match fraction.trim_end_matches('0') {
            "" => whole.to_string(),
            fraction => format!("{whole}.{fraction}"),
        }
    };
    match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => text.push_str(&format!("{nanos}ns")),
        1_000..1_000_000 => {
            text.push_str(&with_fraction(nanos / 1_000, nanos % 1_000, 3));
            text.push_str("\u{b5}s");
        }
        1_000_000..1_000_000_000 => {
            text.push_str(&with_fraction(nanos / 1_000_000, nanos % 1_000_000, 6));
            text.push_str("ms");
        }
        _ => {
            let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            let (hours, minutes) = (whole / 3600, whole / 60 % 60);
            if hours > 0 {
                let _ = write!(text, "{hours}h");
            }
            if whole >= 60 {
                let _ = write!(text, "{minutes}m");
            }
            text.push_str(&with_fraction(whole % 60, part, 9));
            text.push('s');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (seconds, text) in [
            (0.0, "0s"),
            (1.5e-9 * 2.0, "3ns"),
            (1.5e-6, "1.5\u{b5}s"),
            (0.25, "250ms"),
            (1.5, "1.5s"),
            (300.0, "5m0s"),
            (3600.0, "1h0m0s"),
            (3930.5, "1h5m30.5s"),
            (-2.0, "-2s"),
        ] {
            assert_eq!(seconds_text(Some(seconds)), text);
            assert_eq!(parse_seconds(text), Some(seconds), "{text}");
        }
        assert_eq!(seconds_text(None), "");
    }
}

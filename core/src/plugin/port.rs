//! The first line that a plugin writes: the port that it listens on.

/// Progress marks that .NET's runner writes even if standard output is not a terminal.
const TERMINAL_SEQUENCES: [&str; 2] = ["\u{1b}]9;4;3;\u{1b}\\", "\u{1b}]9;4;0;\u{1b}\\"];

/// Reads the port.
///
/// # Errors
/// A description of the malformed text.
pub(super) fn parse_port(line: &str) -> Result<u16, String> {
    let mut text = line.to_owned();
    for sequence in TERMINAL_SEQUENCES {
        text = text.replace(sequence, "");
    }
    let text = text.trim();
    match text.parse::<u64>() {
        Ok(port @ 1..=65535) => u16::try_from(port).map_err(|error| error.to_string()),
        Ok(port) => Err(format!("{port} is not between 1 and 65535")),
        Err(_) => Err(format!("{text:?} is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_terminal_sequences_around_the_port_are_ignored() {
        assert_eq!(parse_port("42379\n"), Ok(42379));
        assert_eq!(parse_port(" 1 \r\n"), Ok(1));
        assert_eq!(
            parse_port("\u{1b}]9;4;3;\u{1b}\\\u{1b}]9;4;0;\u{1b}\\65535\n"),
            Ok(65535)
        );
    }

    #[test]
    fn what_is_no_port_is_refused() {
        assert_eq!(parse_port("0\n"), Err("0 is not between 1 and 65535".into()));
        assert_eq!(
            parse_port("65536\n"),
            Err("65536 is not between 1 and 65535".into())
        );
        assert_eq!(parse_port("hello\n"), Err("\"hello\" is not a number".into()));
        assert_eq!(parse_port("\n"), Err("\"\" is not a number".into()));
    }
}

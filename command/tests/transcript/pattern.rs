//! Patterns of lines: text with places for what differs between runs.

/// Returns whether a place stands for a character.
type Admits = fn(char) -> bool;

/// A place in a pattern, and the characters that it stands for.
const PLACES: [(&str, Admits); 5] = [
    ("<time>", |character| {
        character.is_ascii_digit() || "-:.TZ".contains(character)
    }),
    ("<number>", |character| character.is_ascii_digit()),
    ("<seconds>", |character| {
        character.is_ascii_digit() || character == '.'
    }),
    ("<uuid>", |character| {
        character.is_ascii_hexdigit() || character == '-'
    }),
    ("<cipher>", |character| {
        character.is_ascii_alphanumeric() || "+/=:".contains(character)
    }),
];
/// Any rest of a line.
const REST: &str = "...";

/// Returns whether a line has the form of a pattern.
pub(super) fn matches(pattern: &str, line: &str) -> bool {
    if pattern.trim_end() == REST {
        return true;
    }
    let place = PLACES
        .iter()
        .filter_map(|(name, admits)| Some((pattern.find(name)?, name, admits)))
        .min_by_key(|(position, ..)| *position);
    let Some((position, name, admits)) = place else {
        return match pattern.strip_suffix(REST) {
            Some(begin) => line.starts_with(begin),
            None => pattern == line,
        };
    };
    let Some(rest) = line.strip_prefix(&pattern[..position]) else {
        return false;
    };
    let after = &pattern[position + name.len()..];
    let length = rest.find(|character| !admits(character)).unwrap_or(rest.len());
    // The text after a place can begin with characters that the place admits.
    (1..=length)
        .rev()
        .filter(|end| rest.is_char_boundary(*end))
        .any(|end| matches(after, &rest[end..]))
}

#[test]
fn places_stand_for_what_differs_between_runs() {
    assert!(matches(
        "at <time>: <number> x",
        "at 2026-01-02T03:04:05.006Z: 12 x"
    ));
    assert!(matches("v1:<cipher>:end...", "v1:aB+/=:end of it"));
    assert!(matches("::<uuid>\"", "::04da6b54-80e4-46f7-96ec-b56ff0331ba9\""));
    assert!(!matches("<number>", ""));
    assert!(!matches("<number>", "1a"));
    assert!(!matches("a", "b"));
}

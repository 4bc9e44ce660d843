//! Name patterns: text with `${…}` expressions, parsed once and drawn for each resource.

use super::draw::Draw;

const HEX: &[u8] = b"0123456789abcdef";
const ALPHANUM: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const STRING: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const NUM: &[u8] = b"0123456789";
/// Maximum number of random characters in one expression.
const MAX_RANDOM_LENGTH: usize = 1024;

/// A pattern whose stack expressions have been replaced by their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Name,
    Random { alphabet: &'static [u8], count: usize },
    Uuid,
}

impl Pattern {
    /// Returns the pattern `${name}`.
    pub(super) fn verbatim() -> Self {
        Self(vec![Part::Name])
    }

    /// Parses a pattern; `fact` returns the value of `${stack}`, `${config.key}` and similar expressions, `None` for an
    /// unknown one.
    ///
    /// # Errors
    /// A description of the invalid part.
    pub(super) fn parse(
        text: &str,
        fact: impl Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, expression) = (&rest[..start], &rest[start + 2..]);
            let Some(end) = expression.find('}') else {
                return Err(format!("{text:?} has a \"${{\" without \"}}\""));
            };
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let name = &expression[..end];
            parts.push(match Part::drawn(name)? {
                Some(part) => part,
                None => match fact(name)? {
                    Some(value) => Part::Text(value),
                    None => return Err(format!("{text:?} has the unknown expression \"${{{name}}}\"")),
                },
            });
            rest = &expression[end + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if parts.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        Ok(Self(parts))
    }

    /// Returns whether the pattern has random parts, so that two names drawn for one resource can differ.
    pub(super) fn is_random(&self) -> bool {
        let random = |part: &Part| matches!(part, Part::Random { .. } | Part::Uuid);
        self.0.iter().any(random)
    }

    /// Returns the name of the resource `name`; the same seed gives the same name.
    pub(super) fn draw(&self, name: &str, seed: &[u8]) -> String {
        let mut draw = Draw::new(seed);
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Name => out.push_str(name),
                Part::Random { alphabet, count } => draw.characters(alphabet, *count, &mut out),
                Part::Uuid => out.push_str(&draw.uuid().to_string()),
            }
        }
        out
    }
}

impl Part {
    /// Parses an expression that depends on the resource; `None` for any other.
    fn drawn(expression: &str) -> Result<Option<Self>, String> {
        match expression {
            "name" => return Ok(Some(Self::Name)),
            "uuid" => return Ok(Some(Self::Uuid)),
            _ => {}
        }
        let Some((function, argument)) = expression.strip_suffix(')').and_then(|rest| rest.split_once('('))
        else {
            return Ok(None);
        };
        let alphabet = match function {
            "hex" => HEX,
            "alphanum" => ALPHANUM,
            "string" => STRING,
            "num" => NUM,
            _ => return Ok(None),
        };
        match argument.parse() {
            Ok(count @ 1..=MAX_RANDOM_LENGTH) => Ok(Some(Self::Random { alphabet, count })),
            _ => Err(format!(
                "\"${{{expression}}}\" needs a number from 1 to {MAX_RANDOM_LENGTH} in its parentheses"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Pattern, String> {
        Pattern::parse(text, |name| match name {
            "stack" => Ok(Some("dev".to_owned())),
            "config.injected" => Ok(Some("${name}".to_owned())),
            "config.sealed" => Err("it is secret".to_owned()),
            _ => Ok(None),
        })
    }

    #[test]
    fn expressions_between_texts_are_replaced() {
        let pattern = parse("x-${name}-${stack}-$5-{}").unwrap();
        assert_eq!(pattern.draw("bucket", b"seed"), "x-bucket-dev-$5-{}");
        assert!(!pattern.is_random());
    }

    #[test]
    fn random_parts_have_their_length_and_alphabet_and_follow_from_the_seed() {
        let pattern = parse("${hex(7)}|${alphanum(20)}|${string(9)}|${num(3)}|${uuid}").unwrap();
        assert!(pattern.is_random());
        let name = pattern.draw("bucket", b"seed");
        let parts: Vec<_> = name.split('|').collect();
        let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [7, 20, 9, 3, 36], "{name}");
        for (part, alphabet) in parts.iter().zip([HEX, ALPHANUM, STRING, NUM]) {
            assert!(part.bytes().all(|byte| alphabet.contains(&byte)), "{part}");
        }
        assert_eq!(name, pattern.draw("bucket", b"seed"));
        assert_ne!(name, pattern.draw("bucket", b"feed"));
    }

    #[test]
    fn replaced_expressions_are_not_parsed_again() {
        let pattern = parse("${config.injected}").unwrap();
        assert_eq!(pattern.draw("bucket", b""), "${name}");
    }

    #[test]
    fn invalid_patterns_are_refused_with_the_invalid_part() {
        for (text, expected) in [
            ("", "empty"),
            ("${name", "without \"}\""),
            ("${nmae}", "unknown expression \"${nmae}\""),
            ("${hex(0)}", "\"${hex(0)}\" needs a number from 1 to 1024"),
            ("${num()}", "\"${num()}\" needs a number"),
            ("${string(1025)}", "needs a number"),
            ("${shout(3)}", "unknown expression \"${shout(3)}\""),
            ("${config.sealed}", "it is secret"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

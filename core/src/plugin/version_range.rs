//! Version ranges, of the engine or of plugins: conjunctions of comparisons, joined by `||`.
//!
//! The notation is that of the SDKs' `requirePulumiVersion`: `=`, `==`, `!`, `!=`, `>`, `>=`, `<` and `<=` before a
//! whole version, an equality without an operator, and `x` for arbitrary numbers (`3.x`, `>=3.5.x`).
//! Pre-releases are compared like any other version.

use semver::Version;

use crate::message::{Message, Text};

/// A range of versions: `=`, `==`, `!`, `!=`, `>`, `>=`, `<` and `<=` before a version, an equality without an operator, and `x`
/// for arbitrary numbers (`3.x`, `>=3.5.x`). Spaces separate comparisons that must all hold, and `||` alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRange(Vec<Vec<Comparison>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    /// The lowest version that the operand matches.
    from: Version,
    /// The lowest version above the operand's range.
    until: Option<Version>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// The operators, longer ones first.
const OPERATORS: [(&str, Operator); 8] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    (">=", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=", Operator::Equal),
    ("!", Operator::Unequal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

impl VersionRange {
    /// Reads a range.
    ///
    /// # Errors
    /// A text that names the invalid part.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split("||").map(set).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether the range has the version.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        let holds = |set: &Vec<Comparison>| set.iter().all(|comparison| comparison.holds(version));
        self.0.iter().any(holds)
    }

    /// Checks that a range has the version of the reference engine with which this one is compatible, see
    /// [`crate::COMPATIBLE_VERSION`].
    ///
    /// # Errors
    /// A text that names the invalid part; in the inner result, the text that states both versions.
    pub fn check_compatible(text: &str) -> Result<Result<(), Text>, String> {
        let range = Self::parse(text)?;
        let version = crate::COMPATIBLE_VERSION.trim_start_matches('v');
        let parsed = Version::parse(version).map_err(|error| error.to_string())?;
        Ok(match range.contains(&parsed) {
            true => Ok(()),
            false => Err(Text::from(Message::VersionNotSatisfied { version, range: text })),
        })
    }
}

/// Reads comparisons that must all hold; spaces separate them, and may follow an operator.
fn set(text: &str) -> Result<Vec<Comparison>, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("a part of it is empty".to_owned());
    }
    let mut set = Vec::new();
    while !rest.is_empty() {
        let written = OPERATORS
            .into_iter()
            .find_map(|(sign, operator)| Some((operator, rest.strip_prefix(sign)?)));
        let (operator, operand) = written.unwrap_or((Operator::Equal, rest));
        let operand = operand.trim_start();
        let end = operand
            .find(|letter: char| letter.is_whitespace() || "=!<>".contains(letter))
            .unwrap_or(operand.len());
        set.push(Comparison::new(operator, &operand[..end])?);
        rest = operand[end..].trim_start();
    }
    Ok(set)
}

impl Comparison {
    fn new(operator: Operator, operand: &str) -> Result<Self, String> {
        if let Some((from, until)) = wildcard(operand) {
            return Ok(Self {
                operator,
                from,
                until: Some(until),
            });
        }
        Ok(Self {
            operator,
            from: Version::parse(operand).map_err(|error| format!("{operand:?} is no version: {error}"))?,
            until: None,
        })
    }

    fn holds(&self, version: &Version) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        // The position of a version relative to the range of the operand.
        let place = match (version.cmp_precedence(&self.from), &self.until) {
            (Less, _) => Less,
            (place, None) => place,
            (_, Some(until)) if version.cmp_precedence(until) == Less => Equal,
            (_, Some(_)) => Greater,
        };
        match self.operator {
            Operator::Equal => place == Equal,
            Operator::Unequal => place != Equal,
            Operator::Greater => place == Greater,
            Operator::GreaterOrEqual => place != Less,
            Operator::Less => place == Less,
            Operator::LessOrEqual => place != Greater,
        }
    }
}

/// Returns the lowest version that an operand such as `3.x` or `3.1.x` matches, and the lowest above its range.
fn wildcard(operand: &str) -> Option<(Version, Version)> {
    let (major, rest) = operand.split_once('.')?;
    let major: u64 = major.parse().ok()?;
    if matches!(rest, "x" | "x.x") {
        let until = Version::new(major.checked_add(1)?, 0, 0);
        return Some((Version::new(major, 0, 0), until));
    }
    let minor: u64 = rest.strip_suffix(".x")?.parse().ok()?;
    let until = Version::new(major, minor.checked_add(1)?, 0);
    Some((Version::new(major, minor, 0), until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_versions_that_all_comparisons_of_one_set_hold_for() {
        for (range, inside, outside) in [
            ("3.100.0", "3.100.0", "3.100.1"),
            ("=3.1.0", "3.1.0", "3.2.0"),
            ("==3.1.0", "3.1.0", "3.0.9"),
            ("!3.1.2", "3.1.3", "3.1.2"),
            ("!=3.1.2", "3.1.1", "3.1.2"),
            (">3.0.0", "3.0.1", "3.0.0"),
            (">=3.0.0", "3.0.0", "2.9.9"),
            (">= 3.0.0", "3.0.0", "2.9.9"),
            ("<3.0.0", "2.9.9", "3.0.0"),
            ("<= 3.0.0", "3.0.0", "3.0.1"),
            (">=3.5.0 !3.7.7", "3.7.8", "3.7.7"),
            (">=3.5.0 !3.7.7", "3.5.0", "3.4.9"),
            (">=3.5.0!3.7.7<4.0.0", "3.9.0", "4.0.0"),
            ("<1.0.0 || >=2.0.0", "2.0.0", "1.5.0"),
            ("<1.0.0||>=2.0.0", "0.9.0", "1.0.0"),
            ("3.x", "3.260.0", "4.0.0"),
            ("3.x.x", "3.0.0", "2.260.0"),
            ("3.4.x", "3.4.9", "3.5.0"),
            ("!3.4.x", "3.5.0", "3.4.1"),
            (">3.4.x", "3.5.0", "3.4.9"),
            (">=3.4.x", "3.4.0", "3.3.9"),
            ("<3.4.x", "3.3.9", "3.4.0"),
            ("<=3.x", "3.99.0", "4.0.0"),
            (">3.0.0-alpha", "3.0.0-beta", "3.0.0-alpha"),
            ("<3.0.0", "3.0.0-rc.1", "3.0.0"),
        ] {
            let parsed = VersionRange::parse(range).unwrap();
            assert!(
                parsed.contains(&Version::parse(inside).unwrap()),
                "{range} has {inside}"
            );
            assert!(
                !parsed.contains(&Version::parse(outside).unwrap()),
                "{range} has no {outside}"
            );
        }
    }

    #[test]
    fn malformed_ranges_are_refused_with_the_invalid_part() {
        for (text, part) in [
            ("", "empty"),
            (">=3.0.0 ||", "empty"),
            (">=3.0", "\"3.0\""),
            ("^3.0.0", "\"^3.0.0\""),
            ("~3.0.0", "\"~3.0.0\""),
            (">=", "\"\""),
            ("newest", "\"newest\""),
            ("x", "\"x\""),
            ("3.x.1", "\"3.x.1\""),
            ("18446744073709551615.x", "18446744073709551615.x"),
        ] {
            let error = VersionRange::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

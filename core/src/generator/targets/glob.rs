//! Globs over URNs: `*` matches any text within one part of a URN, `**` any text.

/// A pattern with at least one `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    /// The text before the first star.
    prefix: Box<str>,
    /// Each star, with the text up to the next one.
    rest: Vec<(Star, Box<str>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Star {
    /// Does not match a colon.
    Part,
    /// Matches any text.
    All,
}

impl Glob {
    /// Parses a pattern; `None` for a text without a star, which is a literal.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (prefix, mut text) = text.split_at(text.find('*')?);
        let mut rest = Vec::new();
        while let Some(after) = text.strip_prefix('*') {
            let (star, after) = match after.strip_prefix('*') {
                Some(after) => (Star::All, after),
                None => (Star::Part, after),
            };
            let (literal, others) = after.split_at(after.find('*').unwrap_or(after.len()));
            rest.push((star, literal.into()));
            text = others;
        }
        Some(Self {
            prefix: prefix.into(),
            rest,
        })
    }

    /// Returns whether the pattern matches all of `text`. Takes one pass over the text for each star.
    pub(super) fn matches(&self, text: &str) -> bool {
        let text = text.as_bytes();
        if !text.starts_with(self.prefix.as_bytes()) {
            return false;
        }
        // The possible beginnings of the next part: several at once, so that no match is tried twice.
        let mut places = vec![false; text.len() + 1];
        places[self.prefix.len()] = true;
        for (star, literal) in &self.rest {
            let literal = literal.as_bytes();
            let mut next = vec![false; text.len() + 1];
            let mut open = false;
            for place in 0..=text.len() {
                open |= places[place];
                if open && text[place..].starts_with(literal) {
                    next[place + literal.len()] = true;
                }
                if *star == Star::Part && text.get(place) == Some(&b':') {
                    open = false;
                }
            }
            places = next;
        }
        places[text.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URN: &str = "urn:pulumi:dev::shop::pkg:index:Type::name";

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn a_text_without_a_star_is_no_pattern() {
        assert_eq!(Glob::parse(URN), None);
        assert_eq!(Glob::parse(""), None);
    }

    #[test]
    fn one_star_stays_within_a_part_of_the_urn() {
        assert!(matches("urn:pulumi:dev::shop::pkg:index:Type::*", URN));
        assert!(matches("urn:pulumi:*::shop::pkg:*:Type::na*", URN));
        assert!(matches("urn:pulumi:dev::shop::pkg:index:Type::name*", URN));
        assert!(!matches("urn:pulumi:dev::shop::pkg:*::name", URN));
        assert!(!matches("*name", URN));
        assert!(!matches(
            "urn:pulumi:dev::shop::pkg:index:Type::*",
            &format!("{URN}::more")
        ));
    }

    #[test]
    fn two_stars_go_past_everything() {
        assert!(matches("**", URN));
        assert!(matches("**", ""));
        assert!(matches("**name", URN));
        assert!(matches("urn:**::name", URN));
        assert!(!matches("urn:**::other", URN));
        assert!(matches("**:pkg:*:Type::**", URN));
    }

    #[test]
    fn the_whole_text_has_to_be_covered() {
        assert!(!matches("pulumi:**", URN));
        assert!(!matches("**::nam", URN));
    }

    #[test]
    fn what_other_patterns_treat_specially_means_itself() {
        assert!(matches("a.b[$]*", "a.b[$]c"));
        assert!(!matches("a.b*", "axb"));
        assert!(!matches("a?*", "ab"));
    }

    #[test]
    fn a_third_star_in_a_row_adds_nothing() {
        assert!(matches("urn:***", URN));
    }

    #[test]
    fn many_stars_are_found_in_a_long_text_without_trying_every_way() {
        let pattern = "*a".repeat(40);
        assert!(!matches(
            &pattern,
            &"a".repeat(20_000)[..].replace("aaaa", "aaab")
        ));
        assert!(matches(&pattern, &"a".repeat(2_000)));
    }

    #[test]
    fn names_of_any_language_are_matched_as_a_whole() {
        assert!(matches("*ß::*", "straß::ö"));
        assert!(!matches("*ü", "straße"));
    }
}

//! The configuration of a repository: sections with keys, of which the URL of the remote `origin` is read.

use std::{collections::BTreeMap, str::Lines};

/// The section, the subsection and the keys of the URL. The second key counts where there is none of the first.
const REMOTE: &str = "remote";
const ORIGIN: &str = "origin";
const URL: &str = "url";
const PUSH_URL: &str = "pushurl";
/// The section of what replaces the begin of URLs, and the key of the begin.
const BASE: &str = "url";
const INSTEAD_OF: &str = "insteadof";

/// A section, as far as it matters here.
enum Section {
    /// The remote `origin`.
    Origin,
    /// What replaces the begin of URLs.
    Base(String),
    Other,
}

impl Section {
    fn new(name: &str, subsection: String) -> Self {
        if name.eq_ignore_ascii_case(REMOTE) && subsection == ORIGIN {
            return Self::Origin;
        }
        match name.eq_ignore_ascii_case(BASE) && !subsection.is_empty() {
            true => Self::Base(subsection),
            false => Self::Other,
        }
    }
}

/// What is read of a configuration.
#[derive(Default)]
struct Origin {
    url: Option<String>,
    push_url: Option<String>,
    /// The begins of URLs by what replaces them. One without a begin is empty, and replaces that of any URL.
    bases: BTreeMap<String, String>,
}

impl Origin {
    fn begin(&mut self, section: &Section) {
        if let Section::Base(base) = section {
            self.bases.entry(base.clone()).or_default();
        }
    }

    /// Adds a value: the first URL counts, and the last begin of each base.
    fn add(&mut self, section: &Section, key: &str, value: String) {
        match section {
            Section::Origin if key.eq_ignore_ascii_case(URL) => {
                self.url.get_or_insert(value);
            }
            Section::Origin if key.eq_ignore_ascii_case(PUSH_URL) => {
                self.push_url.get_or_insert(value);
            }
            Section::Base(base) if key.eq_ignore_ascii_case(INSTEAD_OF) => {
                self.bases.insert(base.clone(), value);
            }
            Section::Origin | Section::Base(_) | Section::Other => {}
        }
    }

    /// Returns the URL, whose longest begin is replaced.
    fn replaced(self) -> Option<String> {
        let url = self.url.or(self.push_url)?;
        let bases = self.bases.iter();
        let matching =
            bases.filter_map(|(base, begin)| url.strip_prefix(begin.as_str()).map(|rest| (base, rest)));
        match matching.min_by_key(|(_, rest)| rest.len()) {
            Some((base, rest)) => Some(format!("{base}{rest}")),
            None => Some(url),
        }
    }
}

/// Returns the first URL of the remote `origin`; `None` where the text is malformed.
pub(super) fn origin(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let mut found = Origin::default();
    let mut current = Section::Other;
    while let Some(line) = lines.next() {
        let mut line = line.trim_start();
        if let Some(header) = line.strip_prefix('[') {
            (current, line) = section(header)?;
            found.begin(&current);
        }
        let line = line.trim_start();
        if line.starts_with(['#', ';']) {
            continue;
        }
        let Some((key, start)) = line.split_once('=') else {
            continue;
        };
        // Also those of other keys, because they can have several lines.
        let value = value(start, &mut lines)?;
        found.add(&current, key.trim(), value);
    }
    found.replaced()
}

/// Parses the rest of a section's header, and returns the section, and what follows in the line.
fn section(header: &str) -> Option<(Section, &str)> {
    let end = header.find(['"', ']'])?;
    let (name, rest) = header.split_at(end);
    if let Some(rest) = rest.strip_prefix(']') {
        // The former form, in which both names ignore the case.
        let (name, subsection) = name.trim().split_once('.').unwrap_or((name.trim(), ""));
        return Some((Section::new(name, subsection.to_ascii_lowercase()), rest));
    }
    let mut characters = rest.get(1..)?.chars();
    let mut subsection = String::new();
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => subsection.push(characters.next()?),
            other => subsection.push(other),
        }
    }
    let rest = characters.as_str().trim_start().strip_prefix(']')?;
    Some((Section::new(name.trim(), subsection), rest))
}

/// Parses a value, which goes on in the next line after a backslash.
fn value(start: &str, lines: &mut Lines<'_>) -> Option<String> {
    let mut value = String::new();
    // How much of the value stays when spaces at its end are removed.
    let mut kept = 0;
    let mut is_quoted = false;
    let mut characters = start.trim_start().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match characters.next() {
                Some(escaped) => {
                    value.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'b' => '\u{8}',
                        '"' | '\\' => escaped,
                        _ => return None,
                    });
                    kept = value.len();
                }
                None => characters = lines.next()?.chars(),
            },
            other => {
                value.push(other);
                if is_quoted || !other.is_whitespace() {
                    kept = value.len();
                }
            }
        }
    }
    value.truncate(kept);
    (!is_quoted).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_url_of_the_remote_is_read() {
        for text in [
            "[core]\n\tbare = false\n[remote \"origin\"]\n\tfetch = +refs\n\turl = u\n\turl = v\n",
            "[remote \"other\"]\nurl=v\n[Remote \"origin\"]\nURL=u",
            "[remote \"origin\"] url = \"u\" # a comment",
            "[remote.Origin]\r\nurl = u ; a comment\r\n",
            "[remote \"ori\\gin\"]\n# url = v\nurl = \\\n  u  \n",
            "[remote \"origin\"]\nfetch = a \\\nurl = v\nurl = u\n",
            "[remote \"origin\"]\nprune\nurl = u\n",
            "[remote \"origin\"]\npushurl = u\n",
            "[remote \"origin\"]\npushurl = v\nurl = u\n",
        ] {
            let found = origin(text);
            assert_eq!(found.as_deref().map(str::trim), Some("u"), "{text}");
        }
        assert_eq!(
            origin("[remote \"origin\"]\nurl = \"a\\\\b \" c\n"),
            Some("a\\b  c".to_owned())
        );
    }

    #[test]
    fn the_longest_begin_of_the_url_is_replaced() {
        let remote = "[remote \"origin\"]\nurl = https://a.example/o/r\n";
        for (rules, expected) in [
            ("", "https://a.example/o/r"),
            ("[url \"x:\"]\ninsteadOf = other\n", "https://a.example/o/r"),
            ("[url \"git@b:\"]\ninsteadOf = https://a.example/\n", "git@b:o/r"),
            (
                "[url \"x:\"]\ninsteadOf = https://\n[URL \"y:\"]\nINSTEADOF = https://a.example/o/\n[url \"z:\"]\ninsteadOf = https://a\n",
                "y:r",
            ),
            // The last begin of a base counts.
            (
                "[url \"x:\"]\ninsteadOf = https:\ninsteadOf = other\n[url \"x:\"]\n",
                "https://a.example/o/r",
            ),
            (
                "[url \"x:\"]\npushInsteadOf = https:\n",
                "x:https://a.example/o/r",
            ),
        ] {
            for text in [format!("{remote}{rules}"), format!("{rules}{remote}")] {
                assert_eq!(origin(&text).as_deref(), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn what_is_malformed_or_of_another_remote_is_absent() {
        for text in [
            "",
            "url = u",
            "[remote \"Origin\"]\nurl = u",
            "[remote]\nurl = u",
            "[branch \"origin\"]\nurl = u",
            "[remote \"origin\nurl = u",
            "[remote \"origin\"\nurl = u",
            "[remote \"origin\"]\nurl = \"u",
            "[remote \"origin\"]\nurl = u\\",
            "[remote \"origin\"]\nurl = \\q",
            "[remote \"origin\"]\n[other]\nurl = u",
            "[remote \"origin\"]\nurl = u\n[other \"",
        ] {
            assert_eq!(origin(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[\\[\\]\"\\\\=#;.a-c \n]{0,40}", other: String) {
            origin(&text);
            origin(&format!("[remote \"origin\"]\nurl={text}"));
            origin(&other);
        }
    }
}

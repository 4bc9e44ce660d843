//! The configuration of a repository: sections with keys, of which the URL of the remote `origin` is read.

use std::str::Lines;

/// The section, the subsection and the key of the URL.
const SECTION: &str = "remote";
const REMOTE: &str = "origin";
const KEY: &str = "url";

/// Returns the first URL of the remote `origin`, as far as the text is well formed.
pub(super) fn origin(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let mut is_origin = false;
    while let Some(line) = lines.next() {
        let mut line = line.trim_start();
        if let Some(header) = line.strip_prefix('[') {
            (is_origin, line) = section(header)?;
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
        if is_origin && key.trim().eq_ignore_ascii_case(KEY) {
            return Some(value);
        }
    }
    None
}

/// Parses the rest of a section's header, and returns whether it is that of `origin`, and what follows in the line.
fn section(header: &str) -> Option<(bool, &str)> {
    let end = header.find(['"', ']'])?;
    let (name, rest) = header.split_at(end);
    if let Some(rest) = rest.strip_prefix(']') {
        // The former form, in which both names ignore the case.
        let is_origin = name
            .trim()
            .split_once('.')
            .is_some_and(|(section, remote)| is_remote(section) && remote.eq_ignore_ascii_case(REMOTE));
        return Some((is_origin, rest));
    }
    let mut characters = rest.get(1..)?.chars();
    let mut remote = String::new();
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => remote.push(characters.next()?),
            other => remote.push(other),
        }
    }
    let rest = characters.as_str().trim_start().strip_prefix(']')?;
    Some((is_remote(name.trim()) && remote == REMOTE, rest))
}

fn is_remote(section: &str) -> bool {
    section.eq_ignore_ascii_case(SECTION)
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

//! Commits: who wrote and committed them, and the first line of their message.

/// A person, as a commit names it. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) email: String,
}

impl Person {
    /// Parses `<name> <<email>> <time>`.
    fn parse(line: &[u8]) -> Self {
        let place = |wanted: u8| line.iter().rposition(|byte| *byte == wanted);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let parts = || {
            let (open, close) = (place(b'<')?, place(b'>')?);
            Some((line.get(..open)?, line.get(open + 1..close)?))
        };
        parts().map_or_else(Self::default, |(name, email)| Self {
            name: text(name.trim_ascii()),
            email: text(email),
        })
    }
}

/// What is kept of a commit. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) author: Person,
    pub(crate) committer: Person,
    /// The first line of the message.
    pub(crate) title: String,
}

impl Commit {
    /// Parses the object of a commit: lines, an empty one, and the message.
    pub(super) fn parse(object: &[u8]) -> Self {
        let mut commit = Self::default();
        let mut rest = object;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after.get(1..).unwrap_or_default();
            if line.is_empty() {
                break;
            }
            if let Some(line) = line.strip_prefix(b"author ") {
                commit.author = Person::parse(line);
            } else if let Some(line) = line.strip_prefix(b"committer ") {
                commit.committer = Person::parse(line);
            }
        }
        let message = String::from_utf8_lossy(rest);
        let title = message.trim().split(['\r', '\n']).next();
        commit.title = title.unwrap_or_default().to_owned();
        commit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn person(name: &str, email: &str) -> Person {
        Person {
            name: name.to_owned(),
            email: email.to_owned(),
        }
    }

    #[test]
    fn a_commit_has_two_persons_and_a_title() {
        let object = "tree 1\nparent 2\nauthor A. N. Other <a@example.com> 1 +0000\ncommitter Robot <> 2 +0000\n\
                      gpgsig -----BEGIN\n author no <no> 1\n \n end\n\n\n Title \u{7}x \n\nauthor b <c> 3\n";
        let commit = Commit::parse(object.as_bytes());
        assert_eq!(commit.author, person("A. N. Other", "a@example.com"));
        assert_eq!(commit.committer, person("Robot", ""));
        assert_eq!(commit.title, "Title \u{7}x ");
    }

    #[test]
    fn persons_are_taken_from_the_last_brackets() {
        assert_eq!(Person::parse(b"a <b> <c> 1"), person("a <b>", "c"));
        assert_eq!(Person::parse(b"<c>"), person("", "c"));
        for malformed in ["", "a", "a <b", "a b>", "a > b <"] {
            assert_eq!(
                Person::parse(malformed.as_bytes()),
                Person::default(),
                "{malformed}"
            );
        }
    }

    #[test]
    fn a_title_ends_at_either_kind_of_newline() {
        let title = |message: &str| Commit::parse(format!("tree 1\n\n{message}").as_bytes()).title;
        assert_eq!(title("a\r\nb"), "a");
        assert_eq!(title("a\rb"), "a");
        assert_eq!(title(""), "");
        assert_eq!(Commit::parse(b"tree 1"), Commit::default());
        assert_eq!(Commit::parse(b"a\n\n\xff\n").title, "\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_commit(bytes: Vec<u8>) {
            Commit::parse(&bytes);
            Commit::parse(&[b"author ", &bytes[..]].concat());
        }
    }
}

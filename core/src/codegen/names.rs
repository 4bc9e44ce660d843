//! Variables: valid identifiers for names of resources, each used once.

use rustc_hash::FxHashSet;

/// The form of identifiers in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// `snake_case`: Python, Rust and C.
    Snake,
    /// `camelCase`: TypeScript.
    Camel,
}

/// The identifiers of a program.
pub(super) struct Identifiers {
    case: Case,
    taken: FxHashSet<String>,
}

impl Identifiers {
    /// Creates an empty set; identifiers of `reserved` are never given.
    pub(super) fn new(case: Case, reserved: &[&str]) -> Self {
        let taken = reserved.iter().map(|word| (*word).to_owned()).collect();
        Self { case, taken }
    }

    /// Returns an identifier for a name; where it is taken, with a number.
    pub(super) fn take(&mut self, name: &str) -> String {
        let base = identifier(name, self.case);
        let mut identifier = base.clone();
        let mut count = 2_usize;
        while self.taken.contains(&identifier) {
            identifier = format!("{base}_{count}");
            count += 1;
        }
        self.taken.insert(identifier.clone());
        identifier
    }
}

/// Returns a name as an identifier.
pub(super) fn identifier(name: &str, case: Case) -> String {
    let words = words(name);
    let joined = match case {
        Case::Snake => words.join("_"),
        Case::Camel => words
            .iter()
            .enumerate()
            .map(|(index, word)| {
                if index == 0 {
                    word.clone()
                } else {
                    capitalized(word)
                }
            })
            .collect(),
    };
    match joined.chars().next() {
        None => "resource".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("resource_{joined}"),
        Some(_) => joined,
    }
}

pub(super) fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + characters.as_str())
        .unwrap_or_default()
}

/// Splits a name into words of ASCII letters and digits, in lower case: at other characters, and before capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let characters: Vec<char> = name.chars().collect();
    for (index, character) in characters.iter().enumerate() {
        if !character.is_ascii_alphanumeric() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| characters.get(before));
        let after_lower = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        let ends_acronym = before.is_some_and(char::is_ascii_uppercase)
            && characters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if character.is_ascii_uppercase() && (after_lower || ends_acronym) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        word.push(character.to_ascii_lowercase());
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        let table = [
            ("web", "web", "web"),
            ("my-bucket.v2", "my_bucket_v2", "myBucketV2"),
            ("myBucket", "my_bucket", "myBucket"),
            ("HTTPServer", "http_server", "httpServer"),
            ("1st", "resource_1st", "resource_1st"),
            ("größe", "gr_e", "grE"),
            ("🦀", "resource", "resource"),
            ("", "resource", "resource"),
            ("a::b", "a_b", "aB"),
        ];
        for (name, snake, camel) in table {
            assert_eq!(identifier(name, Case::Snake), snake, "{name}");
            assert_eq!(identifier(name, Case::Camel), camel, "{name}");
        }
    }

    #[test]
    fn an_identifier_is_given_once_and_never_a_reserved_word() {
        let mut identifiers = Identifiers::new(Case::Snake, &["class", "web_2"]);
        let given = ["web", "web", "WEB", "class", "class"].map(|name| identifiers.take(name));
        assert_eq!(given, ["web", "web_3", "web_4", "class_2", "class_3"]);
    }
}

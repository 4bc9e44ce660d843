//! The pairs that are worth a comparison: those that share a key that few others have.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    forest::{Node, relative_name},
    inputs::hash_of,
};

/// How many pairs the resources of one type can have that are all compared.
pub(super) const MAX_PAIRS_OF_TYPE: usize = 4096;
/// How many pairs the resources with one other key can have that are compared.
pub(super) const MAX_PAIRS_OF_KEY: usize = 256;

/// A record that has no partner yet.
pub(super) struct Open<'n, 'a> {
    pub(super) place: usize,
    pub(super) node: &'n Node<'a>,
    /// The pair of its parent, with that one's name on its side.
    pub(super) below: Option<(usize, &'n str)>,
    /// The name of its highest ancestor that has a pair, as all between have.
    pub(super) topmost: Option<&'n str>,
}

/// The resources with one key.
#[derive(Default)]
struct Sharing {
    olds: Vec<usize>,
    news: Vec<usize>,
    limit: usize,
}

/// The kinds of keys.
#[derive(Hash)]
enum Kind {
    Type,
    Fingerprint,
    Name,
    Word,
    WithoutFirstWord,
    WithoutLastWord,
    NameInPackage,
    FingerprintInPackage,
    TypeBelow,
    NameBelow,
}

/// Returns the pairs of positions in `olds` and `news` to compare, each once.
pub(super) fn candidates(olds: &[Open<'_, '_>], news: &[Open<'_, '_>]) -> Vec<(usize, usize)> {
    let mut index: FxHashMap<u64, Sharing> = FxHashMap::default();
    for open in olds {
        for (key, limit) in keys(open) {
            let sharing = index.entry(key).or_default();
            sharing.limit = limit;
            sharing.olds.push(open.place);
        }
    }
    for open in news {
        for (key, _) in keys(open) {
            // A key that no deletion has finds nothing.
            if let Some(sharing) = index.get_mut(&key) {
                sharing.news.push(open.place);
            }
        }
    }
    let mut seen = FxHashSet::default();
    let mut pairs = Vec::new();
    for sharing in index.into_values() {
        if sharing.olds.len() * sharing.news.len() > sharing.limit {
            continue;
        }
        for old in &sharing.olds {
            let pairs_of_old = sharing.news.iter().map(|new| (*old, *new));
            pairs.extend(pairs_of_old.filter(|pair| seen.insert(*pair)));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Returns the keys of a resource, without repetition, each with the limit of its pairs.
fn keys(open: &Open<'_, '_>) -> Vec<(u64, usize)> {
    let node = open.node;
    let (custom, of_type) = (node.state.custom, node.state.resource_type.as_str());
    let name = node.name();
    let words = words(name);
    let key =
        |kind: Kind, part: &dyn Fn() -> u64| (hash_of(&(kind, custom, of_type, part())), MAX_PAIRS_OF_KEY);
    let mut keys = vec![
        (hash_of(&(Kind::Type, custom, of_type)), MAX_PAIRS_OF_TYPE),
        key(Kind::Name, &|| hash_of(&name)),
    ];
    if let Some(fingerprint) = node.fingerprint {
        keys.push(key(Kind::Fingerprint, &|| fingerprint));
        // Of components, everything below can be equal although type and name are not.
        if !custom && !node.children.is_empty() {
            let package = node.state.resource_type.package();
            let of_package = hash_of(&(Kind::FingerprintInPackage, package, fingerprint));
            keys.push((of_package, MAX_PAIRS_OF_KEY));
        }
    }
    keys.extend(words.iter().map(|word| key(Kind::Word, &|| hash_of(word))));
    if let [_, rest @ ..] = &*words
        && rest.len() > 1
    {
        keys.push(key(Kind::WithoutFirstWord, &|| hash_of(&rest)));
    }
    if let [rest @ .., _] = &*words
        && rest.len() > 1
    {
        keys.push(key(Kind::WithoutLastWord, &|| hash_of(&rest)));
    }
    let package = node.state.resource_type.package();
    keys.push((
        hash_of(&(Kind::NameInPackage, custom, package, name)),
        MAX_PAIRS_OF_KEY,
    ));
    if let Some((pair, parent)) = open.below {
        let relative = relative_name(name, parent);
        keys.push(key(Kind::TypeBelow, &|| hash_of(&pair)));
        let of_name = hash_of(&(Kind::NameBelow, custom, package, pair, relative));
        keys.push((of_name, MAX_PAIRS_OF_KEY));
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// How many words of a name are keys.
const MAX_WORDS: usize = 8;

/// Returns the words of a name in lower case: `logBucket-17` has `log`, `bucket` and `17`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    for letter in name.chars() {
        let starts = before.is_some_and(|before: char| {
            before.is_numeric() != letter.is_numeric() || (before.is_lowercase() && letter.is_uppercase())
        });
        if starts || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.retain(|word| !word.is_empty());
    words.truncate(MAX_WORDS);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_words_by_case_digits_and_separators() {
        for (name, expected) in [
            ("logBucket-17", &["log", "bucket", "17"][..]),
            ("web_1", &["web", "1"]),
            ("item42", &["item", "42"]),
            ("--", &[]),
            ("", &[]),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }
}

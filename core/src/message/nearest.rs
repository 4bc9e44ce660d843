//! Names that a misspelt one may stand for.

use rustc_hash::FxHashSet;

use super::distance;

/// Returns at most `count` of the known names that are similar to `name`, the nearest first, equally near ones in the given
/// order: those within an edit distance
/// (ignoring case) of a quarter of its length, and of 2 at least.
#[must_use]
pub fn nearest_names<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let limit = (name.chars().count() / 4).max(2);
    let mut seen = FxHashSet::default();
    let near = known.into_iter().filter_map(|other| {
        // The lengths alone rule out most names.
        let is_close = other.len().abs_diff(name.len()) <= limit * 4 && seen.insert(other);
        // A common beginning changes no distance, and is most of a URN.
        let distance = is_close.then(|| {
            let equal = common_beginning(name, other);
            distance(&name[equal..], &other[equal..])
        })?;
        (distance <= limit).then_some((distance, other))
    });
    let mut near: Vec<_> = near.collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(count).map(|(_, other)| other).collect()
}

/// Returns at most `count` of the known URNs that are similar to `urn`: first those of the same type and name below other parents, and
/// then those of [`nearest_names`].
#[must_use]
pub(crate) fn nearest_urns<'a>(
    urn: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    count: usize,
) -> Vec<&'a str> {
    let own = type_and_name(urn);
    let mut near: Vec<&str> = Vec::new();
    for other in known.clone() {
        if near.len() < count && own.is_some() && type_and_name(other) == own && !near.contains(&other) {
            near.push(other);
        }
    }
    let similar = nearest_names(urn, known, count);
    let others: Vec<_> = similar
        .into_iter()
        .filter(|other| !near.contains(other))
        .collect();
    near.into_iter().chain(others).take(count).collect()
}

/// Returns the type of a URN, without those of its parents, and the name.
fn type_and_name(urn: &str) -> Option<(&str, &str)> {
    let mut parts = urn.strip_prefix("urn:pulumi:")?.splitn(3, "::");
    let qualified = parts.nth(2)?;
    let (types, name) = qualified.split_once("::")?;
    Some((types.rsplit('$').next()?, name))
}

/// Returns the length in bytes of the beginning that both texts have.
fn common_beginning(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs
        .take_while(|(one, other)| one == other)
        .map(|(character, _)| character.len_utf8())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_others_not_at_all() {
        let known = [
            "urn::server-1",
            "urn::server-2",
            "urn::Server-12",
            "urn::database",
        ];
        assert_eq!(
            nearest_names("urn::server-11", known, 2),
            ["urn::server-1", "urn::Server-12"]
        );
        assert_eq!(nearest_names("urn::server-1", known, 9)[0], "urn::server-1");
        assert!(nearest_names("bucket", known, 3).is_empty());
        assert_eq!(
            nearest_names("größe-a", ["größe-ab", "größe"], 2),
            ["größe-ab", "größe"]
        );
        assert!(nearest_names("", known, 3).is_empty());
    }

    #[test]
    fn a_urn_without_the_types_of_its_parents_finds_the_whole_one_first() {
        let known = [
            "urn:pulumi:dev::shop::notes:index:Note::b",
            "urn:pulumi:dev::shop::shop:index:Site$notes:index:Note::a",
            "urn:pulumi:dev::shop::shop:index:Site$notes:index:Tag::a",
        ];
        let near = |urn: &str, count| nearest_urns(urn, known, count);
        let urn = "urn:pulumi:dev::shop::notes:index:Note::a";
        assert_eq!(near(urn, 3), [known[1], known[0]]);
        assert_eq!(near(urn, 1), [known[1]]);
        assert_eq!(near("urn:pulumi:dev::shop::notes:index:Note::bb", 3), [known[0]]);
        assert!(near("bucket", 3).is_empty());
    }
}

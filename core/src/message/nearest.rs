//! Names that a misspelt one may stand for.

/// Returns at most `count` of the known names that are similar to `name`, the nearest first: those within an edit distance
/// (ignoring case) of a quarter of its length, and of 2 at least.
pub(crate) fn nearest_names<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let limit = (wanted.chars().count() / 4).max(2);
    let near = known.into_iter().filter_map(|other| {
        // The lengths alone rule out most names.
        (other.len().abs_diff(name.len()) <= limit * 4)
            .then(|| strsim::osa_distance(&wanted, &other.to_lowercase()))
            .filter(|distance| *distance <= limit)
            .map(|distance| (distance, other))
    });
    let mut near: Vec<_> = near.collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(count).map(|(_, other)| other).collect()
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
        assert!(nearest_names("", known, 3).is_empty());
    }
}

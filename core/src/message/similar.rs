//! Similarity of names, for hints.

/// Returns the edit distance of two texts (insertions, deletions, substitutions, exchanges of neighbours), ignoring case.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    strsim::osa_distance(&from.to_lowercase(), &to.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_changes() {
        assert_eq!(distance("shop/dev", "shop/dev"), 0);
        assert_eq!(distance("shop/dve", "Shop/dev"), 1);
        assert_eq!(distance("shop/de", "shop/dev"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}

//! The similarity of names, and an upper bound of it that costs less.

use rapidfuzz::distance::levenshtein::{self, BatchComparator};

use super::inputs::hash_of;

/// Distances of longer names are not computed.
const MAX_NAME_BYTES: usize = 256;
/// Names that are less similar have nothing in common.
const MIN_NAME_SIMILARITY: f64 = 0.5;
/// The similarity of a name to one that contains it.
const CONTAINED_NAME_SIMILARITY: f64 = 0.7;
/// What is left of the similarity of names with other numbers.
const OTHER_NUMBERS: f64 = 0.8;
/// The similarity of names that have nothing but all their numbers in common.
const SAME_NUMBERS: f64 = 0.2;
/// Into how many classes a profile divides letters.
const CLASSES: usize = 32;

/// Returns how similar two names are, from 0 to 1.
pub(super) fn name_similarity(old: &str, new: &str) -> f64 {
    if old == new {
        return 1.0;
    }
    if old.is_empty() || new.is_empty() || old.len().max(new.len()) > MAX_NAME_BYTES {
        return 0.0;
    }
    let (old, new) = (old.to_lowercase(), new.to_lowercase());
    let letters = old.chars().count().max(new.chars().count());
    let of_letters = share_kept(levenshtein::distance(old.chars(), new.chars()), letters);
    let is_contained = old.contains(&new) || new.contains(&old);
    combined(
        of_letters,
        is_contained,
        Numbers::compare(&numbers(&old), &numbers(&new)),
    )
}

/// What the numbers in two names say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Both have the same ones.
    Same,
    /// Each has one that the other does not have.
    Other,
    Unclear,
}

impl Numbers {
    fn compare(old: &[u64], new: &[u64]) -> Self {
        let lacks = |one: &[u64], other: &[u64]| one.iter().any(|number| !other.contains(number));
        match () {
            () if old == new && !old.is_empty() => Self::Same,
            () if lacks(old, new) && lacks(new, old) => Self::Other,
            () => Self::Unclear,
        }
    }
}

/// Returns the share of the letters of the longer name that a distance leaves.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn share_kept(distance: usize, letters: usize) -> f64 {
    1.0 - distance as f64 / letters as f64
}

fn combined(of_letters: f64, is_contained: bool, numbers: Numbers) -> f64 {
    let contained = if is_contained {
        CONTAINED_NAME_SIMILARITY
    } else {
        0.0
    };
    let (kept, least) = match numbers {
        Numbers::Same => (1.0, SAME_NUMBERS),
        Numbers::Other => (OTHER_NUMBERS, 0.0),
        Numbers::Unclear => (1.0, 0.0),
    };
    match of_letters.max(contained) * kept {
        similarity if similarity >= MIN_NAME_SIMILARITY => similarity,
        _ => least,
    }
}

/// Returns the hashes of the numbers in a name, sorted.
fn numbers(name: &str) -> Vec<u64> {
    let parts = name.split(|letter: char| !letter.is_ascii_digit());
    let parts = parts.filter(|part| !part.is_empty());
    let mut numbers: Vec<_> = parts.map(|part| hash_of(&part.trim_start_matches('0'))).collect();
    numbers.sort_unstable();
    numbers
}

/// What decides the similarity of a name to others, and an upper bound of it.
pub(super) struct NameProfile {
    /// In lower case.
    name: String,
    /// Whether distances of the name are computed.
    is_comparable: bool,
    numbers: Vec<u64>,
    /// How many letters there are of each class.
    letters: [u8; CLASSES],
    length: u16,
}

impl NameProfile {
    pub(super) fn of(name: &str) -> Self {
        let is_comparable = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        let name = name.to_lowercase();
        let mut profile = Self {
            numbers: numbers(&name),
            is_comparable,
            letters: [0; CLASSES],
            length: 0,
            name,
        };
        for letter in profile.name.chars() {
            let class = &mut profile.letters[letter as usize % CLASSES];
            *class = class.saturating_add(1);
            profile.length = profile.length.saturating_add(1);
        }
        profile
    }

    /// Returns a bound that [`name_similarity`] does not exceed for two names that differ.
    pub(super) fn similarity_bound(&self, other: &Self) -> f64 {
        let pairs = self.letters.iter().zip(&other.letters);
        let (more, fewer) = pairs.fold((0_u16, 0_u16), |(more, fewer), (one, other)| {
            let more = more + u16::from(one.saturating_sub(*other));
            (more, fewer + u16::from(other.saturating_sub(*one)))
        });
        let longest = f64::from(self.length.max(other.length).max(1));
        let of_letters = 1.0 - f64::from(more.max(fewer)) / longest;
        let is_contained = more == 0 || fewer == 0;
        combined(
            of_letters,
            is_contained,
            Numbers::compare(&self.numbers, &other.numbers),
        )
    }
}

/// One name, prepared for its comparison with many others.
pub(super) struct ComparedName<'p> {
    profile: &'p NameProfile,
    distances: BatchComparator<char>,
}

impl<'p> ComparedName<'p> {
    pub(super) fn of(profile: &'p NameProfile) -> Self {
        Self {
            profile,
            distances: BatchComparator::new(profile.name.chars()),
        }
    }

    /// Returns the [`name_similarity`] of two names that differ.
    fn similarity(&self, other: &NameProfile) -> f64 {
        let own = self.profile;
        if !own.is_comparable || !other.is_comparable {
            return 0.0;
        }
        let letters = usize::from(own.length.max(other.length));
        combined(
            share_kept(self.distances.distance(other.name.chars()), letters),
            own.name.contains(&other.name) || other.name.contains(&own.name),
            Numbers::compare(&own.numbers, &other.numbers),
        )
    }

    /// Returns whether the similarity of two names that differ is greater than `needed`.
    pub(super) fn exceeds(&self, other: &NameProfile, needed: f64) -> bool {
        self.profile.similarity_bound(other) > needed && self.similarity(other) > needed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_similar_when_they_share_most_letters_or_one_contains_the_other() {
        assert_eq!(name_similarity("a", "a"), 1.0);
        assert!(name_similarity("logs", "log") > 0.7);
        assert_eq!(name_similarity("data", "database"), CONTAINED_NAME_SIMILARITY);
        assert_eq!(name_similarity("alpha", "beta"), 0.0);
        assert_eq!(name_similarity("", "beta"), 0.0);
        assert_eq!(name_similarity(&"a".repeat(300), &"a".repeat(299)), 0.0);
        // Another number counts for more than other letters.
        assert!(name_similarity("web-01", "web-1") > name_similarity("web-01", "web-02"));
        assert_eq!(name_similarity("old-7", "fresh-7"), SAME_NUMBERS);
        assert_eq!(name_similarity("old-7", "fresh-8"), 0.0);
        assert_eq!(name_similarity("web-1", "web-1-v2"), CONTAINED_NAME_SIMILARITY);
    }

    proptest! {
        #[test]
        fn no_similarity_exceeds_its_bound(old in "[a-cA-Z0-2ßé-]{0,9}", new in "[a-cA-Z0-2ßé-]{0,9}") {
            prop_assume!(old != new);
            let (old_profile, new_profile) = (NameProfile::of(&old), NameProfile::of(&new));
            let similarity = name_similarity(&old, &new);
            let bound = old_profile.similarity_bound(&new_profile);
            prop_assert!(similarity <= bound + 1e-9, "{old} {new} {bound}");
            prop_assert_eq!(ComparedName::of(&old_profile).similarity(&new_profile), similarity);
            prop_assert_eq!(ComparedName::of(&new_profile).similarity(&old_profile), similarity);
        }
    }
}

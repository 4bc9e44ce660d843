//! The choice among pairs: the best first, and none where two fit equally well.

use rustc_hash::{FxHashMap, FxHashSet};

/// A pair with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) score: f64,
}

/// How far the scores of two pairs differ that fit equally well.
pub(super) const EQUAL_SCORES: f64 = 0.03;

/// The chosen pairs, and the records that have several equal counterparts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Choice {
    pub(super) pairs: Vec<Pair>,
    pub(super) ambiguous_olds: FxHashSet<usize>,
    pub(super) ambiguous_news: FxHashSet<usize>,
}

/// The records that are in a chosen pair already, or have several equal counterparts.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) olds: FxHashSet<usize>,
    pub(super) news: FxHashSet<usize>,
}

/// Finds further pairs of one of the records of a pair that are about as good; `None` where these cannot be found.
pub(super) type FindRivals<'f> = &'f mut dyn FnMut(Pair, &Taken) -> Option<Vec<Pair>>;

/// Chooses pairs, each record in one at most. `find_rivals` finds the rivals that are not among the pairs.
pub(super) fn choose(mut pairs: Vec<Pair>, find_rivals: FindRivals<'_>) -> Choice {
    pairs.sort_by(|left, right| {
        let by_score = right.score.total_cmp(&left.score);
        by_score.then_with(|| (left.old, left.new).cmp(&(right.old, right.new)))
    });
    let mut of_old: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut of_new: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (index, pair) in pairs.iter().enumerate() {
        of_old.entry(pair.old).or_default().push(index);
        of_new.entry(pair.new).or_default().push(index);
    }
    let mut taken = Taken::default();
    let mut choice = Choice::default();
    for (index, pair) in pairs.iter().enumerate() {
        if taken.olds.contains(&pair.old) || taken.news.contains(&pair.new) {
            continue;
        }
        let others = of_old[&pair.old].iter().chain(&of_new[&pair.new]);
        let mut rivals: Vec<Pair> = others
            .filter(|other| **other != index)
            .map(|other| pairs[*other])
            .filter(|other| !taken.olds.contains(&other.old) && !taken.news.contains(&other.new))
            .filter(|other| pair.score - other.score < EQUAL_SCORES)
            .collect();
        let found = find_rivals(*pair, &taken);
        let is_only = rivals.is_empty() && found.as_ref().is_some_and(Vec::is_empty);
        rivals.extend(found.into_iter().flatten());
        match is_only {
            true => choice.pairs.push(*pair),
            false => rivals.push(*pair),
        }
        for pair in rivals {
            choice.ambiguous_olds.insert(pair.old);
            choice.ambiguous_news.insert(pair.new);
            taken.olds.insert(pair.old);
            taken.news.insert(pair.new);
        }
        taken.olds.insert(pair.old);
        taken.news.insert(pair.new);
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(pairs: &[(usize, usize, f64)]) -> Vec<(usize, usize)> {
        let pairs = pairs.iter().map(|&(old, new, score)| Pair { old, new, score });
        let choice = choose(pairs.collect(), &mut |_, _| Some(Vec::new()));
        choice.pairs.iter().map(|pair| (pair.old, pair.new)).collect()
    }

    #[test]
    fn the_best_pairs_are_chosen_and_none_of_equal_ones() {
        for (pairs, expected) in [
            (
                &[(0, 0, 0.9), (0, 1, 0.7), (1, 1, 0.8), (1, 0, 0.7)][..],
                &[(0, 0), (1, 1)][..],
            ),
            (&[(0, 0, 0.9), (0, 1, 0.9)], &[]),
            (&[(0, 0, 0.9), (1, 0, 0.89)], &[]),
            // A worse pair does not take the place of two equal ones.
            (&[(0, 0, 0.9), (0, 1, 0.9), (0, 2, 0.7), (1, 1, 0.7)], &[]),
            (&[(0, 0, 0.9), (1, 0, 0.8)], &[(0, 0)]),
            // A rival that is taken by then is no rival.
            (&[(0, 0, 0.95), (0, 1, 0.9), (1, 1, 0.9)], &[(0, 0), (1, 1)]),
        ] {
            assert_eq!(chosen(pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_rival_that_is_found_later_counts_as_the_others() {
        let pair = |old, new| Pair { old, new, score: 0.9 };
        let pairs = vec![pair(0, 0), pair(1, 1)];
        let choice = choose(pairs.clone(), &mut |of, _| {
            Some(if of.old == 0 { vec![pair(0, 1)] } else { Vec::new() })
        });
        assert_eq!(choice.pairs, []);
        let unknown = choose(pairs, &mut |of, _| (of.old == 1).then(Vec::new));
        assert_eq!(unknown.pairs, [pair(1, 1)]);
    }
}

//! Very many deletions and creations.

use super::{Suggestions, names, run, thing};
use crate::resource::ResourceState;

/// How many comparisons a record may take where there are very many.
const MAX_COMPARISONS_PER_RECORD: usize = 64;

#[test]
fn very_many_deletions_and_creations_are_not_compared_with_one_another() {
    const COUNT: usize = 2000;
    for (inputs, old, new) in [
        (0.0, "old", "new"),
        (1.0, "old", "new"),
        (0.0, "before", "after"),
        (1.0, "before", "after"),
    ] {
        let records = |prefix: &str| -> Vec<_> {
            // With the same inputs everywhere, or with others each.
            let size = |index: usize| {
                if inputs > 0.5 {
                    f64::from(u32::try_from(index).unwrap())
                } else {
                    0.0
                }
            };
            (0..COUNT)
                .map(|index| thing(&format!("{prefix}-{index}"), size(index)))
                .collect()
        };
        let found = run(&records(old), &records(new));
        assert_eq!(found.moves.len(), COUNT, "{old} {inputs}");
        let is_right = |(before, after, _): (&str, &str, usize)| before.replace(old, new) == after;
        assert!(names(&found).into_iter().all(is_right));
        assert!(
            found.comparisons <= MAX_COMPARISONS_PER_RECORD * COUNT,
            "{} comparisons",
            found.comparisons
        );
    }
}

#[test]
fn of_very_many_that_are_not_all_compared_none_is_suggested_with_an_equal_rival() {
    let fillers = |prefix: &str| {
        (0..100)
            .map(|index| thing(&format!("{prefix}{index}{prefix}"), 3.0))
            .collect::<Vec<_>>()
    };
    let with = |mut records: Vec<ResourceState>, names: &[&str]| {
        records.extend(names.iter().map(|name| thing(name, 3.0)));
        records
    };
    let of = |found: &Suggestions, old: &str| {
        let mut moves = found.moves.iter();
        moves
            .find(|it| it.old_urn.name() == old)
            .map(|it| it.new_urn.name().to_owned())
    };
    // The rival shares no word with it, only the type and the inputs, which all have.
    let olds = with(fillers("q"), &["alphaone"]);
    let rivals = with(fillers("w"), &["alphaone-x", "alphaoneyy"]);
    assert_eq!(of(&run(&olds, &rivals), "alphaone"), None);
    let only = with(fillers("w"), &["alphaone-x"]);
    assert_eq!(of(&run(&olds, &only), "alphaone"), Some("alphaone-x".to_owned()));
    // The same on the side of the deletions.
    assert_eq!(of(&run(&rivals, &olds), "alphaone-x"), None);
    assert_eq!(of(&run(&only, &olds), "alphaone-x"), Some("alphaone".to_owned()));
}

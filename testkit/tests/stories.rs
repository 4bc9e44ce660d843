//! Every scenario of the repository can be read, says what it shows, and shows something that no other does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{collections::BTreeSet, path::Path};

use stackwright_testkit::scenario::read_directory;

#[test]
fn every_story_can_be_read_and_says_what_it_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut sentences = BTreeSet::new();
    let scenarios = read_directory(&folder).unwrap();
    assert!(
        scenarios.len() >= 60,
        "there are only {} scenarios",
        scenarios.len()
    );
    for scenario in scenarios {
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        assert!(
            scenario.scenario.ends_with('.'),
            "{}: {:?} is no sentence",
            scenario.path.display(),
            scenario.scenario
        );
        assert!(
            sentences.insert(scenario.scenario.clone()),
            "two scenarios say {:?}",
            scenario.scenario
        );
    }
}

//! Every scenario of the repository can be read and has a unique title.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{collections::BTreeSet, path::Path};

use stackwright_testkit::scenario::read_directory;

#[test]
fn every_scenario_can_be_read_and_has_a_unique_title() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut titles = BTreeSet::new();
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
            "{}: the title {:?} is not a sentence",
            scenario.path.display(),
            scenario.scenario
        );
        assert!(
            titles.insert(scenario.scenario.clone()),
            "two scenarios have the title {:?}",
            scenario.scenario
        );
    }
}

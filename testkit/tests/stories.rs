//! Every story of the repository can be read, says what it shows, and shows something that no other does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{collections::BTreeSet, path::Path};

use stackwright_testkit::story::read_directory;

#[test]
fn every_story_can_be_read_and_says_what_it_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut sentences = BTreeSet::new();
    let stories = read_directory(&folder).unwrap();
    assert!(stories.len() >= 60, "there are only {} stories", stories.len());
    for story in stories {
        let story = story.unwrap_or_else(|error| panic!("{error}"));
        assert!(
            story.story.ends_with('.'),
            "{}: {:?} is no sentence",
            story.path.display(),
            story.story
        );
        assert!(
            sentences.insert(story.story.clone()),
            "two stories say {:?}",
            story.story
        );
    }
}

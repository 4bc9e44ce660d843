//! Plain lines of a set of stacks: those of each stack's operation, with its name, and how many have ended.

use std::collections::BTreeMap;

use stackwright::{StackName, event::EventPayload, fleet::FleetEvent};

use crate::display::{Lines, Title};

/// The lines of a set of stacks.
#[derive(Debug)]
pub struct FleetLines {
    stacks: BTreeMap<StackName, Lines>,
    ended: usize,
}

impl FleetLines {
    /// Creates the lines of the operations with these titles.
    #[must_use]
    pub fn new(titles: impl IntoIterator<Item = (StackName, Title)>) -> Self {
        let stacks = titles.into_iter().map(|(name, title)| (name, Lines::new(title)));
        Self {
            stacks: stacks.collect(),
            ended: 0,
        }
    }

    /// Returns the text that an event adds: whole lines, or nothing. Secrets are masked.
    pub fn event(&mut self, event: &FleetEvent) -> String {
        let mut text = String::new();
        let stack = &event.stack;
        if let Some(lines) = self.stacks.get_mut(&**stack) {
            let added = lines.event(&event.event, &event.json(false));
            for line in added.lines().filter(|line| !line.trim().is_empty()) {
                text.push_str(&format!("{stack} | {}\n", line.trim_end()));
            }
        }
        if matches!(event.event.payload, EventPayload::Cancel) {
            self.ended += 1;
            let (ended, of) = (self.ended, self.stacks.len());
            text.push_str(&format!("{stack} | ended ({ended} of {of} stacks)\n"));
        }
        text
    }
}

//! The board of a set of stacks: a row for each that runs or has failed, and how many have ended.

use std::collections::BTreeMap;

use console::truncate_str;
use stackwright::{
    StackName,
    diagnostic::Severity,
    event::{EventPayload, OperationOutcome},
    fleet::FleetEvent,
    runtime::Timestamp,
};

use crate::display::{Paint, ScreenSize, paint::plain_line};

/// Lines that are no rows: headline, empty line, counts, and the cursor's.
const FRAME_LINES: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    /// It has ended without having begun.
    Skipped,
}

#[derive(Debug, Default)]
struct Row {
    phase: Phase,
    began: Option<Timestamp>,
    /// How many steps have ended.
    steps: usize,
    /// The last message: what the stack waits for, or an error.
    message: String,
    outcome: Option<OperationOutcome>,
}

/// The stacks of a set, and what happens to each. Secrets are masked.
#[derive(Debug)]
pub struct FleetBoard {
    rows: BTreeMap<StackName, Row>,
    paint: Paint,
}

impl FleetBoard {
    /// Creates the board of stacks that have not begun.
    #[must_use]
    pub fn new(stacks: impl IntoIterator<Item = StackName>) -> Self {
        Self {
            rows: stacks.into_iter().map(|stack| (stack, Row::default())).collect(),
            paint: Paint::PLAIN,
        }
    }

    /// Chooses colours; without, the text has none.
    #[must_use]
    pub fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// Takes an event.
    pub fn event(&mut self, event: &FleetEvent) {
        let Some(row) = self.rows.get_mut(&*event.stack) else {
            return;
        };
        let inner = &event.event;
        match &inner.payload {
            EventPayload::Diagnostic(diagnostic) => {
                if diagnostic.severity != Severity::Debug {
                    let json = event.json(false);
                    let text = json.text(diagnostic.message.library()).into_owned();
                    row.message = plain_line(text.lines().next().unwrap_or_default()).to_string();
                }
                return;
            }
            EventPayload::ResourceOutputs(_) if !inner.internal => {
                row.steps += 1;
                row.message.clear();
            }
            EventPayload::Summary(summary) => row.outcome = Some(summary.result),
            EventPayload::Cancel => {
                row.phase = match (row.phase, row.outcome) {
                    (_, Some(OperationOutcome::Succeeded)) => Phase::Succeeded,
                    (Phase::Pending, None) => Phase::Skipped,
                    _ => Phase::Failed,
                };
                return;
            }
            _ => {}
        }
        row.phase = Phase::Running;
        row.began.get_or_insert(inner.timestamp);
    }

    /// Returns the lines at a time, fewer than a terminal has rows: those of stacks that have failed first.
    #[must_use]
    pub fn lines(&self, now: Timestamp, size: ScreenSize) -> Vec<String> {
        let (columns, rows) = size.usable();
        let of = |phase| self.rows.iter().filter(move |(_, row)| row.phase == phase);
        let shown: Vec<_> = of(Phase::Failed).chain(of(Phase::Running)).collect();
        let free = rows.saturating_sub(FRAME_LINES);
        let fits = if shown.len() > free {
            free.saturating_sub(1)
        } else {
            shown.len()
        };
        let mut lines = vec![
            self.paint.strong(&format!("{} stacks:", self.rows.len())),
            String::new(),
        ];
        let width = shown
            .iter()
            .take(fits)
            .map(|(name, _)| name.to_string().len())
            .max();
        let width = width.unwrap_or_default();
        for (name, row) in shown.iter().take(fits) {
            lines.push(self.row(&format!("{name:width$}", name = name.to_string()), row, now));
        }
        if shown.len() > fits {
            lines.push(self.paint.faint(&format!("   … {} more", shown.len() - fits)));
        }
        lines.push(self.paint.faint(&self.counts()));
        // A line that ends at the edge of a terminal may move its cursor.
        let cut = lines
            .iter()
            .map(|line| truncate_str(line, columns - 1, "…").into_owned());
        cut.collect()
    }

    fn row(&self, name: &str, row: &Row, now: Timestamp) -> String {
        let seconds = row
            .began
            .map_or(0.0, |began| now.duration_since(began).as_secs_f64());
        match (row.phase, row.message.as_str()) {
            (Phase::Failed, message) => self.paint.error(&format!(" x {name}  failed: {message}")),
            (_, "") => format!(" > {name}  {} steps, {seconds:.0} s", row.steps),
            (_, message) => format!(" > {name}  {} steps, {seconds:.0} s: {message}", row.steps),
        }
    }

    /// Returns how many stacks have ended, and how.
    fn counts(&self) -> String {
        let count = |phase| self.rows.values().filter(|row| row.phase == phase).count();
        let (failed, skipped) = (count(Phase::Failed), count(Phase::Skipped));
        let ended = count(Phase::Succeeded) + failed + skipped;
        let mut text = format!("{ended} of {} stacks have ended", self.rows.len());
        for (number, what) in [(failed, "failed"), (skipped, "did not begin")] {
            if number > 0 {
                text.push_str(&format!(", {number} {what}"));
            }
        }
        text
    }
}

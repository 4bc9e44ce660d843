//! The board of an operation: a row for each resource under its parent, updated by events.

mod html;
mod row;
mod screen;
mod table;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::Arc,
};

use stackwright::{
    diagnostic::{Diagnostic, Severity},
    event::{EngineEvent, EventJson, EventPayload, Progress, StepEvent},
    operation::OperationResult,
    runtime::{Clock, Timestamp},
    urn::Urn,
};

use super::{Paint, Shown, Title, diagnostics::prefix, ending::Ending, paint::plain_line, rows::Stage};

use row::Row;
use table::Table;

pub use screen::{Screen, ScreenSize};

/// The resources of a running operation, and what happens to each: the content of a [`Screen`], or of a page.
///
/// Unchanged resources are shown only above others. Secrets are masked.
pub struct Board {
    title: Title,
    shown: Shown,
    paint: Paint,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    rows: Vec<Row>,
    places: HashMap<Urn, usize>,
    ending: Ending,
    /// What the program has printed since the last drawing.
    printed: String,
    /// Messages, outputs and counts, once the steps have ended.
    end: String,
    has_ended: bool,
    cancellations: u8,
    /// Running downloads and installations, each by its name.
    downloads: BTreeMap<String, String>,
    /// Masks secrets in texts; known from the first event on at the latest.
    json: Option<EventJson>,
}

impl Board {
    /// Creates the board of an operation that begins now.
    #[must_use]
    pub fn new(title: Title, clock: Arc<dyn Clock>) -> Self {
        Self {
            title,
            shown: Shown::default(),
            paint: Paint::PLAIN,
            began: clock.now(),
            clock,
            rows: Vec::new(),
            places: HashMap::new(),
            ending: Ending::default(),
            printed: String::new(),
            end: String::new(),
            has_ended: false,
            cancellations: 0,
            downloads: BTreeMap::new(),
            json: None,
        }
    }

    /// Masks secrets as `json` does, also in the rows of steps whose events came before the board was made.
    #[must_use]
    pub fn masking(self, json: &EventJson) -> Self {
        Self {
            json: Some(json.clone()),
            ..self
        }
    }

    /// Chooses what is shown beside the rows.
    #[must_use]
    pub fn showing(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// Chooses colours; without, the text has none.
    #[must_use]
    pub fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// Takes an event.
    pub fn event(&mut self, event: &EngineEvent, json: &EventJson) {
        let now = event.timestamp;
        if self.json.is_none() {
            self.json = Some(json.clone());
        }
        match &event.payload {
            EventPayload::ResourcePre(step) if !event.internal => {
                let row = self.row(&step.metadata.urn, now);
                row.begin(&step.metadata, step.planning, now);
                self.mask(&step.metadata.urn);
            }
            EventPayload::ResourceOutputs(step) if !event.internal => {
                self.ending.ended(step);
                self.step_ended(step, Stage::Done, now);
            }
            EventPayload::ResourceOperationFailed { step, .. } => {
                self.step_ended(step, Stage::Failed, now);
            }
            EventPayload::Diagnostic(diagnostic) => self.diagnostic(diagnostic, json, now),
            EventPayload::Stdout { message } => {
                for line in json.text(message).trim_end().lines() {
                    self.printed.push_str(&plain_line(line));
                    self.printed.push('\n');
                }
            }
            EventPayload::Progress(progress) => self.progress(progress),
            EventPayload::PolicyViolation(violation) => self.ending.policies.violation(violation),
            EventPayload::PolicyRemediation(remediation) => {
                self.ending.policies.remediation(remediation);
            }
            EventPayload::Summary(ended) => {
                self.end = self.ending.text(ended, self.shown, self.paint, json);
            }
            EventPayload::Cancel => {
                self.end.push_str(&json.text(&self.ending.messages(self.paint)));
                self.has_ended = true;
            }
            _ => {}
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if progress.done {
            self.downloads.remove(&progress.id);
            return;
        }
        let mut text = format!("     {}", plain_line(&progress.message));
        if let Some(percent) = progress.received.saturating_mul(100).checked_div(progress.total) {
            // Writing to a string does not fail.
            write!(text, " ({}%)", percent.min(100)).unwrap_or_default();
        }
        self.downloads.insert(progress.id.clone(), text);
    }

    fn step_ended(&mut self, step: &StepEvent, stage: Stage, now: Timestamp) {
        let row = self.row(&step.metadata.urn, now);
        row.end(&step.metadata, stage, step.planning, now);
        self.mask(&step.metadata.urn);
    }

    /// Masks secrets in the row of a resource.
    fn mask(&mut self, urn: &Urn) {
        if let (Some(json), Some(place)) = (&self.json, self.places.get(urn)) {
            self.rows[*place].mask(json);
        }
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic, json: &EventJson, now: Timestamp) {
        if diagnostic.severity == Severity::Debug && !self.shown.debug {
            return;
        }
        let urn = diagnostic.urn.as_ref().unwrap_or(&self.title.root).clone();
        let text = json.text(diagnostic.message.reference());
        let lines: Vec<_> = text.lines().map(plain_line).collect();
        let text = lines.join("\n");
        self.ending.diagnostics.add(&urn, diagnostic, &text);
        if let Some(first) = text.lines().find(|line| !line.trim().is_empty()) {
            let severity = diagnostic.severity;
            let message = format!("{}{}", prefix(severity), first.trim_end());
            self.row(&urn, now).message = Some((severity, message));
            self.mask(&urn);
        }
    }

    /// Takes the result of the operation: steps whose events came before the board was made, and the end of those that have no
    /// event of their own, such as that of a component without outputs.
    pub fn finish(&mut self, result: &OperationResult) {
        self.has_ended = true;
        let now = self.clock.now();
        for step in &result.steps {
            let urn = &step.step.metadata.urn;
            let row = self.row(urn, now);
            if !row.has_ended() || !row.is_shown() {
                row.complete(step, now);
            }
            self.mask(urn);
        }
    }

    /// Shows that the operation has been cancelled, for the `count`-th time.
    pub fn cancelled(&mut self, count: u8) {
        self.cancellations = count;
    }

    /// Returns whether all events have come.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn row(&mut self, urn: &Urn, now: Timestamp) -> &mut Row {
        let place = *self.places.entry(urn.clone()).or_insert_with(|| {
            let mut row = Row::new(urn, self.shown.name(urn), now);
            row.is_listed_unchanged = self.shown.sames;
            self.rows.push(row);
            self.rows.len() - 1
        });
        &mut self.rows[place]
    }

    /// Returns the counts of the rows: `3 running, 12 done`, the time since the beginning, and the progress of a cancellation.
    fn counts(&self, now: Timestamp) -> String {
        let count = |is_counted: fn(&Row) -> bool| self.rows.iter().filter(|row| is_counted(row)).count();
        let running = count(Row::is_running);
        let failed = count(Row::has_failed);
        let unchanged = count(Row::is_unchanged);
        let ended = count(|row| row.has_ended() && row.is_shown() && !row.has_failed());
        let parts = [
            (running, "running"),
            (ended, "done"),
            (unchanged, "unchanged"),
            (failed, "failed"),
        ];
        let mut parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let seconds = u64::try_from(now.duration_since(self.began).as_secs()).unwrap_or_default();
        parts.push(super::summary::duration(seconds));
        let mut text = format!("     {}", parts.join(", "));
        text.push_str(match self.cancellations {
            0 => "",
            1 => "; cancelling: running steps complete, a second interrupt abandons them",
            _ => "; cancelling: running steps are abandoned",
        });
        text
    }

    fn table(&self, is_flat: bool, limit: usize) -> Table {
        Table::new(&self.rows, &self.places, self.clock.now(), is_flat, limit)
    }
}

impl std::fmt::Debug for Board {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Board")
            .field("title", &self.title)
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

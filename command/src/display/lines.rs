//! Plain lines: a headline, a line for each step, and at the end messages, outputs and counts.

use std::{collections::BTreeMap, fmt::Write as _};

use stackwright::{
    diagnostic::{Diagnostic, Severity},
    event::{EngineEvent, EventJson, EventPayload, StepEvent, StepMetadata},
    runtime::Timestamp,
    step::StepOp,
    urn::Urn,
};

use super::{
    Paint, Shown, Title,
    diagnostics::prefix,
    ending::Ending,
    rows::{self, Stage},
};

/// The lines of one operation: what it shows where rows cannot be updated in place.
pub struct Lines {
    title: Title,
    shown: Shown,
    paint: Paint,
    began: bool,
    /// Whether the last line is one of heartbeats, to which the next one is added.
    is_beating: bool,
    times: BTreeMap<Urn, Timestamp>,
    ending: Ending,
}

impl Lines {
    /// Creates the lines of an operation.
    #[must_use]
    pub fn new(title: Title) -> Self {
        Self {
            title,
            shown: Shown::default(),
            paint: Paint::PLAIN,
            began: false,
            is_beating: false,
            times: BTreeMap::new(),
            ending: Ending::default(),
        }
    }

    /// Chooses what is shown beside the steps.
    #[must_use]
    pub fn showing(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// Chooses colours; without, the lines have none.
    #[must_use]
    pub fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// Returns whether the lines have heartbeats: those without progress have none.
    pub(crate) const fn has_heartbeats(&self) -> bool {
        self.shown.progress
    }

    /// Returns the text that shows that the operation is still running: a line that grows with each heartbeat until something else
    /// is shown. There is none before the headline.
    pub(crate) fn heartbeat(&mut self) -> String {
        if !self.began {
            return String::new();
        }
        match std::mem::replace(&mut self.is_beating, true) {
            true => ".".to_owned(),
            false => format!("@ {}....", self.title.verb.to_lowercase()),
        }
    }

    /// Returns the text that an event adds: whole lines, or nothing. Secrets are masked.
    pub fn event(&mut self, event: &EngineEvent, json: &EventJson) -> String {
        let text = self.added(event, json);
        if !text.is_empty() && std::mem::take(&mut self.is_beating) {
            return format!("\n{text}");
        }
        text
    }

    fn added(&mut self, event: &EngineEvent, json: &EventJson) -> String {
        let mut text = String::new();
        match &event.payload {
            EventPayload::Cancel => return json.text(&self.ending.messages(self.paint)).into_owned(),
            _ if self.began => {}
            _ => {
                self.began = true;
                text = format!("{}\n\n", self.paint.strong(&self.title.headline));
            }
        }
        match &event.payload {
            EventPayload::ResourcePre(step) if !event.internal => {
                self.times.insert(step.metadata.urn.clone(), event.timestamp);
                self.step(&mut text, step, Stage::Begun, event.timestamp, json);
            }
            EventPayload::ResourceOutputs(step) if !event.internal => {
                self.ending.ended(step);
                self.step(&mut text, step, Stage::Done, event.timestamp, json);
            }
            EventPayload::ResourceOperationFailed { step, .. } => {
                self.step(&mut text, step, Stage::Failed, event.timestamp, json);
            }
            EventPayload::Diagnostic(diagnostic) => self.diagnostic(&mut text, diagnostic, json),
            EventPayload::Stdout { message } => line(&mut text, json.text(message).trim_end()),
            EventPayload::PolicyLoad if self.ending.policies.load() => {
                line(&mut text, "Loading policy packs...\n");
            }
            EventPayload::PolicyViolation(violation) => self.ending.policies.violation(violation),
            EventPayload::PolicyRemediation(remediation) => {
                self.ending.policies.remediation(remediation);
            }
            EventPayload::Summary(ended) => {
                text.push_str(&self.ending.text(ended, self.shown, self.paint, json));
            }
            _ => {}
        }
        text
    }

    fn step(&self, text: &mut String, step: &StepEvent, stage: Stage, now: Timestamp, json: &EventJson) {
        let has_failed = matches!(stage, Stage::Failed);
        if !self.shown.progress && !has_failed {
            return;
        }
        let began = self.times.get(&step.metadata.urn).copied().unwrap_or(now);
        let seconds = now.duration_since(began).as_secs_f64();
        let is_same = step.metadata.op == StepOp::Same;
        let unchanged = match stage {
            Stage::Begun => step.planning,
            Stage::Done => !step.planning,
            Stage::Failed => false,
        };
        if self.shown.sames && is_same && unchanged {
            let StepMetadata {
                resource_type, urn, ..
            } = &step.metadata;
            let unchanged = format!("    {resource_type} {} unchanged ", self.shown.name(urn));
            line(text, &json.text(&unchanged));
        }
        let name = self.shown.name(&step.metadata.urn);
        if let Some(shown) = rows::line(&step.metadata, name, stage, step.planning, seconds) {
            let shown = json.text(&shown);
            let shown = match has_failed {
                true => self.paint.error(&shown),
                false => self.paint.op(step.metadata.op, &shown),
            };
            line(text, &shown);
        }
    }

    fn diagnostic(&mut self, text: &mut String, diagnostic: &Diagnostic, json: &EventJson) {
        if diagnostic.severity == Severity::Debug && !self.shown.debug {
            return;
        }
        let urn = diagnostic.urn.as_ref().unwrap_or(&self.title.root);
        let message = json.text(diagnostic.message.reference()).into_owned();
        if self.shown.progress {
            let first = message.lines().next().unwrap_or_default();
            let (kind, name) = (urn.resource_type(), self.shown.name(urn));
            let message = format!("{}{first}", prefix(diagnostic.severity));
            let message = self.paint.severity(diagnostic.severity, &message);
            let about = format!("    {kind} {name}");
            line(text, &format!("{}  {message}", json.text(&about)));
        }
        self.ending.diagnostics.add(urn, diagnostic, &message);
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Lines")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

fn line(text: &mut String, added: &str) {
    // Writing to a string does not fail.
    writeln!(text, "{added}").unwrap_or_default();
}

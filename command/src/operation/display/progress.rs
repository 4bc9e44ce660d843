//! Progress for readers: a headline, a line for each step, and at the end messages, outputs and counts.

use std::{collections::BTreeMap, fmt::Write as _};

use jiff::Timestamp;
use stackwright::{
    diagnostic::{Diagnostic, Severity},
    event::{EngineEvent, EventJson, EventPayload, StepEvent, Summary},
    property::PropertyMap,
    urn::Urn,
};

use super::{
    diagnostics::{Diagnostics, prefix},
    policies::Policies,
    rows::{self, Stage},
    summary, values,
};
use crate::invocation::Invocation;

/// What is shown beside the steps.
#[derive(Clone, Copy, Debug)]
pub(in crate::operation) struct Shown {
    pub(in crate::operation) debug: bool,
    pub(in crate::operation) outputs: bool,
    pub(in crate::operation) progress: bool,
    /// Each rewriting of a policy, instead of their number.
    pub(in crate::operation) remediations: bool,
}

/// The progress of one operation.
pub(in crate::operation) struct Progress {
    headline: String,
    root: Urn,
    shown: Shown,
    began: bool,
    times: BTreeMap<Urn, Timestamp>,
    diagnostics: Diagnostics,
    policies: Policies,
    outputs: Option<(Option<PropertyMap>, PropertyMap)>,
}

impl Progress {
    /// Creates the progress of an operation, which `headline` names, on the stack with this root.
    pub(in crate::operation) fn new(headline: String, root: Urn, shown: Shown) -> Self {
        Self {
            headline,
            root,
            shown,
            began: false,
            times: BTreeMap::new(),
            diagnostics: Diagnostics::default(),
            policies: Policies::new(shown.remediations),
            outputs: None,
        }
    }

    /// Shows an event.
    pub(super) fn event(&mut self, invocation: &Invocation, event: &EngineEvent, json: &EventJson) {
        match &event.payload {
            EventPayload::Cancel => return self.end(invocation),
            _ if self.began => {}
            _ => {
                self.began = true;
                invocation.print(format!("{}\n", self.headline));
            }
        }
        match &event.payload {
            EventPayload::ResourcePre(step) if !event.internal => {
                self.times.insert(step.metadata.urn.clone(), event.timestamp);
                self.step(invocation, step, Stage::Begun, event.timestamp);
            }
            EventPayload::ResourceOutputs(step) if !event.internal => {
                if step.metadata.urn.is_root_stack() {
                    let outputs = |state: &stackwright::event::StateMetadata| state.0.outputs.clone();
                    let new = step.metadata.new.as_ref().map(outputs).unwrap_or_default();
                    self.outputs = Some((step.metadata.old.as_ref().map(outputs), new));
                }
                self.step(invocation, step, Stage::Done, event.timestamp);
            }
            EventPayload::ResourceOperationFailed { step, .. } => {
                self.step(invocation, step, Stage::Failed, event.timestamp);
            }
            EventPayload::Diagnostic(diagnostic) => self.diagnostic(invocation, diagnostic, json),
            EventPayload::Stdout { message } => invocation.print(message.trim_end()),
            EventPayload::PolicyLoad if self.policies.load() => invocation.print("Loading policy packs...\n"),
            EventPayload::PolicyViolation(violation) => self.policies.violation(violation),
            EventPayload::PolicyRemediation(remediation) => self.policies.remediation(remediation),
            EventPayload::Summary(ended) => self.summary(invocation, ended, json),
            _ => {}
        }
    }

    fn step(&self, invocation: &Invocation, step: &StepEvent, stage: Stage, now: Timestamp) {
        if !self.shown.progress && !matches!(stage, Stage::Failed) {
            return;
        }
        let began = self.times.get(&step.metadata.urn).copied().unwrap_or(now);
        let seconds = now.duration_since(began).as_secs_f64();
        if let Some(line) = rows::line(&step.metadata, stage, step.planning, seconds) {
            invocation.print(line);
        }
    }

    fn diagnostic(&mut self, invocation: &Invocation, diagnostic: &Diagnostic, json: &EventJson) {
        if diagnostic.severity == Severity::Debug && !self.shown.debug {
            return;
        }
        let urn = diagnostic.urn.clone().unwrap_or_else(|| self.root.clone());
        let text = json.text(diagnostic.message.reference()).into_owned();
        if self.shown.progress {
            let first = text.lines().next().unwrap_or_default();
            let (kind, name) = (urn.resource_type(), urn.name());
            invocation.print(format!(
                "    {kind} {name}  {}{first}",
                prefix(diagnostic.severity)
            ));
        }
        if !diagnostic.ephemeral {
            self.diagnostics.add(urn, diagnostic, &text);
        }
    }

    fn summary(&mut self, invocation: &Invocation, ended: &Summary, json: &EventJson) {
        let (policies, has_violated) = self.policies.take_lines(ended);
        let mut text = String::new();
        for policy in policies {
            line(&mut text, &policy);
        }
        text.push_str(&self.messages());
        let has_outputs = |(old, new): &(Option<PropertyMap>, PropertyMap)| {
            !new.is_empty() || old.as_ref().is_some_and(|old| !old.is_empty())
        };
        if let Some((old, new)) = self
            .outputs
            .take()
            .filter(has_outputs)
            .filter(|_| self.shown.outputs)
        {
            line(&mut text, "Outputs:");
            for output in values::lines(old.as_ref(), &new) {
                line(&mut text, &output);
            }
            line(&mut text, "");
        }
        // A violation that has failed the operation is the last word.
        if !has_violated {
            self.counts(&mut text, ended);
        }
        (invocation.stdout)(&json.text(&text));
    }

    fn counts(&self, text: &mut String, ended: &Summary) {
        let errored = self.diagnostics.errored();
        for row in summary::resources(&ended.resource_changes, ended.is_preview, errored) {
            line(text, &row);
        }
        if !ended.is_preview {
            line(
                text,
                &format!("Duration: {}\n", summary::duration(ended.duration_seconds)),
            );
        }
    }

    /// Shows the messages of an operation that had no summary.
    fn end(&mut self, invocation: &Invocation) {
        let text = self.messages();
        if !text.is_empty() {
            (invocation.stdout)(&text);
        }
    }

    fn messages(&mut self) -> String {
        let mut text = String::new();
        for message in self.diagnostics.take_lines() {
            line(&mut text, &message);
        }
        text
    }
}

fn line(text: &mut String, added: &str) {
    // Writing to a string does not fail.
    writeln!(text, "{added}").unwrap_or_default();
}

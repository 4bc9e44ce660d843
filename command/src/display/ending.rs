//! The end of what an operation shows: messages, outputs, counts, duration.

use std::fmt::Write as _;

use stackwright::{
    event::{EventJson, StateMetadata, StepEvent, Summary},
    property::PropertyMap,
};

use super::{Paint, Shown, diagnostics::Diagnostics, policies::Policies, summary, values};

/// What is collected for the end of an operation.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) diagnostics: Diagnostics,
    pub(super) policies: Policies,
    outputs: Option<(Option<PropertyMap>, PropertyMap)>,
}

impl Ending {
    /// Takes the outputs of a stack from the step of its root.
    pub(super) fn ended(&mut self, step: &StepEvent) {
        if step.metadata.urn.is_root_stack() {
            let outputs = |state: &StateMetadata| state.0.outputs.clone();
            let new = step.metadata.new.as_ref().map(outputs).unwrap_or_default();
            self.outputs = Some((step.metadata.old.as_ref().map(outputs), new));
        }
    }

    /// Returns policies, messages, outputs, counts and duration; the messages are returned once.
    pub(super) fn text(&mut self, ended: &Summary, shown: Shown, paint: Paint, json: &EventJson) -> String {
        let (policies, has_violated) = self.policies.take_lines(ended, shown.remediations);
        let mut text = String::new();
        for policy in policies {
            line(&mut text, &policy);
        }
        text.push_str(&self.messages(paint));
        text = json.text(&text).into_owned();
        let outputs = self.outputs(shown, paint);
        text.push_str(&match shown.secrets {
            true => outputs,
            false => json.text(&outputs).into_owned(),
        });
        // A violation that has failed the operation is the last word.
        if !has_violated {
            self.counts(&mut text, ended, paint);
        }
        text
    }

    fn outputs(&mut self, shown: Shown, paint: Paint) -> String {
        let mut text = String::new();
        let has_outputs = |(old, new): &(Option<PropertyMap>, PropertyMap)| {
            !new.is_empty() || old.as_ref().is_some_and(|old| !old.is_empty())
        };
        if let Some((old, new)) = self.outputs.take().filter(has_outputs).filter(|_| shown.outputs) {
            line(&mut text, &paint.strong("Outputs:"));
            let (old, new) = match shown.secrets {
                true => (old.as_ref().map(values::revealed), values::revealed(&new)),
                false => (old, new),
            };
            for output in values::lines(old.as_ref(), &new) {
                line(&mut text, &paint.signed(&output));
            }
            line(&mut text, "");
        }
        text
    }

    fn counts(&self, text: &mut String, ended: &Summary, paint: Paint) {
        let errored = self.diagnostics.errored();
        for row in summary::resources(&ended.resource_changes, ended.is_preview, errored) {
            let row = match row.ends_with(':') {
                true => paint.strong(&row),
                false => paint.signed(&row),
            };
            line(text, &row);
        }
        if !ended.is_preview {
            let duration = summary::duration(ended.duration_seconds);
            line(text, &format!("{} {duration}\n", paint.strong("Duration:")));
        }
    }

    /// Returns the messages since the last call.
    pub(super) fn messages(&mut self, paint: Paint) -> String {
        let mut text = String::new();
        for message in self.diagnostics.take_lines(paint) {
            line(&mut text, &message);
        }
        text
    }
}

fn line(text: &mut String, added: &str) {
    // Writing to a string does not fail.
    writeln!(text, "{added}").unwrap_or_default();
}

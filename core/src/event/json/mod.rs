//! Events as JSON: one line for each, in the form of the reference engine's event log.

mod diagnostic;
mod policy;
mod step;
mod text;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::{
    event::{EngineEvent, EventPayload, Summary},
    secrets::Redactor,
};

use text::Object;

/// The JSON writer of one operation's events. Only the event stream creates one, because it knows the secrets.
#[derive(Clone)]
#[cfg_attr(test, derive(Default))]
pub struct EventJson {
    /// Secret values of inputs and outputs are written base64-encoded, as by the `b64` secrets manager, instead of
    /// masked. For hosts that need the values, never for logs.
    pub(crate) show_secrets: bool,
    /// Masks known secrets in messages and properties, unless secrets are shown.
    pub(crate) redactor: Redactor,
}

impl EventJson {
    /// Creates a writer that masks secret values and knows no secret texts.
    #[cfg(test)]
    fn new() -> Self {
        Self::default()
    }

    /// Returns the line of `event`, without a newline at its end.
    #[must_use]
    pub fn line(&self, event: &EngineEvent) -> String {
        let mut line = String::with_capacity(512);
        self.write(event, &mut line);
        line
    }

    /// Returns a text with known secrets masked, as lines have it.
    #[must_use]
    pub fn text<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.redactor.scrub(text)
    }

    /// Appends the line of `event`, without a newline at its end, to `out`.
    pub fn write(&self, event: &EngineEvent, out: &mut String) {
        let mut object = Object::open(out);
        object.integer("sequence", event.sequence);
        object.number("timestamp", event.timestamp.as_second());
        match &event.payload {
            EventPayload::Prelude { config } => object.nested("preludeEvent", |prelude| {
                prelude.nested("config", |entries| {
                    for (name, value) in config {
                        entries.string(name, value);
                    }
                });
            }),
            EventPayload::ResourcePre(step) => {
                object.nested("resourcePreEvent", |payload| {
                    step::write_planned(payload, step, self);
                });
            }
            EventPayload::ResourceOutputs(step) => {
                object.nested("resOutputsEvent", |payload| {
                    step::write_planned(payload, step, self);
                });
            }
            EventPayload::ResourceOperationFailed { step, status, steps } => {
                object.nested("resOpFailedEvent", |payload| {
                    step::write_metadata(payload, &step.metadata, self);
                    payload.integer("status", *status as u64);
                    payload.integer("steps", *steps);
                });
            }
            EventPayload::Diagnostic(diagnostic) => {
                object.nested("diagnosticEvent", |payload| {
                    diagnostic::write(payload, diagnostic, &self.redactor);
                });
            }
            EventPayload::Stdout { message } => object.nested("stdoutEvent", |payload| {
                payload.string("message", &self.redactor.scrub(message));
                payload.string("color", diagnostic::COLOR);
            }),
            EventPayload::Progress(progress) => object.nested("progressEvent", |payload| {
                payload.string("type", progress.kind.name());
                payload.string("id", &progress.id);
                payload.string("message", &progress.message);
                payload.integer("received", progress.received);
                payload.integer("total", progress.total);
                payload.boolean("done", progress.done);
            }),
            EventPayload::PolicyLoad => object.nested("policyLoadEvent", |_| {}),
            EventPayload::PolicyViolation(violation) => {
                object.nested("policyEvent", |payload| {
                    policy::write_violation(payload, violation, self);
                });
            }
            EventPayload::PolicyRemediation(remediation) => {
                object.nested("policyRemediationEvent", |payload| {
                    policy::write_remediation(payload, remediation, self);
                });
            }
            EventPayload::PolicyFindings(findings) => {
                object.nested(policy::findings_member(findings.question), |payload| {
                    policy::write_findings(payload, findings);
                });
            }
            EventPayload::SuggestedMoves(moves) => object.nested("suggestedMovesEvent", |payload| {
                // The members of a move have JSON forms, so that writing them cannot fail.
                let list = serde_json::to_string(&**moves).unwrap_or_else(|_| "[]".to_owned());
                payload.member("moves").push_str(&list);
            }),
            EventPayload::Summary(summary) => {
                object.nested("summaryEvent", |payload| write_summary(payload, summary));
            }
            EventPayload::Cancel => object.nested("cancelEvent", |_| {}),
        }
        object.close();
    }
}

fn write_summary(payload: &mut Object<'_>, summary: &Summary) {
    payload.boolean("maybeCorrupt", summary.maybe_corrupt);
    payload.integer("durationSeconds", summary.duration_seconds);
    payload.nested("resourceChanges", |changes| {
        for (op, count) in &summary.resource_changes {
            changes.integer(op, *count);
        }
    });
    // This one name is capitalized in the log.
    payload.nested("PolicyPacks", |packs| {
        for (name, version) in &summary.policy_packs {
            packs.string(name, version);
        }
    });
    payload.boolean("isPreview", summary.is_preview);
    payload.string("result", summary.result.name());
}

impl std::fmt::Debug for EventJson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EventJson")
            .field("show_secrets", &self.show_secrets)
            .finish_non_exhaustive()
    }
}

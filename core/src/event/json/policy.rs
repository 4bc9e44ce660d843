//! The JSON of policy events.

use super::{EventJson, diagnostic::COLOR, step::write_properties, text::Object};
use crate::event::{PolicyFindings, PolicyName, PolicyQuestion, PolicyRemediation, PolicyViolation};

pub(super) fn write_violation(payload: &mut Object<'_>, violation: &PolicyViolation, options: &EventJson) {
    payload.string("resourceUrn", violation.urn.as_str());
    let mut message = options.redactor.scrub(&violation.message).into_owned();
    message.push('\n');
    payload.string("message", &message);
    payload.string("color", COLOR);
    write_name(payload, &violation.name);
    payload.string("enforcementLevel", violation.level.name());
    if let Some(severity) = violation.severity {
        payload.string("severity", severity.name());
    }
}

pub(super) fn write_remediation(
    payload: &mut Object<'_>,
    remediation: &PolicyRemediation,
    options: &EventJson,
) {
    payload.string("resourceUrn", remediation.urn.as_str());
    payload.string("color", COLOR);
    write_name(payload, &remediation.name);
    for (name, properties) in [("before", &remediation.before), ("after", &remediation.after)] {
        if !properties.is_empty() {
            write_properties(payload, name, properties, options);
        }
    }
}

/// Returns the name of the member that contains the findings of a request.
pub(super) const fn findings_member(question: PolicyQuestion) -> &'static str {
    match question {
        PolicyQuestion::Remediate => "policyRemediateSummaryEvent",
        PolicyQuestion::Analyze => "policyAnalyzeSummaryEvent",
        PolicyQuestion::AnalyzeStack => "policyAnalyzeStackSummaryEvent",
    }
}

pub(super) fn write_findings(payload: &mut Object<'_>, findings: &PolicyFindings) {
    if let Some(urn) = &findings.urn {
        payload.string("resourceUrn", urn.as_str());
    }
    payload.string("policyPackName", &findings.pack);
    payload.string("policyPackVersion", &findings.version);
    payload.string("policyPackVersionTag", &findings.version);
    payload.list("passed", &findings.passed);
    payload.list("failed", &findings.failed);
}

fn write_name(payload: &mut Object<'_>, name: &PolicyName) {
    payload.string("policyName", &name.policy);
    payload.string("policyPackName", &name.pack);
    payload.string("policyPackVersion", &name.version);
    payload.string("policyPackVersionTag", &name.version);
}

//! The document of an analysis of a stack's state by policy packs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::result::DiagnosticDocument;
use crate::{
    event::{EnforcementLevel, PolicySeverity, PolicyViolation},
    operation::PolicyAnalysis,
};

/// A violation of a policy.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PolicyViolation")]
pub(super) struct PolicyViolationDocument<'a> {
    /// The URN of the resource; that of the root stack for a policy over all resources.
    urn: &'a str,
    /// The name of the resource.
    name: &'a str,
    /// The policy.
    policy: &'a str,
    /// Its pack.
    pack: &'a str,
    /// The version of the pack; empty when it has none.
    pack_version: &'a str,
    /// The message to display.
    message: &'a str,
    /// How strictly the policy is enforced.
    level: EnforcementLevel,
    /// The severity, if the policy sets one.
    severity: Option<PolicySeverity>,
}

/// What policy packs found in the recorded state of a stack.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PolicyAnalysis")]
pub(super) struct PolicyAnalysisDocument<'a> {
    /// Whether no mandatory policy is violated.
    passed: bool,
    /// The violations: those of each resource, in the order of the state, then those of all resources together. Secrets in
    /// messages are masked.
    violations: Vec<PolicyViolationDocument<'a>>,
    /// The packs: by name, the version, or `(local)`.
    policy_packs: &'a BTreeMap<String, String>,
    /// Warnings about the state and the settings of packs, and the output of packs.
    diagnostics: Vec<DiagnosticDocument<'a>>,
    /// The number of analyzed resources.
    resources: usize,
}

impl<'a> From<&'a PolicyViolation> for PolicyViolationDocument<'a> {
    fn from(violation: &'a PolicyViolation) -> Self {
        Self {
            urn: violation.urn.as_str(),
            name: violation.urn.name(),
            policy: &violation.name.policy,
            pack: &violation.name.pack,
            pack_version: &violation.name.version,
            message: &violation.message,
            level: violation.level,
            severity: violation.severity,
        }
    }
}

/// Writes an analysis as JSON.
#[must_use]
pub fn analysis_document(analysis: &PolicyAnalysis) -> Value {
    let document = PolicyAnalysisDocument {
        passed: analysis.passed(),
        violations: analysis
            .violations
            .iter()
            .map(PolicyViolationDocument::from)
            .collect(),
        policy_packs: &analysis.policy_packs,
        diagnostics: analysis
            .diagnostics
            .iter()
            .map(DiagnosticDocument::from)
            .collect(),
        resources: analysis.resources,
    };
    serde_json::to_value(document).unwrap_or_default()
}

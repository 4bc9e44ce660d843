//! What events report of policies: violations, rewritten inputs, and what each pack found.

use crate::{property::PropertyMap, urn::Urn};

/// How strictly a policy is enforced; the names are those of the protocol and of the event log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum EnforcementLevel {
    /// A violation is only reported.
    Advisory,
    /// A violation fails the operation.
    Mandatory,
    /// The policy rewrites inputs; a violation that is left is a mandatory one.
    Remediate,
    /// The policy is not asked.
    Disabled,
}

impl EnforcementLevel {
    /// Returns the name of the event log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Mandatory => "mandatory",
            Self::Remediate => "remediate",
            Self::Disabled => "disabled",
        }
    }
}

/// How grave a violation is; the names are those of the event log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each name is its meaning")]
pub enum PolicySeverity {
    Low,
    Medium,
    High,
    Critical,
}

impl PolicySeverity {
    /// Returns the name of the event log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// Which policy of which pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyName {
    /// The policy.
    pub policy: String,
    /// Its pack.
    pub pack: String,
    /// The pack's version; empty when it has none.
    pub version: String,
}

/// A violation of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyViolation {
    /// The resource; that of the stack where a policy is about all of them.
    pub urn: Urn,
    /// The policy.
    pub name: PolicyName,
    /// The text of the violation, from the policy.
    pub message: String,
    /// How strictly it is enforced.
    pub level: EnforcementLevel,
    /// How grave it is, where the policy has that.
    pub severity: Option<PolicySeverity>,
}

/// Inputs that a policy has rewritten.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRemediation {
    /// The resource.
    pub urn: Urn,
    /// The policy.
    pub name: PolicyName,
    /// The inputs that it was given.
    pub before: PropertyMap,
    /// The inputs that it made of them.
    pub after: PropertyMap,
}

/// What a pack was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyQuestion {
    /// Whether it would rewrite the inputs of one resource.
    Remediate,
    /// The violations of one resource.
    Analyze,
    /// The violations of all resources together.
    AnalyzeStack,
}

/// What a pack found in one resource, or in all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyFindings {
    /// What it was asked.
    pub question: PolicyQuestion,
    /// The resource; `None` for all of them.
    pub urn: Option<Urn>,
    /// The pack.
    pub pack: String,
    /// The pack's version; empty when it has none.
    pub version: String,
    /// Policies that found nothing.
    pub passed: Vec<String>,
    /// Policies that found something.
    pub failed: Vec<String>,
}

//! The payloads of policy events: violations, remediated inputs, and the findings of each pack.

use crate::{property::PropertyMap, urn::Urn};

/// How strictly a policy is enforced; the names are those of the protocol and of the event log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum EnforcementLevel {
    /// A violation is reported and does not fail the operation.
    Advisory,
    /// A violation fails the operation.
    Mandatory,
    /// The policy rewrites inputs; a remaining violation is mandatory.
    Remediate,
    /// The policy does not run.
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
#[expect(missing_docs, reason = "named after their values")]
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

/// A policy pack of the options, as opposed to one that the stack requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalPack {
    /// The name that the pack reports.
    pub name: String,
    /// Its version; empty when it has none.
    pub version: String,
    /// The folder of the options; `None` for a pack without one.
    pub folder: Option<String>,
}

/// A policy and its pack.
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
    /// The resource; the root stack for a policy over all resources.
    pub urn: Urn,
    /// The policy.
    pub name: PolicyName,
    /// The policy's message.
    pub message: String,
    /// How strictly it is enforced.
    pub level: EnforcementLevel,
    /// The severity, if the policy sets one.
    pub severity: Option<PolicySeverity>,
}

/// Inputs that a policy has rewritten.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRemediation {
    /// The resource.
    pub urn: Urn,
    /// The policy.
    pub name: PolicyName,
    /// The inputs before the rewriting.
    pub before: PropertyMap,
    /// The inputs after the rewriting.
    pub after: PropertyMap,
}

/// The request that a pack answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyQuestion {
    /// Remediation of the inputs of one resource.
    Remediate,
    /// Analysis of one resource.
    Analyze,
    /// Analysis of all resources together.
    AnalyzeStack,
}

impl PolicyQuestion {
    /// Returns the name of the protocol's call.
    #[must_use]
    pub(crate) const fn call(self) -> &'static str {
        match self {
            Self::Remediate => "Remediate",
            Self::Analyze => "Analyze",
            Self::AnalyzeStack => "AnalyzeStack",
        }
    }
}

/// The findings of a pack for one resource, or for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyFindings {
    /// The request.
    pub question: PolicyQuestion,
    /// The resource; `None` for all of them.
    pub urn: Option<Urn>,
    /// The pack.
    pub pack: String,
    /// The pack's version; empty when it has none.
    pub version: String,
    /// The policies without findings.
    pub passed: Vec<String>,
    /// The policies with findings.
    pub failed: Vec<String>,
}

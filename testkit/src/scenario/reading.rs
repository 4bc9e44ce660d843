//! Pending operations in scenarios, and what reading a stack without a program gives.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CallRule, ErrorExpectation};

/// A pending operation that is forgotten before an operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Forgotten {
    /// It is removed: `creating a`.
    Removed(String),
    /// It stays.
    #[serde(rename_all = "camelCase")]
    Previewed {
        /// The pending operation: `creating a`.
        pending: String,
        /// True.
        dry_run: bool,
    },
}

impl Forgotten {
    /// Returns the pending operation, and whether it stays.
    #[must_use]
    pub fn parts(&self) -> (&str, bool) {
        match self {
            Self::Removed(pending) => (pending, false),
            Self::Previewed { pending, dry_run } => (pending, *dry_run),
        }
    }
}

/// What the binding's functions for reading give after an operation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReadingExpectation {
    /// Members of the resources in use, by name.
    pub resources: BTreeMap<String, Value>,
    /// The references between resources, all of them: `b dependency a`, `b property size a`. Those to the stack and to default
    /// providers are left out.
    pub graph: Option<Vec<String>>,
    /// Members of the pending operations by `<kind> <name>`, all of them.
    pub pending: Option<BTreeMap<String, Value>>,
    /// The resources of pending operations.
    pub pending_resources: Vec<PendingResource>,
    /// Members of listed stacks, by name; null for one that is not listed.
    pub stacks: BTreeMap<String, Value>,
    /// Pages of the history.
    pub history: Vec<HistoryPart>,
    /// Analyses of the state by policy packs, one after the other.
    pub analyses: Vec<Analysis>,
}

impl ReadingExpectation {
    /// Returns whether nothing is to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
            && self.graph.is_none()
            && self.pending.is_none()
            && self.pending_resources.is_empty()
            && self.stacks.is_empty()
            && self.history.is_empty()
            && self.analyses.is_empty()
    }
}

/// The resource of a pending operation, as it is read without being recorded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PendingResource {
    /// The pending operation: `creating a`.
    pub pending: String,
    /// The id of the resource, where it is given.
    pub resource_id: Option<String>,
    /// Members of the resource; null when it does not exist.
    pub found: Value,
}

/// A page of the history.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HistoryPart {
    /// The number of entries of a page.
    pub limit: Option<usize>,
    /// The number of the page.
    pub page: Option<usize>,
    /// The kinds of its entries, the newest first.
    pub kinds: Vec<String>,
}

/// An analysis of the state by policy packs, without a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Analysis {
    /// The packs, as in the option `localPolicyPacks`.
    pub packs: Vec<Map<String, Value>>,
    /// Rules for this analysis only.
    pub calls: Vec<CallRule>,
    /// Whether no mandatory policy is violated.
    pub passed: Option<bool>,
    /// The number of analyzed resources.
    pub resources: Option<usize>,
    /// The violations, all of them: their members by `<policy> <name>`.
    pub violations: Option<BTreeMap<String, Value>>,
    /// The error; without it, the analysis succeeds.
    pub error: Option<ErrorExpectation>,
}

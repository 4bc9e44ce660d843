//! The expectation of an operation. Absent members are not checked, except for the rules that always hold.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::ReadingExpectation;

/// The expectation of an operation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Expectation {
    /// How it ends: `succeeded` when left out, `failed` or `canceled`.
    pub result: Option<String>,
    /// The error of the operation.
    pub error: Option<ErrorExpectation>,
    /// The counts of the summary, all of them.
    pub changes: Option<BTreeMap<String, u64>>,
    /// Whether the summary has `maybeCorrupt`: the state of some real thing is unknown.
    pub maybe_corrupt: Option<bool>,
    /// The steps, all of them, as `<op> <name>`, in any order; without the stack's and the default providers'.
    pub steps: Option<Vec<String>>,
    /// Steps that failed, all of them, as `<op> <name>`.
    pub failed: Option<Vec<String>>,
    /// Chains of steps: each ends before the next begins.
    pub order: Vec<Vec<String>>,
    /// Members of the metadata of steps (`keys`, `diffs`, `detailedDiff`…), by `<op> <name>`.
    pub metadata: BTreeMap<String, Value>,
    /// Counts of events by kind (`resourcePreEvent`…).
    pub events: BTreeMap<String, u64>,
    /// Messages that must have been emitted.
    pub diagnostics: Vec<DiagnosticExpectation>,
    /// Texts that no message may contain.
    pub no_diagnostics: Vec<String>,
    /// Violations of policies, all of them: members of their events (`policyName`, `enforcementLevel`…) by
    /// `<policy> <name>`.
    pub violations: Option<BTreeMap<String, Value>>,
    /// Rewritten inputs, all of them: members of their events (`before`, `after`…) by `<policy> <name>`.
    pub rewrites: Option<BTreeMap<String, Value>>,
    /// The moves that the operation has applied or suggests, all of them: their members with `old`, `new` in the place of the
    /// URNs, and `followers`, the number of resources that move with it.
    pub moves: Option<Value>,
    /// The policy packs that the summary names, with their versions.
    pub packs: Option<Value>,
    /// The stack's outputs.
    pub outputs: Option<Value>,
    /// Members of the resource plans in the result, by name; for operations with `generatePlan`.
    pub plan: BTreeMap<String, Value>,
    /// The report of an import.
    pub imported: ImportedExpectation,
    /// The calls of providers.
    pub calls: CallExpectation,
    /// The answers that the program received, by handle: `id`, `urn`, `outputs`, `failed`; an invoke's `result`.
    pub program: BTreeMap<String, Value>,
    /// Members of the configuration that the program has received, by key; a secret is `{$secret: text}`.
    pub config: Option<Value>,
    /// The recorded state afterwards.
    pub state: StateExpectation,
    /// What reading without a program gives afterwards.
    pub read: ReadingExpectation,
    /// The pending operations that the result lists as dropped, all of them, as `<kind> <name>`.
    pub dropped: Option<Vec<String>>,
    /// Ids of the things that exist afterwards, all of them.
    pub world: Option<Vec<String>>,
    /// True when the stack's file must not have been written.
    pub untouched: bool,
}

/// The expected error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ErrorExpectation {
    /// Its kind by name.
    pub kind: Option<String>,
    /// A part of its message.
    pub message: Option<String>,
    /// A part of the reference engine's text of the error.
    pub reference: Option<String>,
    /// The name of the resource that it is about.
    pub about: Option<String>,
    /// A part of each of its hints, in their order.
    pub hints: Option<Vec<String>>,
}

impl ErrorExpectation {
    /// Returns whether a document of an error has the hints.
    #[must_use]
    pub fn has_hints(&self, error: &Value) -> bool {
        let found: Vec<&str> = error["hints"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let Some(hints) = &self.hints else {
            return true;
        };
        hints.len() == found.len()
            && hints
                .iter()
                .zip(found)
                .all(|(part, hint)| hint.contains(part.as_str()))
    }
}

/// The expected report of an import.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImportedExpectation {
    /// Members of the report's resources, by their names in the request: `outcome`, `error`, `inputs`…
    pub resources: BTreeMap<String, Value>,
    /// Parts of the source code by language: `python`, `typescript`, `rust`, `c`, `sdkPython`, `sdkTypescript`.
    pub code: BTreeMap<String, Vec<String>>,
    /// Texts that no source code contains.
    pub no_code: Vec<String>,
    /// The values of the configuration that the code reads, all of them.
    pub configuration: Option<Value>,
}

/// A message that must have been emitted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DiagnosticExpectation {
    /// Its severity.
    pub severity: Option<String>,
    /// The whole text.
    pub text: Option<String>,
    /// A part of the text.
    pub contains: Option<String>,
    /// The name of the resource that it is about; empty for none.
    pub about: Option<String>,
    /// How often; at least once when left out.
    pub count: Option<usize>,
}

/// The expected calls of providers. Calls are named as in rules: `create a`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CallExpectation {
    /// The calls of a method, all of them, by method: the names of the resources.
    pub exactly: BTreeMap<String, Vec<String>>,
    /// Methods that must not have been called.
    pub none: Vec<String>,
    /// Chains of calls: each has been answered before the next begins.
    pub order: Vec<Vec<String>>,
    /// Groups of calls that were all running at one moment.
    pub together: Vec<Vec<String>>,
    /// How many calls of a method were running at one moment, at most.
    pub at_most: BTreeMap<String, usize>,
    /// Members of the requests, by call.
    pub requests: BTreeMap<String, Value>,
}

/// The expected state.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StateExpectation {
    /// The names of the live records, all of them; without the stack and the default providers.
    pub resources: Option<Vec<String>>,
    /// Members of live records, by name. URNs are written `@name`, provider references too.
    pub records: BTreeMap<String, Value>,
    /// The names of the old copies that wait for their deletion, all of them.
    pub deleting: Option<Vec<String>>,
    /// The pending operations, all of them, as `<creating> <name>`.
    pub pending: Option<Vec<String>>,
    /// Members of the records of pending operations, by `<creating> <name>`.
    pub pending_records: BTreeMap<String, Value>,
    /// Chains of names: each record stands before the next.
    pub order: Vec<Vec<String>>,
    /// The kind of the secrets manager of the state.
    pub secrets_provider: Option<String>,
    /// True when everything must be recorded as before the operation.
    pub unchanged: bool,
}

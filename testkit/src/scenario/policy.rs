//! Policy packs of a scenario: which policies they have, and what these look for.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A policy pack, served on loopback.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PackScript {
    /// The version.
    pub version: String,
    /// The policies, by name.
    pub has: BTreeMap<String, PolicyScript>,
}

/// One policy. What it looks for is one of `forbids`, `sets` and `atMost`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PolicyScript {
    /// How strictly it is enforced, unless the options say otherwise; `advisory` when left out.
    pub level: String,
    /// How grave a violation is.
    pub severity: String,
    /// What it says of a violation.
    pub message: String,
    /// Settings that it needs.
    pub requires: Vec<String>,
    /// Violated by a resource that has all of these inputs.
    pub forbids: Option<Map<String, Value>>,
    /// Rewrites inputs that are there and have other values.
    pub sets: Option<Map<String, Value>>,
    /// Violated by a stack with more resources of packages than this.
    pub at_most: Option<usize>,
}

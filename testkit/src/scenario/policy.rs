//! Policy packs of a scenario: their policies and what these find.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Where a policy pack runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PackServed {
    /// In an analyzer on loopback.
    #[default]
    Address,
    /// As functions in the actor's process.
    Host,
}

/// A policy pack.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PackScript {
    /// Where it runs.
    pub served: PackServed,
    /// The version.
    pub version: String,
    /// The policies, by name.
    pub has: BTreeMap<String, PolicyScript>,
}

/// One policy. What it looks for is one of `forbids`, `sets` and `atMost`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PolicyScript {
    /// The enforcement level, unless the options set another one; `advisory` when left out.
    pub level: String,
    /// The severity of a violation.
    pub severity: String,
    /// The message of a violation.
    pub message: String,
    /// Required settings.
    pub requires: Vec<String>,
    /// Violated by a resource that has all of these inputs.
    pub forbids: Option<Map<String, Value>>,
    /// Rewrites inputs that are there and have other values.
    pub sets: Option<Map<String, Value>>,
    /// Violated by a stack with more resources of packages than this.
    pub at_most: Option<usize>,
}

//! Transforms of a scenario: what they set in registrations and in calls of functions.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One transform. Without members it leaves everything as it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TransformScript {
    /// Inputs or arguments that it sets; null removes one.
    pub inputs: Map<String, Value>,
    /// Options that it sets, by the names of goals; null removes one.
    pub options: Map<String, Value>,
}

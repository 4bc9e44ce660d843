//! Observations: the visible effects of an operation, for the checks.

use serde_json::Value;

use super::goal::Answers;
use crate::{scenario::OperationKind, script::CallRecord};

/// The visible effects of one operation.
#[derive(Debug)]
pub struct Observation {
    /// The kind of the operation.
    pub kind: OperationKind,
    /// Whether it was a preview.
    pub dry: bool,
    /// What the binding returned; `None` when its process was killed.
    pub result: Option<Value>,
    /// The calls of providers.
    pub calls: Vec<CallRecord>,
    /// The answers that the program received.
    pub answers: Answers,
    /// The exported deployment before, and after.
    pub before: Value,
    /// The exported deployment after the operation.
    pub after: Value,
    /// What was read without a program; null for nothing.
    pub read: Value,
    /// Files of the store that changed.
    pub written: Vec<String>,
    /// Lock files that are left.
    pub locks: Vec<String>,
    /// The things that exist.
    pub world: Vec<String>,
    /// Faults of the scenario itself.
    pub problems: Vec<String>,
    /// All labels of the trace, in order.
    pub trace: Vec<String>,
    /// Texts that must not occur in plaintext.
    pub secrets: Vec<String>,
    /// Files of the store that contain one in plaintext.
    pub leaks: Vec<String>,
    /// Texts that are secrets of the other stack only, and must not be in the state.
    pub foreign: Vec<String>,
}

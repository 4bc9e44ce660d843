//! Observations: what can be seen of an operation, for the checks.

use serde_json::Value;

use super::goal::Answers;
use crate::{scenario::OperationKind, script::CallRecord};

/// What could be seen of one operation.
#[derive(Debug)]
pub struct Observation {
    /// What was run.
    pub kind: OperationKind,
    /// Whether it only showed what it would do.
    pub dry: bool,
    /// What the binding returned; `None` when its process was killed.
    pub result: Option<Value>,
    /// The calls of providers.
    pub calls: Vec<CallRecord>,
    /// What the program got back.
    pub answers: Answers,
    /// The exported deployment before, and after.
    pub before: Value,
    /// The exported deployment after the operation.
    pub after: Value,
    /// Files of the store that changed.
    pub written: Vec<String>,
    /// Lock files that are left.
    pub locks: Vec<String>,
    /// The things that exist.
    pub world: Vec<String>,
    /// What went wrong with the scenario itself.
    pub problems: Vec<String>,
    /// All that happened, in order.
    pub trace: Vec<String>,
    /// Texts that must be nowhere in the clear.
    pub secrets: Vec<String>,
    /// Files of the store in which one stands in the clear.
    pub leaks: Vec<String>,
    /// Texts that are secrets of the other stack only, and must not be in the state.
    pub foreign: Vec<String>,
}

//! The text of a plan, as snapshots of tests keep it.

use super::facts::{change_text, mark, steps_of, value_text};
use crate::{operation::OperationResult, step::StepOp};

/// Returns what an operation did, or would do, as text that is the same for equal runs: each resource in the order of the URNs
/// with its changed properties, then the outputs of the stack. Secrets are masked.
#[must_use]
pub fn plan_text(result: &OperationResult) -> String {
    let mut text = String::new();
    for step in steps_of(result) {
        let op = match step.op {
            StepOp::CreateReplacement | StepOp::DeleteReplaced => StepOp::Replace,
            op => op,
        };
        let types = step.urn.qualified_type();
        text.push_str(&format!("{} {op} {types} {}\n", mark(op), step.urn.name()));
        let protect = step.new.is_some_and(|new| new.protect);
        if protect {
            text.push_str("    (protected)\n");
        }
        if let (StepOp::Create | StepOp::Import, Some(new)) = (op, step.new) {
            for (name, value) in new.inputs.iter().filter(|(name, _)| !name.starts_with("__")) {
                text.push_str(&format!("    {name}: {}\n", value_text(value, &result.redactor)));
            }
        }
        for change in &step.changes {
            text.push_str(&format!("    {}\n", change_text(change, &result.redactor)));
        }
    }
    if !result.outputs.is_empty() {
        text.push_str("outputs\n");
        for (name, value) in result.outputs.iter() {
            text.push_str(&format!("    {name}: {}\n", value_text(value, &result.redactor)));
        }
    }
    if text.is_empty() {
        text.push_str("no changes\n");
    }
    text
}

//! The text of a plan, as snapshots of tests keep it.

use super::facts::{change_text, failed_text, failure_text, mark, steps_of, value_text};
use crate::{operation::OperationResult, step::StepOp};

/// Returns what an operation did, or would do, as text that is the same for equal runs: each resource in the order of the URNs
/// with its changed properties, then the outputs of the stack. Secrets are masked. The text of one that failed begins with the first
/// line of its error.
#[must_use]
pub fn plan_text(result: &OperationResult) -> String {
    let failure = failure_text(result);
    let mut text = failure.map_or_else(String::new, |failure| format!("{failure}\n"));
    for step in steps_of(result) {
        let op = match step.op {
            StepOp::CreateReplacement | StepOp::DeleteReplaced => StepOp::Replace,
            op => op,
        };
        let types = step.urn.qualified_type();
        let (name, failed) = (step.urn.name(), failed_text(&step));
        text.push_str(&format!("{} {op} {types} {name}{failed}\n", mark(op)));
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
    result.redactor.scrub(&text).into_owned()
}

//! The result of a set.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::wording::{self, Ended};
use crate::{
    error::{Error, ErrorKind},
    event::OperationOutcome,
    operation::OperationResult,
    store::StackName,
};

/// The end of one stack of a set.
#[derive(Clone, Debug)]
pub struct StackEnd {
    /// The stack.
    pub name: StackName,
    /// The result of its operation.
    pub result: Arc<OperationResult>,
    /// Whether its operation did not begin: a stack that it needs did not succeed, the set was cancelled or refused. The error of
    /// the result states the reason.
    pub is_skipped: bool,
}

/// The result of a set.
#[derive(Clone, Debug)]
pub struct FleetResult {
    /// The end of each stack, in the order of the call.
    pub stacks: Vec<StackEnd>,
    /// The error, which names the stacks that failed; `None` when all succeeded.
    pub error: Option<Error>,
    /// How it ended: canceled when the host cancelled it before all stacks had ended.
    pub outcome: OperationOutcome,
    /// How many resources of all stacks each operation was applied to, by the operation's name.
    pub changes: BTreeMap<&'static str, u64>,
    /// The duration.
    pub duration: Duration,
}

impl FleetResult {
    pub(super) fn new(
        stacks: Vec<StackEnd>,
        refusal: Option<Error>,
        was_cancelled: bool,
        duration: Duration,
    ) -> Self {
        let mut changes = BTreeMap::new();
        for (op, count) in stacks.iter().flat_map(|end| &end.result.changes) {
            *changes.entry(*op).or_default() += count;
        }
        let error = refusal.or_else(|| error_of(&stacks, was_cancelled));
        let outcome = match &error {
            None => OperationOutcome::Succeeded,
            Some(error) if error.kind() == ErrorKind::Cancelled => OperationOutcome::Canceled,
            Some(_) => OperationOutcome::Failed,
        };
        Self {
            stacks,
            error,
            outcome,
            changes,
            duration,
        }
    }

    /// Returns the end of a stack, by its name (`project/stack`).
    #[must_use]
    pub fn stack(&self, name: &str) -> Option<&StackEnd> {
        self.stacks.iter().find(|end| end.name.to_string() == name)
    }

    /// Renders what each stack came to, one after the other, followed by the error of the whole.
    #[must_use]
    pub fn tree(&self) -> String {
        let mut text = String::new();
        for end in &self.stacks {
            text.push_str(&format!("{}: {}\n", end.name, described(end)));
            for line in end.result.tree().lines().filter(|_| !end.is_skipped) {
                let indented = format!("    {line}");
                text.push_str(indented.trim_end());
                text.push('\n');
            }
        }
        if let Some(error) = &self.error {
            text.push_str(&format!("{}\n", error.message()));
        }
        text
    }
}

/// Returns how a stack ended.
fn described(end: &StackEnd) -> String {
    match (&end.result.error, end.is_skipped) {
        (Some(error), true) => format!("skipped: {}", error.message()),
        _ => end.result.outcome.name().to_owned(),
    }
}

/// Returns the error of a set whose stacks ended so.
fn error_of(stacks: &[StackEnd], was_cancelled: bool) -> Option<Error> {
    let ends: Vec<Ended<'_>> = stacks
        .iter()
        .map(|end| Ended {
            name: &end.name,
            error: end.result.error.as_ref(),
            is_skipped: end.is_skipped,
            is_unknown: false,
        })
        .collect();
    wording::error_of(&ends, was_cancelled)
}

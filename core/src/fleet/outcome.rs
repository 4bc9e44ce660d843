//! The result of a set.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    error::{Error, ErrorKind},
    event::OperationOutcome,
    operation::OperationResult,
    store::StackName,
};

/// How many stacks an error lists.
const MAX_LISTED: usize = 5;

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

impl StackEnd {
    fn has_failed(&self) -> bool {
        self.result.error.is_some() && !self.is_skipped
    }
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
    let unsuccessful = stacks.iter().filter(|end| end.result.error.is_some()).count();
    if unsuccessful == 0 {
        return None;
    }
    let skipped = stacks.iter().filter(|end| end.is_skipped).count();
    let failed: Vec<&StackEnd> = stacks.iter().filter(|end| end.has_failed()).collect();
    let of = stacks.len();
    let mut text = match was_cancelled {
        true => format!("the set was cancelled: {unsuccessful} of {of} stacks did not succeed"),
        false => format!("{} of {of} stacks failed", failed.len()),
    };
    if skipped > 0 {
        let of_them = if was_cancelled { " of them" } else { "" };
        text.push_str(&format!(", {skipped}{of_them} did not begin"));
    }
    for end in failed.iter().take(MAX_LISTED) {
        if let Some(error) = &end.result.error {
            text.push_str(&format!("; {}: {}", end.name, error.message()));
        }
    }
    if failed.len() > MAX_LISTED {
        text.push_str(&format!("; and {} more", failed.len() - MAX_LISTED));
    }
    let kind = if was_cancelled {
        ErrorKind::Cancelled
    } else {
        ErrorKind::Failed
    };
    Some(Error::new(kind, text))
}

//! Refactorings: a program that changes nothing in the state of another one, or the aliases that it lacks.

use std::collections::BTreeSet;

use super::facts::{ResourceStep, failure_text, step_text, steps_of};
use crate::{operation::OperationResult, urn::Urn};

/// Returns why the preview of a refactored program changes something: the aliases that are missing, and the changes that no alias
/// explains. `None` when nothing changes. The changes of a program that failed are not known: the text has its error.
#[must_use]
pub fn missing_aliases(preview: &OperationResult) -> Option<String> {
    if let Some(failure) = failure_text(preview) {
        return Some(format!(
            "{failure}\nthe changes of the second program are not known"
        ));
    }
    let steps = steps_of(preview);
    let changes: Vec<&ResourceStep<'_>> = steps.iter().filter(|step| step.is_change()).collect();
    if changes.is_empty() {
        return None;
    }
    let mut text = format!("the second program changes {}", counted(changes.len()));
    let mut explained: BTreeSet<&Urn> = BTreeSet::new();
    if !preview.suggested_moves.is_empty() {
        text.push_str("\naliases are missing:");
    }
    for suggestion in &preview.suggested_moves {
        let (old, new) = (&suggestion.old_urn, &suggestion.new_urn);
        explained.extend([old, new]);
        text.push_str(&format!(
            "\n  {} ({})  {}",
            new.name(),
            new.resource_type(),
            suggestion.alias
        ));
        text.push_str(&format!("\n      was {old}\n      is  {new}"));
        for following in &suggestion.following {
            explained.extend([&following.old_urn, &following.new_urn]);
        }
        if !suggestion.following.is_empty() {
            let count = suggestion.following.len();
            text.push_str(&format!("\n      with {} below it", counted(count)));
        }
    }
    let others = changes.iter().filter(|step| !explained.contains(step.urn));
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        text.push_str("\nno alias explains:");
    }
    for step in others {
        text.push_str(&step_text(step, &preview.redactor));
    }
    Some(text)
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 resource".to_owned(),
        count => format!("{count} resources"),
    }
}

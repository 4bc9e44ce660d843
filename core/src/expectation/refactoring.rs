//! Refactorings: a program that changes nothing in the state of another one, or the aliases that it lacks.

use std::collections::BTreeSet;

use super::facts::{ResourceStep, change_text, failure_text, is_own, step_text, steps_of};
use crate::{
    event::{PropertyChange, SuggestedMove},
    operation::OperationResult,
    property::PropertyValue,
    resource::ResourceState,
    step::StepOp,
    urn::Urn,
};

/// What a refactoring may change.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowedChanges {
    /// Components may be created and deleted: no provider manages one. Resources below them still need their aliases.
    pub components: bool,
}

/// Returns why the preview of a refactored program changes something: the aliases that are missing, the changes that follow from
/// these, those that no alias explains, changed options of resources that stay (protection for instance), and changed outputs of the
/// stack. `None` when nothing changes but what is allowed. The changes of a program that failed are not known: the text has its error.
///
/// A preview with the option `accept_moves` finds aliases that others are needed for: of resources in a renamed component, for
/// instance, and of what depends on a renamed resource.
///
/// A changed option is no step of an operation, and no change in its counts: it is one of the record alone.
#[must_use]
pub fn missing_aliases(preview: &OperationResult, allowed: AllowedChanges) -> Option<String> {
    if let Some(failure) = failure_text(preview) {
        return Some(format!(
            "{failure}\nthe changes of the second program are not known"
        ));
    }
    let steps = steps_of(preview);
    let is_allowed = |step: &ResourceStep<'_>| allowed.components && is_of_component(step);
    let is_counted = |step: &&ResourceStep<'_>| step.is_change() && !is_allowed(step);
    let changes: Vec<&ResourceStep<'_>> = steps.iter().filter(is_counted).collect();
    let options = changed_options(preview);
    let outputs = changed_outputs(preview, !changes.is_empty());
    let mut subjects = Vec::new();
    let count = changes.len() + hidden_by_moves(&preview.suggested_moves);
    if count > 0 {
        subjects.push(counted(count, "resource"));
    }
    if !options.is_empty() {
        subjects.push(format!("the options of {}", counted(options.len(), "resource")));
    }
    if !outputs.is_empty() {
        subjects.push(counted(outputs.len(), "output of the stack"));
    }
    if subjects.is_empty() {
        return None;
    }
    let mut text = format!("the second program changes {}", subjects.join(", and "));
    push_changes(&mut text, preview, &changes);
    if !options.is_empty() {
        text.push_str("\noptions change:");
        options.iter().for_each(|line| text.push_str(line));
    }
    if !outputs.is_empty() {
        text.push_str("\noutputs of the stack change:");
    }
    for output in &outputs {
        text.push_str(&format!("\n  {}", change_text(output, &preview.redactor)));
    }
    Some(preview.redactor.scrub(&text).into_owned())
}

/// Returns whether a step creates or deletes a component.
const fn is_of_component(step: &ResourceStep<'_>) -> bool {
    step.is_component && matches!(step.op, StepOp::Create | StepOp::Delete)
}

/// Returns how many changes a preview does not have because it applies moves: the deletion and the creation of each moved resource.
fn hidden_by_moves(moves: &[SuggestedMove]) -> usize {
    let accepted = moves.iter().filter(|suggestion| suggestion.accepted);
    accepted
        .map(|suggestion| 2 + 2 * suggestion.following.len())
        .sum()
}

/// Adds the aliases that are missing, the changes that follow from these, and those that none explains.
fn push_changes(text: &mut String, preview: &OperationResult, changes: &[&ResourceStep<'_>]) {
    let mut explained: BTreeSet<&Urn> = BTreeSet::new();
    if !preview.suggested_moves.is_empty() {
        text.push_str("\naliases are missing:");
    }
    for suggestion in &preview.suggested_moves {
        let (old, new) = (&suggestion.old_urn, &suggestion.new_urn);
        // What changes in a resource although its move is applied has another reason.
        if !suggestion.accepted {
            explained.extend([old, new]);
            explained.extend(
                suggestion
                    .following
                    .iter()
                    .flat_map(|it| [&it.old_urn, &it.new_urn]),
            );
        }
        text.push_str(&format!(
            "\n  {} ({})  {}",
            new.name(),
            new.resource_type(),
            suggestion.alias
        ));
        text.push_str(&format!("\n      was {old}\n      is  {new}"));
        if !suggestion.following.is_empty() {
            let count = suggestion.following.len();
            text.push_str(&format!("\n      with {} below it", counted(count, "resource")));
        }
    }
    let others = changes.iter().filter(|step| !explained.contains(step.urn));
    let (consequences, others) = consequences(others.copied().collect(), explained);
    for (heading, steps) in [
        ("\nfollows from missing aliases:", consequences),
        ("\nno alias explains:", others),
    ] {
        if !steps.is_empty() {
            text.push_str(heading);
        }
        for step in steps {
            text.push_str(&step_text(step, &preview.redactor));
        }
    }
}

/// Divides changes into those that follow from the changes of other resources, and the rest: resources that depend on them, and whose
/// properties change only to values that are not known yet.
fn consequences<'a>(
    mut others: Vec<&'a ResourceStep<'a>>,
    mut explained: BTreeSet<&'a Urn>,
) -> (Vec<&'a ResourceStep<'a>>, Vec<&'a ResourceStep<'a>>) {
    let mut consequences = Vec::new();
    loop {
        let (found, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|step| follows(step, &explained));
        others = rest;
        if found.is_empty() {
            return (consequences, others);
        }
        explained.extend(found.iter().map(|step| step.urn));
        consequences.extend(found);
    }
}

fn follows(step: &ResourceStep<'_>, causes: &BTreeSet<&Urn>) -> bool {
    let is_unknown = |change: &PropertyChange| {
        let new = change.new.as_ref();
        new.is_some_and(PropertyValue::contains_unknowns)
    };
    let depends = |new: &ResourceState| {
        let properties = new.property_dependencies.lists().flatten();
        let mut urns = new.dependencies.iter().chain(properties);
        urns.any(|urn| causes.contains(urn))
    };
    let has_changes = !step.changes.is_empty();
    has_changes && step.changes.iter().all(is_unknown) && step.new.is_some_and(|new| depends(new))
}

/// Returns the outputs of the stack that change. Those that are not known follow from changes of resources.
fn changed_outputs(preview: &OperationResult, has_changes: bool) -> Vec<PropertyChange> {
    let follows = |change: &PropertyChange| {
        let output = preview.outputs.get(change.path.as_str());
        has_changes && output.is_some_and(PropertyValue::contains_unknowns)
    };
    let changes = preview.output_changes().into_iter();
    changes.filter(|change| !follows(change)).collect()
}

/// Returns the resources whose records get other options, as lines with a newline before each.
fn changed_options(preview: &OperationResult) -> Vec<String> {
    let lines = preview.rerecorded.iter().filter_map(|[old, new]| {
        let changes = options_between(old, new);
        let (name, kind) = (new.urn.name(), new.urn.resource_type());
        let is_shown = !changes.is_empty() && !is_own(&new.urn);
        is_shown.then(|| format!("\n  {name} ({kind})  {}", changes.join(", ")))
    });
    let sorted: BTreeSet<String> = lines.collect();
    sorted.into_iter().collect()
}

/// Returns the options of a record that differ, by their names in the state. What names other resources is compared as far as that
/// an alias does not change it, and the id of an import has had its effect.
fn options_between(old: &ResourceState, new: &ResourceState) -> Vec<String> {
    let flags = [
        ("protect", old.protect, new.protect),
        ("retainOnDelete", old.retain_on_delete, new.retain_on_delete),
    ];
    let flags = flags
        .into_iter()
        .filter(|(_, old, new)| old != new)
        .map(|(name, old, new)| format!("{name}: {old} -> {new}"));
    let (before, after) = (&*old.options, &*new.options);
    let others = [
        ("ignoreChanges", before.ignore_changes != after.ignore_changes),
        (
            "replaceOnChanges",
            before.replace_on_changes != after.replace_on_changes,
        ),
        (
            "additionalSecretOutputs",
            before.additional_secret_outputs != after.additional_secret_outputs,
        ),
        ("customTimeouts", before.custom_timeouts != after.custom_timeouts),
        (
            "deletedWith",
            before.deleted_with.is_some() != after.deleted_with.is_some(),
        ),
        (
            "replaceWith",
            before.replace_with.len() != after.replace_with.len(),
        ),
        ("hideDiffs", before.hide_diffs != after.hide_diffs),
        ("resourceHooks", before.resource_hooks != after.resource_hooks),
    ];
    let others = others.into_iter().filter(|(_, differ)| *differ);
    flags
        .chain(others.map(|(name, _)| format!("{name} changes")))
        .collect()
}

fn counted(count: usize, noun: &str) -> String {
    match (count, noun.split_once(' ')) {
        (1, _) => format!("1 {noun}"),
        (count, Some((first, rest))) => format!("{count} {first}s {rest}"),
        (count, None) => format!("{count} {noun}s"),
    }
}

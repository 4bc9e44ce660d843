//! Warnings about pending operations of an interrupted run, with the ways to resolve them.

use rustc_hash::FxHashMap;

use super::options::styled_name;
use crate::{
    message::{Text, interrupted},
    resource::{PendingOperation, PendingOperationKind},
    store::Holder,
};

/// Returns the warning of an update over pending operations; with `forgets_creations`, the update settles all of them.
pub(super) fn warning(pending: &[PendingOperation], forgets_creations: bool) -> Text {
    let opening = format!(
        "Attempting to deploy or update resources with {} pending operations from previous deployment.",
        pending.len()
    );
    let advice = "A refresh records what has become of them and settles what is pending, creations left out.";
    worded(opening, pending, forgets_creations, advice)
}

/// Returns the note of other operations; with `is_settling`, the operation settles pending ones.
pub(super) fn note(pending: &[PendingOperation], forgets_creations: bool, is_settling: bool) -> Text {
    let opening = format!(
        "The state has {} pending operations from previous deployment.",
        pending.len()
    );
    let advice = if is_settling {
        "This refresh records what has become of them and settles what is pending, creations left out."
    } else {
        "A refresh records what has become of them and settles what is pending, creations left out."
    };
    worded(opening, pending, forgets_creations, advice)
}

/// Returns the note of a preview that was started while the operation of `holder` may be in progress.
pub(super) fn in_progress(pending: &[PendingOperation], holder: &Holder) -> String {
    let (noun, is) = match pending.len() {
        1 => ("operation", "is"),
        _ => ("operations", "are"),
    };
    let (verb, afterword) = match holder.is_alive {
        true => (is, ""),
        false => (
            "may be",
            "\nIf that process has died, these operations were interrupted: the next update or refresh explains how to resolve them.",
        ),
    };
    let mut text = format!(
        "{} {noun} of the stack {verb} in progress: {}. The preview starts from the state as it was when it was read.",
        pending.len(),
        holder.text,
    );
    for (operation, _) in counted(pending) {
        text.push_str(&format!("\n  * {}: {}", subject(operation), kind(operation)));
    }
    text.push_str(afterword);
    text
}

/// Returns the note of an operation that has dropped pending ones without resolving them.
pub(super) fn dropped(pending: &[PendingOperation]) -> String {
    let mut text = match pending.len() {
        1 => "A pending operation was dropped from the state; no step has worked on its resource:".to_owned(),
        count => format!(
            "{count} pending operations were dropped from the state; no step has worked on their resources:"
        ),
    };
    for (operation, _) in counted(pending) {
        text.push_str(&format!("\n  * {}: {}", subject(operation), kind(operation)));
    }
    text
}

/// Returns the URN of an operation's resource, with the id where it has one.
fn subject(operation: &PendingOperation) -> String {
    let urn = &operation.resource.urn;
    match operation.resource.id.as_str() {
        "" => urn.to_string(),
        id => format!("{urn} (id {id})"),
    }
}

fn kind(operation: &PendingOperation) -> String {
    format!("{:?}", operation.kind).to_lowercase()
}

fn worded(opening: String, pending: &[PendingOperation], forgets_creations: bool, advice: &str) -> Text {
    let mut list = opening;
    for (operation, times) in counted(pending) {
        let times = match times {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let (subject, kind) = (subject(operation), kind(operation));
        list.push_str(&format!("\n  * {subject}, interrupted while {kind}{times}"));
    }
    let is_creation = |operation: &PendingOperation| operation.kind == PendingOperationKind::Creating;
    let has_creations = pending.iter().any(is_creation) && !forgets_creations;
    let reference = format!("{list}\n{}", interrupted(has_creations));
    let mut text = list;
    text.push_str(
        "\nThese resources are in an unknown state because the engine was interrupted while waiting for changes to these \
         resources to complete.",
    );
    if !pending.iter().all(is_creation) {
        text.push('\n');
        text.push_str(advice);
    }
    if has_creations {
        let [adopt, forget, clear, import] = [
            "adoptPending",
            "forgetPending",
            "clearPendingCreates",
            "importPendingCreates",
        ]
        .map(styled_name);
        text.push_str(&format!(
            "\nAn interrupted creation may have created a resource without a record: search for it at its provider. The stack's \
             {adopt} records one that exists, and {forget} drops the creation of one that does not. A refresh does the same for \
             several of them, with the options {import} and {clear}.",
        ));
    }
    Text::pair(reference, text)
}

/// Returns each operation once, in order, with its number of records: one creation can be interrupted in every run.
fn counted(pending: &[PendingOperation]) -> Vec<(&PendingOperation, usize)> {
    let mut counted: Vec<(&PendingOperation, usize)> = Vec::new();
    let mut places = FxHashMap::default();
    for operation in pending {
        let place = *places
            .entry((&operation.resource.urn, &operation.resource.id, operation.kind))
            .or_insert(counted.len());
        match counted.get_mut(place) {
            Some((_, times)) => *times += 1,
            None => counted.push((operation, 1)),
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{resource::ResourceState, token::TypeToken, urn::Urn};

    fn pending(kind: PendingOperationKind, name: &str) -> PendingOperation {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", name);
        PendingOperation {
            resource: Arc::new(ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true)),
            kind,
        }
    }

    #[test]
    fn each_operation_is_listed_once_with_its_number_of_interruptions() {
        let twice = [
            pending(PendingOperationKind::Creating, "a"),
            pending(PendingOperationKind::Creating, "b"),
            pending(PendingOperationKind::Creating, "a"),
        ];
        let text = warning(&twice, false);
        let text = text.library();
        assert!(text.contains("with 3 pending operations"), "{text}");
        assert_eq!(
            text.matches("::a, interrupted while creating (2 times)").count(),
            1,
            "{text}"
        );
        assert_eq!(text.matches("::a,").count(), 1, "{text}");
        assert!(text.contains("::b, interrupted while creating\n"), "{text}");
    }

    #[test]
    fn the_note_of_a_refresh_names_what_it_settles_and_that_creations_stay() {
        let both = [
            pending(PendingOperationKind::Creating, "a"),
            pending(PendingOperationKind::Updating, "b"),
        ];
        let text = note(&both, false, true);
        let text = text.library();
        assert!(
            text.starts_with("The state has 2 pending operations") && text.contains("\nThis refresh records"),
            "{text}"
        );
        assert!(
            text.contains("::a, interrupted while creating\n") && text.contains("clearPendingCreates"),
            "{text}"
        );
        assert!(note(&both, false, false).contains("\nA refresh records"));
    }

    #[test]
    fn what_another_process_is_at_work_on_is_no_interruption() {
        let pending = [pending(PendingOperationKind::Updating, "a")];
        let mut holder = Holder {
            text: "the update that process 7 of bob@there began at noon holds the stack".to_owned(),
            is_alive: true,
        };
        let text = in_progress(&pending, &holder);
        assert!(
            text.starts_with("1 operation of the stack is in progress: the update that process 7"),
            "{text}"
        );
        assert!(
            text.ends_with("::a: updating") && !text.contains("interrupted"),
            "{text}"
        );
        holder.is_alive = false;
        let text = in_progress(&pending, &holder);
        assert!(
            text.contains("may be in progress") && text.contains("If that process has died"),
            "{text}"
        );
    }

    #[test]
    fn the_advice_is_about_what_is_pending() {
        let creating = [pending(PendingOperationKind::Creating, "a")];
        let updating = [pending(PendingOperationKind::Updating, "a")];
        let text = warning(&creating, false);
        assert!(
            text.contains("clearPendingCreates") && !text.contains("A refresh records"),
            "{text}"
        );
        assert!(
            text.reference().contains("refresh --clear-pending-creates")
                && !text.reference().contains("clearPendingCreates")
        );
        let settled = warning(&creating, true);
        assert!(!settled.contains("clearPendingCreates") && !settled.contains("--clear-pending-creates"));
        let text = warning(&updating, false);
        assert!(
            text.contains("A refresh records") && !text.contains("PendingCreates"),
            "{text}"
        );
    }
}

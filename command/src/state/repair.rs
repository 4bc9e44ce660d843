//! `state repair`.

use stackwright::{
    Error, ErrorKind,
    binding::edit_report_document,
    state::edit::{EditKind, EditReport, EditedRecord, RemovedReference, StateEdit},
};

use super::opened;
use crate::{
    arguments::StackOption,
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
};

/// What the core's error of a state that cannot be repaired begins with.
const BEYOND_REPAIR: &str = "the state cannot be repaired: ";

/// Repairs the state, after a report of what that changes.
pub(super) async fn repair(
    session: &Session<'_>,
    printer: Printer<'_>,
    stack: &StackOption,
    yes: bool,
) -> Result {
    let invocation = session.invocation;
    let stack = opened(session, stack.stack.as_deref()).await?;
    let planned = stack.edit(&StateEdit::Repair, true).await.map_err(failed)?;
    if planned.is_empty() {
        // A repair that writes nothing has this report, too.
        let report = EditReport {
            dry_run: false,
            ..planned
        };
        let line = "The snapshot is already valid; skipping repair";
        return printer.end_with_report(line, || edit_report_document(&report));
    }
    if !invocation.is_confirmed(yes) {
        printer.lines(&report(&planned));
        if printer.ask().is_none() {
            return Err(Failure::needs_yes());
        }
        let question = "This command will edit your stack's state directly. Confirm?";
        if !invocation.confirm(false, question).await? {
            invocation.print("Confirmation denied, not proceeding with state repair");
            return Ok(());
        }
    }
    let repaired = stack.edit(&StateEdit::Repair, false).await.map_err(failed)?;
    super::warn(session, &repaired);
    printer.end_with_report("State repaired successfully", || edit_report_document(&repaired))
}

/// Returns what a repair changes.
fn report(planned: &EditReport) -> String {
    let mut text = String::new();
    let records = || planned.records.iter();
    let moved = records().filter(|record| record.kind == EditKind::Moved);
    let moved: String = moved.map(|record| format!("* {}\n", shown(record))).collect();
    if !moved.is_empty() {
        text.push_str("The following resources will be reordered to appear before their dependents:\n\n");
        text.push_str(&moved);
        text.push('\n');
    }
    let is_modified =
        |record: &&EditedRecord| record.former_urn.is_some() || !record.removed_references.is_empty();
    let modified: String = records().filter(is_modified).map(modified).collect();
    if !modified.is_empty() {
        text.push_str("The following resources will be modified to remove missing dependencies:\n\n");
        text.push_str(&modified);
        text.push('\n');
    }
    text
}

fn shown(record: &EditedRecord) -> String {
    let mark = if record.pending_deletion { " (deleted)" } else { "" };
    format!("{}{mark}", record.urn)
}

fn modified(record: &EditedRecord) -> String {
    let former = record.former_urn.as_ref().unwrap_or(&record.urn);
    let mut lines = format!("~ {former}\n");
    if record.former_urn.is_some() {
        lines.push_str(&format!("  ~ {} [urn]\n", record.urn));
    }
    for RemovedReference { field, urn } in &record.removed_references {
        let label = match field.as_str() {
            "dependencies" => "dependency",
            "deletedWith" => "deleted with",
            "replaceWith" => "replace with",
            "viewOf" => "view of",
            other => match other.split_once('.') {
                Some((_, property)) => &format!("property dependency: {property}"),
                None => other,
            },
        };
        lines.push_str(&format!("  - {urn} [{label}]\n"));
    }
    lines
}

/// Returns the failure of a repair.
fn failed(error: Error) -> Failure {
    if error.kind() != ErrorKind::State {
        return error.into();
    }
    let failure = Failure::from(error);
    let reason = failure
        .message
        .strip_prefix(BEYOND_REPAIR)
        .unwrap_or(&failure.message);
    Failure::new(format!(
        "Failed to repair the snapshot automatically: {reason}\n\n\
         The state is unchanged. `pulumi stack export` writes it as it is; once the document is corrected, `pulumi stack import` \
         replaces the state by it."
    ))
}

//! `state move`.

use stackwright::{
    binding::move_report_document,
    state::edit::{EditKind, Move, MoveReport, RemovedReference},
    urn::Urn,
};

use super::{explained, parsed};
use crate::{
    arguments::StateMove,
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
};

/// The advice where resources lose references.
const ADVICE: &str = "If you go ahead with moving these dependencies, it will be necessary to create the appropriate inputs and \
                      outputs in the program for the stack the resources are moved to.\n\n";

/// The qualified names of both stacks.
struct Names {
    source: String,
    destination: String,
}

/// Moves resources to another stack, after a report of what that changes.
pub(super) async fn relocate(session: &Session<'_>, arguments: &StateMove) -> Result {
    let invocation = session.invocation;
    let printer = Printer::new(invocation, arguments.form.is_json());
    if arguments.source.is_none() && arguments.dest.is_none() {
        return Err(Failure::new(
            "at least one of --source or --dest must be provided",
        ));
    }
    let from = session.stack_or_selected(arguments.source.as_deref())?;
    let to = session.stack_or_selected(arguments.dest.as_deref())?;
    let (source, destination) = (session.named_stack(&from).await?, session.named_stack(&to).await?);
    let names = Names {
        source: from.name.qualified(),
        destination: to.name.qualified(),
    };
    let known = source.resources().await?;
    let mut urns: Vec<Urn> = parsed(&arguments.urns)?;
    urns.retain(|urn| {
        let is_known = known.iter().any(|record| record.urn == *urn);
        if !is_known {
            printer.warning(format!("Resource {urn} not found in source stack"));
        }
        is_known
    });
    if urns.is_empty() {
        let stack = &names.source;
        return Err(Failure::new("no resources found to move").followed_by(&format!(
            "To list the resource URNs in the stack, run `pulumi stack --stack {stack} --show-urns`; to inspect the full state, \
             run `pulumi stack export --stack {stack}`."
        )));
    }
    let edit = Move {
        urns,
        include_parents: arguments.include_parents,
    };
    let planned = source.move_resources(&destination, &edit, true).await;
    printer.lines(&report(&planned.map_err(explained)?, &names));
    if !invocation.is_confirmed(arguments.yes) {
        if printer.ask().is_none() {
            return Err(Failure::needs_yes());
        }
        if !invocation
            .confirm(false, "Do you want to perform this move?")
            .await?
        {
            invocation.print("Confirmation denied, not proceeding with the state move");
            return Ok(());
        }
    }
    let moved = source.move_resources(&destination, &edit, false).await;
    let moved = moved.map_err(explained)?;
    super::warn(session, &moved.source);
    super::warn(session, &moved.destination);
    let line = format!(
        "Successfully moved resources from {} to {}",
        names.source, names.destination
    );
    printer.end_with_report(line, || move_report_document(&moved))
}

/// Returns what a move changes.
fn report(planned: &MoveReport, names: &Names) -> String {
    let Names { source, destination } = names;
    let (left, arrived) = (&planned.source.records, &planned.destination.records);
    let moved = left
        .iter()
        .filter(|record| record.kind == EditKind::Removed && record.pending_operation.is_none());
    let moved: String = moved.map(|record| format!("  - {}\n", record.urn)).collect();
    let mut text =
        format!("Planning to move the following resources from {source} to {destination}:\n\n{moved}\n");
    let remaining: String = left
        .iter()
        .map(|record| lost(&record.urn, &record.removed_references))
        .collect();
    if !remaining.is_empty() {
        text.push_str(&format!(
            "The following resources remaining in {source} have dependencies on resources moved to {destination}:\n\n{remaining}\n"
        ));
    }
    let moving: String = arrived
        .iter()
        .map(|record| {
            let urn = record.former_urn.as_ref().unwrap_or(&record.urn);
            lost(urn, &record.removed_references)
        })
        .collect();
    if !moving.is_empty() {
        text.push_str(&format!(
            "The following resources being moved to {destination} have dependencies on resources in {source}:\n\n{moving}\n"
        ));
    }
    if !remaining.is_empty() || !moving.is_empty() {
        text.push_str(ADVICE);
    }
    text
}

/// Returns a line for each reference that a record loses. That its parent stays is none.
fn lost(urn: &Urn, references: &[RemovedReference]) -> String {
    let lines = references
        .iter()
        .filter_map(|RemovedReference { field, urn: other }| {
            Some(match field.as_str() {
                "parent" => return None,
                "dependencies" => format!("  - {urn} has a dependency on {other}\n"),
                "deletedWith" => format!("  - {urn} is marked as deleted with {other}\n"),
                "replaceWith" => format!("  - {urn} is marked as replace with {other}\n"),
                "viewOf" => format!("  - {urn} is a view of {other}\n"),
                field => {
                    let property = field.split_once('.').map_or(field, |(_, property)| property);
                    format!("  - {urn} ({property}) has a property dependency on {other}\n")
                }
            })
        });
    lines.collect()
}

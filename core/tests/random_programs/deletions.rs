//! The check of deletions: what a program declares is deleted only where it is replaced.

use stackwright::{event::EventPayload, resource::ResourceState, step::StepOp};

use crate::{
    plan::{Act, Point, Script, Verb, number_of},
    stage::Report,
    world::Called,
};

/// Checks that an operation deletes no thing of a resource that its program wants, unless the resource gets another thing, or has it
/// already. An update that fails may end between the deletion and the creation of a replacement that is deleted first.
pub(crate) fn check_deletions_are_due(act: &Act, script: &Script, report: &Report) {
    let changes = |call: &&Called| matches!(call.point, Point::Create | Point::Update | Point::Delete);
    if act.verb == Verb::Refresh {
        let change = report.calls.iter().find(changes);
        assert!(change.is_none(), "a refresh made {change:?}");
    }
    let deletions = || report.calls.iter().filter(|call| call.point == Point::Delete);
    if act.verb == Verb::Preview {
        let deletion = deletions().next();
        assert!(deletion.is_none(), "a preview made {deletion:?}");
    }
    if act.verb != Verb::Update {
        return;
    }
    for call in deletions() {
        let is_live = |state: &&ResourceState| !state.delete && !state.pending_replacement;
        let of_call = |state: &&ResourceState| number_of(state.urn.name()) == Some(call.number);
        let before = report.before.resources.iter().map(|state| &**state);
        let mut records = before.filter(is_live).filter(of_call);
        let Some(record) = records.clone().find(|state| state.id.as_str() == call.id) else {
            continue;
        };
        if !script.wants_as(call.number, &record.urn) {
            continue;
        }
        let has_another = records.any(|state| state.id != record.id);
        let mut calls = report.calls.iter();
        let is_created = calls.any(|other| other.point == Point::Create && other.number == call.number);
        let is_replaced = || report.result.error.is_some() && is_deleted_first(report, record);
        assert!(
            has_another || is_created || is_replaced(),
            "{call:?} deleted what the program wants: {record:?}\n{}",
            report.result.tree()
        );
    }
}

/// Returns whether an event shows that a record is deleted because it is replaced.
fn is_deleted_first(report: &Report, record: &ResourceState) -> bool {
    report.events.iter().any(|event| match &event.payload {
        EventPayload::ResourcePre(step) => {
            step.metadata.op == StepOp::DeleteReplaced && step.metadata.urn == record.urn
        }
        _ => false,
    })
}

//! The check of former names: a record that one of them finds is neither created again nor deleted.

use stackwright::{event::StepStatus, resource::ResourceState, step::StepOp};

use crate::{
    plan::{Act, DECLARED, Script, Verb, number_of},
    stage::Report,
};

/// Checks that an update goes on with the record of each declared resource whose present or former URN it has. One that a refresh
/// does not find is created again.
pub(crate) fn check_former_names(act: &Act, script: &Script, report: &Report) {
    if act.verb != Verb::Update || act.refresh {
        return;
    }
    for number in (0..DECLARED).filter(|number| script.declared[*number].present) {
        let of_number = |state: &&ResourceState| number_of(state.urn.name()) == Some(number);
        let before = report.before.resources.iter().map(|state| &**state);
        let mut records = before.filter(of_number);
        let (Some(record), None) = (records.next(), records.next()) else {
            continue;
        };
        let own = script.urn(number, script.declared[number].renamed);
        let is_found = record.urn == own || script.aliases(number).contains(&record.urn);
        if !is_found || record.delete || record.pending_replacement {
            continue;
        }
        let steps = report.result.steps.iter();
        // A component that is refused before its provider has registered it is not known by its former names.
        for step in steps.filter(|step| step.status() != StepStatus::Refused) {
            let metadata = &step.step.metadata;
            let is_wrong = match metadata.op {
                StepOp::Create | StepOp::Import => metadata.urn == own,
                StepOp::Delete => metadata.urn == record.urn,
                _ => false,
            };
            assert!(
                !is_wrong,
                "{} {} although its record is {record:?}\n{}",
                metadata.op,
                metadata.urn,
                report.result.tree()
            );
        }
    }
}

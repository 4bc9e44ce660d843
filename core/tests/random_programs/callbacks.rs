//! The checks of hooks and transforms: each runs as often as the steps and the registrations that have it.

use std::collections::{BTreeMap, BTreeSet};

use stackwright::{event::StepMetadata, step::StepOp};

use crate::{
    plan::{Act, DECLARED, KIT, Point, Script, Verb, number_of},
    stage::Report,
};

/// Returns how many calls of a point there were, by number.
fn calls(report: &Report, point: Point) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for call in report.calls.iter().filter(|call| call.point == point) {
        *counts.entry(call.number).or_default() += 1;
    }
    counts
}

/// Returns how many hooks run around a step that succeeds.
fn hooks_of(step: &StepMetadata) -> usize {
    let (moments, state) = match step.op {
        StepOp::Create | StepOp::CreateReplacement => (["BeforeCreate", "AfterCreate"], &step.new),
        StepOp::Update => (["BeforeUpdate", "AfterUpdate"], &step.new),
        StepOp::Delete | StepOp::DeleteReplaced => (["BeforeDelete", "AfterDelete"], &step.old),
        _ => return 0,
    };
    let hooks = state.as_ref().map(|state| &state.0.options.resource_hooks);
    let named = |moment: &str| hooks.and_then(|hooks| hooks.get(moment)).map_or(0, Vec::len);
    moments.into_iter().map(named).sum()
}

/// Checks that the hooks of each step of a thing have run once. After a failure there are hooks of steps that did not run.
pub(crate) fn check_hooks(act: &Act, report: &Report) {
    let is_cut_off = report.store_failed || report.terminated || report.cancelled;
    // The steps of a refresh, which have no hooks, have the names of what they have found.
    let refreshes = act.refresh || act.verb == Verb::Refresh;
    if is_cut_off || refreshes || act.verb == Verb::Preview {
        return;
    }
    let mut expected: BTreeMap<usize, usize> = BTreeMap::new();
    let mut unclear = BTreeSet::new();
    for step in &report.result.steps {
        let metadata = &step.step.metadata;
        let number = number_of(metadata.urn.name()).filter(|number| (KIT + 1..DECLARED).contains(number));
        let Some(number) = number else { continue };
        if step.failure.is_some() {
            unclear.insert(number);
        }
        *expected.entry(number).or_default() += hooks_of(metadata);
    }
    let called = calls(report, Point::Hook);
    for number in (KIT + 1..DECLARED).filter(|number| !unclear.contains(number)) {
        let of = |counts: &BTreeMap<usize, usize>| counts.get(&number).copied().unwrap_or_default();
        let (called, expected) = (of(&called), of(&expected));
        let is_right = match &report.result.error {
            None => called == expected,
            Some(_) => called >= expected,
        };
        assert!(
            is_right,
            "{called} hooks of number {number} have run, not {expected}\n{}",
            report.result.tree()
        );
    }
}

/// Checks that the transform of each resource has run once where the program has ended, and never twice. That of the constructed
/// component runs for the registration by its provider, too.
pub(crate) fn check_transforms(act: &Act, script: &Script, report: &Report) {
    let called = calls(report, Point::Transform);
    let runs_program = match act.verb {
        Verb::Update | Verb::Preview => true,
        Verb::Refresh | Verb::Destroy => act.runs_program,
    };
    for (number, declared) in script.declared.iter().enumerate() {
        let count = called.get(&number).copied().unwrap_or_default();
        let is_due = runs_program && declared.present && declared.transformed;
        let most = match (is_due, number) {
            (false, _) => 0,
            (true, KIT) => 2,
            (true, _) => 1,
        };
        let least = usize::from(is_due && report.result.error.is_none());
        assert!(
            (least..=most).contains(&count),
            "the transform of number {number} has run {count} times, not {least} to {most} times"
        );
    }
}

//! The checks of hooks and transforms: each runs as often as the steps and the registrations that have it.

use std::collections::{BTreeMap, BTreeSet};

use stackwright::{event::StepMetadata, step::StepOp};

use crate::{
    plan::{Act, DECLARED, KIT, Point, Script, Verb, number_of},
    stage::Report,
    world::Called,
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

/// Returns how many of the hooks of a step follow the outputs of its component, which a program that fails does not register.
fn hooks_after_outputs(step: &StepMetadata) -> usize {
    let moment = match step.op {
        StepOp::Create | StepOp::CreateReplacement => "AfterCreate",
        StepOp::Update => "AfterUpdate",
        _ => return 0,
    };
    let component = step.new.as_ref().filter(|state| !state.0.custom);
    let hooks = component.and_then(|state| state.0.options.resource_hooks.get(moment));
    hooks.map_or(0, Vec::len)
}

/// Checks that the hooks of each step of a resource have run once. After a failure there are hooks of steps that did not run.
pub(crate) fn check_hooks(act: &Act, report: &Report) {
    let is_cut_off = report.store_failed || report.terminated || report.cancelled;
    // The steps of a refresh, which have no hooks, have the names of what they have found.
    let refreshes = act.refresh || act.verb == Verb::Refresh;
    if is_cut_off || refreshes || act.verb == Verb::Preview {
        return;
    }
    let mut expected: BTreeMap<usize, usize> = BTreeMap::new();
    let mut dispensable: BTreeMap<usize, usize> = BTreeMap::new();
    let mut unclear = BTreeSet::new();
    for step in &report.result.steps {
        let metadata = &step.step.metadata;
        let number = number_of(metadata.urn.name()).filter(|number| (0..DECLARED).contains(number));
        let Some(number) = number else { continue };
        if step.failure.is_some() {
            unclear.insert(number);
        }
        *expected.entry(number).or_default() += hooks_of(metadata);
        *dispensable.entry(number).or_default() += hooks_after_outputs(metadata);
    }
    let called = calls(report, Point::Hook);
    for number in (0..DECLARED).filter(|number| !unclear.contains(number)) {
        let of = |counts: &BTreeMap<usize, usize>| counts.get(&number).copied().unwrap_or_default();
        let (called, expected, dispensable) = (of(&called), of(&expected), of(&dispensable));
        let is_right = match &report.result.error {
            None => called == expected,
            Some(_) => called + dispensable >= expected,
        };
        assert!(
            is_right,
            "{called} hooks of number {number} have run, not {expected}\n{}",
            report.result.tree()
        );
    }
}

/// Checks that the hooks before a call of the provider have ended when it begins, and that those after it begin when it has succeeded.
pub(crate) fn check_order_of_hooks(act: &Act, script: &Script, report: &Report) {
    if act.verb == Verb::Preview {
        return;
    }
    let of_provider = |call: &&Called| !call.unreached && (KIT + 1..DECLARED).contains(&call.number);
    for call in report.calls.iter().filter(of_provider) {
        let Some((before, _)) = moments_of(call.point) else {
            continue;
        };
        let hooks = || report.calls.iter().filter(|hook| hook.number == call.number);
        let has_hook = || match call.point {
            Point::Delete => {
                let mut records = report.before.resources.iter();
                let record = records.find(|state| state.id.as_str() == call.id);
                // The hooks of the last registration count, which the operation may have recorded.
                let stays = !script.wants(call.number) || script.declared[call.number].has_hook(before);
                stays && record.is_some_and(|state| state.options.resource_hooks.contains_key(before))
            }
            // A further attempt of a creation updates what the first one has made.
            Point::Update if hooks().any(|other| other.point == Point::Create) => false,
            _ => act.verb == Verb::Update && script.declared[call.number].has_hook(before),
        };
        let mut earlier = hooks().filter(|hook| hook.moment == Some(before) && hook.succeeded);
        assert!(
            !has_hook() || earlier.any(|hook| hook.ended.is_some_and(|ended| ended < call.begun)),
            "{call:?} did not wait for its hook {before}\n{}",
            report.result.tree()
        );
    }
    // The steps of components call no provider.
    for hook in report
        .calls
        .iter()
        .filter(of_provider)
        .filter(|call| call.moment.is_some())
    {
        let is_about = |call: &&Called| {
            let moments = moments_of(call.point);
            let is_same = call.point != Point::Delete || call.id == hook.id;
            let is_after = moments.is_some_and(|(_, after)| hook.moment == Some(after));
            is_after && is_same && call.number == hook.number
        };
        let has_ended = |call: &Called| call.ended.is_some_and(|ended| ended < hook.begun);
        let mut calls = report.calls.iter().filter(is_about);
        let is_in_order = match hook.moment {
            Some("AfterCreate" | "AfterUpdate") => calls.any(has_ended),
            // What is retained, or ends with its host, is deleted without a call.
            _ => calls.all(has_ended),
        };
        assert!(
            is_in_order,
            "{hook:?} began before its step had ended\n{}",
            report.result.tree()
        );
    }
}

/// Returns the moments of the hooks before and after the steps of a call.
const fn moments_of(point: Point) -> Option<(&'static str, &'static str)> {
    match point {
        Point::Create => Some(("BeforeCreate", "AfterCreate")),
        Point::Update => Some(("BeforeUpdate", "AfterUpdate")),
        Point::Delete => Some(("BeforeDelete", "AfterDelete")),
        _ => None,
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

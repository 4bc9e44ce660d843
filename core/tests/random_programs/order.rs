//! The checks of the order of calls, and of events against steps.

use std::collections::BTreeMap;

use stackwright::{
    event::{EventPayload, OperationOutcome, StepMetadata, StepStatus},
    resource::ResourceState,
    step::StepOp,
    urn::Urn,
};

use crate::{
    plan::{Act, KIT, PARTS, Point, Script, Verb, number_of},
    stage::Report,
    world::Called,
};

/// Checks that a resource is created and updated after what it depends on, and deleted before that.
pub(crate) fn check_order(act: &Act, script: &Script, report: &Report) {
    if act.verb == Verb::Update {
        for call in &report.calls {
            if matches!(call.point, Point::Create | Point::Update) {
                check_dependencies(script, report, call);
            }
        }
    }
    if act.verb != Verb::Preview {
        check_deletions(report);
    }
    for call in report.calls.iter().filter(|call| call.too_late) {
        let changes = matches!(call.point, Point::Create | Point::Update | Point::Delete);
        assert!(!changes, "{call:?} began after the cancellation");
    }
}

/// Returns what a resource depends on.
fn dependencies(script: &Script, number: usize) -> Vec<usize> {
    if PARTS[1..].contains(&number) {
        return vec![PARTS[0]];
    }
    if number >= script.declared.len() {
        return Vec::new();
    }
    script.dependencies(number)
}

/// Returns what is below the components that a resource depends on: all that is below the constructed one, and of what is below the
/// other one that which the program has registered before.
fn dependencies_inside(script: &Script, number: usize) -> Vec<usize> {
    let mut found = dependencies(script, number);
    if found.contains(&0) && script.in_turn {
        let is_inside = |other: &usize| script.declared[*other].present && is_below(script, *other, 0);
        found.extend((KIT..number).filter(is_inside));
    }
    if found.contains(&KIT) {
        found.extend(PARTS);
    }
    found
}

/// Returns whether a declaration is below another one.
fn is_below(script: &Script, number: usize, other: usize) -> bool {
    let mut parents = std::iter::successors(script.parent(number), |parent| script.parent(*parent));
    parents.any(|parent| parent == other)
}

fn check_dependencies(script: &Script, report: &Report, call: &Called) {
    for other in dependencies_inside(script, call.number) {
        let mut changes = changes_of(report, other);
        let in_time = |change: &&Called| change.ended.is_some_and(|ended| ended < call.begun);
        if let Some(late) = changes.find(|change| !in_time(change)) {
            panic!("{call:?} did not wait for {late:?}");
        }
    }
    // A component is registered although what is below it has failed.
    for other in dependencies(script, call.number) {
        if let Some(last) = changes_of(report, other).next_back() {
            assert!(last.succeeded, "{call:?} began after {last:?} had failed");
        }
    }
}

fn changes_of(report: &Report, number: usize) -> impl DoubleEndedIterator<Item = &Called> {
    let changes = |call: &&Called| matches!(call.point, Point::Create | Point::Update);
    let calls = report.calls.iter();
    calls.filter(move |call| call.number == number).filter(changes)
}

/// Checks the deletions of records that were live at the begin of the operation.
fn check_deletions(report: &Report) {
    let live = |state: &&std::sync::Arc<ResourceState>| !state.delete && !state.pending_replacement;
    let in_order: Vec<&ResourceState> = report
        .before
        .resources
        .iter()
        .filter(live)
        .map(|state| &**state)
        .collect();
    let records: BTreeMap<&Urn, &ResourceState> = in_order.iter().map(|state| (&state.urn, *state)).collect();
    let is_below = |state: &ResourceState, component: &Urn| {
        let parents = std::iter::successors(state.parent.as_ref(), |urn| records.get(urn)?.parent.as_ref());
        parents.into_iter().any(|urn| urn == component)
    };
    let deletion = |record: &ResourceState| {
        let mut calls = report.calls.iter();
        calls.find(|call| call.point == Point::Delete && call.id == record.id.as_str())
    };
    for (position, record) in in_order.iter().enumerate() {
        let Some(own) = deletion(record) else { continue };
        let mut needed: Vec<&Urn> = record.dependencies.iter().collect();
        needed.extend(record.property_dependencies.lists().flatten());
        // A dependency on a component is one on all that was below it already.
        let components = needed
            .iter()
            .filter(|urn| records.get(**urn).is_some_and(|state| !state.custom));
        let inside = components.flat_map(|component| {
            let earlier = in_order[..position].iter();
            earlier
                .filter(|state| is_below(state, component))
                .map(|state| &state.urn)
        });
        let inside: Vec<&Urn> = inside.collect();
        needed.extend(inside);
        needed.extend(&record.parent);
        for other in needed.into_iter().filter_map(|urn| records.get(urn)) {
            let Some(deleted) = deletion(other) else { continue };
            let is_recreated = report.calls.iter().any(|call| {
                call.number == deleted.number && call.point == Point::Create && call.begun > deleted.begun
            });
            let in_time = own.ended.is_some_and(|ended| ended < deleted.begun);
            assert!(in_time || is_recreated, "{deleted:?} did not wait for {own:?}");
        }
    }
}

/// Checks that events are complete, and that they agree with the steps of the result.
pub(crate) fn check_events(act: &Act, report: &Report) {
    let numbers: Vec<u64> = report.events.iter().map(|event| event.sequence).collect();
    let expected: Vec<u64> = (0..).take(numbers.len()).collect();
    assert_eq!(numbers, expected, "the events have gaps");
    let mut begun: BTreeMap<(StepOp, Urn), i64> = BTreeMap::new();
    let mut failures: BTreeMap<Urn, usize> = BTreeMap::new();
    let mut summary = None;
    for event in &report.events {
        match &event.payload {
            EventPayload::ResourcePre(step) => {
                let metadata = &step.metadata;
                *begun.entry((metadata.op, metadata.urn.clone())).or_default() += 1;
            }
            EventPayload::ResourceOperationFailed { step, .. } => {
                *failures.entry(step.metadata.urn.clone()).or_default() += 1;
            }
            EventPayload::Summary(found) => summary = Some(found.clone()),
            _ => {}
        }
    }
    let result = &report.result;
    if let Some(summary) = summary {
        let changes: BTreeMap<&str, u64> = result.changes.clone();
        assert_eq!(
            summary.resource_changes, changes,
            "the summary differs from the result"
        );
        let succeeded = summary.result == OperationOutcome::Succeeded;
        assert!(
            succeeded == result.error.is_none() || report.store_failed,
            "{:?}: {:?}",
            summary.result,
            result.error
        );
    } else {
        assert!(result.error.is_some(), "there is no summary");
    }
    let steps = result.steps.iter();
    for step in steps.filter(|step| step.status() != StepStatus::Refused) {
        let metadata = &step.step.metadata;
        let is_shown = begun.keys().any(|(_, urn)| *urn == metadata.urn);
        assert!(
            is_shown,
            "no event shows the step {} of {}",
            metadata.op, metadata.urn
        );
        if step.failure.is_some() {
            let shown = failures.get_mut(&metadata.urn).filter(|count| **count > 0);
            match shown {
                Some(shown) => *shown -= 1,
                // Those of calls that were given up follow the last event, and previews show diagnostics alone.
                None => assert!(
                    report.terminated || act.verb == Verb::Preview,
                    "no event shows the failure of {}",
                    metadata.urn
                ),
            }
        }
    }
    failures.retain(|_, count| *count > 0);
    // A step that was announced before the end of the run is reported as failed alone.
    assert!(
        failures.is_empty() || result.error.is_some(),
        "no steps show the failures of {failures:?}"
    );
    if act.verb == Verb::Preview {
        return;
    }
    check_calls_are_shown(report, &begun);
    // A step that could not be recorded, or whose call was given up, is shown without being part of the result.
    if !report.store_failed && !report.terminated {
        check_ends(report);
    }
}

/// The steps that change things or records; others appear in the result only with what they find.
const CHANGES: [StepOp; 7] = [
    StepOp::Create,
    StepOp::CreateReplacement,
    StepOp::Update,
    StepOp::Delete,
    StepOp::DeleteReplaced,
    StepOp::Import,
    StepOp::ImportReplacement,
];

/// Returns whether a step changes a thing. The events of a component depend on its outputs, and default providers are not in
/// the result.
fn is_change(step: &StepMetadata) -> bool {
    CHANGES.contains(&step.op) && step.urn.resource_type() == "things:index:Thing"
}

/// Checks that as many events show the end of each change of a resource as steps of the result have ended in that way.
fn check_ends(report: &Report) {
    let mut shown: BTreeMap<(StepOp, Urn, bool), usize> = BTreeMap::new();
    for event in &report.events {
        let (step, failed) = match &event.payload {
            EventPayload::ResourceOutputs(step) => (step, false),
            EventPayload::ResourceOperationFailed { step, .. } => (step, true),
            _ => continue,
        };
        let metadata = &step.metadata;
        if is_change(metadata) {
            let end = (metadata.op, metadata.urn.clone(), failed);
            *shown.entry(end).or_default() += 1;
        }
    }
    let mut ended: BTreeMap<(StepOp, Urn, bool), usize> = BTreeMap::new();
    for step in &report.result.steps {
        let metadata = &step.step.metadata;
        if is_change(metadata) && step.status() != StepStatus::Refused {
            let end = (metadata.op, metadata.urn.clone(), step.failure.is_some());
            *ended.entry(end).or_default() += 1;
        }
    }
    // A step that was announced before the run was stopped is shown as failed alone.
    if report.result.error.is_some() {
        shown.retain(|end, _| !end.2 || ended.contains_key(end));
    }
    assert_eq!(shown, ended, "{}", report.result.tree());
}

/// Checks that each change of a thing belongs to a step that events show.
fn check_calls_are_shown(report: &Report, begun: &BTreeMap<(StepOp, Urn), i64>) {
    for call in &report.calls {
        let ops: &[StepOp] = match call.point {
            Point::Create => &[StepOp::Create, StepOp::CreateReplacement],
            // A further attempt of a creation updates what the first one has made.
            Point::Update => &[StepOp::Update, StepOp::Create, StepOp::CreateReplacement],
            Point::Delete => &[StepOp::Delete, StepOp::DeleteReplaced],
            _ => continue,
        };
        let is_shown = begun
            .keys()
            .any(|(op, urn)| ops.contains(op) && number_of(urn.name()) == Some(call.number));
        assert!(is_shown, "no event shows {call:?}");
    }
}

//! The checks after each operation: a valid state, nothing lost or created twice, and an outcome that has a reason.

use std::collections::BTreeMap;

use stackwright::{
    property::PropertyValue,
    resource::{PendingOperationKind, ResourceState},
    state::{Snapshot, integrity},
    urn::Urn,
};

use crate::{
    plan::{Act, Fault, KIT, MOMENTS, PARTS, Plan, Point, Script, Trouble, Verb, number_of},
    stage::Report,
    world::World,
};

/// The refusals of operations that nothing disturbs, and that are about some resources only.
const REFUSALS_OF_TARGETS: [&str; 6] = [
    "which does not exist yet and is not among the targets",
    "which does not exist and is excluded",
    "which stays as it was recorded and so needs",
    "would have to be deleted and is not among the targets",
    "is not a resource of the stack",
    "is not among the targets, and its new provider",
];

/// The refusals of protected resources: by themselves, and as dependents of a replacement.
const REFUSALS_OF_PROTECTION: [&str; 2] =
    ["is protected and cannot be", "is currently marked for protection"];

/// Returns which refusal of [`REFUSALS_OF_TARGETS`] and [`REFUSALS_OF_PROTECTION`] a text has.
pub(crate) fn refusal(text: &str) -> Option<&'static str> {
    let mut all = REFUSALS_OF_TARGETS.into_iter().chain(REFUSALS_OF_PROTECTION);
    all.find(|refusal| text.contains(refusal))
}

/// Checks the state and the outcome of an operation.
pub(crate) fn check(plan: &Plan, act: &Act, report: &Report, world: &World) {
    integrity::verify(&report.after).expect("the state is valid");
    let fired = world.state().fired.clone();
    check_outcome(plan, act, report, &fired);
    check_pending(act, report, &fired);
    if act.verb == Verb::Preview {
        assert_eq!(
            text(&report.before),
            text(&report.after),
            "a preview changed the state"
        );
        return;
    }
    check_values(report);
    check_creations(report, &fired);
    check_things(report, world);
    check_records(report, world);
}

/// Checks in the state of an update that nothing has disturbed that each resource has got the values of those that it uses, and depends
/// on what these come from.
pub(crate) fn check_used(script: &Script, snapshot: &Snapshot) {
    let records = &snapshot.resources;
    let live = |number: usize| {
        let mut found = records.iter().filter(|state| !state.delete);
        found.find(|state| number_of(state.urn.name()) == Some(number))
    };
    let using = (KIT + 1..script.declared.len()).filter(|number| script.declared[*number].uses);
    for record in using.filter_map(live) {
        let number = number_of(record.urn.name()).expect("a resource of the plan");
        let used = script.dependencies(number);
        let value = |other: &usize| {
            let found = live(*other).and_then(|state| state.outputs.get("value").cloned());
            found.unwrap_or(PropertyValue::Null)
        };
        let values: Vec<_> = used.iter().map(value).collect();
        assert_eq!(
            record.inputs.get("values"),
            Some(&PropertyValue::array(values)),
            "{}",
            record.urn
        );
        if used.contains(&KIT) {
            let part = live(PARTS[2]).expect("the component inside has a part");
            let of_values = record.property_dependencies.get("values").unwrap_or_default();
            assert!(
                record.dependencies.contains(&part.urn) && of_values.contains(&part.urn),
                "{record:?}"
            );
        }
    }
}

/// Checks that nothing unknown is recorded.
fn check_values(report: &Report) {
    for state in &report.after.resources {
        let is_known = !state.inputs.contains_unknowns() && !state.outputs.contains_unknowns();
        assert!(is_known, "{state:?} has unknown values");
    }
}

fn check_outcome(plan: &Plan, act: &Act, report: &Report, fired: &[Fault]) {
    let error = report.result.error.as_ref();
    let is_disturbed = fired.iter().any(|fault| fault.trouble != Trouble::Late);
    if let Some(error) = error {
        let has_targets = !report.options.targets.is_empty() || !report.options.excludes.is_empty();
        let text = error.message();
        let script = &plan.scripts[act.script];
        let replaces_import = act.replaces.is_some_and(|number| script.imports(number));
        let has_reason = is_disturbed
            || replaces_import && text.contains("previously-imported resources that still specify an ID")
            || report.store_failed
            || report.cancelled
            || !act.ignores_protection
                && REFUSALS_OF_PROTECTION
                    .iter()
                    .any(|refusal| text.contains(refusal))
            || has_targets && REFUSALS_OF_TARGETS.iter().any(|refusal| text.contains(refusal))
            || act.verb == Verb::Destroy && !act.runs_program && text.contains("delete hooks");
        assert!(
            has_reason,
            "{:?} failed: {error}\n{}",
            act.verb,
            report.result.tree()
        );
    }
    let is_retried = |number: usize| {
        let mut declared = plan
            .scripts
            .iter()
            .filter_map(|script| script.declared.get(number));
        declared.any(|declared| declared.hooks.iter().any(|hook| MOMENTS[*hook] == "OnError"))
    };
    let fails = |fault: &&Fault| {
        let certainly = matches!(
            fault.trouble,
            Trouble::Fails | Trouble::Half | Trouble::Unanswered | Trouble::Dies { .. }
        );
        // These are needed only by the calls after them, which there may be none of.
        let alone = matches!(fault.point, Point::Handshake | Point::Configure);
        certainly && !alone && !is_retried(fault.number)
    };
    if let Some(fault) = fired.iter().find(fails) {
        assert!(error.is_some(), "{:?} succeeded in spite of {fault:?}", act.verb);
    }
}

fn pending_creations(snapshot: &Snapshot) -> Vec<&Urn> {
    let pending = snapshot.pending_operations.iter();
    let creations = pending.filter(|pending| pending.kind == PendingOperationKind::Creating);
    creations.map(|pending| &pending.resource.urn).collect()
}

/// Checks that operations are pending only where the outcome of a call is unknown, and that pending creations stay.
fn check_pending(act: &Act, report: &Report, fired: &[Fault]) {
    let after = pending_creations(&report.after);
    if !report.options.clear_pending_creates {
        for urn in pending_creations(&report.before) {
            let number = number_of(urn.name());
            let stays = after.iter().any(|other| number_of(other.name()) == number);
            assert!(stays, "the pending creation of {urn} is lost in {:?}", act.verb);
        }
    }
    let is_known = !report.terminated
        && !report.store_failed
        && report.before.pending_operations.is_empty()
        && !fired
            .iter()
            .any(|fault| matches!(fault.trouble, Trouble::Unanswered | Trouble::Dies { .. }));
    if is_known {
        assert!(
            report.after.pending_operations.is_empty(),
            "operations are pending: {:?}",
            report.after.pending_operations
        );
    }
}

/// Checks that no resource is created twice in one operation.
fn check_creations(report: &Report, fired: &[Fault]) {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let reached = report.calls.iter().filter(|call| !call.unreached);
    for call in reached.filter(|call| call.point == Point::Create) {
        *counts.entry(call.number).or_default() += 1;
    }
    for (number, count) in counts {
        let failed = fired.iter();
        let failed = failed.filter(|fault| fault.point == Point::Create && fault.number == number);
        let without_effect = failed.filter(|fault| fault.trouble != Trouble::Half).count();
        assert!(
            count <= 1 + without_effect,
            "number {number} was created {count} times"
        );
    }
}

/// Checks that each thing that the engine has made is recorded, or its creation is pending because its outcome is unknown.
fn check_things(report: &Report, world: &World) {
    let recorded: Vec<&str> = report
        .after
        .resources
        .iter()
        .map(|state| state.id.as_str())
        .collect();
    let creations = pending_creations(&report.after);
    let mut state = world.state();
    let lost: Vec<String> = state
        .things
        .iter()
        .filter(|(id, thing)| !thing.foreign && !recorded.contains(&id.as_str()))
        .map(|(id, _)| id.clone())
        .collect();
    let mut released = Vec::new();
    for id in &lost {
        let thing = state.things.get_mut(id).expect("it exists");
        let is_pending = creations
            .iter()
            .any(|urn| number_of(urn.name()) == Some(thing.number));
        if is_pending && (thing.unsettled || report.store_failed || report.terminated) {
            thing.unsettled = true;
            continue;
        }
        let record = report.records.get(id);
        // A host without a record is checked by itself.
        let exists = |id: &str| state.things.contains_key(id) && recorded.contains(&id);
        let mut before = report.before.resources.iter();
        let has_ended = before.any(|state| state.id.as_str() == id && state.pending_replacement);
        // What is to be replaced has ended before this operation: with its host, as it was not deleted by itself.
        let is_released = has_ended
            || record
                .is_some_and(|record| record.retain_on_delete || ends_with_its_host(report, record, &exists));
        assert!(is_released, "{id} is lost: {record:?}\n{}", report.result.tree());
        released.push(id);
    }
    for id in released {
        state.things.remove(id);
    }
}

/// Returns whether a resource has ended with that of its `deletedWith`: the real thing of that is gone, or the component has
/// no record.
fn ends_with_its_host(report: &Report, record: &ResourceState, exists: &impl Fn(&str) -> bool) -> bool {
    let Some(host) = record.options.deleted_with.as_ref() else {
        return false;
    };
    // A host may have been renamed since.
    let is_host =
        |state: &&std::sync::Arc<ResourceState>| number_of(state.urn.name()) == number_of(host.name());
    let stays = || report.after.resources.iter().any(|state| is_host(&state));
    let is_gone = |state: &std::sync::Arc<ResourceState>| match state.custom {
        true if state.retain_on_delete => false,
        true => !exists(state.id.as_str()),
        false => !stays(),
    };
    let mut hosts = report.before.resources.iter().filter(is_host).peekable();
    match hosts.peek() {
        Some(_) => hosts.any(is_gone),
        // A destroy that runs the program creates a component and deletes it.
        None => !stays(),
    }
}

/// Checks that what is recorded exists, or that its deletion had an unknown outcome; notes what may differ from its record.
fn check_records(report: &Report, world: &World) {
    let mut state = world.state();
    // Whether an update that is pending has taken place is unknown until a refresh: the next update compares with the record.
    let pending = report.after.pending_operations.iter();
    for pending in pending.filter(|pending| pending.kind == PendingOperationKind::Updating) {
        if let Some(thing) = state.things.get_mut(pending.resource.id.as_str()) {
            thing.drifted = true;
        }
    }
    let managed = |record: &&std::sync::Arc<ResourceState>| {
        record.custom && !record.pending_replacement && number_of(record.urn.name()).is_some()
    };
    for record in report.after.resources.iter().filter(managed) {
        let id = record.id.as_str();
        if state.things.contains_key(id) {
            continue;
        }
        let gone = state.gone.get_mut(id);
        let gone = gone.unwrap_or_else(|| panic!("{id} was never made: {record:?}"));
        gone.excused |= report.store_failed || report.terminated;
        assert!(
            gone.excused,
            "{id} was deleted, and is still recorded: {}",
            record.urn
        );
    }
}

/// Describes records, without times and the random ids of default providers.
pub(crate) fn text(snapshot: &Snapshot) -> Vec<String> {
    let providers = snapshot.resources.iter().filter(|state| state.is_provider());
    let providers: Vec<&str> = providers.map(|state| state.id.as_str()).collect();
    let describe = |state: &std::sync::Arc<ResourceState>| {
        let plain = ResourceState {
            created: None,
            modified: None,
            ..(**state).clone()
        };
        let text = format!("{plain:?}");
        providers.iter().fold(text, |text, id| text.replace(id, "id"))
    };
    let mut lines: Vec<String> = snapshot.resources.iter().map(describe).collect();
    lines.sort();
    lines
}

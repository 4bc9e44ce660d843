//! Property tests of whole programs: operations on random graphs, in a simulated world in which calls fail, hang and answer
//! late, and in which the host cancels or dies. A failure prints its plan.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod aliases;
mod callbacks;
mod check;
mod deletions;
mod generate;
mod order;
mod plan;
mod program;
mod provider;
mod stage;
mod time;
mod world;

use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;
use stackwright::{operation::OperationResult, resource::ResourceState, state::Snapshot};

use crate::{
    aliases::check_former_names,
    callbacks::{check_hooks, check_order_of_hooks, check_transforms},
    check::{check, check_used, refusal, text},
    deletions::check_deletions_are_due,
    generate::{calm_plan, continued_plan, plan},
    order::{check_events, check_order},
    plan::{Act, DECLARED, KIT, OPENED, Plan, Script, Stop, Verb, number_of},
    program::transformed_inputs,
    stage::{Report, Stage},
    time::simulated,
};

/// An operation about everything that nothing disturbs.
fn whole(verb: Verb, script: usize) -> Act {
    Act {
        verb,
        script,
        targets: Vec::new(),
        excludes: false,
        dependents: false,
        refresh: false,
        runs_program: true,
        parallel: 16,
        continues: false,
        ignores_protection: true,
        replaces: None,
        drift: None,
        faults: Vec::new(),
        stop: Stop::No,
    }
}

async fn act_out(stage: &Stage, plan: &Plan, act: &Act) -> Report {
    let script = &plan.scripts[act.script];
    let report = stage.perform(act, script).await;
    check(plan, act, &report, &stage.world);
    check_order(act, script, &report);
    check_events(act, &report);
    check_deletions_are_due(act, script, &report);
    check_former_names(act, script, &report);
    check_hooks(act, &report);
    check_order_of_hooks(act, script, &report);
    check_transforms(act, script, &report);
    report
}

fn succeeded(result: &OperationResult) {
    assert!(result.error.is_none(), "{:?}\n{}", result.error, result.tree());
}

/// Performs the operations of a plan; then the last program's update succeeds, and so does a destroy.
async fn play(stage: &Stage, plan: &Plan) {
    let mut last = 0;
    for act in &plan.acts {
        let report = act_out(stage, plan, act).await;
        last = act.script;
        let is_whole = report.options.targets.is_empty() && report.options.excludes.is_empty();
        if act.verb == Verb::Update && is_whole && report.result.error.is_none() {
            changes_nothing(stage, plan, act.script, Verb::Preview, &report).await;
        }
    }
    let settled = act_out(stage, plan, &whole(Verb::Update, last)).await;
    succeeded(&settled.result);
    matches_program(stage, &plan.scripts[last], &settled.after);
    changes_nothing(stage, plan, last, Verb::Update, &settled).await;
    let destroyed = act_out(stage, plan, &whole(Verb::Destroy, last)).await;
    succeeded(&destroyed.result);
    assert!(
        destroyed.after.resources.is_empty(),
        "{:?}",
        destroyed.after.resources
    );
}

/// Checks that a program changes nothing after its own update.
async fn changes_nothing(stage: &Stage, plan: &Plan, script: usize, verb: Verb, earlier: &Report) {
    let again = act_out(stage, plan, &whole(verb, script)).await;
    succeeded(&again.result);
    let is_same = again.result.changes.keys().all(|op| *op == "same");
    assert!(is_same, "{}after\n{}", again.result.tree(), earlier.result.tree());
    assert!(
        again
            .after
            .resources
            .iter()
            .all(|state| state.init_errors.is_empty())
    );
}

/// Checks that a state contains what a program declares, and nothing else.
fn matches_program(stage: &Stage, script: &Script, snapshot: &Snapshot) {
    let declared: BTreeSet<usize> = (0..OPENED + DECLARED)
        .filter(|number| script.wants(*number))
        .collect();
    let recorded: Vec<(usize, &Arc<ResourceState>)> = snapshot
        .resources
        .iter()
        .filter_map(|state| Some((number_of(state.urn.name())?, state)))
        .collect();
    let numbers: BTreeSet<usize> = recorded.iter().map(|(number, _)| *number).collect();
    assert_eq!((numbers.len(), &numbers), (recorded.len(), &declared));
    check_used(script, snapshot);
    let world = stage.world.state();
    for (number, state) in recorded {
        assert!(!state.delete && state.init_errors.is_empty(), "{state:?}");
        if number < script.declared.len() && number != KIT {
            for (name, value) in transformed_inputs(script, number).iter() {
                assert_eq!(state.inputs.get(name), Some(value), "{name} of {}", state.urn);
            }
        }
        if let Some(thing) = world.things.get(state.id.as_str()).filter(|thing| !thing.drifted) {
            assert_eq!(thing.inputs, state.inputs, "{}", state.urn);
        }
    }
}

/// Plays a plan in which nothing fails with a number of concurrent calls; returns the state after each operation, up to the
/// first that is refused.
fn states(plan: &Plan, serial: bool) -> Vec<Result<Vec<String>, String>> {
    let mut plan = plan.clone();
    for script in &mut plan.scripts {
        script.in_turn = serial;
    }
    for act in &mut plan.acts {
        act.parallel = if serial { 1 } else { 16 };
    }
    simulated(|runtime, clock| async move {
        let stage = Stage::new(runtime, clock).await;
        let mut states = Vec::new();
        for act in &plan.acts {
            let report = act_out(&stage, &plan, act).await;
            if let Some(error) = &report.result.error {
                states.push(Err(error.message().to_owned()));
                break;
            }
            states.push(Ok(text(&report.after)));
        }
        states
    })
}

/// Returns what a declaration needs, where the program declares it.
fn needs(script: &Script, number: usize) -> BTreeSet<usize> {
    let needed = script.dependencies(number).into_iter();
    needed
        .chain(script.host(number))
        .chain(script.parent(number))
        .collect()
}

/// Returns the resources that need others in one program than in another, and those that need these. When something is deleted
/// before it is created again, what has needed it so far is replaced with it, unless its own registration has begun.
fn torn(plan: &Plan) -> BTreeSet<usize> {
    let numbers = || 0..DECLARED;
    let scripts = &plan.scripts;
    let differs = |number: &usize| {
        scripts
            .iter()
            .any(|script| needs(script, *number) != needs(&scripts[0], *number))
    };
    let mut found: BTreeSet<usize> = numbers().filter(differs).collect();
    // Each needs only earlier ones.
    for number in numbers() {
        let mut needed = scripts.iter().flat_map(|script| needs(script, number));
        if needed.any(|other| found.contains(&other)) {
            found.insert(number);
        }
    }
    found
}

/// Replaces the ids of these resources in a text, which state how often each was created.
fn without_ids(text: String, numbers: &BTreeSet<usize>) -> String {
    let mut text = text;
    for number in numbers {
        for count in (1..20).rev() {
            text = text.replace(&format!("id-{number}-{count}\""), &format!("id-{number}\""));
        }
    }
    text
}

/// Returns the configuration with a number of cases, unless the environment sets one.
fn cases(count: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    ProptestConfig {
        // The default without the variable.
        cases: if given.cases == 256 { count } else { given.cases },
        max_shrink_iters: 4000,
        failure_persistence: None,
        ..given
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn nothing_is_lost_or_created_twice_and_programs_converge_after_any_failure(plan in plan()) {
        simulated(|runtime, clock| async move {
            play(&Stage::new(runtime, clock).await, &plan).await;
        });
    }
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn what_a_program_does_not_come_to_after_a_failure_is_kept(plan in continued_plan()) {
        simulated(|runtime, clock| async move {
            play(&Stage::new(runtime, clock).await, &plan).await;
        });
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn serial_and_concurrent_runs_end_in_the_same_state(plan in calm_plan()) {
        let (serial, concurrent) = (states(&plan, true), states(&plan, false));
        prop_assert_eq!(serial.len(), concurrent.len());
        for (serial, concurrent) in serial.into_iter().zip(concurrent) {
            match (serial, concurrent) {
                (Ok(serial), Ok(concurrent)) => {
                    let torn = torn(&plan);
                    let plain = |lines: Vec<String>| -> Vec<String> {
                        lines.into_iter().map(|line| without_ids(line, &torn)).collect()
                    };
                    prop_assert_eq!(plain(serial), plain(concurrent));
                }
                (Err(serial), Err(concurrent)) => {
                    // Of several resources that are refused, another one can be the first.
                    let kind = |text| refusal(text).unwrap_or(text).to_owned();
                    prop_assert_eq!(kind(serial.as_str()), kind(concurrent.as_str()));
                }
                (serial, concurrent) => prop_assert!(false, "{:?}\n{:?}", serial, concurrent),
            }
        }
    }
}

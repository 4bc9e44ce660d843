//! Random sequences of edits of two random states, with faults at any writes of the process that edits, and of the next one, to the
//! stores and to the configurations: each edit is made as a whole, as a model of it makes it and its dry run announces it, or not at all; its report is what has changed; and
//! the inverse edit restores the state.

mod actions;
mod deployment;
mod inverse;
mod oracle;
mod reports;
mod settings;
mod start;
mod world;

use std::collections::BTreeSet;

use proptest::{collection, prelude::*, sample};

use self::{
    actions::{Action, Change, action, change, corruption},
    deployment::{Deployment, decrypted},
    inverse::{check_restored, inverse},
    reports::check_report,
    start::{Shape, extra},
    world::World,
};
use crate::{
    state::edit::{EditReport, StateEdit, random::seed},
    store::faulty::Fault,
};

/// A fault in the process that edits, and one in the next process, which opens one of both stacks.
#[derive(Clone, Copy, Debug)]
struct Faults {
    kind: Fault,
    at: usize,
    again: usize,
    opens_other: bool,
    /// The next process opens the stack with the name and the key that it was to get.
    expects_change: bool,
}

/// Faults, of which the writes are chosen among those of the edit.
#[derive(Clone, Debug)]
struct AnyFaults {
    kind: sample::Index,
    writes: [sample::Index; 2],
    opens_other: bool,
    expects_change: bool,
}

fn any_faults() -> impl Strategy<Value = AnyFaults> {
    let index = any::<sample::Index>;
    let parts = (index(), [index(), index()], any::<bool>(), any::<bool>());
    parts.prop_map(|(kind, writes, opens_other, expects_change)| AnyFaults {
        kind,
        writes,
        opens_other,
        expects_change,
    })
}

impl AnyFaults {
    async fn of(&self, action: &Action, side: usize, world: &World) -> Faults {
        let count = world.fork().await.count_writes(action, side).await;
        let [at, again] = self.writes.map(|write| write.index(count + 1));
        Faults {
            kind: *self.kind.get(&Fault::ALL),
            at,
            again,
            opens_other: self.opens_other,
            expects_change: self.expects_change,
        }
    }
}

/// Returns the states that an action leads to; `None` when it is refused.
fn expected(
    action: &Action,
    before: &[Deployment; 2],
    side: usize,
    world: &World,
) -> Option<[Deployment; 2]> {
    let mut after = before.clone();
    after[side] = match action {
        Action::Edit(edit) => oracle::edited(&before[side], edit)?,
        Action::Move(edit) => {
            let sides = [&before[side], &before[1 - side]];
            let [left, arrived] = oracle::moved(sides, edit, world.names[1 - side])?;
            after[1 - side] = arrived;
            left
        }
        Action::Restore(version, has_key) => {
            let recorded = &world.recorded[side][*version - 1];
            if recorded.key != world.keys[side] && !has_key {
                return None;
            }
            let deployment = match recorded.name == world.names[side] {
                true => recorded.deployment.clone(),
                false => {
                    let names = [recorded.name, world.names[side]];
                    oracle::with_stack_name(&recorded.deployment, names)
                }
            };
            match has_key {
                // All secrets are encrypted anew.
                true => deployment.contents(),
                false => deployment,
            }
        }
        Action::Forget(place) => {
            after[side].pending.remove(*place);
            return Some(after);
        }
        Action::Import(import) => import.expected.clone(),
        Action::RenameStack(name) => oracle::with_stack_name(&before[side], [world.names[side], *name]),
        Action::ChangeSecrets(_) => before[side].contents(),
    };
    Some(after)
}

/// Makes a dry run, which writes nothing, and returns the reports that it announces; `None` for a refusal.
async fn rehearse(
    world: &World,
    action: &Action,
    side: usize,
) -> Result<Option<[EditReport; 2]>, TestCaseError> {
    let (objects, configs) = (world.objects().await, world.config_ciphertexts());
    let announced = world.make(action, side, true, None).await;
    prop_assert!(
        world.objects().await == objects,
        "the dry run of {action:?} writes"
    );
    prop_assert_eq!(world.config_ciphertexts(), configs);
    let Ok(reports) = announced else {
        return Ok(None);
    };
    let is_announced = reports.iter().any(|report| report.dry_run) || matches!(action, Action::Forget(_));
    prop_assert!(is_announced);
    let made = |report| EditReport {
        dry_run: false,
        ..report
    };
    Ok(Some(reports.map(made)))
}

/// Makes a dry run of an action, and the action as [`step`] does.
async fn rehearsed_step(
    world: &mut World,
    action: &Action,
    side: usize,
    faults: Option<&Faults>,
) -> Result<bool, TestCaseError> {
    let announced = rehearse(world, action, side).await?;
    let (is_done, reports) = step(world, action, side, faults).await?;
    match (reports, faults) {
        (Some(reports), _) => prop_assert_eq!(Some(reports), announced),
        (None, None) => prop_assert_eq!(None, announced),
        (None, Some(_)) => {}
    }
    Ok(is_done)
}

/// Makes an action in a process of its own, and returns whether it is done, with its reports. It is done as the model does it, or
/// not at all.
async fn step(
    world: &mut World,
    action: &Action,
    side: usize,
    faults: Option<&Faults>,
) -> Result<(bool, Option<[EditReport; 2]>), TestCaseError> {
    let (before, configs) = (world.deployments().await, world.config_ciphertexts());
    let former_key = world.keys[side];
    let expected = expected(action, &before, side, world);
    let made = world.make(action, side, false, faults).await;
    if let Some(faults) = faults {
        world.writes_of_next_process = world.next_process(action, side, faults).await;
    }
    world.settle(action, side).await;
    let after = world.deployments().await;
    let is_new = match action {
        Action::RenameStack(name) => world.names[side] == *name,
        Action::ChangeSecrets(key) => world.keys[side] == *key,
        _ => true,
    };
    let is_done = is_new
        && expected.as_ref().is_some_and(|expected| {
            let mut pairs = expected.iter().zip(&after);
            pairs.all(|(expected, after)| expected.is_made(after))
        });
    prop_assert!(
        is_done || after == before,
        "{action:?} is half done:\n{expected:#?}\n{after:#?}"
    );
    match &made {
        Ok(reports) => {
            prop_assert!(
                is_done,
                "{action:?} is reported, and not made or refused by the model"
            );
            let sides = before.iter().zip(&after).zip(reports);
            let has_report = !matches!(action, Action::Forget(_));
            let is_rekeyed = matches!(action, Action::ChangeSecrets(_));
            for ((before, after), report) in sides.filter(|_| has_report) {
                check_report(before, after, report, is_rekeyed)?;
            }
        }
        Err(error) => prop_assert!(faults.is_some() || expected.is_none(), "{action:?}: {error}"),
    }
    check_secrets(world, action, &after).await?;
    let mut kept = world.config_ciphertexts();
    if world.keys[side] != former_key {
        let anew: BTreeSet<String> = after[side].ciphertexts().into_iter().collect();
        let former = before[side].ciphertexts();
        prop_assert!(!former.iter().any(|ciphertext| anew.contains(ciphertext)));
        prop_assert!(kept[side] != configs[side]);
        kept[side].clone_from(&configs[side]);
    }
    prop_assert_eq!(kept, configs);
    let notes = world.notes().await;
    prop_assert!(notes.is_empty(), "{:?}", notes);
    Ok((is_done, made.ok()))
}

/// Checks that both states are valid, and that all their secrets, and those of the configurations, have the keys of the stacks.
async fn check_secrets(world: &World, action: &Action, after: &[Deployment; 2]) -> Result<(), TestCaseError> {
    for (side, deployment) in after.iter().enumerate() {
        prop_assert!(world.has_config(side));
        for ciphertext in deployment.ciphertexts() {
            let (key, _) = decrypted(&ciphertext);
            prop_assert_eq!(&key, world.keys[side]);
        }
        let is_corrupted = matches!(action, Action::Import(import) if import.is_forced);
        if is_corrupted || matches!(action, Action::Edit(StateEdit::Repair)) && deployment.invalid().is_some()
        {
            continue;
        }
        prop_assert_eq!(deployment.invalid(), None);
        let shown = world.open(side).await.export_deployment(true).await;
        let shown = Deployment::parse(&shown.unwrap());
        prop_assert!(deployment.contents() == shown, "{:?}", shown);
    }
    Ok(())
}

async fn play(world: &mut World, change: &Change, faults: Option<&AnyFaults>) -> Result<(), TestCaseError> {
    let side = usize::from(change.of_other);
    let own = world.deployments().await[side].clone();
    let Some(action) = action(change, &own, side, world).await else {
        world.record(side).await;
        return Ok(());
    };
    let is_repair = matches!(action, Action::Edit(StateEdit::Repair));
    if is_repair && let Some(import) = corruption(change, &own, side, world).await {
        rehearsed_step(world, &Action::Import(import), side, None).await?;
    }
    let before = world.deployments().await;
    let former = (world.names[side], world.keys[side]);
    let sealed = world.open(side).await.export_deployment(false).await.unwrap();
    let faults = match faults {
        Some(faults) => Some(faults.of(&action, side, world).await),
        None => None,
    };
    let is_done = rehearsed_step(world, &action, side, faults.as_ref()).await?;
    if !is_done {
        if is_repair {
            rehearsed_step(world, &action, side, None).await?;
        }
        return Ok(());
    }
    let after = world.deployments().await;
    let Some((inverse, on)) = inverse(&action, [&before, &after], side, sealed, former) else {
        return Ok(());
    };
    let is_lossless = match &action {
        Action::Move(_) => oracle::is_lossless(&before[side], &after[side]),
        Action::RenameStack(_) => {
            let usual = oracle::with_stack_name(&before[side], [former.0; 2]);
            usual == before[side]
        }
        _ => true,
    };
    let is_undone = rehearsed_step(world, &inverse, on, None).await?;
    prop_assert!(
        is_undone || !is_lossless,
        "{inverse:?}, the inverse of {action:?}, is refused"
    );
    if is_lossless {
        let restored = world.deployments().await;
        check_restored(&action, side, &before, &restored)?;
    }
    Ok(())
}

/// Makes an action with a fault at each of its writes, and with one at each write of the process after a fault at one of them.
async fn play_all_faults(
    world: &World,
    change: &Change,
    kinds: usize,
    twice: sample::Index,
) -> Result<(), TestCaseError> {
    let side = usize::from(change.of_other);
    let own = world.deployments().await[side].clone();
    let Some(action) = action(change, &own, side, world).await else {
        return Ok(());
    };
    let count = world.fork().await.count_writes(&action, side).await;
    let faults = |at: usize, again: usize| Faults {
        kind: Fault::ALL[(at + kinds) % Fault::ALL.len()],
        at,
        again,
        opens_other: (at % 2 == 1) != (again % 2 == 1),
        expects_change: at % 4 > 1,
    };
    for at in 0..count {
        step(
            &mut world.fork().await,
            &action,
            side,
            Some(&faults(at, usize::MAX)),
        )
        .await?;
    }
    let at = twice.index(count.max(1));
    for again in 0.. {
        let mut fork = world.fork().await;
        step(&mut fork, &action, side, Some(&faults(at, again))).await?;
        if fork.writes_of_next_process <= again {
            break;
        }
    }
    Ok(())
}

fn shape() -> impl Strategy<Value = Shape> {
    (any::<bool>(), proptest::bool::weighted(0.3)).prop_map(|(is_compressed, is_apart)| Shape {
        is_compressed,
        is_apart,
    })
}

fn run(work: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

fn config(part: u32) -> ProptestConfig {
    let cases = ProptestConfig::default().cases / part;
    ProptestConfig {
        cases: cases.max(1),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn edits_are_whole_after_faults_at_any_two_writes_and_their_inverses_restore_the_state(
        seeds in collection::vec(seed(), 1..8),
        others in collection::vec(seed(), 0..3),
        extras in collection::vec(extra(), 0..4),
        shape in shape(),
        changes in collection::vec((change(), proptest::option::weighted(0.7, any_faults())), 1..7),
    ) {
        run(async {
            let mut world = World::new([&seeds, &others], &extras, shape).await;
            for (change, faults) in &changes {
                play(&mut world, change, faults.as_ref()).await?;
            }
            prop_assert!(world.has_checkpoints(shape.is_compressed).await);
            for side in 0..2 {
                prop_assert!(world.has_history(side).await);
            }
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn edits_of_each_kind_are_whole_after_faults_at_each_write(
        seeds in collection::vec(seed(), 1..5),
        others in collection::vec(seed(), 0..3),
        extras in collection::vec(extra(), 0..3),
        shape in shape(),
        change in change(),
        kinds in 0_usize..Fault::ALL.len(),
        twice in any::<sample::Index>(),
    ) {
        run(async {
            let mut world = World::new([&seeds, &others], &extras, shape).await;
            world.record(usize::from(change.of_other)).await;
            for (change, kinds) in change.of_each_kind().zip(kinds..) {
                play_all_faults(&world, &change, kinds, twice).await?;
            }
            Ok(())
        })?;
    }
}

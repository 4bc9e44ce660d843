//! Random sequences of edits of two random states, with faults at random writes of the process that edits, and of the next one:
//! each edit is made as a whole, as a model of it makes it, or not at all, and the inverse edit restores the state.

mod actions;
mod deployment;
mod inverse;
mod oracle;
mod world;

use std::collections::BTreeSet;

use proptest::{collection, prelude::*, sample};

use self::{
    actions::{Action, Change, action, change, corruption},
    deployment::{Deployment, decrypted, text},
    inverse::{check_restored, inverse},
    world::World,
};
use crate::state::edit::{EditReport, StateEdit, random::seed};

/// A fault in the process that edits, and one in the next process, which opens one of both stacks.
#[derive(Clone, Debug)]
struct Faults {
    kind: sample::Index,
    at: usize,
    again: usize,
    opens_other: bool,
    /// The next process opens the stack with the name and the key that it was to get.
    expects_change: bool,
}

fn faults() -> impl Strategy<Value = Option<Faults>> {
    let flags = (any::<bool>(), any::<bool>());
    let parts = (any::<sample::Index>(), 0_usize..14, 0_usize..14, flags);
    let faults = parts.prop_map(|(kind, at, again, (opens_other, expects_change))| Faults {
        kind,
        at,
        again,
        opens_other,
        expects_change,
    });
    proptest::option::weighted(0.7, faults)
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
        Action::Restore(version) => {
            let recorded = &world.recorded[side][*version - 1];
            if recorded.key != world.keys[side] {
                return None;
            }
            match recorded.name == world.names[side] {
                true => recorded.deployment.clone(),
                false => oracle::with_stack_name(&recorded.deployment, recorded.name, world.names[side]),
            }
        }
        Action::Forget(place) => {
            after[side].pending.remove(*place);
            return Some(after);
        }
        Action::Import(import) => import.expected.clone(),
        Action::RenameStack(name) => oracle::with_stack_name(&before[side], world.names[side], name),
        Action::ChangeSecrets(_) => before[side].contents(),
    };
    Some(after)
}

/// Returns a record that differs from the one before, or stands after one that it preceded, and is not in the report.
fn unreported(before: &Deployment, after: &Deployment, report: &EditReport) -> Option<String> {
    let (before, after) = (before.contents(), after.contents());
    let is_reported = |urn: &str| report.records.iter().any(|found| found.urn.as_str() == urn);
    let mut latest = 0;
    let mut records = after.records.iter();
    let unreported = records.find(|record| {
        let place = before.records.iter().position(|former| former == *record);
        let stays = place.is_some_and(|place| place >= latest);
        let is_unreported = !is_reported(text(record, "urn"));
        if is_unreported {
            latest = place.unwrap_or_default();
        }
        is_unreported && !stays
    });
    unreported.map(|record| text(record, "urn").to_owned())
}

/// Makes an action in a process of its own, and returns whether it is done. It is done as the model does it, or not at all.
async fn step(
    world: &mut World,
    action: &Action,
    side: usize,
    faults: Option<&Faults>,
) -> Result<bool, TestCaseError> {
    let (before, configs) = (world.deployments().await, world.config_ciphertexts());
    let former_key = world.keys[side];
    let expected = expected(action, &before, side, world);
    let made = world.make(action, side, faults).await;
    if let Some(faults) = faults {
        world.next_process(action, side, faults).await;
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
            for ((before, after), report) in sides.filter(|_| has_report) {
                prop_assert_eq!(unreported(before, after, report), None);
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
    Ok(is_done)
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

async fn play(world: &mut World, change: &Change, faults: Option<&Faults>) -> Result<(), TestCaseError> {
    let side = usize::from(change.of_other);
    let own = world.deployments().await[side].clone();
    let Some(action) = action(change, &own, side, world).await else {
        world.record(side).await;
        return Ok(());
    };
    let is_repair = matches!(action, Action::Edit(StateEdit::Repair));
    if is_repair && let Some(import) = corruption(change, &own, side, world).await {
        step(world, &Action::Import(import), side, None).await?;
    }
    let before = world.deployments().await;
    let former = (world.names[side], world.keys[side]);
    let sealed = world.open(side).await.export_deployment(false).await.unwrap();
    let is_done = step(world, &action, side, faults).await?;
    if !is_done {
        if is_repair {
            step(world, &action, side, None).await?;
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
            let usual = oracle::with_stack_name(&before[side], former.0, former.0);
            usual == before[side]
        }
        _ => true,
    };
    let is_undone = step(world, &inverse, on, None).await?;
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

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn edits_are_whole_after_faults_at_any_two_writes_and_their_inverses_restore_the_state(
        seeds in collection::vec(seed(), 1..8),
        others in collection::vec(seed(), 0..3),
        is_compressed in any::<bool>(),
        changes in collection::vec((change(), faults()), 1..7),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new([&seeds, &others], is_compressed).await;
            for (change, faults) in &changes {
                play(&mut world, change, faults.as_ref()).await?;
            }
            prop_assert!(world.has_checkpoints(is_compressed).await);
            for side in 0..2 {
                prop_assert!(world.has_history(side).await);
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}

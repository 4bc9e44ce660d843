//! Random sequences of edits of two random states, with faults at random writes of the process that edits, and of the next one:
//! each edit is made as a whole or not at all, what it does not name stays, and the inverse edit restores the state.

use std::{collections::BTreeMap, sync::Arc};

use proptest::{collection, prelude::*, sample};
use serde_json::Value;
use tokio::runtime::Handle;

use super::test_key::NumberedKey;
use crate::{
    Engine, Stack, StackSettings,
    error::Result,
    resource::ResourceState,
    runtime::Runtime,
    state::{
        Snapshot,
        deployment::{Layout, SecretsShown, write_deployment},
        edit::{
            Delete, EditReport, Move, Rename, Selection, StateEdit,
            random::{PROJECT, STACK, Seed, seed, state_in},
            transfer,
        },
        integrity,
    },
    store::{
        HistoryEntry, HistoryPoint, HostFacts, MemoryStore, StackName, StackStorage, Store, SystemProcesses,
        faulty::{Fault, FaultyStore},
    },
    urn::Urn,
};

const STACKS: [&str; 2] = [STACK, "live"];

/// An edit of a random record of one of both stacks.
#[derive(Clone, Debug)]
struct Change {
    kind: u8,
    of_other: bool,
    record: sample::Index,
    other: sample::Index,
    flag: bool,
}

/// A fault in the process that edits, and one in the next process, which opens one of both stacks.
#[derive(Clone, Debug)]
struct Faults {
    kind: sample::Index,
    at: usize,
    again: usize,
    opens_other: bool,
}

fn change() -> impl Strategy<Value = Change> {
    let parts = (
        0_u8..9,
        any::<bool>(),
        any::<sample::Index>(),
        any::<sample::Index>(),
        any::<bool>(),
    );
    parts.prop_map(|(kind, of_other, record, other, flag)| Change {
        kind,
        of_other,
        record,
        other,
        flag,
    })
}

fn faults() -> impl Strategy<Value = Option<Faults>> {
    let parts = (any::<sample::Index>(), 0_usize..14, 0_usize..14, any::<bool>());
    let faults = parts.prop_map(|(kind, at, again, opens_other)| Faults {
        kind,
        at,
        again,
        opens_other,
    });
    proptest::option::weighted(0.7, faults)
}

/// What a change does in the API.
enum Action {
    Edit(StateEdit),
    Move(Move),
    Restore(usize),
    Record,
}

/// The states of both stacks.
#[derive(Clone)]
struct States([Snapshot; 2]);

impl PartialEq for States {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.into_iter().all(|(one, other)| {
            one.resources == other.resources
                && one.pending_operations == other.pending_operations
                && one.extra == other.extra
        })
    }
}

struct World {
    store: Arc<dyn Store>,
    /// The states of which the history of each stack has a copy.
    recorded: [Vec<Snapshot>; 2],
}

impl World {
    async fn new(seeds: [&[Seed]; 2]) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
        let world = Self {
            store,
            recorded: Default::default(),
        };
        for (side, seeds) in seeds.into_iter().enumerate() {
            let snapshot = state_in(STACKS[side], seeds);
            let shown = SecretsShown::Plaintext;
            let document = write_deployment(&snapshot, shown, Layout::Compact).await.unwrap();
            let stack = world.open(side).await;
            stack.import_deployment(&document).await.unwrap();
        }
        world
    }

    async fn open_in(store: Arc<dyn Store>, side: usize) -> Result<Stack> {
        let builder = Engine::builder(Handle::current()).store(store);
        let engine = builder
            .secrets(Arc::new(NumberedKey(["old", "new"][side])))
            .build()
            .unwrap();
        let name = format!("{PROJECT}/{}", STACKS[side]);
        engine
            .create_or_select_stack(&name, StackSettings::default())
            .await
    }

    async fn open(&self, side: usize) -> Stack {
        Self::open_in(Arc::clone(&self.store), side).await.unwrap()
    }

    fn storage(&self, side: usize) -> StackStorage {
        let runtime = Runtime::system(Handle::current());
        let facts = HostFacts {
            pid: std::process::id(),
            username: "me".into(),
            hostname: "here".into(),
            system: "boot 1".into(),
            processes: Arc::new(SystemProcesses),
        };
        let name = StackName::new(PROJECT, STACKS[side]).unwrap();
        StackStorage::new(Arc::clone(&self.store), name, facts, runtime)
    }

    async fn states(&self) -> States {
        let mut states = [Snapshot::default(), Snapshot::default()];
        for (side, state) in states.iter_mut().enumerate() {
            *state = self.open(side).await.snapshot().await.unwrap();
        }
        States(states)
    }

    /// Returns the ciphertext of each secret by its stack, the record's id and name, and its path.
    async fn ciphertexts(&self) -> BTreeMap<String, (String, String)> {
        let mut found = BTreeMap::new();
        for (side, name) in STACKS.iter().enumerate() {
            let stack = self.open(side).await;
            let [sealed, plain] = [
                stack.export_deployment(false).await.unwrap(),
                stack.export_deployment(true).await.unwrap(),
            ];
            let [sealed, plain]: [Value; 2] =
                [sealed, plain].map(|document| serde_json::from_slice(&document).unwrap());
            let records = |document: &Value| {
                document["deployment"]["resources"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
            };
            for (sealed, plain) in records(&sealed).iter().zip(&records(&plain)) {
                // The password is the only secret without a reference in it, which a rename or a move rewrites.
                let ciphertext = &sealed["inputs"]["password"]["ciphertext"];
                if let Some(ciphertext) = ciphertext.as_str() {
                    let text = plain["inputs"]["password"]["plaintext"].to_string();
                    found.insert(format!("{name} {}", sealed["id"]), (text, ciphertext.to_owned()));
                }
            }
        }
        found
    }

    async fn record(&mut self, side: usize) {
        let config = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        let entry = HistoryEntry {
            kind: "update".to_owned(),
            start_time: 1,
            message: String::new(),
            environment: BTreeMap::new(),
            config,
            version: 0,
            result: "succeeded".to_owned(),
            end_time: 2,
            resource_changes: None,
        };
        self.storage(side).record(&entry).await.unwrap();
        let snapshot = self.open(side).await.snapshot().await.unwrap();
        self.recorded[side].push(snapshot);
    }

    /// Makes a change in a process of its own, and returns the reports of both stacks.
    async fn make(&self, action: &Action, side: usize, faults: Option<&Faults>) -> Result<[EditReport; 2]> {
        let store: Arc<dyn Store> = match faults {
            None => Arc::clone(&self.store),
            Some(faults) => {
                let kind = *faults.kind.get(&Fault::ALL);
                Arc::new(FaultyStore::new(Arc::clone(&self.store), kind, faults.at))
            }
        };
        let stack = Self::open_in(Arc::clone(&store), side).await?;
        let mut reports = [EditReport::default(), EditReport::default()];
        match action {
            Action::Edit(edit) => reports[side] = stack.edit(edit, false).await?,
            Action::Move(edit) => {
                let other = Self::open_in(store, 1 - side).await?;
                let report = stack.move_resources(&other, edit, false).await?;
                reports[side] = report.source;
                reports[1 - side] = report.destination;
            }
            Action::Restore(version) => {
                reports[side] = stack.restore(&HistoryPoint::Version(*version), false).await?;
            }
            Action::Record => {}
        }
        Ok(reports)
    }

    /// Opens a stack in a process that is hindered, too; the locks of both processes are broken.
    async fn next_process(&self, faults: &Faults) {
        self.break_locks().await;
        let kind = *faults.kind.get(&Fault::ALL);
        let store = Arc::new(FaultyStore::new(Arc::clone(&self.store), kind, faults.again));
        drop(Self::open_in(store as _, usize::from(faults.opens_other)).await);
        self.break_locks().await;
    }

    async fn break_locks(&self) {
        for lock in self.store.list(".pulumi/locks/").await.unwrap() {
            self.store.delete(&lock.key).await.unwrap();
        }
    }
}

fn action(change: &Change, states: &States, side: usize, world: &World) -> Action {
    let records = &states.0[side].resources;
    let Some(record) = (!records.is_empty()).then(|| change.record.get(records)) else {
        return Action::Record;
    };
    let urn = || record.urn.clone();
    let selection = || match change.flag {
        true => Selection::of([urn()]),
        false => Selection::of([urn(), change.other.get(records).urn.clone()]),
    };
    Action::Edit(match change.kind {
        0 => StateEdit::Rename(Rename::to_name(
            urn(),
            format!("renamed-{}", change.other.index(3)),
        )),
        1 => {
            let urns = vec![urn()];
            let (dependents, force) = (change.flag, true);
            StateEdit::Delete(Delete {
                urns,
                dependents,
                force,
                ..Delete::default()
            })
        }
        2 => StateEdit::Protect(selection()),
        3 => StateEdit::Unprotect(selection()),
        4 => StateEdit::Taint(selection()),
        5 => StateEdit::Untaint(selection()),
        6 => StateEdit::Repair,
        7 => {
            let include_parents = change.flag;
            return Action::Move(Move {
                urns: vec![urn()],
                include_parents,
            });
        }
        _ => match world.recorded[side].len() {
            0 => return Action::Record,
            _ if change.flag => return Action::Record,
            count => return Action::Restore(change.other.index(count) + 1),
        },
    })
}

/// Returns the states that a change leads to; `None` when it is refused.
fn expected(action: &Action, states: &States, side: usize, world: &World) -> Option<States> {
    let mut after = states.clone();
    match action {
        Action::Edit(edit) => {
            let (edited, _) = edit.apply(&states.0[side]).ok()?;
            integrity::verify(&edited).ok()?;
            after.0[side] = edited;
        }
        Action::Move(edit) => {
            let to = (PROJECT, STACKS[1 - side]);
            let moved = transfer(&states.0[side], &states.0[1 - side], edit, to).ok()?;
            after.0[side] = moved.source;
            after.0[1 - side] = moved.destination;
        }
        Action::Restore(version) => after.0[side] = world.recorded[side][*version - 1].clone(),
        Action::Record => {}
    }
    Some(after)
}

/// Returns the edit that undoes another one, where there is one.
fn inverse(edit: &StateEdit, before: &Snapshot) -> Option<StateEdit> {
    let all_are = |selection: &Selection, value: bool, flag: fn(&ResourceState) -> bool| {
        let live = |urn: &Urn| {
            before
                .resources
                .iter()
                .find(|record| record.urn == *urn && !record.delete)
        };
        selection
            .urns
            .iter()
            .all(|urn| live(urn).is_some_and(|record| flag(record) == value))
    };
    Some(match edit {
        StateEdit::Rename(rename) => {
            let to = rename.name.as_deref()?;
            StateEdit::Rename(Rename::to_name(rename.urn.with_name(to), rename.urn.name()))
        }
        StateEdit::Protect(of) if all_are(of, false, |record| record.protect) => {
            StateEdit::Unprotect(of.clone())
        }
        StateEdit::Unprotect(of) if all_are(of, true, |record| record.protect) => {
            StateEdit::Protect(of.clone())
        }
        StateEdit::Taint(of) if all_are(of, false, |record| record.taint) => StateEdit::Untaint(of.clone()),
        StateEdit::Untaint(of) if all_are(of, true, |record| record.taint) => StateEdit::Taint(of.clone()),
        _ => return None,
    })
}

/// Returns a record that differs from the one before and is not in the report.
fn unreported<'a>(before: &Snapshot, after: &'a Snapshot, report: &EditReport) -> Option<&'a Urn> {
    let is_reported = |record: &ResourceState| {
        let mut records = report.records.iter();
        records.any(|found| found.urn == record.urn && found.pending_deletion == record.delete)
    };
    let stays = |record: &ResourceState| before.resources.iter().any(|old| **old == *record);
    let mut changed = after.resources.iter().filter(|record| !stays(record));
    changed
        .find(|record| !is_reported(record))
        .map(|record| &record.urn)
}

async fn play(world: &mut World, change: &Change, faults: Option<&Faults>) -> Result<(), TestCaseError> {
    let side = usize::from(change.of_other);
    let before = world.states().await;
    let sealed = world.ciphertexts().await;
    let action = action(change, &before, side, world);
    if let Action::Record = action {
        world.record(side).await;
        return Ok(());
    }
    let expected = expected(&action, &before, side, world);
    let made = world.make(&action, side, faults).await;
    if let Some(faults) = faults {
        world.next_process(faults).await;
    }
    let after = world.states().await;
    for snapshot in &after.0 {
        let valid = integrity::verify(snapshot);
        prop_assert!(valid.is_ok(), "{valid:?}");
    }
    let is_done = expected.as_ref().is_some_and(|expected| *expected == after);
    prop_assert!(is_done || after == before, "the edit is half done");
    match &made {
        Ok(reports) => {
            prop_assert!(is_done, "the edit is reported and not made");
            let sides = before.0.iter().zip(&after.0).zip(reports);
            for ((before, after), report) in sides {
                prop_assert_eq!(unreported(before, after, report), None);
            }
        }
        Err(error) => prop_assert!(faults.is_some() || expected.is_none(), "{error}"),
    }
    for (place, (text, ciphertext)) in world.ciphertexts().await {
        if let Some((former, kept)) = sealed.get(&place)
            && *former == text
        {
            prop_assert_eq!(kept, &ciphertext, "the secret of {} is encrypted anew", place);
        }
    }
    let notes = world.store.list(".pulumi/journals/").await.unwrap();
    prop_assert!(notes.is_empty(), "{:?}", notes);
    if let Action::Edit(edit) = &action
        && is_done
        && let Some(inverse) = inverse(edit, &before.0[side])
    {
        world.make(&Action::Edit(inverse), side, None).await.unwrap();
        prop_assert!(
            world.states().await == before,
            "the inverse edit does not restore the state"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn edits_are_whole_after_faults_at_any_two_writes_and_their_inverses_restore_the_state(
        seeds in collection::vec(seed(), 1..8),
        others in collection::vec(seed(), 0..3),
        changes in collection::vec((change(), faults()), 1..7),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new([&seeds, &others]).await;
            for (change, faults) in &changes {
                play(&mut world, change, faults.as_ref()).await?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}

//! Tests of the replay: every prefix of any journal yields a valid snapshot.

mod pending;

use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::{SeedableRng as _, rngs::StdRng};

use super::*;
use crate::{
    error::ErrorKind,
    property::{PropertyMap, PropertyValue},
    state::{DependencyGraph, integrity, may_elide_write, normalise},
    urn::Urn,
};

const PROVIDER_ID: &str = "configured";

fn urn(name: &str, resource_type: &str) -> Urn {
    Urn::new("dev", "shop", "", resource_type, name)
}

fn provider_urn() -> Urn {
    urn("default", "pulumi:providers:pkg")
}

fn record(name: &str, component: bool) -> ResourceState {
    let resource_type = if component {
        "shop:index:Box"
    } else {
        "pkg:index:Thing"
    };
    let mut state = ResourceState::new(urn(name, resource_type), resource_type.into(), !component);
    if !component {
        state.id = format!("id-{name}").into();
        state.provider = format!("{}::{PROVIDER_ID}", provider_urn()).into();
    }
    state
}

/// The URN of a resource below a parent.
fn below(parent: &Urn, state: &ResourceState) -> Urn {
    Urn::new(
        "dev",
        "shop",
        parent.qualified_type(),
        state.resource_type.as_str(),
        state.urn.name(),
    )
}

fn provider() -> ResourceState {
    let mut state = ResourceState::new(provider_urn(), "pulumi:providers:pkg".into(), true);
    state.id = PROVIDER_ID.into();
    state
}

/// Generates the journal of a random update under the engine's invariants.
struct Play {
    random: StdRng,
    replay: JournalReplay,
    entries: Vec<JournalEntry>,
    operation: u64,
    next_id: u64,
    /// The URNs registered so far in this run, without components.
    registered: Vec<Urn>,
    components: Vec<Urn>,
    done: BTreeSet<StateId>,
    /// True once a step failed: nothing is deleted then.
    failed: bool,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut play = Self {
            random: StdRng::seed_from_u64(seed),
            replay: JournalReplay::new(Snapshot::default()),
            entries: Vec::new(),
            operation: 0,
            next_id: 0,
            registered: Vec::new(),
            components: Vec::new(),
            done: BTreeSet::new(),
            failed: false,
        };
        let count = play.random.random_range(0..8);
        let mut base = Snapshot {
            resources: vec![Arc::new(provider())],
            ..Snapshot::default()
        };
        play.registered.push(provider_urn());
        for number in 0_u32..count {
            let state = play.goal(&format!("r{number}"), number.is_multiple_of(3));
            play.note_registered(&state);
            base.resources.push(Arc::new(state));
        }
        integrity::verify(&base).unwrap();
        play.next_id = base.resources.len() as u64;
        play.replay = JournalReplay::new(base);
        play.registered.clear();
        play.components.clear();
        play
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random::<u32>() % 100 < percent
    }

    fn note_registered(&mut self, state: &ResourceState) {
        self.registered.push(state.urn.clone());
        if !state.custom {
            self.components.push(state.urn.clone());
        }
    }

    /// Returns a random resource that depends only on registered ones.
    fn goal(&mut self, name: &str, component: bool) -> ResourceState {
        let mut state = record(name, component);
        for candidate in self.registered.clone() {
            match self.random.random::<u32>() % 12 {
                0 | 1 => state.dependencies.push(candidate),
                2 => {
                    state
                        .property_dependencies
                        .list_mut("size".into())
                        .push(candidate);
                }
                3 => state.options.deleted_with = Some(candidate),
                4 => state.options.replace_with.push(candidate),
                _ => {}
            }
        }
        if !self.components.is_empty() && self.chance(40) {
            let place = self.random.random_range(0..self.components.len());
            let parent = self.components[place].clone();
            state.urn = below(&parent, &state);
            state.parent = Some(parent);
        }
        if self.chance(50) {
            let size = f64::from(self.random.random::<u32>() % 3);
            state.inputs = PropertyMap::from_iter([("size", PropertyValue::Number(size))]);
        }
        state
    }

    fn push(&mut self, record: JournalRecord) {
        let entry = JournalEntry {
            sequence: self.entries.len() as u64,
            operation: OperationId(self.operation),
            record,
        };
        self.replay.apply(&entry).unwrap();
        self.entries.push(entry);
    }

    fn begin(&mut self, op: StepOp, old: Option<StateRef>, new: Option<ResourceState>) {
        self.operation += 1;
        let pending = match op {
            StepOp::Create | StepOp::CreateReplacement => Some(PendingOperationKind::Creating),
            StepOp::Update => Some(PendingOperationKind::Updating),
            StepOp::Delete | StepOp::DeleteReplaced => Some(PendingOperationKind::Deleting),
            StepOp::Read => Some(PendingOperationKind::Reading),
            _ => None,
        };
        self.push(JournalRecord::Begin {
            op,
            pending,
            old,
            new: new.map(Arc::new),
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
        });
    }

    fn success(&mut self, op: StepOp, removed: Vec<StateId>, new: Option<StateRef>) {
        let elide_write = op == StepOp::Same
            && matches!((&removed[..], &new), ([old], Some(new)) if *old == new.id
                && may_elide_write(self.replay.get(*old).unwrap(), &new.state));
        self.push(JournalRecord::Success {
            op,
            result_op: op,
            removed,
            marked: Vec::new(),
            new,
            in_place: op == StepOp::Refresh,
            elide_write,
            untargeted: false,
            skipped_create: None,
            view: false,
        });
    }

    fn mark(&mut self, op: StepOp, id: StateId, mark: StateMark, new: Option<StateRef>) {
        self.push(JournalRecord::Success {
            op,
            result_op: op,
            removed: Vec::new(),
            marked: vec![(id, mark)],
            new,
            in_place: false,
            elide_write: false,
            untargeted: false,
            skipped_create: None,
            view: false,
        });
    }

    fn fresh(&mut self, state: ResourceState) -> StateRef {
        self.next_id += 1;
        StateRef {
            id: StateId(self.next_id - 1),
            state: Arc::new(state),
        }
    }

    fn find(&self, urn: &Urn) -> Option<StateRef> {
        self.replay
            .records()
            .find(|record| record.state.urn == *urn && !record.state.delete)
            .cloned()
    }

    /// Returns the record with a name, at any parent.
    fn find_named(&self, name: &str) -> Option<StateRef> {
        self.replay
            .records()
            .find(|record| record.state.urn.name() == name && !record.state.delete)
            .cloned()
    }

    fn refresh(&mut self) {
        let mut records: Vec<_> = self.replay.records().cloned().collect();
        while !records.is_empty() {
            let place = self.random.random_range(0..records.len());
            let old = records.swap_remove(place);
            self.begin(StepOp::Refresh, Some(old.clone()), None);
            let is_gone = old.state.custom && !old.state.is_provider() && self.chance(30);
            let mut new = (*old.state).clone();
            new.outputs = PropertyMap::from_iter([("seen", true.into())]);
            let new = (!is_gone).then(|| StateRef {
                id: old.id,
                state: Arc::new(new),
            });
            self.success(StepOp::Refresh, vec![old.id], new);
        }
        self.operation = 0;
        let rebuilt = self.replay.rebuild_base();
        self.push(rebuilt);
    }

    /// Deletes everything that needs `old`, then `old`, before the replacement.
    fn delete_before(&mut self, old: &StateRef) {
        let records: Vec<_> = self.replay.records().cloned().collect();
        let states: Vec<_> = records.iter().map(|record| Arc::clone(&record.state)).collect();
        let place = records.iter().position(|record| record.id == old.id).unwrap();
        let mut condemned = DependencyGraph::new(&states).transitive_dependents(&[place], false);
        condemned.push(place);
        condemned.sort_unstable();
        for index in condemned.into_iter().rev() {
            let record = &records[index];
            if !record.state.custom || record.state.pending_replacement || record.state.delete {
                continue;
            }
            self.begin(StepOp::DeleteReplaced, Some(record.clone()), None);
            self.mark(
                StepOp::DeleteReplaced,
                record.id,
                StateMark::PendingReplacement,
                None,
            );
        }
    }

    fn register(&mut self, name: &str, component: bool) {
        let mut goal = self.goal(name, component);
        // A resource with another parent has its former URN as alias, as has a renamed one.
        let mut old = self.find(&goal.urn).or_else(|| self.find_named(name));
        if self.chance(15) {
            goal = self.goal(&format!("{name}-renamed"), component);
            old = self.find_named(goal.urn.name()).or(old);
        }
        if let Some(former) = &old
            && former.state.urn != goal.urn
        {
            goal.aliases = vec![former.state.urn.clone()];
        }
        match old {
            None => {
                let op = if self.chance(20) && goal.custom {
                    StepOp::Read
                } else {
                    StepOp::Create
                };
                goal.external = op == StepOp::Read;
                self.begin(op, None, Some(goal.clone()));
                if self.chance(10) {
                    self.failed = true;
                    self.push(JournalRecord::Failure { op });
                    return;
                }
                let new = self.fresh(goal.clone());
                self.success(op, Vec::new(), Some(new));
            }
            Some(old) => {
                self.done.insert(old.id);
                if old.state.pending_replacement {
                    self.begin(StepOp::CreateReplacement, Some(old.clone()), Some(goal.clone()));
                    let new = self.fresh(goal.clone());
                    self.success(StepOp::CreateReplacement, vec![old.id], Some(new));
                } else if !self.change(&old, &goal) {
                    return;
                }
            }
        }
        self.note_registered(&goal);
        let registered = self.find(&goal.urn).unwrap();
        self.done.insert(registered.id);
        if component && self.chance(50) {
            let mut state = (*registered.state).clone();
            state.outputs = PropertyMap::from_iter([("done", true.into())]);
            let elide_write = may_elide_write(&registered.state, &state);
            let new = StateRef {
                id: registered.id,
                state: Arc::new(state),
            };
            self.push(JournalRecord::Outputs { new, elide_write });
        }
    }

    fn change(&mut self, old: &StateRef, goal: &ResourceState) -> bool {
        match self.random.random::<u32>() % 6 {
            0..=2 => {
                let mut same = goal.clone();
                if self.chance(60) {
                    // The old record, if all that it needs is registered already.
                    let mut kept = (*old.state).clone();
                    kept.urn = goal.urn.clone();
                    kept.aliases.clone_from(&goal.aliases);
                    let mut ready = match &kept.parent {
                        Some(parent) => below(parent, &kept) == goal.urn,
                        None => urn(kept.urn.name(), kept.resource_type.as_str()) == goal.urn,
                    };
                    kept.for_each_dependency(|urn| ready &= self.registered.contains(urn));
                    if ready {
                        kept.options.ignore_changes = vec!["size".to_owned()];
                        same = kept;
                    }
                }
                self.begin(StepOp::Same, Some(old.clone()), Some(same.clone()));
                let new = StateRef {
                    id: old.id,
                    state: Arc::new(same),
                };
                self.success(StepOp::Same, vec![old.id], Some(new));
            }
            3 => {
                self.begin(StepOp::Update, Some(old.clone()), Some(goal.clone()));
                if self.chance(10) {
                    self.failed = true;
                    self.push(JournalRecord::Failure { op: StepOp::Update });
                    return false;
                }
                let new = StateRef {
                    id: old.id,
                    state: Arc::new(goal.clone()),
                };
                self.success(StepOp::Update, vec![old.id], Some(new));
            }
            4 => {
                self.begin(StepOp::CreateReplacement, Some(old.clone()), Some(goal.clone()));
                let new = self.fresh(goal.clone());
                self.mark(StepOp::CreateReplacement, old.id, StateMark::Delete, Some(new));
            }
            _ => {
                self.delete_before(old);
                self.begin(StepOp::CreateReplacement, Some(old.clone()), Some(goal.clone()));
                let new = self.fresh(goal.clone());
                self.success(StepOp::CreateReplacement, vec![old.id], Some(new));
            }
        }
        true
    }

    fn delete_rest(&mut self) {
        let records: Vec<_> = self.replay.records().cloned().collect();
        let records = normalised(&records);
        let states: Vec<_> = records.iter().map(|record| Arc::clone(&record.state)).collect();
        let condemned: Vec<_> = (0..records.len())
            .filter(|index| states[*index].delete || !self.done.contains(&records[*index].id))
            .collect();
        let layers = DependencyGraph::new(&states).antichains(&condemned);
        for index in layers.into_iter().flatten() {
            let old = &records[index];
            let op = match (old.state.delete, old.state.pending_replacement) {
                (true, _) => StepOp::DeleteReplaced,
                (false, true) => StepOp::RemovePendingReplace,
                (false, false) => StepOp::Delete,
            };
            self.begin(op, Some(old.clone()), None);
            if self.chance(5) {
                self.push(JournalRecord::Failure { op });
                return;
            }
            self.success(op, vec![old.id], None);
        }
    }
}

fn normalised(records: &[StateRef]) -> Vec<StateRef> {
    let resources = records.iter().map(|record| Arc::clone(&record.state)).collect();
    let mut snapshot = Snapshot {
        resources,
        ..Snapshot::default()
    };
    normalise(&mut snapshot).unwrap();
    let states = snapshot.resources.into_iter();
    records
        .iter()
        .zip(states)
        .map(|(record, state)| StateRef { id: record.id, state })
        .collect()
}

fn play(seed: u64) -> (Snapshot, Vec<JournalEntry>) {
    let mut play = Play::new(seed);
    let base = play.replay.base().clone();
    if play.chance(30) {
        play.refresh();
    }
    let provider = play.find(&provider_urn()).unwrap();
    play.done.insert(provider.id);
    play.begin(
        StepOp::Same,
        Some(provider.clone()),
        Some((*provider.state).clone()),
    );
    play.success(StepOp::Same, vec![provider.id], Some(provider.clone()));
    play.registered.push(provider_urn());
    let mut names: Vec<u32> = (0..10).collect();
    for _ in 0..play.random.random_range(0..10) {
        let place = play.random.random_range(0..names.len());
        let number = names.swap_remove(place);
        play.register(&format!("r{number}"), number.is_multiple_of(3));
    }
    if play.chance(80) && !play.failed {
        play.delete_rest();
    }
    (base, play.entries)
}

fn identities(snapshot: &Snapshot) -> Vec<(String, String, bool, bool)> {
    let mut identities: Vec<_> = snapshot
        .resources
        .iter()
        .map(|state| {
            (
                state.urn.to_string(),
                state.id.to_string(),
                state.delete,
                state.pending_replacement,
            )
        })
        .collect();
    identities.sort();
    identities
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_prefix_of_a_journal_yields_a_valid_snapshot(seed in any::<u64>()) {
        let (base, entries) = play(seed);
        let mut whole = JournalReplay::new(base.clone());
        let mut written = JournalReplay::new(base);
        for (number, entry) in entries.iter().enumerate() {
            whole.apply(entry).unwrap();
            if !entry.record.elides_write() {
                written.apply(entry).unwrap();
            }
            let failed = |error: Error| TestCaseError::fail(format!("{number}: {error}"));
            let from_whole = whole.to_snapshot().map_err(failed)?;
            let from_written = written.to_snapshot().map_err(failed)?;
            for snapshot in [&from_whole, &from_written] {
                if let Err(error) = integrity::verify(snapshot) {
                    return Err(TestCaseError::fail(format!("after entry {number} {entry:#?}: {error}")));
                }
            }
            prop_assert_eq!(identities(&from_whole), identities(&from_written));
            prop_assert_eq!(&from_whole.pending_operations, &from_written.pending_operations);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn continuing_from_a_refreshed_checkpoint_yields_the_same_snapshot(seed in any::<u64>(), cut in any::<usize>()) {
        let (base, entries) = play(seed);
        let cut = cut % (entries.len() + 1);
        let mut whole = JournalReplay::new(base);
        for entry in &entries[..cut] {
            whole.apply(entry).unwrap();
        }
        let (snapshot, rebase) = whole.to_rebase(cut as u64).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(snapshot.resources.len(), rebase.records.len());
        let mut resumed = JournalReplay::resume(snapshot, &rebase).unwrap();
        for (number, entry) in entries.iter().enumerate().skip(cut) {
            whole.apply(entry).unwrap();
            if !entry.record.elides_write() {
                resumed.apply(entry).map_err(|error| TestCaseError::fail(format!("{number}: {error}")))?;
            }
            let (from_whole, from_resumed) = (whole.to_snapshot().unwrap(), resumed.to_snapshot());
            let from_resumed = from_resumed.map_err(|error| TestCaseError::fail(format!("{number}: {error}")))?;
            if let Err(error) = integrity::verify(&from_resumed) {
                return Err(TestCaseError::fail(format!("after entry {number} {entry:#?}: {error}")));
            }
            prop_assert_eq!(identities(&from_whole), identities(&from_resumed));
            prop_assert_eq!(&from_whole.pending_operations, &from_resumed.pending_operations);
        }
    }
}

/// A component moves below another one, and its child out of it: in the checkpoint between both, the child has a URN that no alias names.
#[test]
fn a_reference_to_a_child_that_leaves_a_moved_parent_survives_a_refreshed_checkpoint() {
    let mut child = record("child", false);
    let parent = record("parent", true);
    child.urn = below(&parent.urn, &child);
    child.parent = Some(parent.urn.clone());
    let mut user = record("user", false);
    user.dependencies = vec![child.urn.clone()];
    let resources = [
        provider(),
        record("outer", true),
        parent.clone(),
        child.clone(),
        user,
    ]
    .map(Arc::new);
    let base = Snapshot {
        resources: resources.into(),
        ..Snapshot::default()
    };
    let mut moved = parent.clone();
    moved.parent = Some(urn("outer", "shop:index:Box"));
    moved.urn = below(&urn("outer", "shop:index:Box"), &parent);
    moved.aliases = vec![parent.urn];
    let mut left = record("child", false);
    left.aliases = vec![child.urn];
    let mut replay = JournalReplay::new(base);
    replay.apply(&entry(0, 1, same(2, moved, false))).unwrap();
    let (checkpoint, rebase) = replay.to_rebase(1).unwrap();
    let mut resumed = JournalReplay::resume(checkpoint, &rebase).unwrap();
    for replay in [&mut replay, &mut resumed] {
        replay.apply(&entry(1, 2, same(3, left.clone(), false))).unwrap();
        let snapshot = replay.to_valid_snapshot().unwrap();
        let user = snapshot
            .resources
            .iter()
            .find(|record| record.urn.name() == "user")
            .unwrap();
        assert_eq!(user.dependencies, [left.urn.clone()]);
    }
}

#[test]
fn a_snapshot_of_other_records_is_refused_as_base() {
    let rebase = Rebase {
        checkpoint: String::new(),
        sequence: 0,
        written: 0,
        records: vec![StateId(0)],
        begun: Vec::new(),
        dangling: false,
    };
    let error = JournalReplay::resume(Snapshot::default(), &rebase).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
}

fn entry(sequence: u64, operation: u64, record: JournalRecord) -> JournalEntry {
    JournalEntry {
        sequence,
        operation: OperationId(operation),
        record,
    }
}

fn same(id: u64, state: ResourceState, elide_write: bool) -> JournalRecord {
    JournalRecord::Success {
        op: StepOp::Same,
        result_op: StepOp::Same,
        removed: vec![StateId(id)],
        marked: Vec::new(),
        new: Some(StateRef {
            id: StateId(id),
            state: Arc::new(state),
        }),
        in_place: false,
        elide_write,
        untargeted: false,
        skipped_create: None,
        view: false,
    }
}

#[test]
fn a_same_step_that_changes_nothing_leaves_the_replay_clean() {
    let base = Snapshot {
        resources: vec![Arc::new(record("a", true))],
        ..Snapshot::default()
    };
    let mut replay = JournalReplay::new(base);
    replay
        .apply(&entry(0, 1, same(0, record("a", true), true)))
        .unwrap();
    assert_eq!(replay.changes(), Changes::None);
    let mut hinted = record("a", true);
    hinted.options.ignore_changes = vec!["size".to_owned()];
    replay.apply(&entry(1, 2, same(0, hinted.clone(), true))).unwrap();
    assert_eq!(replay.changes(), Changes::OnlyElidedWrites);
    hinted.protect = true;
    replay.apply(&entry(2, 3, same(0, hinted, false))).unwrap();
    assert_eq!(replay.changes(), Changes::Some);
}

#[test]
fn an_entry_about_a_record_that_is_gone_is_refused_and_changes_nothing() {
    let base = Snapshot {
        resources: vec![Arc::new(record("a", true))],
        ..Snapshot::default()
    };
    let mut replay = JournalReplay::new(base);
    let error = replay
        .apply(&entry(7, 1, same(3, record("a", true), false)))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.message().contains("entry 7"), "{error}");
    assert!(!replay.is_dirty());
}

#[test]
fn an_unchanged_secret_keeps_its_ciphertext_through_an_update() {
    let ciphertext = crate::property::CachedCiphertext {
        manager: "m".into(),
        text: "sealed".into(),
    };
    let with_secret = || {
        let mut state = record("a", false);
        state.inputs = PropertyMap::from_iter([("password", PropertyValue::secret("hunter2".into()))]);
        state
    };
    let old = with_secret();
    let Some(PropertyValue::Secret(secret)) = old.inputs.get("password") else {
        panic!("a secret");
    };
    secret.ciphertext.set(ciphertext).unwrap();
    let mut replay = JournalReplay::new(Snapshot {
        resources: vec![Arc::new(old)],
        ..Snapshot::default()
    });
    let mut new = with_secret();
    new.protect = true;
    replay.apply(&entry(0, 1, same(0, new, false))).unwrap();
    let Some(PropertyValue::Secret(secret)) = replay.get(StateId(0)).unwrap().inputs.get("password") else {
        panic!("a secret");
    };
    assert_eq!(&*secret.ciphertext.get().unwrap().text, "sealed");
}

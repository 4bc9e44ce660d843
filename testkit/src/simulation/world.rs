//! The world of a simulation: what exists, what the hosts do, and what a reader of the state must find.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use stackwright::{
    ErrorKind, Stack,
    resource::PendingOperationKind,
    runtime::{Clock as _, Random as _, Runtime, SeededRandom},
    state::Snapshot,
    store::MemoryStore,
};

use super::{clock::VirtualClock, edits::number_of, host::Host};

/// Where the state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A store whose locks end with their processes.
    Folder,
    /// A store with locks that are taken over when they are not renewed.
    Leases,
    /// A bucket: the leases and the numbered journals are those of the engine.
    Bucket,
}

/// What the bucket does of that on which the fence of the engine relies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    Works,
    /// No condition of a write is checked.
    IgnoresConditions,
    /// What is only marked differently is not written.
    LeavesCheckpoint,
}

/// Everything outside of the engine.
pub(super) struct World {
    pub(super) runtime: Runtime,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) store: MemoryStore,
    pub(super) kind: Kind,
    /// Whether the store is encrypted as a whole.
    pub(super) is_encrypted: bool,
    /// Whether all hosts are processes of one machine, of which the numbers do not show whether they hold a lease.
    pub(super) is_one_machine: bool,
    pub(super) fence: Fence,
    dice: SeededRandom,
    reader: Mutex<Option<Stack>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) trace: Vec<String>,
    pub(super) failure: Option<String>,
    /// The names of the things that exist, by their ids.
    pub(super) things: BTreeMap<String, String>,
    /// The names of the things whose creation was tried, by their ids.
    tried: BTreeMap<String, String>,
    /// The things whose creation was pending at the begin of a later operation, which knows that they may exist: once it has resolved
    /// that, the state need not know them until one has recorded them.
    excused: BTreeSet<String>,
    /// The things whose records may be removed by an edit: the state need not know them any more.
    dismissed: BTreeSet<String>,
    /// The things beside which others of their names are created: their records may have another name, or they are replaced.
    succeeded: BTreeSet<String>,
    /// How often the stack was removed.
    removals: u64,
    /// The number of renamings, which makes their names unique.
    renamings: u64,
    /// Whether a holder was taken over, whose write of the checkpoint may still arrive.
    pub(super) has_late_holder: bool,
    /// Whether the stack was removed.
    pub(super) is_removed: bool,
    /// The host that has taken the lease last, and whether it has called its provider since.
    holder: Option<(u32, bool)>,
    /// The number of begins of operations, and for each name the last one at which its creation was pending.
    begins: u64,
    warned: BTreeMap<String, u64>,
    /// The last begin of each host's operations.
    begun: BTreeMap<u32, u64>,
    pub(super) hosts: BTreeMap<u32, Arc<Host>>,
    /// The holder of each lock, and the number of its taking.
    pub(super) locks: BTreeMap<String, (u32, u64)>,
    pub(super) taken: u64,
}

impl State {
    /// Notes that an operation begins which finds these creations pending; `host` is its host.
    pub(super) fn begin(&mut self, host: Option<u32>, pending: BTreeSet<String>) {
        self.begins += 1;
        self.begun.extend(host.map(|pid| (pid, self.begins)));
        let tried = self.tried.iter().filter(|(_, name)| pending.contains(*name));
        self.excused.extend(tried.map(|(id, _)| id.clone()));
        let begins = self.begins;
        self.warned.extend(pending.into_iter().map(|name| (name, begins)));
    }

    /// Notes that the record of a thing may be removed: no operation knows the thing then.
    pub(super) fn dismiss(&mut self, id: &str) {
        self.dismissed.insert(id.to_owned());
    }

    /// Returns whether no operation needs to know a thing.
    pub(super) fn is_excused(&self, id: &str) -> bool {
        self.excused.contains(id) || self.dismissed.contains(id)
    }

    /// Notes that the state has recorded a thing: from now on it must know the thing.
    fn record(&mut self, id: &str) {
        self.excused.remove(id);
    }

    /// Notes that a provider asks for the replacement of a thing.
    pub(super) fn replace(&mut self, id: &str) {
        self.succeeded.insert(id.to_owned());
    }

    /// Notes that the record of a thing may get another name. Returns the number of the renaming.
    pub(super) fn rename(&mut self, id: &str) -> u64 {
        self.succeeded.insert(id.to_owned());
        self.renamings += 1;
        self.renamings
    }

    /// Notes that a pending operation of a thing of this name may be forgotten.
    pub(super) fn forget(&mut self, name: &str) {
        self.begin(None, BTreeSet::from([name.to_owned()]));
    }

    /// Notes that the stack was removed: nothing that exists, or which a host still creates, is known any more.
    pub(super) fn remove(&mut self) {
        self.is_removed = true;
        self.removals += 1;
        let names = self.tried.values().cloned().collect();
        self.begin(None, names);
    }

    /// Notes that a host has taken the lease.
    pub(super) fn take(&mut self, host: u32) {
        self.holder = Some((host, false));
    }

    /// Notes that a host calls its provider.
    pub(super) fn step(&mut self, host: u32) {
        if let Some((holder, has_stepped)) = &mut self.holder
            && *holder == host
        {
            *has_stepped = true;
        }
    }

    /// Notes that a host has replaced the checkpoint: a write that was begun before finds another version.
    pub(super) fn fence(&mut self, host: u32) {
        if self.holder.is_some_and(|(holder, _)| holder == host) {
            self.has_late_holder = false;
        }
    }

    /// Returns the holder of the lease whose calls rely on a checkpoint that another host now replaces.
    pub(super) fn overwritten_by(&self, host: u32) -> Option<u32> {
        let (holder, has_stepped) = self.holder?;
        (holder != host && has_stepped).then_some(holder)
    }

    /// Begins a creation, and returns the id of the thing. The error is that of a thing that exists already, of which the operation knows
    /// nothing.
    pub(super) fn try_creation(&mut self, host: u32, name: &str) -> Result<String, String> {
        let id = format!("{name}-{}", self.tried.len() + 1);
        self.tried.insert(id.clone(), name.to_owned());
        // A host that was taken over: its successor has found the creation pending, before it was tried.
        let begun = self.begun.get(&host).copied().unwrap_or_default();
        if self.warned.get(name).is_some_and(|warned| *warned > begun) {
            self.excused.insert(id.clone());
            return Ok(id);
        }
        let mut existing = self.things.iter().filter(|(_, existing)| *existing == name);
        match existing.find(|(id, _)| !self.is_excused(id) && !self.succeeded.contains(*id)) {
            Some((existing, _)) => Err(format!(
                "{name} is created a second time beside {existing} without a warning"
            )),
            None => Ok(id),
        }
    }
}

impl World {
    pub(super) fn new(seed: u64, fence: Fence, runtime: Runtime, clock: Arc<VirtualClock>) -> Self {
        let world = Self {
            store: MemoryStore::new(runtime.clone()),
            runtime,
            clock,
            kind: match seed % 4 {
                1 => Kind::Leases,
                2 => Kind::Folder,
                _ => Kind::Bucket,
            },
            is_encrypted: fence == Fence::Works && (seed / 4).is_multiple_of(3),
            is_one_machine: (seed / 12).is_multiple_of(3),
            fence,
            dice: SeededRandom::new(!seed),
            reader: Mutex::default(),
            state: Mutex::default(),
        };
        world.note(format_args!("seed {seed}"));
        world
    }

    /// Returns whether the bucket ignores the conditions of writes.
    pub(super) fn is_unfenced(&self) -> bool {
        self.fence == Fence::IgnoresConditions
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a number below `limit`, which is not 0.
    pub(super) fn roll(&self, limit: u64) -> u64 {
        let mut bytes = [0; 8];
        self.dice.fill(&mut bytes);
        u64::from_le_bytes(bytes) % limit
    }

    /// Returns `true` once in `chances` times.
    pub(super) fn is_hit(&self, chances: u64) -> bool {
        self.roll(chances) == 0
    }

    pub(super) fn note(&self, line: std::fmt::Arguments<'_>) {
        let line = format!("{:?} {line}", self.clock.elapsed());
        self.state().trace.push(line);
    }

    /// Records what must not be. The first failure counts.
    pub(super) fn fail(&self, text: String) {
        self.note(format_args!("FAILURE: {text}"));
        self.state().failure.get_or_insert(text);
    }

    pub(super) async fn wait_up_to(&self, limit: Duration) {
        let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let duration = Duration::from_millis(self.roll(milliseconds.max(1)));
        self.clock.wait(duration).await;
    }

    /// Sets the stack by which the state is read without its lock.
    pub(super) fn set_reader(&self, reader: Stack) {
        *self.reader() = Some(reader);
    }

    /// Removes the reader, which refers to the world.
    pub(super) fn forget_reader(&self) {
        *self.reader() = None;
    }

    fn reader(&self) -> MutexGuard<'_, Option<Stack>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the state as another process does, and checks that it is valid and knows everything that exists.
    pub(super) async fn observe(&self, occasion: &str) -> Option<Snapshot> {
        let reader = self.reader().clone()?;
        let (before, removals) = {
            let state = self.state();
            let things: BTreeSet<String> = state.things.keys().cloned().collect();
            (things, state.removals)
        };
        let snapshot = match reader.snapshot().await {
            Ok(snapshot) => snapshot,
            // Operations begin and end all the time.
            Err(error) if error.kind() == ErrorKind::Conflict => return None,
            Err(error) if error.kind() == ErrorKind::NotFound && self.state().is_removed => return None,
            Err(error) => {
                self.fail(format!("{occasion}: the stack does not open: {error}"));
                return None;
            }
        };
        self.check_values(&snapshot, occasion);
        let pending = pending_names(&snapshot);
        let recorded: BTreeSet<&str> = snapshot.resources.iter().map(|state| state.id.as_str()).collect();
        let unknown: Vec<String> = {
            let mut state = self.state();
            if state.removals == removals {
                recorded.iter().for_each(|id| state.record(id));
            }
            let things = state.things.iter().filter(|(id, _)| before.contains(*id));
            let unknown = things.filter(|(id, name)| {
                !recorded.contains(id.as_str()) && !pending.contains(*name) && !state.is_excused(id)
            });
            unknown.map(|(id, name)| format!("{name} ({id})")).collect()
        };
        if !unknown.is_empty() {
            self.fail(format!(
                "{occasion}: unknown to the state: {}",
                unknown.join(", ")
            ));
        }
        Some(snapshot)
    }

    /// Checks that the values are those that a program has registered, and that secrets are secrets still.
    fn check_values(&self, snapshot: &Snapshot, occasion: &str) {
        for record in &snapshot.resources {
            let Some(value) = record.inputs.get("value") else {
                continue;
            };
            let name = record.urn.name();
            let known = value.unwrapped().as_str().is_some_and(|text| {
                let number = text.strip_prefix("value ");
                number.is_some_and(|number| number.parse::<u64>().is_ok())
            });
            if !known {
                self.fail(format!("{occasion}: {name} has a value that was not registered"));
            }
            if number_of(name).is_multiple_of(2) && !value.is_secret() {
                self.fail(format!("{occasion}: the secret of {name} is none any more"));
            }
        }
    }

    /// Notes the pending creations that an operation of a host finds.
    pub(super) async fn warn(&self, host: u32) {
        if let Some(snapshot) = self.observe("an operation begins").await {
            self.state().begin(Some(host), pending_names(&snapshot));
        }
    }
}

/// Returns the names of the resources whose creations are pending.
pub(super) fn pending_names(snapshot: &Snapshot) -> BTreeSet<String> {
    let creations = snapshot
        .pending_operations
        .iter()
        .filter(|pending| pending.kind == PendingOperationKind::Creating);
    creations
        .map(|pending| pending.resource.urn.name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "thing1";

    fn pending() -> BTreeSet<String> {
        BTreeSet::from([NAME.to_owned()])
    }

    /// Creates a thing, unless that is an error.
    fn create(state: &mut State, host: u32) -> Result<String, String> {
        let id = state.try_creation(host, NAME)?;
        state.things.insert(id.clone(), NAME.to_owned());
        Ok(id)
    }

    #[test]
    fn what_was_pending_is_excused_and_what_is_created_later_is_not() {
        let mut state = State::default();
        state.begin(Some(1), BTreeSet::new());
        let lost = create(&mut state, 1).unwrap();
        state.begin(Some(2), pending());
        let second = create(&mut state, 2).unwrap();
        assert_eq!(state.excused, BTreeSet::from([lost]));
        // It was pending once, and that is resolved.
        state.begin(Some(3), BTreeSet::new());
        let error = create(&mut state, 3).unwrap_err();
        assert!(error.contains(&second), "{error}");
    }

    #[test]
    fn what_is_recorded_is_excused_no_longer() {
        let mut state = State::default();
        state.begin(Some(1), BTreeSet::new());
        let first = create(&mut state, 1).unwrap();
        state.begin(Some(2), pending());
        assert!(state.is_excused(&first));
        state.record(&first);
        let error = create(&mut state, 2).unwrap_err();
        assert!(error.contains(&first), "{error}");
        state.replace(&first);
        create(&mut state, 2).unwrap();
    }

    #[test]
    fn a_host_whose_successor_knows_of_its_creation_may_still_create() {
        let mut state = State::default();
        state.begin(Some(1), BTreeSet::new());
        state.begin(Some(2), pending());
        create(&mut state, 2).unwrap();
        let late = create(&mut state, 1).unwrap();
        assert_eq!(state.excused, BTreeSet::from([late]));
        assert!(create(&mut state, 2).is_err());
    }
}

//! The world of a simulation: what exists, what the hosts do, and what a reader of the state must find.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use stackwright::{
    ErrorKind, Stack,
    resource::PendingOperationKind,
    runtime::{Clock as _, Random as _, Runtime, SeededRandom},
    state::Snapshot,
    store::MemoryStore,
};

use super::{clock::VirtualClock, host::Host};

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

/// Everything outside of the engine.
pub(super) struct World {
    pub(super) runtime: Runtime,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) store: MemoryStore,
    pub(super) kind: Kind,
    /// Whether the store is encrypted as a whole.
    pub(super) is_encrypted: bool,
    /// Whether the bucket ignores the conditions of writes: the fence does not work.
    pub(super) is_unfenced: bool,
    dice: SeededRandom,
    reader: OnceLock<Stack>,
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
    /// that, the state need not know them.
    excused: BTreeSet<String>,
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
        match existing.find(|(id, _)| !self.excused.contains(*id)) {
            Some((existing, _)) => Err(format!(
                "{name} is created a second time beside {existing} without a warning"
            )),
            None => Ok(id),
        }
    }
}

impl World {
    pub(super) fn new(seed: u64, is_unfenced: bool, runtime: Runtime, clock: Arc<VirtualClock>) -> Self {
        let world = Self {
            store: MemoryStore::new(runtime.clone()),
            runtime,
            clock,
            kind: match seed % 4 {
                1 => Kind::Leases,
                2 => Kind::Folder,
                _ => Kind::Bucket,
            },
            is_encrypted: !is_unfenced && (seed / 4).is_multiple_of(3),
            is_unfenced,
            dice: SeededRandom::new(!seed),
            reader: OnceLock::new(),
            state: Mutex::default(),
        };
        world.note(format_args!("seed {seed}"));
        world
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
        drop(self.reader.set(reader));
    }

    /// Reads the state as another process does, and checks that it is valid and knows everything that exists.
    pub(super) async fn observe(&self, occasion: &str) -> Option<Snapshot> {
        let reader = self.reader.get()?;
        let before: BTreeSet<String> = self.state().things.keys().cloned().collect();
        let snapshot = match reader.snapshot().await {
            Ok(snapshot) => snapshot,
            // Operations begin and end all the time.
            Err(error) if error.kind() == ErrorKind::Conflict => return None,
            Err(error) => {
                self.fail(format!("{occasion}: the stack does not open: {error}"));
                return None;
            }
        };
        let pending = pending_names(&snapshot);
        let recorded: BTreeSet<&str> = snapshot.resources.iter().map(|state| state.id.as_str()).collect();
        let unknown: Vec<String> = {
            let state = self.state();
            let things = state.things.iter().filter(|(id, _)| before.contains(*id));
            let unknown = things.filter(|(id, name)| {
                !recorded.contains(id.as_str()) && !pending.contains(*name) && !state.excused.contains(*id)
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

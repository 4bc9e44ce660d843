//! Simulation of providers, for tests of programs: the real engine, with a world in memory in the place of real things.
//!
//! A [`Simulation`] serves every package that the host does not. Outputs repeat the inputs and have generated ids; they follow
//! the schema of a package, what the test supplies, or a recording of a real run. Faults fail, delay, interrupt or kill what a
//! pattern names, and the store outlives an engine whose run was killed, as a bucket outlives a process.
//!
//! ```
//! use std::sync::Arc;
//!
//! use stackwright::{
//!     Engine, Result, StackSettings,
//!     monitor::Registration,
//!     operation::OperationOptions,
//!     program,
//!     secrets::Base64Provider,
//!     simulation::{Simulation, SimulationSettings},
//! };
//! use tokio::runtime::Handle;
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     let simulation = Simulation::new(SimulationSettings::default())?;
//!     let engine = Engine::builder(Handle::current())
//!         .secrets(Arc::new(Base64Provider))
//!         .simulation(simulation.clone())
//!         .build()?;
//!     let program = program::from_fn(|context| async move {
//!         let machine = Registration::from_json(
//!             br#"{"type": "cloud:index:Machine", "name": "web", "inputs": {"size": "large"}}"#,
//!         )?;
//!         context.monitor.register(machine).await?;
//!         Ok(())
//!     });
//!     let settings = StackSettings { program: Some(program), ..StackSettings::default() };
//!     let stack = engine.stack("shop/dev", settings).await?;
//!     stack.update(OperationOptions::default()).wait().await;
//!     let machine = &simulation.things()[0];
//!     assert_eq!(machine.name, "web");
//!     assert_eq!(machine.outputs.get("size"), Some(&"large".into()));
//!     Ok(())
//! }
//! ```

mod fault;
mod life;
mod outputs;
pub(crate) mod pattern;
mod provider;
mod recording;
mod records;
mod schema;
mod settings;
mod stacks;
mod store;
mod substitute;
mod unmatched;
mod watched;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use crate::{
    error::Result,
    property::{PropertyMap, PropertyValue},
    provider::{ProviderBackend, builtin::StackReader},
    runtime::{Clock, SystemClock},
    secrets::Redactor,
    store::MemoryStore,
    token::{ResourceId, TypeToken},
};

pub use fault::{Fault, FaultEffect, SimulatedCall};
pub use settings::{ExistingThing, RecordMode, SimulationSettings};
pub use unmatched::UnmatchedPattern;
pub use world::Thing;

use fault::Faults;
use life::Life;
use recording::{Player, Recorder, Recording};
use settings::Settings;
use unmatched::Tokens;
use world::World;

/// A simulation: the world, the faults, and the store of the stacks. Cloning is cheap; all clones are the same one.
///
/// Several engines, one after the other, can use it: that is how a test continues after a run that was killed.
#[derive(Clone)]
pub struct Simulation(Arc<Parts>);

struct Parts {
    settings: Settings,
    /// Answers functions and methods, and computes outputs.
    answers: Mutex<Option<Arc<dyn ProviderBackend>>>,
    world: Mutex<World>,
    faults: Faults,
    life: Life,
    calls: Mutex<Vec<SimulatedCall>>,
    /// Those of all calls, of forgotten ones too.
    tokens: Mutex<Tokens>,
    /// Plays a recording.
    player: Option<Player>,
    /// Records real providers.
    recorder: Option<Recorder>,
    store: OnceLock<MemoryStore>,
    clock: Mutex<Option<Arc<dyn Clock>>>,
    /// The simulated providers by package, so that all instances of one that are in use are the same object. Each refers to the simulation.
    providers: Mutex<BTreeMap<String, Weak<dyn ProviderBackend>>>,
    /// Those of code of the host, each with what stands around it: another engine has others.
    shared: Mutex<BTreeMap<String, [Weak<dyn ProviderBackend>; 2]>>,
    /// The packages that real providers serve.
    real: Mutex<BTreeSet<String>>,
    /// Interrupt the running operations; those that return false are over.
    interrupts: Mutex<Vec<Interrupt>>,
}

/// Interrupts an operation, and returns whether it can be interrupted again.
pub(crate) type Interrupt = Box<dyn Fn() -> bool + Send + Sync>;

impl fmt::Debug for Simulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Simulation")
            .field("things", &self.world().things().count())
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulation {
    /// Creates a simulation with an empty store, and the existing things of the settings in its world.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a schema, a recording or a property path that cannot be read.
    pub fn new(mut settings: SimulationSettings) -> Result<Self> {
        let answers = settings.answers.take();
        let SimulationSettings { existing, record, .. } = &settings;
        let mut world = World::default();
        for thing in existing {
            world.put(Thing {
                resource_type: thing.resource_type.clone(),
                id: thing.id.clone(),
                urn: None,
                name: thing.id.to_string(),
                inputs: PropertyMap::new(),
                outputs: thing.properties.clone(),
            });
        }
        let player = match record {
            RecordMode::Play { recording, file } => Some(Player::open(recording, file.as_deref())?),
            RecordMode::Off | RecordMode::Record => None,
        };
        let recorder = matches!(record, RecordMode::Record).then(|| Recorder {
            recording: Recording::default(),
            redactor: Redactor::new(),
        });
        Ok(Self(Arc::new(Parts {
            settings: settings.read()?,
            answers: Mutex::new(answers),
            world: Mutex::new(world),
            faults: Faults::default(),
            life: Life::default(),
            calls: Mutex::default(),
            tokens: Mutex::default(),
            player,
            recorder,
            store: OnceLock::new(),
            clock: Mutex::default(),
            providers: Mutex::default(),
            shared: Mutex::default(),
            real: Mutex::default(),
            interrupts: Mutex::default(),
        })))
    }

    /// Replaces what answers functions and methods; see [`SimulationSettings::answers`].
    pub fn set_answers(&self, answers: Arc<dyn ProviderBackend>) {
        *lock(&self.0.answers) = Some(answers);
    }

    fn answers(&self) -> Option<Arc<dyn ProviderBackend>> {
        lock(&self.0.answers).clone()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.0.world)
    }

    /// Returns the things in the world, in the order of their types and ids.
    #[must_use]
    pub fn things(&self) -> Vec<Thing> {
        self.world().things().cloned().collect()
    }

    /// Sets or removes a property of a thing, as a change by hand does. Returns false when there is no such thing.
    pub fn change(
        &self,
        resource_type: &TypeToken,
        id: &ResourceId,
        property: &str,
        value: Option<PropertyValue>,
    ) -> bool {
        let mut world = self.world();
        let Some(thing) = world.get_mut(resource_type, id) else {
            return false;
        };
        match value {
            Some(value) => thing.outputs.insert(property, value),
            None => thing.outputs.remove(property),
        };
        true
    }

    /// Removes a thing, as a deletion by hand does. Returns false when there is no such thing.
    /// One that a real provider has created is only forgotten: what the provider itself knows of it stays.
    pub fn remove(&self, resource_type: &TypeToken, id: &ResourceId) -> bool {
        let mut world = self.world();
        let is_made = world.made.remove(&(resource_type.clone(), id.clone())).is_some();
        world.remove(resource_type, id).is_some() || is_made
    }

    /// Puts a thing into the world.
    pub fn put(&self, thing: Thing) {
        self.world().put(thing);
    }

    /// Replaces the faults; none has happened yet.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.0.faults.set(faults);
    }

    /// Returns the faults that have not happened: their patterns may be misspelt.
    #[must_use]
    pub fn unused_faults(&self) -> Vec<Fault> {
        self.0.faults.unused()
    }

    /// Returns the patterns of the settings that match neither a type nor a function of the calls so far, those of previews included. None
    /// while a recording is made or played: real answers need no patterns.
    #[must_use]
    pub fn unmatched_patterns(&self) -> Vec<UnmatchedPattern> {
        if self.0.player.is_some() || self.0.recorder.is_some() {
            return Vec::new();
        }
        unmatched::of(&self.0.settings, &lock(&self.0.tokens))
    }

    /// Begins a run that is killed at a moment, counted from 0: moments are before and after each call of a provider and
    /// each write of the store, and in the middle of appends. Nothing has an effect then until the next run begins.
    pub fn begin_run(&self, fatal_moment: Option<u64>) {
        self.0.life.begin(fatal_moment);
    }

    /// Returns the number of moments that have passed since the run began.
    #[must_use]
    pub fn moments(&self) -> u64 {
        self.0.life.passed()
    }

    /// Returns the moment at which the run was killed, for users; `None` when it was not.
    #[must_use]
    pub fn killed_at(&self) -> Option<String> {
        self.0.life.death()
    }

    /// Returns the calls of providers so far, in the order in which they began.
    #[must_use]
    pub fn calls(&self) -> Vec<SimulatedCall> {
        lock(&self.0.calls).clone()
    }

    /// Forgets the calls so far.
    pub fn clear_calls(&self) {
        lock(&self.0.calls).clear();
    }

    fn note(&self, call: SimulatedCall) {
        lock(&self.0.tokens).note(&call);
        lock(&self.0.calls).push(call);
    }

    /// Returns the reader of other stacks for a stack of a project; `store` reads those that the settings do not have.
    pub(crate) fn stacks(&self, project: &str, store: Arc<dyn StackReader>) -> Arc<dyn StackReader> {
        stacks::reader(self, project, store)
    }

    /// Sets the clock of delays.
    pub(crate) fn set_clock(&self, clock: Arc<dyn Clock>) {
        *lock(&self.0.clock) = Some(clock);
    }

    fn clock(&self) -> Arc<dyn Clock> {
        let clock = lock(&self.0.clock).clone();
        clock.unwrap_or_else(|| Arc::new(SystemClock))
    }

    /// Adds an operation that faults can interrupt.
    pub(crate) fn add_operation(&self, interrupt: Interrupt) {
        lock(&self.0.interrupts).push(interrupt);
    }

    fn interrupt(&self) {
        lock(&self.0.interrupts).retain(|interrupt| interrupt());
    }
}

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod tests;

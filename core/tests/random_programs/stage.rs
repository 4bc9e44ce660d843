//! A stack in the simulated world, on which the operations of a plan are performed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use stackwright::{
    Engine, Result, Stack, StackSettings,
    event::EngineEvent,
    operation::{Operation, OperationKind, OperationOptions, OperationResult},
    resource::ResourceState,
    runtime::{Clock as _, Runtime},
    secrets::Base64Provider,
    state::{JournalEntry, JournalRecord, Snapshot, journal::JournalReceiver},
    store::{HostFacts, MemoryStore, Store},
};
use stackwright_testkit::store::{Fault as StoreFault, FaultyStore};

use crate::{
    plan::{Act, Script, Stop, Verb, number_of},
    program::{Played, policies, transformed_inputs},
    provider::Cloud,
    time::SimulatedClock,
    world::{Called, World},
};

/// The timeout of every operation, far beyond what its calls take together.
const TIMEOUT: Duration = Duration::from_secs(5000);
/// The time between two writes of the checkpoint: as long as some calls, and short of those that hang.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(100);
/// The time after which an operation hangs.
const DEADLINE: Duration = Duration::from_secs(50_000);
/// The time between two cancellations.
const CANCELLATION_INTERVAL: Duration = Duration::from_secs(60);

/// The latest record of each thing, by id.
#[derive(Default)]
struct Records(Mutex<BTreeMap<String, Arc<ResourceState>>>);

#[async_trait]
impl JournalReceiver for Records {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        if let JournalRecord::Success { new: Some(new), .. } = &entry.record {
            let mut records = self.0.lock().unwrap();
            records.insert(new.state.id.to_string(), Arc::clone(&new.state));
        }
        Ok(())
    }
}

/// A stack and its world.
pub(crate) struct Stage {
    pub(crate) world: Arc<World>,
    runtime: Runtime,
    store: Arc<dyn Store>,
    records: Arc<Records>,
}

/// What an operation has done.
pub(crate) struct Report {
    pub(crate) result: Arc<OperationResult>,
    pub(crate) events: Vec<Arc<EngineEvent>>,
    pub(crate) calls: Vec<Called>,
    pub(crate) before: Snapshot,
    pub(crate) after: Snapshot,
    /// A write has failed, or the store has died.
    pub(crate) store_failed: bool,
    /// It was cancelled in a call.
    pub(crate) cancelled: bool,
    /// Calls were given up.
    pub(crate) terminated: bool,
    pub(crate) records: BTreeMap<String, Arc<ResourceState>>,
    pub(crate) options: OperationOptions,
}

impl Stage {
    /// Creates a stack without resources.
    pub(crate) async fn new(runtime: Runtime, clock: Arc<SimulatedClock>) -> Self {
        let stage = Self {
            world: Arc::new(World::new(clock)),
            store: Arc::new(MemoryStore::new(runtime.clone())),
            runtime,
            records: Arc::default(),
        };
        let engine = stage
            .engine(Arc::clone(&stage.store))
            .expect("the engine is built");
        let created = engine.create_stack("shop/dev", StackSettings::default()).await;
        created.expect("the stack is created");
        stage
    }

    fn engine(&self, store: Arc<dyn Store>) -> Result<Engine> {
        // A host of which no process can be found, so that its locks do not hold.
        let host = HostFacts {
            pid: u32::MAX - 1,
            ..HostFacts::system()
        };
        Engine::builder(self.runtime.spawner.handle().clone())
            .runtime(self.runtime.clone())
            .store(store)
            .secrets(Arc::new(Base64Provider))
            .provider("things", Arc::new(Cloud(Arc::clone(&self.world))))
            .host_facts(host)
            .checkpoint_interval(Some(CHECKPOINT_INTERVAL))
            .build()
    }

    async fn open(&self, store: Arc<dyn Store>) -> Result<Stack> {
        let settings = StackSettings {
            journal: Some(Arc::clone(&self.records) as _),
            ..StackSettings::default()
        };
        self.engine(store)?.stack("shop/dev", settings).await
    }

    /// Returns the recorded state.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        let stack = self.open(Arc::clone(&self.store)).await.expect("the stack opens");
        stack.snapshot().await.expect("the state is valid")
    }

    /// Performs an operation.
    pub(crate) async fn perform(&self, act: &Act, script: &Script) -> Report {
        let before = self.snapshot().await;
        if act.verb == Verb::Refresh {
            self.drift(act, &before);
        }
        let played = Played {
            imports: self.imports(script, &before),
            script: script.clone(),
            world: Arc::clone(&self.world),
        };
        let paces = script.declared.iter().map(|declared| declared.pace);
        self.world.prepare(&act.faults, act.stop, paces.collect());
        let fault = match act.stop {
            Stop::Store(fault) => fault,
            _ => StoreFault::None,
        };
        let faulty = Arc::new(FaultyStore::new(Arc::clone(&self.store), fault));
        let options = options(act, script, &before, &self.world);
        let (kind, with_program) = match act.verb {
            Verb::Update | Verb::Preview => (OperationKind::Update, true),
            Verb::Refresh => (OperationKind::Refresh, act.runs_program),
            Verb::Destroy => (OperationKind::Destroy, act.runs_program),
        };
        let begun = self.world.clock.elapsed();
        let program = with_program.then(|| played.program());
        let stack = self
            .open(Arc::clone(&faulty) as _)
            .await
            .expect("the stack opens");
        let operation = stack.start(kind, options.clone(), program);
        self.world.runs(&operation);
        let mut stream = operation.events();
        let twice = matches!(act.stop, Stop::Cancel { twice: true, .. });
        let result = self.end(&operation, twice).await;
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        let timed_out = self.world.clock.elapsed() - begun >= TIMEOUT;
        drop((operation, stack));
        let after = self.snapshot().await;
        let (calls, cancelled) = {
            let state = self.world.state();
            (state.calls.clone(), state.cancelled)
        };
        let mut records = self.records.0.lock().unwrap().clone();
        for state in &before.resources {
            let record = records.entry(state.id.to_string());
            record.or_insert_with(|| Arc::clone(state));
        }
        Report {
            result,
            events,
            calls,
            before,
            after,
            store_failed: failed(&faulty, fault),
            cancelled,
            terminated: timed_out || cancelled && twice,
            records,
            options,
        }
    }

    /// Waits for the end of an operation, and cancels it a second time.
    async fn end(&self, operation: &Operation, twice: bool) -> Arc<OperationResult> {
        let clock = &self.world.clock;
        let again = async {
            self.world.stopped.notified().await;
            clock.wait(CANCELLATION_INTERVAL).await;
            if twice {
                operation.cancel();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            result = operation.wait() => result,
            () = again => unreachable!("it waits for the operation"),
            () = clock.wait(DEADLINE) => panic!("the operation does not end: {:?}", self.world.state().calls),
        }
    }

    /// Changes or removes a thing without the engine.
    fn drift(&self, act: &Act, before: &Snapshot) {
        let Some(drift) = act.drift else { return };
        let live = before.resources.iter().filter(|state| !state.delete);
        let mut live = live.filter(|state| number_of(state.urn.name()) == Some(drift.number));
        let Some(record) = live.next() else { return };
        let mut state = self.world.state();
        if drift.vanishes {
            state.vanish(record.id.as_str());
        } else if let Some(thing) = state.things.get_mut(record.id.as_str()) {
            thing.inputs.insert("value", 99.0.into());
            thing.drifted = true;
        }
    }

    /// Returns the ids of the things that the program adopts: new ones for resources that are not recorded, by any name. An
    /// import with another id would replace the recorded one, which the engine refuses.
    fn imports(&self, script: &Script, before: &Snapshot) -> Vec<Option<String>> {
        let import = |number: usize| {
            let mut live = before.resources.iter().filter(|state| !state.delete);
            let is_recorded = live.any(|state| number_of(state.urn.name()) == Some(number));
            let imports = script.imports(number) && !is_recorded;
            imports.then(|| {
                self.world
                    .make_foreign(number, transformed_inputs(script, number))
            })
        };
        (0..script.declared.len()).map(import).collect()
    }
}

/// Returns whether the fault has occurred.
fn failed(store: &FaultyStore, fault: StoreFault) -> bool {
    match fault {
        StoreFault::None => false,
        StoreFault::FailsAt(write)
        | StoreFault::DiesAt(write)
        | StoreFault::DiesAfter(write)
        | StoreFault::TearsAt(write) => store.writes() >= write,
    }
}

fn options(act: &Act, script: &Script, before: &Snapshot, world: &Arc<World>) -> OperationOptions {
    let runs_program = match act.verb {
        Verb::Update | Verb::Preview => true,
        Verb::Refresh | Verb::Destroy => act.runs_program,
    };
    let urns_of = |number: &usize| {
        let live = before.resources.iter().filter(|state| !state.delete);
        let recorded = live.filter(|state| number_of(state.urn.name()) == Some(*number));
        let mut urns: Vec<String> = recorded.map(|state| state.urn.to_string()).collect();
        if let Some(declared) = script
            .declared
            .get(*number)
            .filter(|it| it.present && runs_program)
        {
            let urn = script.urn(*number, declared.renamed).to_string();
            if !urns.contains(&urn) {
                urns.push(urn);
            }
        }
        urns
    };
    let named: Vec<String> = act.targets.iter().flat_map(urns_of).collect();
    let (targets, excludes) = if act.excludes {
        (Vec::new(), named)
    } else {
        (named, Vec::new())
    };
    OperationOptions {
        dry_run: act.verb == Verb::Preview,
        targets,
        target_dependents: act.dependents,
        excludes,
        exclude_dependents: act.dependents,
        refresh: Some(act.refresh),
        refresh_program: act.runs_program,
        destroy_program: act.runs_program,
        parallel: act.parallel,
        continue_on_error: act.continues,
        ignore_protect: act.ignores_protection,
        replace_targets: act.replaces.iter().flat_map(urns_of).collect(),
        timeout: Some(TIMEOUT.as_secs_f64()),
        local_policy_packs: vec![policies(world)],
        ..OperationOptions::default()
    }
}

//! The simulation: operations of several hosts on one stack, with crashes, faults and delays that a seed determines.
//!
//! A run has one thread, virtual time and no other source of randomness than its seed, so that equal seeds give equal traces.
//! In rounds, up to three hosts run operations and edits at the same time, change the key of the secrets, or remove the stack. Each dies, freezes or fails as its troubles state, and others go on. The
//! state is read after every few writes. Things depend on others and lie below others, and changes replace some of them, so that cascades and
//! replacements are interrupted, too. At the end a host without troubles resolves what is pending, and must converge.
//!
//! The seed determines where the state is: in a store whose locks end with their processes, in one whose locks are taken over when they
//! are not renewed, or (half of the seeds) in a bucket with the engine's own leases and numbered journals, so that a frozen host may find
//! that another one has gone on. In a third of the buckets all hosts are processes of one machine, whose numbers show nothing. A third of the
//! stores is encrypted as a whole.

mod clock;
mod cloud;
mod edits;
mod host;
mod objects;
mod program;
mod secrets;
mod store;
mod world;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::join_all;
use stackwright::{
    Engine, ErrorKind, Result, Stack, StackSettings,
    operation::{OperationKind, OperationOptions},
    program::Program,
    property::PropertyValue,
    runtime::{Clock as _, Runtime},
    state::{
        Snapshot,
        edit::{Selection, StateEdit},
    },
    store::Store,
};

use self::{
    clock::simulated,
    cloud::Cloud,
    edits::{change, read_history},
    host::{Host, HostClock, Troubles, facts, jump},
    program::program,
    secrets::keys,
    store::{MAX_DELAY, store_of, store_of_reader},
    world::{Fence, World, pending_names},
};

const STACK: &str = "shop/dev";
/// The number of the names of things.
const NAMES: u64 = 6;
const MAX_ROUNDS: u64 = 3;
const MAX_HOSTS: u64 = 3;
const MAX_OPERATIONS: u64 = 3;
/// How often a host tries to lock the stack.
const ATTEMPTS: usize = 3;
/// The time between two writes of the checkpoint.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);
/// The time after which a round hangs.
const DEADLINE: Duration = Duration::from_secs(100_000);
/// The longest time before a host begins, and before it tries again.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The number of attempts of the last host to import or drop what is pending.
const RESOLUTIONS: usize = 8;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Everything that happened, with the virtual time.
    pub trace: Vec<String>,
    /// The first violation.
    pub failure: Option<String>,
}

/// Runs the simulation of a seed.
#[must_use]
pub fn run(seed: u64) -> Outcome {
    run_with(seed, Fence::Works)
}

/// Runs the simulation of a seed whose bucket ignores the conditions of writes, so that nothing keeps a host from writing that was taken
/// over: the failures that the simulation must find.
#[must_use]
pub fn run_unfenced(seed: u64) -> Outcome {
    run_with(seed, Fence::IgnoresConditions)
}

/// Runs the simulation of a seed whose bucket leaves the checkpoint as it is when a host takes a lease over, so that a write of the former
/// holder may still succeed: the failures that the simulation must find.
#[must_use]
pub fn run_unchanged(seed: u64) -> Outcome {
    run_with(seed, Fence::LeavesCheckpoint)
}

fn run_with(seed: u64, fence: Fence) -> Outcome {
    let outcome = simulated(seed, |runtime, clock| async move {
        let world = Arc::new(World::new(seed, fence, runtime, clock));
        let played = async {
            if let Err(error) = play(&world).await {
                world.fail(format!("{error}"));
            }
        };
        tokio::select! {
            biased;
            () = played => {}
            () = world.clock.wait(DEADLINE) => world.fail("an operation does not end".to_owned()),
        }
        world.forget_reader();
        let state = world.state();
        Outcome {
            trace: state.trace.clone(),
            failure: state.failure.clone(),
        }
    });
    outcome.unwrap_or_else(|error| Outcome {
        trace: Vec::new(),
        failure: Some(format!("no runtime could be started: {error}")),
    })
}

fn engine(world: &Arc<World>, host: &Arc<Host>, store: Arc<dyn Store>) -> Result<Engine> {
    let cloud = Cloud {
        host: Arc::clone(host),
        world: Arc::clone(world),
    };
    let runtime = Runtime {
        clock: Arc::new(HostClock::new(world, host)),
        ..world.runtime.clone()
    };
    Engine::builder(world.runtime.spawner.handle().clone())
        .secrets(keys(0, &runtime)?)
        .runtime(runtime)
        .store(store)
        .provider("things", Arc::new(cloud))
        .host_facts(facts(host.pid, world))
        .checkpoint_interval(Some(CHECKPOINT_INTERVAL))
        .build()
}

async fn play(world: &Arc<World>) -> Result<()> {
    let reader = Host::new(1, world, Troubles::default());
    let engine = engine(world, &reader, store_of_reader(world)?)?;
    world.set_reader(engine.create_stack(STACK, StackSettings::default()).await?);
    let mut pid = 1;
    for _ in 0..=world.roll(MAX_ROUNDS) {
        let mut hosts = Vec::new();
        for _ in 0..=world.roll(MAX_HOSTS) {
            pid += 1;
            hosts.push(Host::new(pid, world, Troubles::drawn(world)));
        }
        join_all(hosts.iter().map(|host| live(world, host))).await;
        if world.is_hit(3) {
            world.clock.jump(jump(world));
        }
        world.observe("after a round").await;
    }
    // What no host waits for any more arrives before.
    world.clock.wait(MAX_DELAY).await;
    converge(world, pid + 1).await
}

/// Runs the operations of a host until it dies.
async fn live(world: &Arc<World>, host: &Arc<Host>) {
    world.wait_up_to(MAX_PAUSE).await;
    let operations = async {
        for _ in 0..=world.roll(MAX_OPERATIONS) {
            let ended = operate(world, host).await;
            let text = match &ended {
                Ok(()) => "succeeded".to_owned(),
                Err(error) => format!("{error} {}", error.hints().join("; ")),
            };
            world.note(format_args!("host {}: {text}", host.pid));
        }
    };
    tokio::select! {
        biased;
        () = host.died.notified() => {}
        () = operations => {}
    }
    host.exit();
}

async fn operate(world: &Arc<World>, host: &Arc<Host>) -> Result<()> {
    let kind = match world.roll(9) {
        0 => Some(OperationKind::Refresh),
        1 => Some(OperationKind::Destroy),
        2..=4 => None,
        _ => Some(OperationKind::Update),
    };
    let stack = open(world, host).await?;
    let Some(kind) = kind else {
        return edit(world, host, &stack).await;
    };
    let names: Vec<u64> = (0..NAMES).filter(|_| !world.is_hit(4)).collect();
    let program = (kind == OperationKind::Update).then(|| program(names, world.roll(3)));
    for _ in 1..ATTEMPTS {
        match perform(&stack, kind, OperationOptions::default(), program.clone()).await {
            Err(error) if error.kind() == ErrorKind::Conflict => world.wait_up_to(MAX_PAUSE).await,
            ended => return ended.map(drop),
        }
    }
    perform(&stack, kind, OperationOptions::default(), program)
        .await
        .map(drop)
}

/// Performs a change of the state, again while another host holds the stack.
async fn edit(world: &Arc<World>, host: &Arc<Host>, stack: &Stack) -> Result<()> {
    for _ in 1..ATTEMPTS {
        match change(world, host, stack).await {
            Err(error) if error.kind() == ErrorKind::Conflict => world.wait_up_to(MAX_PAUSE).await,
            changed => return changed,
        }
    }
    change(world, host, stack).await
}

async fn open(world: &Arc<World>, host: &Arc<Host>) -> Result<Stack> {
    let engine = engine(world, host, store_of(world, host)?)?;
    // A host that finds no stack creates it again.
    let is_removed = world.state().is_removed;
    match is_removed {
        true => {
            engine
                .create_or_select_stack(STACK, StackSettings::default())
                .await
        }
        false => engine.stack(STACK, StackSettings::default()).await,
    }
}

async fn perform(
    stack: &Stack,
    kind: OperationKind,
    options: OperationOptions,
    program: Option<Arc<dyn Program>>,
) -> Result<()> {
    let operation = stack.start(kind, options, program);
    match &operation.wait().await.error {
        Some(error) => Err(error.clone()),
        None => Ok(()),
    }
}

/// Returns the things that exist, whose creations are pending, and which the state does not record. Those whose provider was
/// deleted since cannot be imported.
fn importable(world: &World, snapshot: &Snapshot) -> BTreeMap<String, String> {
    let state = world.state();
    let mut found = BTreeMap::new();
    for pending in &snapshot.pending_operations {
        let urn = &pending.resource.urn;
        let is_recorded = snapshot.resources.iter().any(|record| record.urn == *urn);
        let mut things = state.things.iter();
        let thing = things.find(|(id, name)| {
            let mut records = snapshot.resources.iter();
            name.as_str() == urn.name() && !records.any(|record| record.id.as_str() == id.as_str())
        });
        let provider = pending.resource.provider.as_str();
        let mut records = snapshot.resources.iter();
        let has_provider = records.any(|record| format!("{}::{}", record.urn, record.id) == provider);
        if let (false, true, Some((id, _))) = (is_recorded, has_provider, thing) {
            found.insert(urn.to_string(), id.clone());
        }
    }
    found
}

/// Forgets the pending operations of things whose records were removed: where the URN has the record of another thing, they stay pending.
async fn forget_removed(world: &World, stack: &Stack) -> Result<()> {
    for entry in stack.pending().await? {
        let id = entry.operation.resource.id.as_str();
        let is_removed = world.state().is_excused(id);
        if is_removed {
            stack.forget_pending(&entry.id, false).await?;
        }
    }
    Ok(())
}

/// Resolves what is pending, and brings everything to its last state.
async fn converge(world: &Arc<World>, pid: u32) -> Result<()> {
    let host = Host::new(pid, world, Troubles::default());
    let stack = open(world, &host).await?;
    // A host may have protected what the last update deletes.
    let all = Selection {
        all: true,
        ..Selection::default()
    };
    stack.edit(&StateEdit::Unprotect(all), false).await?;
    let whole = || Some(program((0..NAMES).collect(), 9));
    for _ in 0..RESOLUTIONS {
        let Some(snapshot) = world.observe("at the end").await else {
            break;
        };
        world.state().begin(None, pending_names(&snapshot));
        let imports = importable(world, &snapshot);
        let is_last = imports.is_empty();
        let options = OperationOptions {
            clear_pending_creates: is_last,
            import_pending_creates: imports,
            refresh: Some(is_last),
            ..OperationOptions::default()
        };
        perform(&stack, OperationKind::Update, options, whole()).await?;
        if is_last {
            break;
        }
    }
    forget_removed(world, &stack).await?;
    let Some(snapshot) = world.observe("after the last update").await else {
        return Ok(());
    };
    if !snapshot.pending_operations.is_empty() {
        let pending = snapshot.pending_operations.iter();
        let names: Vec<String> = pending
            .map(|pending| format!("{:?} {}", pending.kind, pending.resource.urn.name()))
            .collect();
        world.fail(format!(
            "still pending after the last update: {}",
            names.join(", ")
        ));
    }
    for number in 0..NAMES {
        let name = format!("thing{number}");
        let mut records = snapshot
            .resources
            .iter()
            .filter(|record| record.urn.name() == name);
        let is_there = |id: &str| {
            world
                .state()
                .things
                .get(id)
                .is_some_and(|existing| *existing == name)
        };
        match (records.next(), records.next()) {
            (Some(record), None) if is_there(record.id.as_str()) => {
                let expected = PropertyValue::from("value 9");
                if record.inputs.get("value").map(PropertyValue::unwrapped) != Some(&expected) {
                    world.fail(format!("{name} has not its last value"));
                }
            }
            (record, _) => world.fail(format!("{name} does not exist after the last update: {record:?}")),
        }
    }
    read_history(world, &stack).await?;
    let left = store_of_reader(world)?.list(".pulumi/journals/").await?;
    if left.iter().any(|object| object.key.ends_with(".journal")) {
        world.fail("a journal was left after the last update".to_owned());
    }
    Ok(())
}

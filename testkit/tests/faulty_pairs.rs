//! Two operations in a row, each of which fails or dies at any one of its writes, leave a stack that opens and works.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use stackwright::{
    Engine, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationKind, OperationOptions},
    program::{Program, ProgramContext, from_fn},
    resource::PendingOperationKind,
    runtime::Runtime,
    secrets::Base64Provider,
    state::{Snapshot, integrity},
    store::{HostFacts, MemoryStore, Store},
};
use stackwright_testkit::{
    clock::SkippingClock,
    provider::{Script, ScriptedProvider},
    scenario::{PACKAGE, PackageScript},
    script::{Providers, Scene},
    store::{Fault, FaultyStore},
    wait::Ended as _,
};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Update,
    Refresh,
    Destroy,
    /// Imports the current state.
    Import,
}

const ACTS: [Act; 4] = [Act::Update, Act::Refresh, Act::Destroy, Act::Import];

/// A failed write, and the kinds of death at a write: not done, done, or done by half.
const FAILURE: fn(u64) -> Fault = Fault::FailsAt;
const DEATHS: [fn(u64) -> Fault; 3] = [Fault::DiesAt, Fault::DiesAfter, Fault::TearsAt];

/// The names of the resources that a round registers, each of which depends on the one before.
const fn names(round: usize) -> &'static [&'static str] {
    match round {
        0 => &["a", "b"],
        1 => &["a", "b", "c"],
        2 => &["a", "c", "d"],
        _ => &["a", "d"],
    }
}

fn program(round: usize) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        let mut dependencies = Vec::new();
        for name in names(round) {
            let registration = Registration {
                resource_type: "test:index:Thing".into(),
                name: (*name).into(),
                custom: true,
                inputs: [("round", round.to_string().into())].into_iter().collect(),
                dependencies,
                ..Registration::default()
            };
            dependencies = vec![context.monitor.register(registration).await?.urn];
        }
        Ok(())
    })
}

/// The shortest deadline. Pauses between attempts are shorter, and each of many thousand operations has some: they are left out.
const MIN_DEADLINE: Duration = Duration::from_millis(100);

fn runtime() -> Runtime {
    Runtime {
        clock: Arc::new(SkippingClock(|wait| wait < MIN_DEADLINE)),
        ..Runtime::system(tokio::runtime::Handle::current())
    }
}

/// A stack under faults: its objects, and the things of its provider.
struct Shaken {
    store: Arc<dyn Store>,
    providers: Arc<Providers>,
}

impl Shaken {
    /// Makes a stack with the resources of the first round.
    async fn new() -> Self {
        let packages = BTreeMap::from([(PACKAGE.to_owned(), PackageScript::default())]);
        let shaken = Self {
            store: Arc::new(MemoryStore::new(runtime())),
            providers: Arc::new(Providers::new(&packages)),
        };
        assert!(shaken.perform(Act::Update, 0, Fault::None).await.succeeded);
        shaken
    }

    async fn open(&self, store: Arc<dyn Store>) -> stackwright::Result<Stack> {
        let source = Script {
            providers: Arc::clone(&self.providers),
            scene: Arc::new(Scene::new(Vec::new())),
        };
        // A host of which no process can be found, so that its locks do not hold.
        let host = HostFacts {
            pid: u32::MAX - 1,
            ..HostFacts::system()
        };
        let engine = Engine::builder(tokio::runtime::Handle::current())
            .runtime(runtime())
            .store(store)
            .secrets(Arc::new(Base64Provider))
            .provider(
                PACKAGE,
                Arc::new(ScriptedProvider::new(PACKAGE, Arc::new(source))),
            )
            .host_facts(host);
        engine.build()?.stack("story/dev", StackSettings::default()).await
    }

    /// Performs an operation on a store with a fault.
    async fn perform(&self, act: Act, round: usize, fault: Fault) -> Performed {
        let document = match act {
            Act::Import => {
                let stack = self.open(Arc::clone(&self.store)).await.unwrap();
                stack.export_deployment(true).await.unwrap()
            }
            _ => Vec::new(),
        };
        let faulty = Arc::new(FaultyStore::new(Arc::clone(&self.store), fault));
        let kind = match act {
            Act::Update => OperationKind::Update,
            Act::Refresh => OperationKind::Refresh,
            Act::Destroy => OperationKind::Destroy,
            Act::Import => {
                let succeeded = match self.open(Arc::clone(&faulty) as _).await {
                    Ok(stack) => stack.import_deployment(&document).await.is_ok(),
                    Err(_) => false,
                };
                return Performed {
                    succeeded,
                    writes: faulty.writes(),
                };
            }
        };
        let succeeded = match self.open(Arc::clone(&faulty) as _).await {
            Ok(stack) => {
                let program = (act == Act::Update).then(|| program(round));
                let operation = stack.start(kind, OperationOptions::default(), program);
                operation.ended().await.error.is_none()
            }
            Err(_) => false,
        };
        Performed {
            succeeded,
            writes: faulty.writes(),
        }
    }

    /// Checks that the stack opens with a valid state that contains all things of the provider.
    async fn check(&self, case: &str) -> Snapshot {
        let stack = self.open(Arc::clone(&self.store)).await.unwrap();
        let snapshot = stack.snapshot().await;
        let snapshot = snapshot.unwrap_or_else(|error| panic!("{case}: {error:?}"));
        integrity::verify(&snapshot).unwrap_or_else(|error| panic!("{case}: {error:?}"));
        let ids: BTreeSet<&str> = snapshot.resources.iter().map(|state| state.id.as_str()).collect();
        let pending = |id: &str| {
            let name = id.rsplit_once('-').map_or(id, |(name, _)| name);
            let mut pending = snapshot.pending_operations.iter();
            pending.any(|pending| {
                pending.kind == PendingOperationKind::Creating && pending.resource.urn.name() == name
            })
        };
        for id in self.providers.existing() {
            assert!(ids.contains(id.as_str()) || pending(&id), "{case}: {id} is lost");
        }
        let mut seen = BTreeSet::new();
        for state in snapshot.resources.iter().filter(|state| !state.delete) {
            assert!(seen.insert(&state.urn), "{case}: {} is there twice", state.urn);
        }
        snapshot
    }

    /// Checks that later operations succeed and create what the program registers.
    async fn go_on(&self, case: &str) {
        assert!(
            self.perform(Act::Update, 3, Fault::None).await.succeeded,
            "{case}: the next update fails"
        );
        let snapshot = self.check(case).await;
        let things = snapshot.resources.iter().filter(|state| state.custom);
        let things = things.filter(|state| state.resource_type.as_str() == "test:index:Thing");
        let found: BTreeMap<&str, _> = things
            .map(|state| (state.urn.name(), state.outputs.get("round").cloned()))
            .collect();
        let wanted = names(3).iter().map(|name| (*name, Some("3".into())));
        assert_eq!(found, wanted.collect(), "{case}");
        assert!(
            self.perform(Act::Destroy, 3, Fault::None).await.succeeded,
            "{case}: the destroy fails"
        );
        let snapshot = self.check(case).await;
        assert_eq!(snapshot.resources.len(), 0, "{case}");
    }
}

/// The outcome of an operation.
struct Performed {
    succeeded: bool,
    writes: u64,
}

/// Injects faults at each write of an operation, and at each write of each operation after it: each pair of writes fails
/// and dies in all four ways. The kinds of death take turns.
async fn shake(first: Act) {
    let undisturbed = Shaken::new().await;
    let writes = undisturbed.perform(first, 1, Fault::None).await.writes;
    for second in ACTS {
        let mut turn = 0;
        for at in 1..=writes {
            let mut then = 1;
            let mut reached = true;
            while reached {
                reached = false;
                turn += 1;
                let deaths = (DEATHS[turn % 3], DEATHS[(turn / 3) % 3]);
                for faults in [
                    (FAILURE(at), FAILURE(then)),
                    (FAILURE(at), deaths.1(then)),
                    (deaths.0(at), FAILURE(then)),
                    (deaths.0(at), deaths.1(then)),
                ] {
                    reached |= shake_pair((first, faults.0), (second, faults.1)).await >= then;
                }
                then += 1;
            }
        }
    }
}

/// Performs two operations on a new stack, each with its fault; returns the number of the second one's writes.
async fn shake_pair(first: (Act, Fault), second: (Act, Fault)) -> u64 {
    let case = format!("{:?} {:?}, {:?} {:?}", first.0, first.1, second.0, second.1);
    let shaken = Shaken::new().await;
    shaken.perform(first.0, 1, first.1).await;
    shaken.check(&case).await;
    let performed = shaken.perform(second.0, 2, second.1).await;
    shaken.check(&case).await;
    shaken.go_on(&case).await;
    performed.writes
}

#[tokio::test]
async fn an_update_that_fails_at_any_write_and_then_any_operation_that_does_lose_nothing() {
    shake(Act::Update).await;
}

#[tokio::test]
async fn a_refresh_that_fails_at_any_write_and_then_any_operation_that_does_lose_nothing() {
    shake(Act::Refresh).await;
}

#[tokio::test]
async fn a_destroy_that_fails_at_any_write_and_then_any_operation_that_does_lose_nothing() {
    shake(Act::Destroy).await;
}

#[tokio::test]
async fn an_import_that_fails_at_any_write_and_then_any_operation_that_does_lose_nothing() {
    shake(Act::Import).await;
}

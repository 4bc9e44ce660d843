//! A store that fails, dies or tears at any one of its writes leaves a stack that the next update repairs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeMap, sync::Arc};

use stackwright::{
    Engine, Stack, StackSettings,
    monitor::Registration,
    operation::OperationOptions,
    program::{Program, ProgramContext, from_fn},
    runtime::Runtime,
    secrets::Base64Provider,
    store::{HostFacts, MemoryStore, Store},
};
use stackwright_testkit::{
    provider::{Script, ScriptedProvider},
    scenario::{PACKAGE, PackageScript},
    script::{Providers, Scene},
    store::{Fault, FaultyStore},
    wait::Ended as _,
};

/// Registers `a`, `b` after it, and `c` after that.
fn program(size: f64) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        let mut dependencies = Vec::new();
        for name in ["a", "b", "c"] {
            let registration = Registration {
                resource_type: "test:index:Thing".into(),
                name: name.into(),
                custom: true,
                inputs: [("size", size.into())].into_iter().collect(),
                dependencies: dependencies.clone(),
                ..Registration::default()
            };
            dependencies = vec![context.monitor.register(registration).await?.urn];
        }
        Ok(())
    })
}

/// A host that has ended: its process does not exist, so that its lock is stale.
fn dead_host() -> HostFacts {
    HostFacts {
        pid: u32::MAX - 1,
        ..HostFacts::system()
    }
}

async fn open(store: Arc<dyn Store>, providers: &Arc<Providers>, host: HostFacts) -> Stack {
    let source = Script {
        providers: Arc::clone(providers),
        scene: Arc::new(Scene::new(Vec::new())),
    };
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider(
            PACKAGE,
            Arc::new(ScriptedProvider::new(PACKAGE, Arc::new(source))),
        )
        .host_facts(host)
        .build()
        .unwrap();
    engine.stack("story/dev", StackSettings::default()).await.unwrap()
}

async fn update(stack: &Stack, size: f64) -> bool {
    let kind = stackwright::operation::OperationKind::Update;
    let operation = stack.start(kind, OperationOptions::default(), Some(program(size)));
    operation.ended().await.error.is_none()
}

fn providers() -> Arc<Providers> {
    let packages = BTreeMap::from([(PACKAGE.to_owned(), PackageScript::default())]);
    Arc::new(Providers::new(&packages))
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Runtime::system(
        tokio::runtime::Handle::current(),
    )))
}

/// Returns the number of writes of an update that changes everything.
async fn writes_of_an_update() -> u64 {
    let (providers, store) = (providers(), memory());
    assert!(
        update(
            &open(Arc::clone(&store), &providers, HostFacts::system()).await,
            1.0
        )
        .await
    );
    let counting = Arc::new(FaultyStore::new(store, Fault::None));
    assert!(
        update(
            &open(Arc::clone(&counting) as _, &providers, HostFacts::system()).await,
            2.0
        )
        .await
    );
    counting.writes()
}

async fn the_next_update_sets_right(fault: impl Fn(u64) -> Fault) {
    for write in 1..=writes_of_an_update().await {
        let (providers, store) = (providers(), memory());
        assert!(
            update(
                &open(Arc::clone(&store), &providers, HostFacts::system()).await,
                1.0
            )
            .await
        );
        let faulty = FaultyStore::new(Arc::clone(&store), fault(write));
        // Whether it fails depends on which write it was; that it does not hang or panic matters here.
        update(&open(Arc::new(faulty), &providers, dead_host()).await, 2.0).await;
        let stack = open(store, &providers, HostFacts::system()).await;
        assert!(update(&stack, 3.0).await, "after {:?}", fault(write));
        let snapshot = stack.snapshot().await.unwrap();
        let things = snapshot
            .resources
            .iter()
            .filter(|state| state.resource_type.as_str() == "test:index:Thing");
        let sizes: Vec<_> = things.map(|state| state.outputs.get("size").cloned()).collect();
        assert_eq!(
            sizes,
            [Some(3.0.into()), Some(3.0.into()), Some(3.0.into())],
            "after {:?}",
            fault(write)
        );
        assert_eq!(
            providers.existing(),
            ["a-1", "b-1", "c-1"],
            "after {:?}",
            fault(write)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_fails_loses_nothing() {
    the_next_update_sets_right(Fault::FailsAt).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_dies_loses_nothing() {
    the_next_update_sets_right(Fault::DiesAt).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_is_torn_loses_nothing() {
    the_next_update_sets_right(Fault::TearsAt).await;
}

//! Two stacks that use one plugin concurrently: its log lines for one never appear in the events of the other.

use std::sync::Arc;

use futures::future::join;
use stackwright::{
    Engine, Stack, operation::OperationResult, provider::PoolSettings, secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_testkit::{
    fake::{AddressResolver, LoggingProvider, plugin_processes},
    wait::Within as _,
};

use crate::fixture::{client, echo, over_loopback, register, root, runtime, stack, update};

/// Returns an engine with one plugin process for each instance, all of which forward to `address`.
fn with_processes(address: &str, pool: PoolSettings) -> Engine {
    let builder = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider));
    builder
        .plugins(plugin_processes("echo", address))
        .pool(pool)
        .build()
        .unwrap()
}

fn with_address(address: &str) -> Engine {
    let builder = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider));
    builder
        .resolver(Arc::new(AddressResolver(address.to_owned())))
        .build()
        .unwrap()
}

/// Returns a stack with one resource, whose value is unique to this stack.
async fn tenant(engine: &Engine, name: &'static str) -> Stack {
    let program = over_loopback(move |address| async move {
        let mut client = client(&address).await;
        let root = root(&mut client, "shop", name).await;
        let value = format!("token-of-{name}");
        register(&mut client, echo(name, &root, &value)).await.unwrap();
    });
    stack(engine, &format!("shop/{name}"), program).await
}

/// Returns all diagnostics of the operation, as one text.
fn reported(result: &OperationResult) -> String {
    assert!(result.error.is_none(), "{:?}", result.error);
    format!("{:?}", result.diagnostics)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_a_plugin_process_never_reaches_the_other_stack_that_uses_the_plugin() {
    let (address, greetings) = LoggingProvider::serve_together("", 2).await;
    let engine = with_processes(&address, PoolSettings::default());
    let (north, south) = (tenant(&engine, "north").await, tenant(&engine, "south").await);
    let (left, right) = join(update(&north), update(&south)).await;
    let (left, right) = (reported(&left), reported(&right));
    assert!(
        left.contains("token-of-north") && !left.contains("south"),
        "{left}"
    );
    assert!(
        right.contains("token-of-south") && !right.contains("north"),
        "{right}"
    );
    let greetings = greetings.lock().unwrap().clone();
    assert_eq!(greetings.len(), 2);
    assert_ne!(greetings[0].engine_address, greetings[1].engine_address);
    engine.close().within("the end of the engine").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_used_again_logs_for_the_operation_that_uses_it_now() {
    let (address, _greetings) = LoggingProvider::serve("").await;
    let engine = with_processes(&address, PoolSettings::default());
    for name in ["north", "south"] {
        let tenant = tenant(&engine, name).await;
        let text = reported(&update(&tenant).await);
        assert!(text.contains(&format!("token-of-{name}")), "{text}");
    }
    engine.close().within("the end of the engine").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_urn_from_an_address_is_dropped_while_two_operations_hold_it() {
    let (address, _greetings) = LoggingProvider::serve_together("", 2).await;
    let engine = with_address(&address);
    let (north, south) = (tenant(&engine, "north").await, tenant(&engine, "south").await);
    let (left, right) = join(update(&north), update(&south)).await;
    for text in [reported(&left), reported(&right)] {
        assert!(!text.contains("token-of-"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_urn_from_an_address_is_emitted_while_one_operation_holds_it() {
    let (address, _greetings) = LoggingProvider::serve("").await;
    let engine = with_address(&address);
    for name in ["north", "south"] {
        let tenant = tenant(&engine, name).await;
        let text = reported(&update(&tenant).await);
        assert!(text.contains(&format!("token-of-{name}")), "{text}");
    }
}

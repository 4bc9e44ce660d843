//! Plugins whose calls wait for each other, as declared in the engine's settings.

use std::sync::Arc;

use futures::future::join;
use stackwright::{
    Engine, operation::OperationOptions, plugin::PluginSettings, secrets::Base64Provider, store::MemoryStore,
};
use stackwright_testkit::{
    fake::{LoggingProvider, plugin_processes},
    wait::{Ended as _, Within as _},
};

use crate::fixture::{client, echo, over_loopback, register, root, runtime, stack};

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_plugin_that_is_declared_to_wait_take_no_slots() {
    let (address, _greetings) = LoggingProvider::serve_together("", 2).await;
    let plugins = PluginSettings {
        waits_for_registrations: ["echo".to_owned()].into(),
        ..plugin_processes("echo", &address)
    };
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .plugins(plugins)
        .build()
        .unwrap();
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let root = root(&mut client, "shop", "dev").await;
        let mut other = client.clone();
        let (left, right) = join(
            register(&mut client, echo("a", &root, "1")),
            register(&mut other, echo("b", &root, "1")),
        )
        .await;
        assert!(left.is_ok() && right.is_ok());
    });
    let stack = stack(&engine, "shop/dev", program).await;
    let options = OperationOptions {
        parallel: 1,
        ..OperationOptions::default()
    };
    // Each of the two creations ends only when the other one has begun.
    let operation = stack.update(options);
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    engine.close().within("the end of the engine").await;
}

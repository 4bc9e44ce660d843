//! Plugins that start slowly: other providers do not wait for them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use stackwright::{
    Engine, ErrorKind, Result, StackSettings,
    event::EventPayload,
    monitor::Registration,
    operation::{OperationKind, OperationOptions},
    plugin::PluginSettings,
    program::from_fn,
    provider::{ProviderBackend, Resolution, ResolutionRequest, Resolver},
    runtime::{Clock, Runtime, SystemClock, Timestamp},
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_testkit::wait::{Ended as _, Within as _, until};
use tokio::sync::Semaphore;

use crate::fixture::{Scripted, resource};

/// The limit of concurrent diffs with `parallel` 1.
const DIFF_CONCURRENCY: u32 = 16;

/// A clock on which no wait ends, so that no timeout expires.
struct Still;

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn wait(&self, _duration: Duration) {
        std::future::pending::<()>().await;
    }
}

/// Notifies that a provider of the package `slow` is requested, and makes the request wait.
struct Slow {
    provider: Arc<dyn ProviderBackend>,
    asked: Semaphore,
    released: Semaphore,
}

#[async_trait]
impl Resolver for Slow {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        if request.name == "slow" {
            self.asked.add_permits(1);
            self.released.acquire().await.unwrap().forget();
        }
        Ok(Resolution::InProcess(Arc::clone(&self.provider)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_provider_is_called_while_the_maximum_of_others_is_starting() {
    let runtime = Runtime {
        clock: Arc::new(Still),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let resolver = Arc::new(Slow {
        provider: Arc::new(Scripted::default()),
        asked: Semaphore::new(0),
        released: Semaphore::new(0),
    });
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .runtime(runtime.clone())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::clone(&resolver) as _)
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(move |context| {
        let resolver = Arc::clone(&resolver);
        async move {
            let mut starting = Vec::new();
            for number in 0..DIFF_CONCURRENCY {
                starting.push(context.monitor.register(Registration {
                    resource_type: "pulumi:providers:slow".into(),
                    name: format!("slow-{number}"),
                    custom: true,
                    ..Registration::default()
                }));
            }
            resolver
                .asked
                .acquire_many(DIFF_CONCURRENCY)
                .within("the starts of all providers")
                .await
                .unwrap()
                .forget();
            context.monitor.register(resource("a", "1")).await?;
            resolver.released.add_permits(DIFF_CONCURRENCY as usize);
            for started in starting {
                started.await?;
            }
            Ok(())
        }
    });
    let options = OperationOptions {
        parallel: 1,
        ..OperationOptions::default()
    };
    let result = stack
        .start(OperationKind::Update, options, Some(program))
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(
        result.changes.get("create"),
        Some(&(u64::from(DIFF_CONCURRENCY) + 2))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_hangs_during_its_start_is_abandoned_at_the_first_cancellation() {
    let runtime = Runtime {
        clock: Arc::new(Still),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("pulumi-resource-echo");
    // It never writes its port, and its timeout never expires on this clock.
    std::fs::write(&plugin, "#!/bin/sh\ntouch \"$0.started\"\nexec sleep 300\n").unwrap();
    std::fs::set_permissions(&plugin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .runtime(runtime.clone())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .plugins(PluginSettings {
            directories: vec![folder.path().to_owned()],
            ..PluginSettings::default()
        })
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    let started = folder.path().join("pulumi-resource-echo.started");
    until("the start of the plugin", || started.exists()).await;
    operation.cancel();
    let result = operation.ended().await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error:?}");
}

/// A clock on which a minute lasts one second.
struct Hasty;

#[async_trait]
impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed() * 60
    }

    async fn wait(&self, duration: Duration) {
        SystemClock.wait(duration / 60).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_hold_all_slots_for_long_are_named_in_a_warning() {
    let handle = tokio::runtime::Handle::current();
    let runtime = Runtime {
        clock: Arc::new(Hasty),
        ..Runtime::system(handle.clone())
    };
    let provider = Arc::new(Scripted::default());
    let engine = Engine::builder(handle)
        .runtime(runtime.clone())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::clone(&provider) as Arc<dyn ProviderBackend>)
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let asked = Arc::clone(&provider);
    let program = from_fn(move |context| {
        let asked = Arc::clone(&asked);
        async move {
            let holds = context.monitor.register(resource("waits", "1"));
            asked
                .entered
                .notified()
                .within("the begin of the held call")
                .await;
            let queues = context.monitor.register(resource("queues", "1"));
            futures::future::try_join(holds, queues).await?;
            Ok(())
        }
    });
    let options = OperationOptions {
        parallel: 1,
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program));
    let mut events = operation.events();
    let warning = async {
        while let Some(event) = events.next().within("the next event").await {
            if let EventPayload::Diagnostic(diagnostic) = &event.payload
                && diagnostic
                    .message
                    .library()
                    .contains("no provider call has ended for")
            {
                return diagnostic.message.library().to_owned();
            }
        }
        panic!("the operation ended without a warning");
    };
    let warning = warning.within("the warning").await;
    assert!(
        warning.contains("create of urn:pulumi:dev::shop::echo:index:Echo::waits"),
        "{warning}"
    );
    assert!(warning.contains("waits_for_registrations"), "{warning}");
    provider.given_up.notify_one();
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

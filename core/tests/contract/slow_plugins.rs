//! Plugins that take their time to start: nobody else waits for that.

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
use tokio::sync::Semaphore;

use crate::fixture::{Scripted, resource};

/// How many questions to providers are open at a time where one step works at a time.
const QUESTIONS: u32 = 16;

/// A clock on which no while ever ends: nothing is given up for taking long.
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

/// Says that a provider of the package `slow` is asked for, and has it wait.
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
async fn a_provider_that_is_there_is_asked_while_as_many_others_as_may_be_asked_are_starting() {
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
            for number in 0..QUESTIONS {
                starting.push(context.monitor.register(Registration {
                    resource_type: "pulumi:providers:slow".into(),
                    name: format!("slow-{number}"),
                    custom: true,
                    ..Registration::default()
                }));
            }
            resolver.asked.acquire_many(QUESTIONS).await.unwrap().forget();
            context.monitor.register(resource("a", "1")).await?;
            resolver.released.add_permits(QUESTIONS as usize);
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
        .wait()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&(u64::from(QUESTIONS) + 2)));
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::select! {
        value = future => value,
        () = SystemClock.wait(Duration::from_secs(60)) => panic!("it takes longer than a minute"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_hangs_while_it_starts_is_given_up_at_the_first_cancellation() {
    let runtime = Runtime {
        clock: Arc::new(Still),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("pulumi-resource-echo");
    // Never writes its port, and the clock never reaches the limit for that.
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
    let running = async {
        while !started.exists() {
            tokio::task::yield_now().await;
        }
    };
    in_time(running).await;
    operation.cancel();
    let result = in_time(operation.wait()).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error:?}");
}

/// How long a report may take that is expected.
const DEADLINE: Duration = Duration::from_secs(30);

/// A clock on which a minute passes in a second.
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
            asked.entered.notified().await;
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
        while let Some(event) = events.next().await {
            if let EventPayload::Diagnostic(said) = &event.payload
                && said.message.library().contains("no provider call has ended for")
            {
                return said.message.library().to_owned();
            }
        }
        panic!("the operation ended without a warning");
    };
    let warning = tokio::select! {
        warning = warning => warning,
        () = SystemClock.wait(DEADLINE) => panic!("nothing is reported"),
    };
    assert!(
        warning.contains("create of urn:pulumi:dev::shop::echo:index:Echo::waits"),
        "{warning}"
    );
    assert!(warning.contains("waits_for_registrations"), "{warning}");
    provider.given_up.notify_one();
    let result = operation.wait().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

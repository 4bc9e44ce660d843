//! Plugins that the host installs: before a program runs and before an operation begins, and the cancellation of that.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Engine, ErrorKind, Result, Stack, StackSettings,
    event::OperationOutcome,
    operation::OperationOptions,
    program::LanguageRuntimeProgram,
    provider::{Installation, PluginInstaller, ResolutionRequest},
    secrets::Base64Provider,
    store::{MemoryStore, Store},
};
use stackwright_proto::pulumirpc::{
    PackageDependency, PackageParameterization, PluginDependency, RunResponse,
};
use stackwright_testkit::{
    fake::{EchoProvider, FakeRuntime},
    wait::{Ended as _, Within as _},
};
use tokio::sync::Notify;

use crate::fixture::{client, echo, register, root, runtime};

/// Records the plugins without installing them. The installation of `slow` never ends.
#[derive(Default)]
struct RecordingInstaller {
    asked: Mutex<Vec<String>>,
    slow: Notify,
}

impl RecordingInstaller {
    fn take(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort();
        asked
    }
}

#[async_trait]
impl PluginInstaller for RecordingInstaller {
    async fn install(&self, plugin: ResolutionRequest) -> Result<Installation> {
        assert_eq!(plugin.kind.name(), "resource");
        let version = plugin.version.map(|version| format!("@{version}"));
        let checksums = plugin.checksums.values().map(|sum| format!("#{sum}"));
        let checksums: String = checksums.collect();
        self.asked.lock().unwrap().push(format!(
            "{}{}{}{checksums}",
            plugin.name,
            version.unwrap_or_default(),
            plugin.download_url
        ));
        if plugin.name == "slow" {
            self.slow.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(Installation::Declined)
    }
}

fn engine(store: &Arc<dyn Store>, installer: &Arc<RecordingInstaller>) -> Engine {
    let builder = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::clone(store))
        .secrets(Arc::new(Base64Provider))
        .installer(Arc::clone(installer) as _);
    builder.build().unwrap()
}

async fn stack(engine: &Engine, program: FakeRuntime) -> Stack {
    let settings = StackSettings {
        program: Some(Arc::new(LanguageRuntimeProgram::new(program.serve().await))),
        ..StackSettings::default()
    };
    engine.stack("shop/dev", settings).await.unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(runtime()))
}

fn package(name: &str, version: &str) -> PackageDependency {
    PackageDependency {
        name: name.to_owned(),
        kind: "resource".to_owned(),
        version: version.to_owned(),
        ..PackageDependency::default()
    }
}

fn skipping() -> OperationOptions {
    OperationOptions {
        skip_plugin_pre_install: true,
        ..OperationOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn required_plugins_are_installed_before_a_program_runs_unless_that_is_skipped() {
    let installer = Arc::new(RecordingInstaller::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (noting, kept) = (Arc::clone(&installer), Arc::clone(&seen));
    let program = FakeRuntime::new(move |_| {
        kept.lock().unwrap().push(noting.take());
        async { Ok(RunResponse::default()) }
    });
    let full = PackageDependency {
        server: "https://example.com/".to_owned(),
        checksums: [("linux-amd64".to_owned(), vec![0, 255])].into(),
        ..package("full", "v1.2.3")
    };
    let made = PackageDependency {
        parameterization: Some(PackageParameterization::default()),
        ..package("base", "2.0.0")
    };
    let language = PackageDependency {
        kind: "language".to_owned(),
        ..package("nodejs", "3.0.0")
    };
    let program = program.requiring_packages(vec![full, made, language, package("plain", "")]);
    let stack = stack(&engine(&memory(), &installer), program).await;
    for options in [OperationOptions::default(), skipping()] {
        let result = stack.update(options).ended().await;
        // A failed installation fails only resources that need the plugin.
        assert!(result.error.is_none(), "{:?}", result.error);
    }
    let seen = seen.lock().unwrap();
    assert_eq!(
        seen[0],
        ["base@2.0.0", "full@1.2.3https://example.com#00ff", "plain"]
    );
    assert!(seen[1].is_empty(), "{:?}", seen[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_plugins_of_an_older_runtime_are_installed_too() {
    let installer = Arc::new(RecordingInstaller::default());
    let program = FakeRuntime::new(|_| async { Ok(RunResponse::default()) });
    let plugin = PluginDependency {
        name: "old".to_owned(),
        kind: "resource".to_owned(),
        ..PluginDependency::default()
    };
    let program = program.requiring_plugins(vec![plugin]);
    let stack = stack(&engine(&memory(), &installer), program).await;
    let result = stack.preview(OperationOptions::default()).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(installer.take(), ["old"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_of_recorded_providers_are_installed_before_the_operation_unless_that_is_skipped() {
    let store = memory();
    let with_echo = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::clone(&store))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(EchoProvider::default()))
        .build()
        .unwrap();
    let program = FakeRuntime::new(|request| async move {
        let mut client = client(&request.monitor_address).await;
        let root = root(&mut client, &request.project, &request.stack).await;
        register(&mut client, echo("a", &root, "1")).await.unwrap();
        Ok(RunResponse::default())
    });
    let program = program.requiring_packages(vec![package("echo", "1.2.3")]);
    let result = stack(&with_echo, program)
        .await
        .update(OperationOptions::default())
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);

    let installer = Arc::new(RecordingInstaller::default());
    let engine = engine(&store, &installer);
    let opened = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    for (options, asked) in [(OperationOptions::default(), 2), (skipping(), 1)] {
        let result = opened.destroy(options).ended().await;
        let error = result.error.clone().unwrap();
        let missing = "no resource plugin 'pulumi-resource-echo' found in the workspace at version v1.2.3 or on your $PATH";
        assert!(
            error.reference_message().contains(missing),
            "{}",
            error.reference_message()
        );
        assert!(
            error
                .message()
                .contains("the resource plugin `echo` in version 1.2.3 was not found"),
            "{error}"
        );
        // Before the operation, and for the resource.
        assert_eq!(installer.take(), vec!["echo@1.2.3"; asked]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_cancellation_does_not_wait_for_an_installation() {
    let installer = Arc::new(RecordingInstaller::default());
    let program = FakeRuntime::new(|_| async { panic!("the program runs after the user asked for an end") });
    let program = program.requiring_packages(vec![package("slow", "")]);
    let stack = stack(&engine(&memory(), &installer), program).await;
    let operation = stack.update(OperationOptions::default());
    installer
        .slow
        .notified()
        .within("the begin of the installation")
        .await;
    operation.cancel();
    tokio::task::yield_now().await;
    assert!(
        operation.result().is_none(),
        "the first cancellation waits for the installation"
    );
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.error.clone().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!(result.outcome, OperationOutcome::Canceled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_cancellation_does_not_wait_for_the_plugin_of_a_resource() {
    let installer = Arc::new(RecordingInstaller::default());
    let program = FakeRuntime::new(|request| async move {
        let mut client = client(&request.monitor_address).await;
        let root = root(&mut client, &request.project, &request.stack).await;
        let mut slow = echo("a", &root, "1");
        slow.r#type = "slow:index:Thing".to_owned();
        register(&mut client, slow).await.unwrap_err();
        Ok(RunResponse::default())
    });
    let stack = stack(&engine(&memory(), &installer), program).await;
    let operation = stack.update(OperationOptions::default());
    installer
        .slow
        .notified()
        .within("the begin of the installation")
        .await;
    operation.cancel();
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.error.clone().unwrap().kind(), ErrorKind::Cancelled);
}

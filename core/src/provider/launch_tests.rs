//! Tests of what makes a waiting process another one than is wanted.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::*;
use crate::provider::Call;
use crate::{
    event::EventSink,
    plugin::PluginEnvironment,
    provider::{
        ConfigureRequest, PoolSettings,
        grpc::fake::Fake,
        loader::tests::{configuration, count, fake, with_process},
    },
    runtime::SystemClock,
    urn::Urn,
};

type Calls = Arc<Mutex<Vec<&'static str>>>;

async fn served(settings: PoolSettings) -> (LoaderParts, Calls) {
    let (fake, calls): (Fake, Calls) = fake();
    (with_process(fake.serve().await, settings), calls)
}

/// Uses a process where the host's environment is `inheritance`, and lets it go.
async fn run(
    parts: &LoaderParts,
    inheritance: Inheritance,
    context: &PluginContext,
    request: ConfigureRequest,
) {
    let wish = ProviderWish {
        plugin: "files".into(),
        ..ProviderWish::default()
    };
    let command = parts.plugins.commands["files"].clone();
    let shared = Arc::new(parts.clone());
    let launch = Launch::prepare(&wish, command, context, inheritance, &shared)
        .await
        .unwrap();
    let (provider, _capabilities) = parts.pool.lease(Arc::new(launch)).await.unwrap();
    provider.call(Call::Configure(request)).await.unwrap();
    // Answers when the configuration has.
    provider
        .call(Call::Check(crate::provider::loader::tests::check()))
        .await
        .unwrap();
    provider.close().await;
}

/// Does so with what the host has now.
async fn run_now(parts: &LoaderParts, request: ConfigureRequest) {
    run(parts, Inheritance::now(), &PluginContext::default(), request).await;
}

#[tokio::test]
async fn a_process_never_serves_a_host_whose_environment_is_another_than_its_own() {
    let (parts, calls) = served(PoolSettings::default()).await;
    let context = PluginContext::default();
    for (token, started) in [("a", 1), ("b", 2), ("a", 2), ("b", 2), ("", 3)] {
        let inheritance = Inheritance::now().with("TOKEN", token);
        run(&parts, inheritance, &context, configuration("north")).await;
        assert_eq!(count(&calls, "handshake"), started, "with {token:?}");
    }
    run_now(&parts, configuration("north")).await;
    assert_eq!(count(&calls, "handshake"), 4);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_never_serves_another_folder_or_another_project() {
    let (parts, calls) = served(PoolSettings::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = PluginContext {
        directory: Some(folder.path().to_owned()),
        ..PluginContext::default()
    };
    let other = PluginContext {
        environment: PluginEnvironment {
            project: "other".into(),
            ..PluginEnvironment::default()
        },
        ..PluginContext::default()
    };
    for (context, started) in [
        (&PluginContext::default(), 1),
        (&elsewhere, 2),
        (&other, 3),
        (&PluginContext::default(), 3),
    ] {
        run(&parts, Inheritance::now(), context, configuration("north")).await;
        assert_eq!(count(&calls, "handshake"), started);
    }
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_never_serves_another_stack() {
    let (parts, calls) = served(PoolSettings::default()).await;
    let events = EventSink::new(Arc::new(SystemClock));
    // Of one name, as stacks are whose states two hosts keep.
    let stacks = ["shop/dev#0", "shop/dev#1"]
        .map(|identity| PluginOperation::new("shop", "dev", identity, events.clone()));
    for (place, started) in [(0, 1), (1, 2), (0, 2), (1, 2)] {
        let context = PluginContext {
            operation: Arc::downgrade(&stacks[place]),
            ..PluginContext::default()
        };
        run(&parts, Inheritance::now(), &context, configuration("north")).await;
        assert_eq!(count(&calls, "handshake"), started);
    }
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_knows_one_provider_resource_of_one_stack() {
    let (parts, calls) = served(PoolSettings::default()).await;
    let first = configuration("north");
    let of_other_stack = ConfigureRequest {
        urn: Urn::parse("urn:pulumi:prod::shop::pulumi:providers:files::default").unwrap(),
        ..first.clone()
    };
    let with_other_id = ConfigureRequest {
        id: "2".into(),
        ..first.clone()
    };
    let renamed = ConfigureRequest {
        name: "other".into(),
        ..first.clone()
    };
    for (request, configured) in [
        (&first, 1),
        (&of_other_stack, 2),
        (&with_other_id, 3),
        (&renamed, 4),
        (&first, 4),
    ] {
        run_now(&parts, request.clone()).await;
        assert_eq!(
            (count(&calls, "handshake"), count(&calls, "configure")),
            (configured, configured)
        );
    }
    parts.pool.close_all().await;
}

/// Puts a copy of the shell where the plugin's executable is, as a build does.
fn build(program: &Path) {
    let new = program.with_extension("new");
    fs::copy("/bin/sh", &new).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, program).unwrap();
}

#[tokio::test]
async fn a_process_of_an_executable_that_was_built_anew_is_not_used_again() {
    let (mut parts, calls) = served(PoolSettings::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("plugin");
    parts.plugins.commands.get_mut("files").unwrap().program = program.clone();
    build(&program);
    run_now(&parts, configuration("north")).await;
    run_now(&parts, configuration("north")).await;
    assert_eq!(count(&calls, "handshake"), 1);
    build(&program);
    run_now(&parts, configuration("north")).await;
    assert_eq!(count(&calls, "handshake"), 2);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_of_a_script_ends_with_its_use() {
    let (mut parts, calls) = served(PoolSettings::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("plugin.sh");
    let command = parts.plugins.commands.get_mut("files").unwrap();
    fs::write(&script, command.arguments[1].to_str().unwrap()).unwrap();
    command.arguments = vec![script.into()];
    run_now(&parts, configuration("north")).await;
    run_now(&parts, configuration("north")).await;
    assert_eq!((count(&calls, "handshake"), parts.pool.idle_count()), (2, 0));
    assert_eq!(count(&calls, "cancel"), 2);
}

#[tokio::test]
async fn a_process_that_is_old_is_not_used_again_however_busy() {
    let settings = PoolSettings {
        age_limit: Duration::ZERO,
        ..PoolSettings::default()
    };
    let (parts, calls) = served(settings).await;
    run_now(&parts, configuration("north")).await;
    run_now(&parts, configuration("north")).await;
    assert_eq!((count(&calls, "handshake"), parts.pool.idle_count()), (2, 0));
}

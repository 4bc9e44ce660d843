//! Tests of the conditions under which a pooled process is not reused.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use stackwright_testkit::fake::FakeProvider;

use super::*;
use crate::provider::{Call, ProviderBackend};
use crate::{
    event::EventSink,
    plugin::PluginEnvironment,
    provider::{
        ConfigureRequest, PoolSettings,
        loader::tests::{configuration, count, fake, with_process},
    },
    runtime::SystemClock,
    urn::Urn,
};

type Calls = Arc<Mutex<Vec<&'static str>>>;

async fn served(settings: PoolSettings) -> (LoaderParts, Calls) {
    let (fake, calls): (FakeProvider, Calls) = fake();
    (with_process(fake.serve().await, settings), calls)
}

/// Uses a process with the host's environment `host_environment`, and releases it.
async fn run(
    parts: &LoaderParts,
    host_environment: HostEnvironment,
    context: &PluginContext,
    request: ConfigureRequest,
) {
    let spec = ProviderSpec {
        plugin: "files".into(),
        ..ProviderSpec::default()
    };
    let command = parts.plugins.commands["files"].clone();
    let shared = Arc::new(parts.clone());
    let launch = Launch::prepare(&spec, command, context, host_environment, &shared)
        .await
        .unwrap();
    let (leased, _capabilities) = parts.pool.lease(Arc::new(launch)).await.unwrap();
    let provider: Arc<dyn ProviderBackend> = leased;
    provider.call(Call::Configure(request)).await.unwrap();
    // Responds when the configuration has settled.
    provider
        .call(Call::Check(crate::provider::loader::tests::check()))
        .await
        .unwrap();
    provider.close().await;
}

/// Does so with the current environment.
async fn run_now(parts: &LoaderParts, request: ConfigureRequest) {
    run(parts, HostEnvironment::now(), &PluginContext::default(), request).await;
}

#[tokio::test]
async fn a_process_is_not_reused_with_another_host_environment() {
    let (parts, calls) = served(PoolSettings::default()).await;
    let context = PluginContext::default();
    for (token, started) in [("a", 1), ("b", 2), ("a", 2), ("b", 2), ("", 3)] {
        let host_environment = HostEnvironment::now().with("TOKEN", token);
        run(&parts, host_environment, &context, configuration("north")).await;
        assert_eq!(count(&calls, "handshake"), started, "with {token:?}");
    }
    run_now(&parts, configuration("north")).await;
    assert_eq!(count(&calls, "handshake"), 4);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_is_not_reused_in_another_folder_or_project() {
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
        run(&parts, HostEnvironment::now(), context, configuration("north")).await;
        assert_eq!(count(&calls, "handshake"), started);
    }
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_is_not_reused_for_another_stack() {
    let (parts, calls) = served(PoolSettings::default()).await;
    let events = EventSink::new(Arc::new(SystemClock));
    // Stacks of the same name, with states supplied by two hosts.
    let stacks = ["shop/dev#0", "shop/dev#1"]
        .map(|identity| PluginOperation::new("shop", "dev", identity, events.clone()));
    for (place, started) in [(0, 1), (1, 2), (0, 2), (1, 2)] {
        let context = PluginContext {
            operation: Arc::downgrade(&stacks[place]),
            ..PluginContext::default()
        };
        run(&parts, HostEnvironment::now(), &context, configuration("north")).await;
        assert_eq!(count(&calls, "handshake"), started);
    }
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_is_reused_for_the_same_provider_resource_only() {
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

/// Copies the shell to the plugin's executable, as a build does.
fn build(program: &Path) {
    let new = program.with_extension("new");
    fs::copy("/bin/sh", &new).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, program).unwrap();
}

#[tokio::test]
async fn a_process_of_a_rebuilt_executable_is_not_reused() {
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
async fn a_process_beyond_the_age_limit_is_not_reused() {
    let settings = PoolSettings {
        age_limit: Duration::ZERO,
        ..PoolSettings::default()
    };
    let (parts, calls) = served(settings).await;
    run_now(&parts, configuration("north")).await;
    run_now(&parts, configuration("north")).await;
    assert_eq!((count(&calls, "handshake"), parts.pool.idle_count()), (2, 0));
}

#[tokio::test]
async fn a_plugin_sees_variables_of_the_host_under_other_names() {
    let (parts, _calls) = served(PoolSettings::default()).await;
    let mapped = |source: &str, name: &str| ProviderSpec {
        plugin: "files".into(),
        environment: [(source.to_owned(), name.to_owned())].into(),
        ..ProviderSpec::default()
    };
    let host_environment = HostEnvironment::now().with("MY_TOKEN", "hush");
    let (shared, context) = (Arc::new(parts.clone()), PluginContext::default());
    for (source, name, expected) in [
        ("MY_TOKEN", "TOKEN", Some("hush")),
        ("MY_TOKEN", "PYTHONUNBUFFERED", Some("hush")),
        ("ABSENT_TOKEN", "TOKEN", None),
    ] {
        let command = parts.plugins.commands["files"].clone();
        let (spec, environment) = (mapped(source, name), host_environment.clone());
        let launch = Launch::prepare(&spec, command, &context, environment, &shared)
            .await
            .unwrap();
        let found: Vec<_> = launch
            .key
            .environment
            .iter()
            .filter(|(found, _)| found == name)
            .collect();
        let values: Vec<_> = found.iter().map(|(_, value)| value.to_str().unwrap()).collect();
        assert_eq!(values, Vec::from_iter(expected), "{source} {name}");
    }
}

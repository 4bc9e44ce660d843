//! Extensions of providers: registered by a program, given to its providers once, recorded, and given again from the
//! record.

mod failures;
mod providers;

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};
use stackwright::{
    Engine, ErrorKind, Stack, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::Program,
    provider::ProviderBackend,
    resource::Extension,
    secrets::Base64Provider,
    store::{MemoryStore, Store},
};
use stackwright_proto::pulumirpc::{
    ExistsResourceRequest, Parameterization, ReadResourceRequest, RegisterPackageRequest,
    RegisterResourceRequest, ResourceCallRequest, ResourceInvokeRequest,
    resource_monitor_client::ResourceMonitorClient,
};
use stackwright_testkit::{
    fake::{EchoProvider, ExtensiblePlugins},
    wait::{Ended as _, until},
};
use tonic::{Code, Status, transport::Channel};

use crate::fixture::{client, echo, over_loopback, register, root, runtime};

type Client = ResourceMonitorClient<Channel>;

async fn open(store: Arc<dyn Store>, plugins: &ExtensiblePlugins) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::new(plugins.clone()))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(runtime()))
}

async fn try_to(stack: &Stack, kind: OperationKind, program: Option<Arc<dyn Program>>) -> OperationResult {
    let operation = stack.start(kind, OperationOptions::default(), program);
    (*operation.ended().await).clone()
}

async fn run(stack: &Stack, kind: OperationKind, program: Option<Arc<dyn Program>>) -> OperationResult {
    let result = try_to(stack, kind, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    result
}

/// Returns the extension `name` of the package `base`.
fn extension(name: &str, version: &str) -> RegisterPackageRequest {
    RegisterPackageRequest {
        name: "base".to_owned(),
        version: "0.8.1".to_owned(),
        extension: Some(Parameterization {
            name: name.to_owned(),
            version: version.to_owned(),
            value: format!("into {name}").into_bytes(),
        }),
        ..RegisterPackageRequest::default()
    }
}

/// Returns the reference of the same extension.
fn reference(name: &str, version: &str) -> String {
    let extension = Extension::new(name, version, format!("into {name}").into_bytes());
    extension.reference().to_string()
}

async fn announce(client: &mut Client, request: RegisterPackageRequest) -> Result<String, Status> {
    Ok(client.register_package(request).await?.into_inner().r#ref)
}

fn thing(name: &str, package: &str, package_ref: &str) -> RegisterResourceRequest {
    RegisterResourceRequest {
        r#type: format!("{package}:index:Thing"),
        package_ref: package_ref.to_owned(),
        ..echo(name, "", "1")
    }
}

/// A program with the resources `names` of the extension `package`.
fn with_things(
    package: &'static str,
    version: &'static str,
    names: &'static [&'static str],
) -> Arc<dyn Program> {
    over_loopback(move |address| async move {
        let mut client = client(&address).await;
        root(&mut client, "shop", "dev").await;
        let more = announce(&mut client, extension(package, version)).await.unwrap();
        for name in names {
            // The status of a failed run.
            drop(register(&mut client, thing(name, package, &more)).await);
        }
    })
}

/// Returns the recorded extensions by the names of their resources.
fn recorded(result: &OperationResult) -> Vec<(String, String)> {
    let records = result.snapshot.resources.iter();
    let users = records.filter(|state| state.custom && !state.is_provider());
    users
        .map(|state| (state.urn.name().to_owned(), state.extension_ref.to_string()))
        .collect()
}

fn extensions(result: &OperationResult) -> Option<&Value> {
    result.snapshot.extra.get("extensions")
}

fn blob(name: &str, version: &str, value: &str) -> Value {
    json!({"name": name, "version": version, "value": value})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_is_given_before_the_first_call_and_recorded_while_resources_need_it() {
    let plugins = ExtensiblePlugins::default();
    let store = memory();
    let stack = open(Arc::clone(&store), &plugins).await;
    let result = run(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a", "b"])),
    )
    .await;
    let more = reference("more", "1.0.0");
    let given = ["1 configure", "1 parameterize more 1.0.0 into more"];
    let with = |last: &[&'static str]| [&given[..], last].concat();
    assert_eq!(plugins.take(), with(&["1 create a", "1 create b"]));
    let users = |names: &[&str]| -> Vec<_> {
        let named = names.iter().map(|name| ((*name).to_owned(), more.clone()));
        named.collect()
    };
    assert_eq!(recorded(&result), users(&["a", "b"]));
    // "into more"
    let blobs = json!({more.as_str(): blob("more", "1.0.0", "aW50byBtb3Jl")});
    assert_eq!(extensions(&result), Some(&blobs));
    let provider = result.snapshot.resources.iter().find(|state| state.is_provider());
    let provider = provider.unwrap();
    assert!(
        provider
            .urn
            .as_str()
            .ends_with("pulumi:providers:base::default_0_8_1"),
        "{}",
        provider.urn
    );
    assert!(provider.extension_ref.is_empty());

    // Another engine has the record alone; a program is not needed.
    let stack = open(Arc::clone(&store), &plugins).await;
    let result = run(&stack, OperationKind::Refresh, None).await;
    let mut calls = plugins.take();
    calls[2..].sort();
    assert_eq!(calls, with(&["1 read id-a", "1 read id-b"]));
    assert_eq!(extensions(&result), Some(&blobs));
    let result = run(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a"])),
    )
    .await;
    assert_eq!(plugins.take(), with(&["1 delete id-b"]));
    assert_eq!(
        (recorded(&result), extensions(&result)),
        (users(&["a"]), Some(&blobs))
    );

    let stack = open(store, &plugins).await;
    let result = run(&stack, OperationKind::Destroy, None).await;
    assert_eq!(plugins.take(), with(&["1 delete id-a"]));
    assert!(result.snapshot.resources.is_empty());
    assert_eq!(extensions(&result), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_replaces_the_recorded_extension_and_a_preview_records_nothing() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    run(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a"])),
    )
    .await;
    let before = plugins.take();
    assert_eq!(before[1], "1 parameterize more 1.0.0 into more");
    let options = OperationOptions {
        dry_run: true,
        ..OperationOptions::default()
    };
    let newer = || Some(with_things("more", "2.0.0", &["a", "b"]));
    let preview = stack.start(OperationKind::Update, options, newer()).ended().await;
    assert!(preview.error.is_none(), "{:?}", preview.error);
    assert_eq!(
        plugins.take()[..2],
        ["1 configure", "1 parameterize more 2.0.0 into more"]
    );
    let old = reference("more", "1.0.0");
    let blobs = stack.snapshot().await.unwrap().extra["extensions"].clone();
    assert_eq!(
        blobs,
        json!({old.as_str(): blob("more", "1.0.0", "aW50byBtb3Jl")})
    );

    let result = run(&stack, OperationKind::Update, newer()).await;
    let new = reference("more", "2.0.0");
    assert_eq!(
        recorded(&result),
        [("a".to_owned(), new.clone()), ("b".to_owned(), new.clone())]
    );
    let blobs = json!({new.as_str(): blob("more", "2.0.0", "aW50byBtb3Jl")});
    assert_eq!(extensions(&result), Some(&blobs));
    assert_eq!(stack.snapshot().await.unwrap().extra["extensions"], blobs);
}

/// A program that registers things is run for a destroy, after one that used an older version of their extension.
#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_with_the_program_deletes_with_the_extension_of_the_program_and_with_recorded_ones() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    run(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a", "b"])),
    )
    .await;
    drop(plugins.take());
    let options = OperationOptions {
        destroy_program: true,
        ..OperationOptions::default()
    };
    let program = Some(with_things("more", "2.0.0", &["b"]));
    let result = stack
        .start(OperationKind::Destroy, options, program)
        .ended()
        .await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut calls = plugins.take();
    calls.sort();
    let expected = [
        "1 configure",
        "1 delete id-a",
        "1 delete id-b",
        "1 parameterize more 1.0.0 into more",
        "1 parameterize more 2.0.0 into more",
    ];
    assert_eq!(calls, expected);
    assert_eq!((recorded(&result), extensions(&result)), (Vec::new(), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_state_keeps_its_extensions_and_one_without_them_is_refused_when_it_is_used() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    run(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a"])),
    )
    .await;
    let exported = stack.export_deployment(false).await.unwrap();
    let mut document: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(document["features"], json!(["extensionParameterization"]));
    drop(plugins.take());

    let whole = open(memory(), &plugins).await;
    whole.import_deployment(&exported).await.unwrap();
    let again: Value = serde_json::from_slice(&whole.export_deployment(false).await.unwrap()).unwrap();
    assert_eq!(
        again["deployment"]["extensions"],
        document["deployment"]["extensions"]
    );
    run(&whole, OperationKind::Destroy, None).await;
    assert_eq!(
        plugins.take()[1..],
        ["1 parameterize more 1.0.0 into more", "1 delete id-a"]
    );

    document["deployment"]
        .as_object_mut()
        .unwrap()
        .remove("extensions");
    let without = open(memory(), &plugins).await;
    without
        .import_deployment(&serde_json::to_vec(&document).unwrap())
        .await
        .unwrap();
    for kind in [
        OperationKind::Update,
        OperationKind::Refresh,
        OperationKind::Destroy,
    ] {
        let result = try_to(&without, kind, Some(with_things("more", "1.0.0", &["a"]))).await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(error.kind(), ErrorKind::State);
        let expected = format!(
            "resource 'urn:pulumi:dev::shop::more:index:Thing::a' needs the extension {} of its provider, which cannot \
             be used: the state does not have it",
            reference("more", "1.0.0")
        );
        assert_eq!(error.message(), expected);
        assert!(plugins.take().is_empty(), "no provider is started");
    }
    assert_eq!(without.snapshot().await.unwrap().resources.len(), 3);
}

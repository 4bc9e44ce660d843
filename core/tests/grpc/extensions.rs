//! Extensions of providers: registered by a program, given to its providers once, recorded, and given again from the
//! record.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};
use stackwright::{
    Engine, ErrorKind, Stack, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::Program,
    provider::ProviderBackend,
    resource::Extension,
    runtime::Runtime,
    secrets::Base64Provider,
    store::{MemoryStore, Store},
};
use stackwright_proto::pulumirpc::{
    Parameterization, ReadResourceRequest, RegisterPackageRequest, RegisterResourceRequest,
    ResourceCallRequest, ResourceInvokeRequest, resource_monitor_client::ResourceMonitorClient,
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

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_share_one_parameterize_of_their_provider_and_others_do_not_wait() {
    let plugins = ExtensiblePlugins::holding_extensions();
    let stack = open(memory(), &plugins).await;
    let seen = plugins.clone();
    let program = over_loopback(move |address| {
        let plugins = seen.clone();
        async move {
            let mut client = client(&address).await;
            let more = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
            let again = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
            assert_eq!((more.clone(), again), (reference("more", "1.0.0"), more.clone()));
            let users = (0..20).map(|number| {
                let (mut client, more) = (client.clone(), more.clone());
                async move { register(&mut client, thing(&format!("a{number}"), "more", &more)).await }
            });
            let users = tokio::spawn(join_all(users));
            let given = plugins.clone();
            let parameterizes = move || given.calls().iter().any(|call| call.contains("parameterize"));
            until("the first Parameterize", parameterizes).await;
            // The package itself needs no extension.
            let plain = RegisterResourceRequest {
                version: "0.8.1".to_owned(),
                ..thing("plain", "base", "")
            };
            register(&mut client, plain).await.unwrap();
            plugins.let_extend();
            for user in users.await.unwrap() {
                user.unwrap();
            }
        }
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    let calls = plugins.take();
    let place = |call: &str| calls.iter().position(|made| made == call).unwrap();
    let parameterized: Vec<_> = calls
        .iter()
        .filter(|call| call.contains("parameterize"))
        .collect();
    assert_eq!(
        parameterized,
        ["1 parameterize more 1.0.0 into more"],
        "{calls:?}"
    );
    assert!(place("1 create plain") < place("1 create a0"), "{calls:?}");
    assert_eq!(calls.len(), 3 + 20, "{calls:?}");
    let more = reference("more", "1.0.0");
    for (name, reference) in recorded(&result) {
        assert_eq!(reference, if name == "plain" { "" } else { &more }, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_is_given_each_of_its_extensions_once_explicit_ones_too() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let more = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
        let other = announce(&mut client, extension("other", "3.0.0")).await.unwrap();
        register(&mut client, thing("a", "more", &more)).await.unwrap();
        register(&mut client, thing("b", "other", &other)).await.unwrap();
        let explicit = RegisterResourceRequest {
            r#type: "pulumi:providers:base".to_owned(),
            ..thing("mine", "base", &more)
        };
        let explicit = register(&mut client, explicit).await.unwrap();
        for (name, package, package_ref) in
            [("c", "more", &more), ("d", "more", &more), ("e", "other", &other)]
        {
            let of_explicit = RegisterResourceRequest {
                provider: format!("{}::{}", explicit.urn, explicit.id),
                ..thing(name, package, package_ref)
            };
            register(&mut client, of_explicit).await.unwrap();
        }
        // The extension has no provider of its own.
        let wrong = RegisterResourceRequest {
            r#type: "pulumi:providers:more".to_owned(),
            ..thing("wrong", "more", &more)
        };
        let status = register(&mut client, wrong).await.unwrap_err();
        let expected = "there is no provider of the package 'more': a provider of 'base' serves it, with the extension \
                        'more 1.0.0'";
        assert_eq!(
            (status.code(), status.message()),
            (Code::InvalidArgument, expected)
        );
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    let started = [
        "1 configure",
        "1 parameterize more 1.0.0 into more",
        "1 create a",
        "1 parameterize other 3.0.0 into other",
        "1 create b",
        "2 configure",
        "2 parameterize more 1.0.0 into more",
        "2 create c",
        "2 create d",
        "2 parameterize other 3.0.0 into other",
        "2 create e",
    ];
    assert_eq!(plugins.take(), started);
    let recorded_blobs = extensions(&result).and_then(Value::as_object).unwrap();
    let references = [reference("more", "1.0.0"), reference("other", "3.0.0")];
    assert_eq!(recorded_blobs.len(), 2);
    assert!(
        references
            .iter()
            .all(|reference| recorded_blobs.contains_key(reference))
    );

    run(&stack, OperationKind::Destroy, None).await;
    let calls = plugins.take();
    let parameterized = calls.iter().filter(|call| call.contains("parameterize")).count();
    let deleted = calls.iter().filter(|call| call.contains("delete")).count();
    assert_eq!(
        (parameterized, deleted, calls.len()),
        (4, 5, 4 + 5 + 2),
        "{calls:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_functions_methods_and_components_get_their_extension_too() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let announced = |name: &'static str| {
            let mut client = client.clone();
            async move { announce(&mut client, extension(name, "1.0.0")).await.unwrap() }
        };
        let invoke = ResourceInvokeRequest {
            tok: "one:index:get".to_owned(),
            package_ref: announced("one").await,
            ..ResourceInvokeRequest::default()
        };
        let call = ResourceCallRequest {
            tok: "two:index:Thing/list".to_owned(),
            package_ref: announced("two").await,
            ..ResourceCallRequest::default()
        };
        let component = RegisterResourceRequest {
            custom: false,
            remote: true,
            ..thing("c", "three", &announced("three").await)
        };
        let read = ReadResourceRequest {
            id: "id-d".to_owned(),
            r#type: "four:index:Thing".to_owned(),
            name: "d".to_owned(),
            package_ref: announced("four").await,
            ..ReadResourceRequest::default()
        };
        client.invoke(invoke).await.unwrap();
        client.call(call).await.unwrap();
        register(&mut client, component).await.unwrap();
        client.read_resource(read).await.unwrap();
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    assert_eq!(
        plugins.take(),
        [
            "1 configure",
            "1 parameterize one 1.0.0 into one",
            "1 invoke one:index:get",
            "1 parameterize two 1.0.0 into two",
            "1 call two:index:Thing/list",
            "1 parameterize three 1.0.0 into three",
            "1 construct c",
            "1 parameterize four 1.0.0 into four",
            "1 read id-d",
        ]
    );
    // The others have no record.
    let four = reference("four", "1.0.0");
    assert_eq!(recorded(&result), [("d".to_owned(), four.clone())]);
    let blobs = json!({four.as_str(): blob("four", "1.0.0", "aW50byBmb3Vy")});
    assert_eq!(extensions(&result), Some(&blobs));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_extension_fails_what_needs_it_with_provider_extension_and_resource() {
    for (name, why) in [
        ("bad", "the schema is damaged"),
        ("odd", "plugin base answered with the extension \"even\""),
    ] {
        let plugins = ExtensiblePlugins::default();
        let stack = open(memory(), &plugins).await;
        let result = try_to(
            &stack,
            OperationKind::Update,
            Some(with_things(name, "1.0.0", &["a"])),
        )
        .await;
        let error = result.error.as_ref().unwrap();
        let text = error.message();
        for part in [
            format!(
                "could not add the extension '{name} 1.0.0' to the provider 'urn:pulumi:dev::shop::pulumi:providers:base::default_0_8_1::"
            ),
            format!("for 'urn:pulumi:dev::shop::{name}:index:Thing::a': "),
            why.to_owned(),
        ] {
            assert!(text.contains(&part), "{text}: {part}");
        }
        let calls = plugins.take();
        assert!(
            !calls
                .iter()
                .any(|call| call.contains("create") || call.contains("serve")),
            "{calls:?}"
        );
        assert_eq!((recorded(&result), extensions(&result)), (Vec::new(), None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_extensions_are_refused_with_the_reason() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let both = RegisterPackageRequest {
            parameterization: extension("made", "1.0.0").extension,
            ..extension("more", "1.0.0")
        };
        for (request, expected) in [
            (extension("more", "new"), "parse extension version new: "),
            (
                extension("", "1.0.0"),
                "the extension of the package 'base' has no name",
            ),
            (
                both,
                "the package 'base' has both a parameterization ('made') and an extension ('more'), which are mutually \
                 exclusive",
            ),
        ] {
            let status = announce(&mut client, request).await.unwrap_err();
            assert!(status.message().starts_with(expected), "{status}");
        }
    });
    run(&stack, OperationKind::Update, Some(program)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_the_host_is_given_no_extension() {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(memory())
        .secrets(Arc::new(Base64Provider))
        .provider(
            "base",
            Arc::new(EchoProvider::default()) as Arc<dyn ProviderBackend>,
        )
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let result = try_to(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a"])),
    )
    .await;
    let text = result.error.as_ref().unwrap().message().to_owned();
    assert!(
        text.starts_with("could not add the extension 'more 1.0.0' to the provider "),
        "{text}"
    );
    assert!(
        text.ends_with("::a': code of the host serves it, which has no extensions"),
        "{text}"
    );
    assert_eq!(recorded(&result), []);
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

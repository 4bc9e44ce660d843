//! Parameterized packages: registered by a program, recorded, and served from the record.

use std::sync::Arc;

use stackwright::{
    Engine, Stack, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{LanguageRuntimeProgram, Program},
    property::{PropertyMap, PropertyValue},
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{
    PackageDependency, PackageParameterization, Parameterization, RegisterPackageRequest,
    RegisterResourceRequest, ResourceInvokeRequest, RunResponse, SupportsFeatureRequest,
    resource_monitor_client::ResourceMonitorClient,
};
use stackwright_testkit::{
    fake::{BasePlugins, FakeRuntime},
    wait::Ended as _,
};
use tonic::{Code, Status, transport::Channel};

use crate::fixture::{client, echo, over_loopback, register, root, runtime};

async fn stack(asked: &BasePlugins) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::new(asked.clone()))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

async fn run(stack: &Stack, kind: OperationKind, program: Option<Arc<dyn Program>>) -> OperationResult {
    let operation = stack.start(kind, OperationOptions::default(), program);
    let result = (*operation.ended().await).clone();
    assert!(result.error.is_none(), "{:?}", result.error);
    result
}

/// Returns the package `name`: the plugin `base` with a parameter.
fn made(name: &str, version: &str) -> RegisterPackageRequest {
    RegisterPackageRequest {
        name: "base".to_owned(),
        version: "0.8.1".to_owned(),
        parameterization: Some(Parameterization {
            name: name.to_owned(),
            version: version.to_owned(),
            value: format!("into {name}").into_bytes(),
        }),
        ..RegisterPackageRequest::default()
    }
}

async fn announce(
    client: &mut ResourceMonitorClient<Channel>,
    request: RegisterPackageRequest,
) -> Result<String, Status> {
    Ok(client.register_package(request).await?.into_inner().r#ref)
}

fn thing(name: &str, package: &str, package_ref: &str) -> RegisterResourceRequest {
    RegisterResourceRequest {
        r#type: format!("{package}:index:Thing"),
        package_ref: package_ref.to_owned(),
        ..echo(name, "", "1")
    }
}

/// Returns the recorded inputs of a provider.
fn recorded(result: &OperationResult, urn_end: &str) -> PropertyMap {
    let mut records = result.snapshot.resources.iter();
    let record = records.find(|state| state.is_provider() && state.urn.as_str().ends_with(urn_end));
    let record = record.unwrap_or_else(|| panic!("{:?}", result.snapshot.resources));
    assert!(!record.outputs.contains_key("__internal"), "{:?}", record.outputs);
    record.inputs.clone()
}

/// Returns the recorded inputs of a provider with this parameter, in base64.
fn inputs(version: &str, parameter: &str) -> PropertyMap {
    let internal = [
        ("name", "base"),
        ("version", "0.8.1"),
        ("parameterization", parameter),
    ];
    let internal: PropertyMap = internal
        .into_iter()
        .map(|(key, value)| (key, PropertyValue::from(value)))
        .collect();
    [("version", version.into()), ("__internal", internal.into())]
        .into_iter()
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_package_is_served_by_its_plugin_while_its_resources_exist() {
    let asked = BasePlugins::default();
    let stack = stack(&asked).await;
    let announcing = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let feature = SupportsFeatureRequest {
            id: "parameterization".to_owned(),
        };
        let supported = client.supports_feature(feature).await.unwrap().into_inner();
        assert!(supported.has_support);
        let package = announce(&mut client, made("made", "3.6.0")).await.unwrap();
        let again = announce(&mut client, made("made", "3.6.0")).await.unwrap();
        assert_eq!(package, again);
        root(&mut client, "shop", "dev").await;
        register(&mut client, thing("a", "made", &package)).await.unwrap();
    });
    let starting = [
        "base@0.8.1",
        "made: parameterize 3.6.0 into made",
        "made: configure version",
    ];
    let with = |last: &[&'static str]| [&starting[..], last].concat();
    // "into made"
    let expected = inputs("3.6.0", "aW50byBtYWRl");
    let result = run(&stack, OperationKind::Update, Some(announcing)).await;
    assert_eq!(asked.take(), with(&["made: create a"]));
    assert_eq!(
        recorded(&result, "pulumi:providers:made::default_3_6_0"),
        expected
    );

    // A program that registers no package gets the recorded one.
    let plain = over_loopback(|address| async move {
        let mut client = client(&address).await;
        root(&mut client, "shop", "dev").await;
        register(&mut client, thing("a", "made", "")).await.unwrap();
    });
    let result = run(&stack, OperationKind::Update, Some(plain)).await;
    assert_eq!(asked.take(), with(&[]));
    assert_eq!(result.changes.get("same"), Some(&2), "{:?}", result.changes);
    assert_eq!(
        recorded(&result, "pulumi:providers:made::default_3_6_0"),
        expected
    );

    let result = run(&stack, OperationKind::Refresh, None).await;
    assert_eq!(asked.take(), with(&["made: read id-a"]));
    assert_eq!(
        recorded(&result, "pulumi:providers:made::default_3_6_0"),
        expected
    );

    let result = run(&stack, OperationKind::Destroy, None).await;
    assert_eq!(asked.take(), with(&["made: delete id-a"]));
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_of_one_plugin_are_served_by_instances_of_their_own_explicit_ones_too() {
    let asked = BasePlugins::default();
    let stack = stack(&asked).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let one = announce(&mut client, made("one", "1.0.0")).await.unwrap();
        let two = announce(&mut client, made("two", "2.0.0-rc.1")).await.unwrap();
        assert_ne!(one, two);
        register(&mut client, thing("a", "one", &one)).await.unwrap();
        let explicit = RegisterResourceRequest {
            r#type: "pulumi:providers:two".to_owned(),
            ..thing("mine", "two", &two)
        };
        let explicit = register(&mut client, explicit).await.unwrap();
        let of_explicit = RegisterResourceRequest {
            provider: format!("{}::{}", explicit.urn, explicit.id),
            ..thing("b", "two", &two)
        };
        register(&mut client, of_explicit).await.unwrap();
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    assert_eq!(
        asked.take(),
        [
            "base@0.8.1",
            "one: parameterize 1.0.0 into one",
            "one: configure version",
            "one: create a",
            "base@0.8.1",
            "two: parameterize 2.0.0-rc.1 into two",
            "two: configure value version",
            "two: create b",
        ]
    );
    let one = inputs("1.0.0", "aW50byBvbmU=");
    assert_eq!(recorded(&result, "pulumi:providers:one::default_1_0_0"), one);
    let mut two = inputs("2.0.0-rc.1", "aW50byB0d28=");
    two.insert("value", "1".into());
    assert_eq!(recorded(&result, "pulumi:providers:two::mine"), two);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_packages_of_a_runtime_determine_the_parameters() {
    let asked = BasePlugins::default();
    let stack = stack(&asked).await;
    let program = FakeRuntime::new(|request| async move {
        let mut client = client(&request.monitor_address).await;
        register(&mut client, thing("a", "made", "")).await.unwrap();
        Ok(RunResponse::default())
    });
    let program = program.requiring_packages(vec![PackageDependency {
        name: "base".to_owned(),
        kind: "resource".to_owned(),
        version: "v0.8.1".to_owned(),
        parameterization: Some(PackageParameterization {
            name: "made".to_owned(),
            version: "3.6.0".to_owned(),
            value: b"into made".to_vec(),
        }),
        ..PackageDependency::default()
    }]);
    let program = Arc::new(LanguageRuntimeProgram::new(program.serve().await));
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    assert_eq!(
        recorded(&result, "pulumi:providers:made::default_3_6_0"),
        inputs("3.6.0", "aW50byBtYWRl")
    );
    assert_eq!(asked.take()[0], "base@0.8.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_packages_are_refused_with_the_reason() {
    let asked = BasePlugins::default();
    let stack = stack(&asked).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let unversioned = RegisterPackageRequest {
            version: "new".to_owned(),
            ..made("made", "1.0.0")
        };
        for (request, code, expected) in [
            (unversioned, Code::Unknown, "parse package version new: "),
            (
                made("made", "newer"),
                Code::Unknown,
                "parse parameter version newer: ",
            ),
            (
                made("", "1.0.0"),
                Code::Unknown,
                "the name of the parameterized package is empty",
            ),
            (
                RegisterPackageRequest::default(),
                Code::Unknown,
                "package name is empty",
            ),
        ] {
            let status = announce(&mut client, request).await.unwrap_err();
            assert_eq!(status.code(), code, "{status}");
            assert!(status.message().starts_with(expected), "{status}");
        }
        let prefixed = RegisterPackageRequest {
            version: "v1.0.0".to_owned(),
            ..made("made", "1.0.0")
        };
        let status = announce(&mut client, prefixed).await.unwrap_err();
        assert!(
            status.message().starts_with("parse package version v1.0.0: "),
            "{status}"
        );
        let package = announce(&mut client, made("made", "1.0.0")).await.unwrap();
        register(&mut client, thing("a", "made", &package)).await.unwrap();
    });
    run(&stack, OperationKind::Update, Some(program)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_package_or_with_an_invalid_version_are_refused() {
    let asked = BasePlugins::default();
    let stack = stack(&asked).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let unknown = thing("b", "made", "unknown");
        let versioned = RegisterResourceRequest {
            version: "v1.0.0".to_owned(),
            ..thing("c", "base", "")
        };
        let by_another = |request: &RegisterResourceRequest| RegisterResourceRequest {
            provider: "urn:pulumi:dev::shop::pulumi:providers:base::other::id".to_owned(),
            ..request.clone()
        };
        for (request, expected) in [
            (by_another(&unknown), "unknown provider package 'unknown'"),
            (unknown, "unknown provider package 'unknown'"),
            (
                by_another(&versioned),
                "parse provider request: parse version v1.0.0: ",
            ),
            (versioned, "parse provider request: parse version v1.0.0: "),
        ] {
            let status = register(&mut client, request).await.unwrap_err();
            assert_eq!(status.code(), Code::Unknown, "{status}");
            assert!(status.message().starts_with(expected), "{status}");
        }
        let invoke = ResourceInvokeRequest {
            tok: "base:index:lookup".to_owned(),
            provider: "no reference".to_owned(),
            ..ResourceInvokeRequest::default()
        };
        let status = client.invoke(invoke).await.unwrap_err();
        let expected = "Invoke: getProviderFromSource: could not parse provider reference: ";
        assert!(status.message().starts_with(expected), "{status}");
    });
    run(&stack, OperationKind::Update, Some(program)).await;
}

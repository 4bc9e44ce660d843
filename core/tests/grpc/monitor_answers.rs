//! The features of the monitor, the facts of the run, and the forms of values in its answers.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use futures::future::join;
use stackwright::{
    Engine, Stack, StackSettings,
    config::ConfigValue,
    operation::{OperationOptions, OperationResult},
    program::Program,
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::{
    pulumirpc::{
        DeploymentInfo, RegisterResourceRequest, ResourceInvokeRequest, ResourceMonitorFeature as Feature,
        Result as WireResult, SourcePosition, StackFrame, StackTrace, SupportsFeatureRequest,
    },
    values::{ListValue, Struct, Value, value::Kind},
};
use stackwright_testkit::{fake::EchoProvider, wait::Ended as _};
use tonic::Code;

use crate::{
    faulty_callbacks::Refuses,
    fixture::{client, echo, engine, over_loopback, register, root, runtime, stack, text, update},
};

/// The signature of special values, and those of secrets, references and bytes.
const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
const REFERENCE: &str = "5cf8f73096256a8f31e491e813e4eb8e";
const BYTES: &str = "803fd3297a5875dc03ca845dda5d2a98";
/// The text of an unknown value.
const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/// Returns a special value with further members.
fn special(signature: &str, members: &[(&str, Value)]) -> Value {
    let mut fields: std::collections::BTreeMap<_, _> = [(SIGNATURE.to_owned(), text(signature))].into();
    fields.extend(
        members
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone())),
    );
    let kind = Some(Kind::StructValue(Struct { fields }));
    Value { kind }
}

async fn preview(program: Arc<dyn Program>, options: OperationOptions) -> OperationResult {
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = (*stack.preview(options).ended().await).clone();
    assert!(result.error.is_none(), "{:?}", result.error);
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn options_take_away_features_of_the_monitor() {
    for (references, outputs) in [(true, true), (false, true), (true, false)] {
        let program = over_loopback(move |address| async move {
            let mut client = client(&address).await;
            let info = client.get_deployment_info(()).await.unwrap().into_inner();
            let offered: BTreeSet<i32> = info.supported_features.into_iter().collect();
            for (feature, id, expected) in [
                (Feature::ResourceReferences, "resourceReferences", references),
                (Feature::OutputValues, "outputValues", outputs),
                (Feature::Secrets, "secrets", true),
            ] {
                let request = SupportsFeatureRequest { id: id.to_owned() };
                let answer = client.supports_feature(request).await.unwrap().into_inner();
                assert_eq!(answer.has_support, expected, "{id}");
                assert_eq!(offered.contains(&i32::from(feature)), expected, "{id}");
            }
        });
        let options = OperationOptions {
            disable_resource_references: !references,
            disable_output_values: !outputs,
            ..OperationOptions::default()
        };
        preview(program, options).await;
    }
}

/// Returns a stack with configuration, whose folder is `/project`.
async fn configured(program: Arc<dyn Program>) -> Stack {
    let settings = StackSettings {
        program: Some(program),
        root_directory: Some("/project".into()),
        config: [
            ("shop:size", ConfigValue::plain("3")),
            ("shop:token", ConfigValue::secret("open-sesame")),
        ]
        .into_iter()
        .map(|(key, value)| (key.parse().unwrap(), value))
        .collect(),
        organization: "acme".to_owned(),
        ..StackSettings::default()
    };
    let engine = engine(&Arc::new(EchoProvider::default()));
    engine.stack("shop/dev", settings).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_reads_the_facts_of_its_run() {
    let seen = Arc::new(Mutex::new(Vec::<DeploymentInfo>::new()));
    let infos = Arc::clone(&seen);
    let program = over_loopback(move |address| {
        let infos = Arc::clone(&infos);
        async move {
            let mut client = client(&address).await;
            let info = client.get_deployment_info(()).await.unwrap().into_inner();
            infos.lock().unwrap().push(info);
        }
    });
    let stack = configured(program).await;
    let options = OperationOptions {
        parallel: 7,
        ..OperationOptions::default()
    };
    stack.preview(options).ended().await;
    update(&stack).await;
    let infos = std::mem::take(&mut *seen.lock().unwrap());
    let [previewed, updated] = &infos[..] else {
        panic!("{infos:?}")
    };
    let names = (&*previewed.project, &*previewed.stack, &*previewed.organization);
    assert_eq!(names, ("shop", "dev", "acme"));
    let config = [("shop:size", "3"), ("shop:token", "open-sesame")];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(previewed.config, config.into());
    assert_eq!(previewed.config_secret_keys, ["shop:token"]);
    assert_eq!((previewed.dry_run, previewed.parallel), (true, 7));
    assert!(!updated.dry_run);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_without_partial_values_get_no_property_with_an_unknown_part() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let list = Value {
            kind: Some(Kind::ListValue(ListValue {
                values: vec![text("known"), text(UNKNOWN)],
            })),
        };
        let object = Struct {
            fields: [("list".to_owned(), list), ("value".to_owned(), text("1"))].into(),
        };
        for (name, partial) in [("with", true), ("without", false)] {
            let request = RegisterResourceRequest {
                object: Some(object.clone()),
                supports_partial_values: partial,
                ..echo(name, "", "1")
            };
            let answer = register(&mut client, request).await.unwrap().object.unwrap();
            assert_eq!(answer.fields["value"], text("1"), "{name}");
            assert_eq!(answer.fields.contains_key("list"), partial, "{name}: {answer:?}");
        }
    });
    preview(program, OperationOptions::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_the_kinds_of_values_that_the_program_accepts() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let target = register(&mut client, echo("target", "", "1")).await.unwrap();
        let reference = [("urn", text(&target.urn)), ("id", text(&target.id))];
        let reference = special(REFERENCE, &reference);
        let secret = special(SECRET, &[("value", text("hidden"))]);
        let bytes = special(BYTES, &[("value", text("AAE="))]);
        let request = |name: &str, accepts: bool, values: &[(&str, &Value)]| RegisterResourceRequest {
            object: Some(Struct {
                fields: values
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).clone()))
                    .collect(),
            }),
            accept_secrets: accepts,
            accept_resources: accepts,
            accepts_byte_string: accepts,
            ..echo(name, "", "1")
        };
        let values = [("secret", &secret), ("reference", &reference), ("bytes", &bytes)];
        let answer = register(&mut client, request("all", true, &values))
            .await
            .unwrap();
        let answer = answer.object.unwrap();
        assert_eq!(answer.fields["secret"], secret);
        assert_eq!(answer.fields["bytes"], bytes);
        let Some(Kind::StructValue(members)) = &answer.fields["reference"].kind else {
            panic!("{answer:?}")
        };
        assert_eq!(members.fields["urn"], text(&target.urn));

        let answer = register(&mut client, request("plain", false, &values[..2]))
            .await
            .unwrap();
        let answer = answer.object.unwrap();
        assert_eq!(answer.fields["secret"], text("hidden"));
        assert_eq!(answer.fields["reference"], text(&target.id));

        let refused = register(&mut client, request("bytes", false, &values[2..])).await;
        let refused = refused.unwrap_err();
        assert!(refused.message().contains("bytes"), "{refused}");
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn source_positions_are_recorded_relative_to_the_project() {
    let position = |uri: &str, line: i32, column: i32| SourcePosition {
        uri: uri.to_owned(),
        line,
        column,
    };
    let program = over_loopback(move |address| async move {
        let mut client = client(&address).await;
        let frames = vec![
            StackFrame {
                pc: Some(position("file:///project/main.py", 3, 0)),
            },
            StackFrame { pc: None },
            StackFrame {
                pc: Some(position("file:///opt/lib/stack.py", 9, 2)),
            },
        ];
        let request = RegisterResourceRequest {
            source_position: Some(position("file:///project/src/main.py", 12, 7)),
            stack_trace: Some(StackTrace { frames }),
            ..echo("a", "", "1")
        };
        register(&mut client, request).await.unwrap();
        // Not a file: the registration succeeds without a position.
        let request = RegisterResourceRequest {
            source_position: Some(position("https://example.com/main.py", 1, 1)),
            ..echo("b", "", "1")
        };
        register(&mut client, request).await.unwrap();
    });
    let stack = configured(program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let document = stack.export_deployment(false).await.unwrap();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let records = document["deployment"]["resources"].as_array().unwrap();
    let record = |name: &str| {
        let mut records = records.iter();
        let suffix = format!("::{name}");
        records
            .find(|record| record["urn"].as_str().unwrap().ends_with(&suffix))
            .unwrap()
    };
    let a = record("a");
    assert_eq!(a["sourcePosition"], "project:///src/main.py#12,7");
    let expected = serde_json::json!([
        {"sourcePosition": "project:///main.py#3"},
        {},
        {"sourcePosition": "project:///../opt/lib/stack.py#9,2"}
    ]);
    assert_eq!(a["stackTrace"], expected);
    assert!(record("b").get("sourcePosition").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_registration_is_an_error_for_programs_without_result_reporting() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let reported = register(&mut client, echo("a", "", "1")).await.unwrap();
        assert_eq!(reported.result(), WireResult::Fail);
        assert!(reported.urn.ends_with("::a") && reported.id.is_empty());
        let old = RegisterResourceRequest {
            supports_result_reporting: false,
            ..echo("b", "", "1")
        };
        let refused = register(&mut client, old).await.unwrap_err();
        let refused = (refused.code(), refused.message().to_owned());
        assert_eq!(
            refused,
            (Code::Internal, "resource registration failed".to_owned())
        );
    });
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(Refuses))
        .build()
        .unwrap();
    let stack = stack(&engine, "shop/dev", program).await;
    let options = OperationOptions {
        continue_on_error: true,
        ..OperationOptions::default()
    };
    let result = stack.update(options).ended().await;
    assert!(result.error.as_ref().unwrap().message().contains("no quota"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_without_a_package_is_refused() {
    let program = over_loopback(|address| async move {
        let call = ResourceInvokeRequest {
            tok: "lookup".to_owned(),
            ..ResourceInvokeRequest::default()
        };
        let refused = client(&address).await.invoke(call).await.unwrap_err();
        assert!(refused.message().contains("lookup"), "{refused}");
    });
    preview(program, OperationOptions::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_wait_for_the_end_is_refused() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let root = root(&mut client, "shop", "dev").await;
        register(&mut client, echo("a", &root, "1")).await.unwrap();
        let mut other = client.clone();
        let waits = join(
            client.signal_and_wait_for_shutdown(()),
            other.signal_and_wait_for_shutdown(()),
        );
        let (first, second) = waits.await;
        // Which of the two arrives first is open.
        let mut refused: Vec<_> = [first, second].into_iter().filter_map(Result::err).collect();
        let status = refused.pop().unwrap();
        assert_eq!(
            (status.code(), status.message()),
            (Code::Unknown, "Already waiting for shutdown")
        );
        assert!(refused.is_empty(), "{refused:?}");
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&2));
}

//! Methods of a plugin: what a request contains, and what an answer means.

use super::*;
use crate::{
    property::{
        Output, ResourceReference,
        wire::{DecodeOptions, from_struct},
    },
    provider::{CheckFailure, MethodRequest, MonitorAccess, MonitorHandle},
    resource::PropertyDependencies,
    run_info::RunInfo,
};

/// A monitor that listens at a fixed address.
struct FixedMonitor;

impl MonitorAccess for FixedMonitor {
    fn address(&self) -> crate::Result<String> {
        Ok("127.0.0.1:4711".to_owned())
    }
}

/// A call of a method in an operation, or in a preview.
pub(super) fn method(arguments: PropertyMap, preview: bool) -> MethodRequest {
    let run = RunInfo {
        project: "shop".to_owned(),
        stack: "dev".to_owned(),
        organization: "acme".to_owned(),
        config: [("shop:key".to_owned(), "value".to_owned())].into(),
        config_secret_keys: vec!["shop:key".to_owned()],
        dry_run: preview,
        parallel: 7,
        ..RunInfo::default()
    };
    MethodRequest {
        monitor: MonitorHandle::new(Arc::new(FixedMonitor)),
        run: Arc::new(run),
        token: "files:index:File/open".to_owned(),
        arguments,
        argument_dependencies: PropertyDependencies::sharing(["by".into()], vec![urn()]),
        stack_trace_handle: "trace-1".to_owned(),
    }
}

fn this() -> PropertyValue {
    PropertyValue::ResourceReference(Arc::new(ResourceReference {
        urn: urn(),
        id: Some(Ok("id".into())),
        package_version: Default::default(),
    }))
}

fn output(text: &str, secret: bool) -> PropertyValue {
    PropertyValue::Output(Arc::new(Output {
        element: Some(text.into()),
        secret,
        dependencies: vec![urn()],
    }))
}

#[tokio::test]
async fn a_method_s_request_has_the_resource_the_dependencies_and_the_facts_of_the_run() {
    for preview in [false, true] {
        let (call, requests) = recorded(rpc::CallResponse::default());
        let fake = FakeProvider {
            handshake: Some(Box::new(|_| {
                Ok(rpc::ProviderHandshakeResponse {
                    accept_secrets: true,
                    accept_resources: true,
                    ..rpc::ProviderHandshakeResponse::default()
                })
            })),
            call,
            ..FakeProvider::greeting(true)
        };
        let arguments = map([
            ("__self__", this()),
            ("by", secret("hand")),
            ("later", PropertyValue::Unknown(Unknown::String)),
        ]);
        let provider = ready(fake, PropertyMap::new()).await;
        provider.call_method(method(arguments, preview)).await.unwrap();

        let sent = requests.recv().unwrap();
        let received = from_struct(sent.args.unwrap(), &DecodeOptions::all("args")).unwrap();
        let mut expected = map([("__self__", this()), ("by", secret("hand"))]);
        if preview {
            expected.insert("later", PropertyValue::Unknown(Unknown::String));
        }
        assert_eq!(received, expected);
        let by = rpc::call_request::ArgumentDependencies {
            urns: vec![urn().to_string()],
        };
        assert_eq!(sent.arg_dependencies, [("by".to_owned(), by)].into());
        assert_eq!(sent.tok, "files:index:File/open");
        assert_eq!(
            (
                sent.organization.as_str(),
                sent.project.as_str(),
                sent.stack.as_str()
            ),
            ("acme", "shop", "dev")
        );
        assert_eq!(sent.config, [("shop:key".to_owned(), "value".to_owned())].into());
        assert_eq!(sent.config_secret_keys, ["shop:key"]);
        assert_eq!((sent.dry_run, sent.parallel), (preview, 7));
        assert_eq!(sent.monitor_endpoint, "127.0.0.1:4711");
        assert_eq!(sent.stack_trace_handle, "trace-1");
        assert!(sent.accepts_output_values);
    }
}

#[tokio::test]
async fn arguments_of_methods_are_output_values_for_providers_that_accept_them() {
    for (everywhere, in_call, in_invoke, expected) in [
        (false, false, false, secret("x")),
        (false, true, false, output("x", true)),
        (true, false, false, output("x", true)),
        (false, false, true, secret("x")),
    ] {
        let (call, requests) = recorded(rpc::CallResponse::default());
        let fake = FakeProvider {
            handshake: Some(Box::new(move |_| {
                Ok(rpc::ProviderHandshakeResponse {
                    accept_secrets: true,
                    accept_outputs: everywhere,
                    accepts_outputs_in_call: in_call,
                    accepts_outputs_in_invoke: in_invoke,
                    ..rpc::ProviderHandshakeResponse::default()
                })
            })),
            call,
            ..FakeProvider::greeting(true)
        };
        let request = method(map([("path", output("x", true))]), false);
        let provider = ready(fake, PropertyMap::new()).await;
        provider.call_method(request).await.unwrap();
        let sent = requests.recv().unwrap().args.unwrap();
        let received = from_struct(sent, &DecodeOptions::all("args")).unwrap();
        assert_eq!(
            received,
            map([("path", expected)]),
            "{everywhere} {in_call} {in_invoke}"
        );
    }
}

#[tokio::test]
async fn an_answer_has_the_dependencies_that_it_lists_and_those_of_its_output_values() {
    let options = crate::property::wire::EncodeOptions::all("return");
    let values = map([
        ("listed", "l".into()),
        ("output", output("o", false)),
        ("plain", "p".into()),
    ]);
    let returned = crate::property::wire::to_struct(&values, &options).unwrap();
    let listed = rpc::call_response::ReturnDependencies {
        urns: vec![Urn::root_stack("dev", "shop").to_string()],
    };
    let fake = FakeProvider {
        call: Some(Box::new(move |_| {
            Ok(rpc::CallResponse {
                r#return: Some(returned.clone()),
                return_dependencies: [("listed".to_owned(), listed.clone())].into(),
                failures: vec![rpc::CheckFailure {
                    property: "by".to_owned(),
                    reason: "is no hand".to_owned(),
                }],
            })
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let response = provider
        .call_method(method(PropertyMap::new(), false))
        .await
        .unwrap();
    assert_eq!(response.result, values);
    let dependencies = &response.result_dependencies;
    let root = Urn::root_stack("dev", "shop");
    assert_eq!(dependencies.get("listed"), Some([root].as_slice()));
    assert_eq!(dependencies.get("output"), Some([urn()].as_slice()));
    assert_eq!(dependencies.get("plain").unwrap_or_default(), []);
    let failure = CheckFailure {
        property: "by".to_owned(),
        reason: "is no hand".to_owned(),
    };
    assert_eq!(response.failures, [failure]);
}

#[tokio::test]
async fn a_malformed_answer_of_a_method_names_the_provider() {
    let nonsense = rpc::call_response::ReturnDependencies {
        urns: vec!["nonsense".to_owned()],
    };
    let wrong = rpc::CallResponse {
        return_dependencies: [("opened".to_owned(), nonsense)].into(),
        ..rpc::CallResponse::default()
    };
    let fake = FakeProvider {
        call: Some(Box::new(move |_| Ok(wrong.clone()))),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .call_method(method(PropertyMap::new(), false))
        .await
        .unwrap_err();
    assert!(
        error
            .message
            .starts_with("malformed Call response from provider `files`: "),
        "{error}"
    );
    assert_eq!(error.status, ProviderStatus::Internal);
}

#[tokio::test]
async fn the_result_of_a_method_may_be_unknown_in_an_update() {
    let unknown = rpc::CallResponse {
        r#return: Some(wire([("opened", crate::resource::UNKNOWN_ID)])),
        ..rpc::CallResponse::default()
    };
    let fake = FakeProvider {
        call: Some(Box::new(move |_| Ok(unknown.clone()))),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let response = provider
        .call_method(method(PropertyMap::new(), false))
        .await
        .unwrap();
    assert!(response.result.contains_unknowns());
}

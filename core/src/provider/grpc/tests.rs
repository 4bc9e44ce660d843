//! Tests of each wrapper rule against a provider on the other side of a real connection.

use std::{
    sync::{Mutex, mpsc},
    time::Duration,
};

use prost::Message as _;
use prost_types::{Struct, value::Kind};
use stackwright_proto::{google, pulumirpc as rpc};
use tonic::Status;

use super::{
    fake::{Answer, Fake},
    *,
};
use crate::{
    plugin::{PluginCommand, PluginProcess, PluginTimeouts, Start},
    property::{Asset, AssetSource, PropertyMap, PropertyValue, Unknown},
    provider::{DiffChanges, ProviderStatus},
    urn::Urn,
};

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

async fn connect(fake: Fake) -> GrpcProvider {
    let address = format!("127.0.0.1:{}", fake.serve().await);
    let (timeouts, options) = (PluginTimeouts::default(), GrpcOptions::default());
    GrpcProvider::at_address("files", &address, timeouts, options, &runtime())
        .await
        .unwrap()
}

/// Greets and configures with `inputs`.
async fn ready(fake: Fake, inputs: PropertyMap) -> GrpcProvider {
    let provider = connect(fake).await;
    provider.handshake(HandshakeRequest::default()).await.unwrap();
    assert_eq!(provider.configure(configuration(inputs)).await.unwrap(), None);
    provider
}

fn configuration(inputs: PropertyMap) -> ConfigureRequest {
    ConfigureRequest {
        urn: Urn::parse("urn:pulumi:dev::shop::pulumi:providers:files::default").unwrap(),
        name: "default".into(),
        id: "1".into(),
        inputs,
    }
}

/// A closure that remembers its requests and answers the same every time.
fn recorded<Q: Send + 'static, A: Clone + Send + Sync + 'static>(
    answer: A,
) -> (Answer<Q, A>, mpsc::Receiver<Q>) {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let closure = move |request| {
        sender.lock().unwrap().send(request).unwrap();
        Ok(answer.clone())
    };
    (Some(Box::new(closure)), receiver)
}

fn map(entries: impl IntoIterator<Item = (&'static str, PropertyValue)>) -> PropertyMap {
    entries.into_iter().collect()
}

fn secret(text: &str) -> PropertyValue {
    PropertyValue::secret(text.into())
}

fn wire(entries: impl IntoIterator<Item = (&'static str, &'static str)>) -> Struct {
    let string = |text: &str| prost_types::Value {
        kind: Some(Kind::StringValue(text.into())),
    };
    Struct {
        fields: entries
            .into_iter()
            .map(|(key, text)| (key.to_owned(), string(text)))
            .collect(),
    }
}

fn urn() -> Urn {
    Urn::parse("urn:pulumi:dev::shop::files:index:File::a").unwrap()
}

fn create(inputs: PropertyMap, preview: bool) -> CreateRequest {
    CreateRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        inputs,
        timeout: 1.5,
        preview,
    }
}

fn read(inputs: PropertyMap) -> ReadRequest {
    ReadRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        id: "id".into(),
        inputs,
        properties: PropertyMap::new(),
        timeout: 0.0,
        preview: false,
    }
}

fn check(news: PropertyMap) -> CheckRequest {
    CheckRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        olds: None,
        news,
        random_seed: vec![7],
        preview: true,
    }
}

fn diff() -> DiffRequest {
    let asset = PropertyValue::Asset(Arc::new(Asset {
        hash: "00ff".into(),
        source: AssetSource::Text("long text".into()),
    }));
    DiffRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        id: "id".into(),
        old_inputs: map([("source", asset.clone())]),
        old_outputs: map([("source", asset.clone())]),
        news: map([("source", asset)]),
        ignore_changes: vec!["mode".into()],
        preview: false,
    }
}

fn created(properties: Struct) -> rpc::CreateResponse {
    rpc::CreateResponse {
        id: "new".into(),
        properties: Some(properties),
        refresh_before_update: false,
    }
}

#[tokio::test]
async fn secrets_are_sent_plain_and_come_back_wrapped_when_the_provider_takes_none() {
    let (create_call, requests) = recorded(created(wire([("token", "t"), ("path", "p")])));
    let fake = Fake {
        create: create_call,
        ..Fake::greeting(false)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let inputs = map([("token", secret("t")), ("path", "p".into())]);
    let response = provider.create(create(inputs.clone(), false)).await.unwrap();
    let request = requests.recv().unwrap();
    assert_eq!(request.properties, Some(wire([("token", "t"), ("path", "p")])));
    assert!((request.timeout - 1.5).abs() < f64::EPSILON);
    assert_eq!(response.outputs, inputs);
}

#[tokio::test]
async fn a_provider_without_a_greeting_says_in_configure_what_it_takes() {
    let (create_call, requests) = recorded(created(Struct::default()));
    let fake = Fake {
        configure: Some(Box::new(|_| {
            Ok(rpc::ConfigureResponse {
                accept_secrets: true,
                ..rpc::ConfigureResponse::default()
            })
        })),
        create: create_call,
        ..Fake::default()
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let inputs = map([("token", secret("t"))]);
    provider.create(create(inputs.clone(), false)).await.unwrap();
    let sent = requests.recv().unwrap().properties.unwrap();
    assert!(matches!(sent.fields["token"].kind, Some(Kind::StructValue(_))));
    // It did not say that it knows how to preview, so the preview is made of the inputs.
    let response = provider.create(create(inputs.clone(), true)).await.unwrap();
    assert_eq!((response.id.as_str(), response.outputs), ("", inputs));
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn unknowns_reach_the_provider_in_previews_only() {
    let (create_call, requests) = recorded(created(Struct::default()));
    let fake = Fake {
        create: create_call,
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let nested = map([
        ("known", "k".into()),
        ("unknown", PropertyValue::Unknown(Unknown::String)),
    ]);
    let inputs = map([("nested", nested.into())]);
    for (preview, fields) in [(true, 2), (false, 1)] {
        provider.create(create(inputs.clone(), preview)).await.unwrap();
        let sent = requests.recv().unwrap().properties.unwrap();
        let Some(Kind::StructValue(nested)) = &sent.fields["nested"].kind else {
            panic!("not an object: {sent:?}");
        };
        assert_eq!(nested.fields.len(), fields);
    }
}

#[tokio::test]
async fn a_comparison_sends_assets_by_their_hash_and_reads_the_details() {
    let (diff_call, requests) = recorded(rpc::DiffResponse {
        changes: 2,
        replaces: vec!["source".into()],
        detailed_diff: [(
            "source".to_owned(),
            rpc::PropertyDiff {
                kind: 5,
                input_diff: true,
            },
        )]
        .into(),
        has_detailed_diff: true,
        ..rpc::DiffResponse::default()
    });
    let fake = Fake {
        diff: diff_call,
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let response = provider.diff(diff()).await.unwrap();
    let request = requests.recv().unwrap();
    for sent in [&request.olds, &request.old_inputs, &request.news] {
        let text = format!("{sent:?}");
        assert!(text.contains("00ff") && !text.contains("long text"), "{text}");
    }
    assert_eq!(request.ignore_changes, ["mode"]);
    assert_eq!(response.changes, DiffChanges::Some);
    let detailed = response.detailed_diff.unwrap();
    assert_eq!(detailed["source"].kind, crate::event::DiffKind::UpdateReplace);
}

/// Outputs with an object that says that it is something which nobody knows.
fn garbage() -> Struct {
    let kind = Some(Kind::StructValue(wire([(
        "4dabf18193072939515e22adb298388d",
        "of no kind that there is",
    )])));
    Struct {
        fields: [("odd".to_owned(), prost_types::Value { kind })].into(),
    }
}

#[tokio::test]
async fn what_was_made_keeps_its_id_although_its_outputs_cannot_be_read() {
    let (create_call, _requests) = recorded(created(garbage()));
    let fake = Fake {
        create: create_call,
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    let failure = error.init_failure.unwrap();
    assert_eq!(failure.id, created(Struct::default()).id);
    assert!(failure.outputs.is_empty() && failure.reasons == [error.message]);
    // A preview made nothing.
    let error = provider
        .create(create(PropertyMap::new(), true))
        .await
        .unwrap_err();
    assert!(error.init_failure.is_none());
}

#[tokio::test]
async fn differences_of_a_state_or_kind_that_nobody_knows_are_refused() {
    let detailed = |kind| {
        let difference = rpc::PropertyDiff {
            kind,
            input_diff: false,
        };
        [("size".to_owned(), difference)].into()
    };
    for (changes, detailed_diff, refusal) in [
        (
            7,
            detailed(0),
            Some(format!("unrecognized diff state for {}: 7", urn())),
        ),
        (
            2,
            detailed(9),
            Some(format!(
                "unrecognized kind of difference at 'size' for {}: 9",
                urn()
            )),
        ),
        (2, detailed(0), None),
    ] {
        let (diff_call, _requests) = recorded(rpc::DiffResponse {
            changes,
            detailed_diff,
            ..rpc::DiffResponse::default()
        });
        let fake = Fake {
            diff: diff_call,
            ..Fake::greeting(true)
        };
        let answer = ready(fake, PropertyMap::new()).await.diff(diff()).await;
        assert_eq!(answer.as_ref().err().map(|error| error.message.clone()), refusal);
        // Without its flag a map of details does not count.
        assert!(answer.is_err() || answer.unwrap().detailed_diff.is_none());
    }
}

#[tokio::test]
async fn a_configuration_with_unknowns_keeps_all_calls_from_the_provider() {
    let fake = Fake::greeting(true);
    let calls = Arc::clone(&fake.calls);
    let provider = ready(fake, map([("region", PropertyValue::unknown())])).await;
    let news = map([("a", "b".into())]);
    assert_eq!(provider.check(check(news.clone())).await.unwrap().inputs, news);
    let unavailable = provider.diff(diff()).await.unwrap().unavailable.unwrap();
    assert!(unavailable.starts_with("The provider for this resource has inputs that are not known"));
    let response = provider.create(create(news.clone(), true)).await.unwrap();
    assert!(response.outputs.is_empty() && response.id.is_empty());
    assert!(provider.create(create(news, false)).await.is_err());
    assert_eq!(
        provider.read(read(PropertyMap::new())).await.unwrap().outputs,
        Some(PropertyMap::new())
    );
    let invoke = InvokeRequest {
        token: "files:index:get".into(),
        arguments: PropertyMap::new(),
        preview: true,
    };
    assert!(provider.invoke(invoke).await.unwrap().result.is_empty());
    assert_eq!(*calls.lock().unwrap(), ["handshake"]);
}

#[tokio::test]
async fn a_provider_need_not_know_the_questions_about_configurations() {
    let provider = connect(Fake::default()).await;
    let news = map([("token", secret("t"))]);
    assert_eq!(
        provider.check_config(check(news.clone())).await.unwrap().inputs,
        news
    );
    let response = provider.diff_config(diff()).await.unwrap();
    assert_eq!(
        (response.changes, response.replaces),
        (DiffChanges::Unknown, vec![])
    );
}

#[tokio::test]
async fn a_checked_configuration_has_its_secrets_again() {
    let (check_call, requests) = recorded(rpc::CheckResponse {
        inputs: Some(wire([("token", "t")])),
        failures: vec![],
    });
    let fake = Fake {
        check_config: check_call,
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let news = map([("token", secret("t")), ("later", PropertyValue::unknown())]);
    let response = provider.check_config(check(news)).await.unwrap();
    assert_eq!(response.inputs, map([("token", secret("t"))]));
    let sent = requests.recv().unwrap().news.unwrap();
    assert_eq!(sent.fields["token"], wire([("token", "t")]).fields["token"]);
    assert!(sent.fields.contains_key("later"));
}

#[tokio::test]
async fn a_configuration_is_sent_as_a_whole_and_as_texts() {
    let (configure_call, requests) = recorded(rpc::ConfigureResponse::default());
    let fake = Fake {
        configure: configure_call,
        ..Fake::greeting(true)
    };
    let inputs = map([
        ("count", 3.0.into()),
        ("list", vec!["a".into(), secret("b")].into()),
        ("token", secret("t")),
        ("version", "1.0.0".into()),
    ]);
    let provider = ready(fake, inputs).await;
    assert!(provider.capabilities().await.unwrap().accept_secrets);
    let request = requests.recv().unwrap();
    let variables: Vec<String> = request
        .variables
        .iter()
        .map(|(key, text)| format!("{key}={text}"))
        .collect();
    assert_eq!(
        variables,
        [
            "files:config:count=3",
            "files:config:list=[\"a\",\"b\"]",
            "files:config:token=t"
        ]
    );
    let args = request.args.unwrap();
    assert_eq!(args.fields.len(), 4);
    assert!(matches!(args.fields["token"].kind, Some(Kind::StructValue(_))));
    assert_eq!(request.r#type.unwrap(), "pulumi:providers:files");
    assert!(request.accept_secrets && request.sends_old_inputs_to_delete);
}

fn with_detail(code: tonic::Code, message: &str, name: &str, detail: Vec<u8>) -> Status {
    let status = google::rpc::Status {
        code: code.into(),
        message: message.into(),
        details: vec![prost_types::Any {
            type_url: format!("type.googleapis.com/{name}"),
            value: detail,
        }],
    };
    Status::with_details(code, message, status.encode_to_vec().into())
}

#[tokio::test]
async fn a_refused_configuration_fails_every_later_call_with_the_missing_keys() {
    let key = |name: &str| rpc::configure_error_missing_keys::MissingKey {
        name: name.into(),
        description: format!("the {name}"),
    };
    let detail = rpc::ConfigureErrorMissingKeys {
        missing_keys: vec![key("region"), key("zone")],
    };
    let fake = Fake {
        configure: Some(Box::new(move |_| {
            let name = "pulumirpc.ConfigureErrorMissingKeys";
            Err(with_detail(
                tonic::Code::InvalidArgument,
                "bad",
                name,
                detail.encode_to_vec(),
            ))
        })),
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    for _ in 0..2 {
        let error = provider.check(check(PropertyMap::new())).await.unwrap_err();
        assert_eq!(
            error.message,
            "missing required configuration key \"region\": the region\n\
             Set a value using the command `pulumi config set region <value>`.\n\
             missing required configuration key \"zone\": the zone\n\
             Set a value using the command `pulumi config set zone <value>`."
        );
        assert_eq!(error.missing_keys.len(), 2);
    }
}

#[tokio::test]
async fn a_failed_initialization_keeps_what_exists() {
    let detail = rpc::ErrorResourceInitFailed {
        id: "half".into(),
        properties: Some(wire([("token", "t")])),
        reasons: vec!["not ready".into()],
        inputs: None,
        refresh_before_update: true,
    };
    let fake = Fake {
        create: Some(Box::new(move |_| {
            let name = "pulumirpc.ErrorResourceInitFailed";
            Err(with_detail(
                tonic::Code::Unknown,
                "init",
                name,
                detail.encode_to_vec(),
            ))
        })),
        ..Fake::greeting(false)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let inputs = map([("token", secret("t"))]);
    let error = provider.create(create(inputs.clone(), false)).await.unwrap_err();
    let failure = error.init_failure.unwrap();
    assert_eq!(
        (failure.id.as_str(), failure.reasons),
        ("half", vec!["not ready".to_owned()])
    );
    assert_eq!(failure.outputs, inputs);
    assert!(failure.refresh_before_update);
}

#[tokio::test]
async fn a_failure_keeps_the_words_and_the_status_of_the_provider() {
    let fake = Fake {
        delete: Some(Box::new(|_| Err(Status::data_loss("the disk is gone: 100%")))),
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let request = DeleteRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        id: "id".into(),
        inputs: PropertyMap::new(),
        outputs: PropertyMap::new(),
        timeout: 0.0,
    };
    let error = provider.delete(request).await.unwrap_err();
    assert_eq!(
        (error.status, error.message.as_str()),
        (ProviderStatus::DataLoss, "the disk is gone: 100%")
    );
}

#[tokio::test]
async fn a_read_tells_what_is_gone_from_what_it_can_not_tell() {
    let fake = Fake {
        read: Some(Box::new(|request| {
            Ok(match request.inputs.unwrap_or_default().fields.len() {
                0 => rpc::ReadResponse::default(),
                _ => rpc::ReadResponse {
                    id: request.id,
                    properties: Some(wire([("token", "t")])),
                    ..rpc::ReadResponse::default()
                },
            })
        })),
        ..Fake::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let gone = provider.read(read(PropertyMap::new())).await.unwrap();
    assert!(gone.id.is_empty() && gone.outputs.is_none());
    let there = provider.read(read(map([("a", "b".into())]))).await.unwrap();
    assert_eq!((there.id.as_str(), there.inputs), ("id", None));
    assert_eq!(there.outputs, Some(map([("token", "t".into())])));
}

#[tokio::test]
async fn a_function_s_result_is_secret_when_its_arguments_were_and_may_hold_no_unknown() {
    let fake = Fake {
        invoke: Some(Box::new(|request| {
            let text = match request.tok.as_str() {
                "files:index:known" => "r",
                _ => crate::resource::UNKNOWN_ID,
            };
            Ok(rpc::InvokeResponse {
                r#return: Some(wire([("result", text)])),
                failures: vec![],
            })
        })),
        ..Fake::greeting(false)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let request = |token: &str| InvokeRequest {
        token: token.into(),
        arguments: map([("deep", vec![secret("s")].into())]),
        preview: true,
    };
    let response = provider.invoke(request("files:index:known")).await.unwrap();
    assert_eq!(response.result, map([("result", secret("r"))]));
    let error = provider.invoke(request("files:index:unknown")).await.unwrap_err();
    assert!(
        error
            .message
            .contains("plugin files answered Invoke with bad values"),
        "{error}"
    );
}

/// A plugin's process that says that it listens on `port`, and then runs `script`.
async fn process(port: u16, script: &str) -> PluginProcess {
    let start = Start {
        label: "files (resource)".into(),
        command: PluginCommand {
            program: "/bin/sh".into(),
            arguments: vec![
                "-c".into(),
                format!("echo {port}; {script}").into(),
                "plugin".into(),
            ],
            environment: vec![],
        },
        engine_address: String::new(),
        directory: None,
        environment: vec![],
        visible: false,
        sink: None,
        guard_shell: Some("/bin/sh".into()),
        timeouts: PluginTimeouts::default(),
    };
    PluginProcess::start(start, &runtime()).await.unwrap()
}

/// A server that answers each connection with `text` and then closes it, or keeps it open.
async fn nonsense(text: &'static str, close: bool) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 64];
            let _read = stream.read(&mut buffer).await;
            let _written = stream.write_all(text.as_bytes()).await;
            if !close {
                open.push(stream);
            }
        }
    });
    port
}

async fn over(process: PluginProcess, timeouts: PluginTimeouts) -> GrpcProvider {
    GrpcProvider::over_process("files", process, timeouts, GrpcOptions::default(), &runtime())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_plugin_that_dies_in_a_call_is_named_with_the_call_and_its_end() {
    let port = nonsense("", true).await;
    let provider = over(process(port, "exit 9").await, PluginTimeouts::default()).await;
    let error = provider.handshake(HandshakeRequest::default()).await.unwrap_err();
    assert_eq!(
        error.message,
        "plugin files [/bin/sh] died during Handshake: exit status 9"
    );
    assert_eq!(error.status, ProviderStatus::Unavailable);
}

#[tokio::test]
async fn a_plugin_that_speaks_another_protocol_is_named_with_the_call() {
    let port = nonsense("HTTP/1.1 400 Bad Request\r\n\r\n", true).await;
    let provider = over(process(port, "exec sleep 60").await, PluginTimeouts::default()).await;
    let error = provider
        .check_config(check(PropertyMap::new()))
        .await
        .unwrap_err();
    let start = "plugin files [/bin/sh] could not be spoken to during CheckConfig: ";
    assert!(error.message.starts_with(start), "{error}");
}

#[tokio::test]
async fn a_plugin_that_hangs_in_its_greeting_is_given_up() {
    let port = nonsense("", false).await;
    let timeouts = PluginTimeouts {
        ready: Duration::from_millis(200),
        ..PluginTimeouts::default()
    };
    let provider = over(process(port, "exec sleep 60").await, timeouts).await;
    let error = provider.handshake(HandshakeRequest::default()).await.unwrap_err();
    assert_eq!(
        error.message,
        "plugin files did not answer Handshake within 0.2 s"
    );
}

#[tokio::test]
async fn closing_asks_for_cancellation_and_then_ends_the_process() {
    let fake = Fake::greeting(true);
    let calls = Arc::clone(&fake.calls);
    let port = fake.serve().await;
    let provider = over(process(port, "exec sleep 60").await, PluginTimeouts::default()).await;
    provider.close().await;
    assert_eq!(*calls.lock().unwrap(), ["cancel"]);
    assert!(!provider.is_alive());
}

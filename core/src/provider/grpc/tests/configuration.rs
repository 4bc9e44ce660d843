//! Handshake and configuration: reported capabilities and sent values.

use super::*;

#[tokio::test]
async fn a_provider_without_handshake_reports_its_capabilities_in_configure() {
    let (create_call, requests) = recorded(created(Struct::default()));
    let fake = FakeProvider {
        configure: Some(Box::new(|_| {
            Ok(rpc::ConfigureResponse {
                accept_secrets: true,
                ..rpc::ConfigureResponse::default()
            })
        })),
        create: create_call,
        ..FakeProvider::default()
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let inputs = map([("token", secret("t"))]);
    provider.create(create(inputs.clone(), false)).await.unwrap();
    let sent = requests.recv().unwrap().properties.unwrap();
    assert!(matches!(sent.fields["token"].kind, Some(Kind::StructValue(_))));
    // It does not support previews, so the preview consists of the inputs.
    let response = provider.create(create(inputs.clone(), true)).await.unwrap();
    assert_eq!((response.id.as_str(), response.outputs), ("", inputs));
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn a_provider_with_an_unknown_configuration_is_not_called() {
    let fake = FakeProvider::greeting(true);
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
async fn check_config_and_diff_config_are_optional() {
    let provider = greeted(FakeProvider::default()).await;
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
    let fake = FakeProvider {
        check_config: check_call,
        ..FakeProvider::greeting(true)
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
    let fake = FakeProvider {
        configure: configure_call,
        ..FakeProvider::greeting(true)
    };
    let inputs = map([
        ("count", 3.0.into()),
        ("list", vec!["a".into(), secret("b")].into()),
        ("token", secret("t")),
        ("version", "1.0.0".into()),
    ]);
    let provider = ready(fake, inputs).await;
    assert!(provider.capabilities().await.unwrap().accept_secrets);
    // Responds when the configuration has settled.
    provider.backend().call(Call::Understands).await.unwrap();
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

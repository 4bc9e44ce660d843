//! Failures of a provider: messages, statuses and details.

use super::{methods::method, *};
use crate::provider::CheckFailure;

pub(super) fn with_detail(code: tonic::Code, message: &str, name: &str, detail: Vec<u8>) -> Status {
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
    let fake = FakeProvider {
        configure: Some(Box::new(move |_| {
            let name = "pulumirpc.ConfigureErrorMissingKeys";
            Err(with_detail(
                tonic::Code::InvalidArgument,
                "bad",
                name,
                detail.encode_to_vec(),
            ))
        })),
        ..FakeProvider::greeting(true)
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
    let fake = FakeProvider {
        create: Some(Box::new(move |_| {
            let name = "pulumirpc.ErrorResourceInitFailed";
            Err(with_detail(
                tonic::Code::Unknown,
                "init",
                name,
                detail.encode_to_vec(),
            ))
        })),
        ..FakeProvider::greeting(false)
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
async fn every_refused_input_is_read_with_its_path() {
    let refused = |path: &str, reason: &str| rpc::input_properties_error::PropertyError {
        property_path: path.into(),
        reason: reason.into(),
    };
    let detail = rpc::InputPropertiesError {
        errors: vec![refused("size", "is odd"), refused("keys[1].name", "is no name")],
    };
    let fake = FakeProvider {
        call: Some(Box::new(move |_| {
            let name = "pulumirpc.InputPropertiesError";
            let code = tonic::Code::InvalidArgument;
            Err(with_detail(code, "bad inputs", name, detail.encode_to_vec()))
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let request = method(PropertyMap::new(), false);
    let error = provider.call_method(request).await.unwrap_err();
    assert_eq!(
        (error.status, error.message.as_str()),
        (ProviderStatus::InvalidArgument, "bad inputs")
    );
    let failure = |property: &str, reason: &str| CheckFailure {
        property: property.to_owned(),
        reason: reason.to_owned(),
    };
    assert_eq!(
        error.input_errors,
        [failure("size", "is odd"), failure("keys[1].name", "is no name")]
    );
}

#[tokio::test]
async fn a_failure_keeps_the_message_and_the_status_of_the_provider() {
    let fake = FakeProvider {
        delete: Some(Box::new(|_| Err(Status::data_loss("the disk is gone: 100%")))),
        ..FakeProvider::greeting(true)
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
        views: Views::default(),
    };
    let error = provider.delete(request).await.unwrap_err();
    assert_eq!(
        (error.status, error.message.as_str()),
        (ProviderStatus::DataLoss, "the disk is gone: 100%")
    );
}

#[tokio::test]
async fn a_read_without_properties_finds_nothing_even_with_an_id() {
    let fake = FakeProvider {
        read: Some(Box::new(|request| {
            Ok(rpc::ReadResponse {
                id: request.id,
                inputs: Some(wire([("token", "t")])),
                ..rpc::ReadResponse::default()
            })
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let gone = provider.read(read(PropertyMap::new())).await.unwrap();
    assert_eq!((gone.id.as_str(), gone.inputs, gone.outputs), ("", None, None));
}

#[tokio::test]
async fn a_read_with_properties_keeps_them_even_without_an_id() {
    let fake = FakeProvider {
        read: Some(Box::new(|_| {
            Ok(rpc::ReadResponse {
                properties: Some(wire([("token", "t")])),
                ..rpc::ReadResponse::default()
            })
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let there = provider.read(read(PropertyMap::new())).await.unwrap();
    assert_eq!((there.id.as_str(), there.inputs), ("", None));
    assert_eq!(there.outputs, Some(map([("token", "t".into())])));
}

#[tokio::test]
async fn a_read_for_an_import_sends_neither_inputs_nor_properties() {
    let seen = Arc::<Mutex<Vec<(bool, bool)>>>::default();
    let kept = Arc::clone(&seen);
    let fake = FakeProvider {
        read: Some(Box::new(move |request| {
            let sent = (request.inputs.is_some(), request.properties.is_some());
            kept.lock().unwrap().push(sent);
            Ok(rpc::ReadResponse::default())
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let import = ReadRequest {
        inputs: None,
        properties: None,
        ..read(PropertyMap::new())
    };
    provider.read(import).await.unwrap();
    provider.read(read(PropertyMap::new())).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(false, false), (true, true)]);
}

#[tokio::test]
async fn an_update_that_has_to_wait_changes_nothing() {
    let fake = FakeProvider {
        create: Some(Box::new(move |_| {
            let name = "pulumirpc.ErrorResourceAwaitFailed";
            Err(with_detail(
                tonic::Code::Unknown,
                "the network is not ready",
                name,
                Vec::new(),
            ))
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    assert!(error.must_wait && !error.outcome_unknown && error.init_failure.is_none());
    assert_eq!(error.message, "the network is not ready");
}

//! Encoded values: secrets, unknowns, assets and differences.

use stackwright_proto::MESSAGE_LIMIT;

use super::*;
use crate::property::{
    Output,
    wire::{DecodeOptions, from_struct},
};

#[tokio::test]
async fn secrets_are_sent_plain_and_come_back_wrapped_when_the_provider_takes_none() {
    let (create_call, requests) = recorded(created(wire([("token", "t"), ("path", "p")])));
    let fake = FakeProvider {
        create: create_call,
        ..FakeProvider::greeting(false)
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
async fn unknowns_reach_the_provider_in_previews_only() {
    let (create_call, requests) = recorded(created(Struct::default()));
    let fake = FakeProvider {
        create: create_call,
        ..FakeProvider::greeting(true)
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
    let fake = FakeProvider {
        diff: diff_call,
        ..FakeProvider::greeting(true)
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

#[tokio::test]
async fn differences_of_an_unknown_state_or_kind_are_refused() {
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
        let fake = FakeProvider {
            diff: diff_call,
            ..FakeProvider::greeting(true)
        };
        let answer = ready(fake, PropertyMap::new()).await.diff(diff()).await;
        assert_eq!(answer.as_ref().err().map(|error| error.message.clone()), refusal);
        // Without its flag the map of details is ignored.
        assert!(answer.is_err() || answer.unwrap().detailed_diff.is_none());
    }
}

#[tokio::test]
async fn a_function_s_result_is_secret_if_its_arguments_were_and_contains_no_unknowns() {
    let fake = FakeProvider {
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
        ..FakeProvider::greeting(false)
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

#[tokio::test]
async fn arguments_of_functions_are_output_values_for_providers_that_accept_them() {
    let output = PropertyValue::Output(Arc::new(Output {
        element: Some("x".into()),
        secret: true,
        dependencies: vec![Urn::root_stack("dev", "shop")],
    }));
    for (accepts, expected) in [(true, output.clone()), (false, secret("x"))] {
        let (invoke, requests) = recorded(rpc::InvokeResponse::default());
        let fake = FakeProvider {
            handshake: Some(Box::new(move |_| {
                Ok(rpc::ProviderHandshakeResponse {
                    accept_secrets: true,
                    accepts_outputs_in_invoke: accepts,
                    ..rpc::ProviderHandshakeResponse::default()
                })
            })),
            invoke,
            ..FakeProvider::greeting(true)
        };
        let request = InvokeRequest {
            token: "files:index:f".into(),
            arguments: map([("path", output.clone())]),
            preview: false,
        };
        ready(fake, PropertyMap::new())
            .await
            .invoke(request)
            .await
            .unwrap();
        let sent = requests.recv().unwrap().args.unwrap();
        let received = from_struct(sent, &DecodeOptions::all("args")).unwrap();
        assert_eq!(received, map([("path", expected)]));
    }
}

#[tokio::test]
async fn large_values_go_to_a_provider_and_come_back() {
    let fake = FakeProvider {
        create: Some(Box::new(|request: rpc::CreateRequest| {
            Ok(created(request.properties.unwrap_or_default()))
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let inputs = map([("text", "x".repeat(64 << 20).into())]);
    let response = provider.create(create(inputs.clone(), false)).await.unwrap();
    assert!(response.outputs == inputs, "the value came back changed");
}

#[tokio::test]
async fn a_request_beyond_the_limit_is_not_sent_and_such_a_response_is_malformed() {
    let fake = FakeProvider {
        create: Some(Box::new(|_| {
            let text = "x".repeat(MESSAGE_LIMIT);
            Ok(created(wire([("text", text.as_str())])))
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let inputs = map([("text", "x".repeat(MESSAGE_LIMIT).into())]);
    let error = provider.create(create(inputs, false)).await.unwrap_err();
    assert!(
        error
            .message
            .ends_with("did not complete Create: the message is larger than 400 MiB"),
        "{error}"
    );
    assert!(!error.outcome_unknown && error.status == ProviderStatus::ResourceExhausted);
    // The outcome of the call is unknown then.
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    assert!(
        error.outcome_unknown && error.message.contains("too large"),
        "{error}"
    );
}

#[tokio::test]
async fn a_request_beyond_the_provider_s_limit_is_refused_and_not_made() {
    let fake = FakeProvider {
        create: Some(Box::new(|_| {
            let text =
                "Error, decoded message length too large: found 5000000 bytes, the limit is: 4194304 bytes";
            Err(Status::out_of_range(text))
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    assert!(
        !error.outcome_unknown && error.status == ProviderStatus::OutOfRange,
        "{error}"
    );
}

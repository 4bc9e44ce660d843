//! Proposed names: sent to providers that support autonaming.

use super::*;
use crate::provider::{Autonaming, AutonamingMode};

#[tokio::test]
async fn a_proposed_name_is_sent_to_a_provider_whose_configure_response_supports_autonaming() {
    for supports in [true, false] {
        let (check_call, requests) = recorded(rpc::CheckResponse::default());
        let fake = FakeProvider {
            handshake: None,
            configure: Some(Box::new(move |_| {
                Ok(rpc::ConfigureResponse {
                    supports_autonaming_configuration: supports,
                    ..rpc::ConfigureResponse::default()
                })
            })),
            check: check_call,
            ..FakeProvider::default()
        };
        let provider = ready(fake, PropertyMap::new()).await;
        let request = CheckRequest {
            autonaming: Some(Autonaming {
                proposed_name: "a-1".into(),
                mode: AutonamingMode::Enforce,
            }),
            ..check(PropertyMap::new())
        };
        provider.check(request).await.unwrap();
        let sent = requests.recv().unwrap().autonaming;
        let sent = sent.map(|options| (options.proposed_name, options.mode));
        assert_eq!(sent, supports.then(|| ("a-1".to_owned(), 1)));
        assert_eq!(provider.supports_autonaming().await, supports);
    }
}

#[tokio::test]
async fn check_gets_the_recorded_outputs() {
    let (check_call, requests) = recorded(rpc::CheckResponse::default());
    let fake = FakeProvider {
        check: check_call,
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    for outputs in [None, Some(map([("arn", "a".into())]))] {
        let request = CheckRequest {
            old_outputs: outputs.clone(),
            ..check(PropertyMap::new())
        };
        provider.check(request).await.unwrap();
        let sent = requests.recv().unwrap().old_outputs;
        assert_eq!(sent, outputs.map(|_| wire([("arn", "a")])));
    }
}

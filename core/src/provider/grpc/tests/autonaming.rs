//! Proposed names on their way: sent where the provider heeds them.

use super::*;
use crate::provider::{Autonaming, AutonamingMode};

#[tokio::test]
async fn a_proposed_name_is_sent_to_a_provider_that_has_said_in_its_configuration_that_it_heeds_them() {
    for heeds in [true, false] {
        let (check_call, requests) = recorded(rpc::CheckResponse::default());
        let fake = Fake {
            handshake: None,
            configure: Some(Box::new(move |_| {
                Ok(rpc::ConfigureResponse {
                    supports_autonaming_configuration: heeds,
                    ..rpc::ConfigureResponse::default()
                })
            })),
            check: check_call,
            ..Fake::default()
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
        assert_eq!(sent, heeds.then(|| ("a-1".to_owned(), 1)));
        assert_eq!(provider.supports_autonaming().await, heeds);
    }
}

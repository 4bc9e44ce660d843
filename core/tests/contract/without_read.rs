//! Providers without Read: a refresh keeps what the state records.

use std::sync::Arc;

use stackwright::{
    StackSettings,
    operation::OperationOptions,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, InitFailure, Provider,
        ProviderError, ProviderResult, ProviderStatus,
    },
};

use crate::fixture::{engine, program};

/// Creates resources whose initialization fails. It has no Read.
struct Unhealthy;

impl Provider for Unhealthy {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        Err(ProviderError {
            init_failure: Some(Box::new(InitFailure {
                id: "disk-1".to_owned(),
                inputs: None,
                outputs: request.inputs,
                reasons: vec!["disk failing".to_owned()],
                refresh_before_update: false,
                view_steps: Vec::new(),
            })),
            ..ProviderError::new(ProviderStatus::Unknown, "disk failing")
        })
    }

    async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_keeps_the_errors_of_the_initialization() {
    let engine = engine().provider("echo", Arc::new(Unhealthy)).build().unwrap();
    let settings = StackSettings {
        program: Some(program(&[("disk", "1")])),
        ..StackSettings::default()
    };
    let stack = engine.stack("shop/dev", settings).await.unwrap();
    stack.update(OperationOptions::default()).wait().await;
    let refreshed = stack.refresh(OperationOptions::default()).wait().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    let snapshot = stack.snapshot().await.unwrap();
    let disk = snapshot
        .resources
        .iter()
        .find(|record| record.id.as_str() == "disk-1");
    assert_eq!(disk.unwrap().init_errors, ["disk failing"]);
}

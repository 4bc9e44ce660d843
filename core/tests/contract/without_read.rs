//! Providers without Read: a refresh keeps what the state records.

use std::sync::Arc;

use stackwright::{
    StackSettings,
    operation::{ImportRequest, OperationOptions},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, InitFailure, Provider,
        ProviderError, ProviderResult, ProviderStatus,
    },
};

use stackwright_testkit::wait::Ended as _;

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

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_refused_unless_the_outputs_are_supplied() {
    let engine = engine().provider("echo", Arc::new(Unhealthy)).build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let import = async |values: &str| {
        let request = format!(
            r#"{{"resources": [{{"type": "echo:index:Thing", "name": "disk", "id": "disk-7"{values}}}]}}"#
        );
        let request = ImportRequest::from_json(request.as_bytes()).unwrap();
        stack
            .import_resources(request, OperationOptions::default())
            .ended()
            .await
    };
    let refused = import("").await;
    let error = refused.error.as_ref().unwrap().to_string();
    assert!(
        error.contains(
            "resource 'disk-7' cannot be imported: the provider of the package 'echo' has no method that reads"
        ),
        "{error}"
    );
    let records = stack.resources().await.unwrap();
    assert!(records.iter().all(|record| record.id.as_str() != "disk-7"));

    let recorded = import(r#", "inputs": {"size": 1}, "outputs": {"size": 1}"#).await;
    assert!(recorded.error.is_none(), "{:?}", recorded.error);
    let records = stack.resources().await.unwrap();
    assert!(records.iter().any(|record| record.id.as_str() == "disk-7"));
}

//! Autonaming by a callback of the host: the proposals that providers get, and the result of a failure.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result, Stack, StackSettings,
    autonaming::{Autonamer, NamingRequest, Proposal},
    operation::{OperationKind, OperationOptions, OperationResult},
    provider::{
        Autonaming, AutonamingMode, Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse,
        DeleteRequest, DiffChanges, DiffRequest, DiffResponse, HandshakeRequest, Provider, ProviderResult,
    },
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{engine, program};

/// Returns names made of the resource and its seed, and records the requests.
#[derive(Default)]
struct Namer {
    asked: Mutex<Vec<NamingRequest>>,
    delete_before_replace: bool,
    warns: bool,
    refuses: bool,
}

#[async_trait]
impl Autonamer for Namer {
    async fn propose(&self, request: NamingRequest) -> Result<Option<Proposal>> {
        if self.refuses {
            return Err(Error::new(ErrorKind::NotFound, "no name is left"));
        }
        let proposed_name = format!("{}-{:02x?}", request.name, request.random_seed);
        self.asked.lock().unwrap().push(request);
        Ok(Some(Proposal {
            autonaming: Autonaming {
                proposed_name,
                mode: AutonamingMode::Propose,
            },
            delete_before_replace: self.delete_before_replace,
            warn_if_unsupported: self.warns,
        }))
    }
}

/// Replaces every changed resource, and records the calls.
#[derive(Default)]
struct Named {
    deaf: bool,
    checks: Mutex<Vec<CheckRequest>>,
    done: Mutex<Vec<&'static str>>,
}

impl Provider for Named {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities {
            supports_autonaming: !self.deaf,
            ..Capabilities::all()
        })
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.checks.lock().unwrap().push(request.clone());
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let replaces: Vec<_> = (request.old_inputs != request.news)
            .then(|| "value".to_owned())
            .into_iter()
            .collect();
        Ok(DiffResponse {
            changes: if replaces.is_empty() {
                DiffChanges::None
            } else {
                DiffChanges::Some
            },
            replaces,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.done.lock().unwrap().push("create");
        Ok(CreateResponse {
            id: "id".into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        self.done.lock().unwrap().push("delete");
        Ok(())
    }
}

async fn stack(namer: &Arc<Namer>, provider: &Arc<Named>) -> Stack {
    let builder = engine()
        .provider("echo", Arc::clone(provider) as _)
        .autonamer(Arc::clone(namer) as _);
    let engine = builder.build().unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

async fn update(stack: &Stack, value: &'static [(&'static str, &'static str)]) -> Arc<OperationResult> {
    let options = OperationOptions::default();
    let operation = stack.start(OperationKind::Update, options, Some(program(value)));
    operation.ended().await
}

fn warnings(result: &OperationResult) -> usize {
    let diagnostics = result.diagnostics.iter();
    diagnostics
        .filter(|diagnostic| {
            diagnostic
                .message
                .reference()
                .contains("does not support autonaming")
        })
        .count()
}

#[tokio::test]
async fn both_checks_of_a_replacement_propose_the_same_name() {
    let namer = Arc::new(Namer {
        delete_before_replace: true,
        ..Namer::default()
    });
    let provider = Arc::new(Named::default());
    let stack = stack(&namer, &provider).await;
    update(&stack, &[("a", "1")]).await;
    let result = update(&stack, &[("a", "2")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let asked = namer.asked.lock().unwrap();
    let names: Vec<_> = asked.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(
        names,
        ["a", "a"],
        "once a run, and never for the provider or the stack"
    );
    let checks = provider.checks.lock().unwrap();
    assert_eq!(checks.len(), 3);
    for (check, request) in checks.iter().zip([&asked[0], &asked[1], &asked[1]]) {
        assert_eq!(check.random_seed, request.random_seed);
        let naming = check.autonaming.as_ref().unwrap();
        assert_eq!(naming.proposed_name, format!("a-{:02x?}", request.random_seed));
    }
    assert_eq!(*provider.done.lock().unwrap(), ["create", "delete", "create"]);
}

#[tokio::test]
async fn a_failing_namer_ends_the_operation_with_the_resource_and_the_cause() {
    let namer = Arc::new(Namer {
        refuses: true,
        ..Namer::default()
    });
    let provider = Arc::new(Named::default());
    let stack = stack(&namer, &provider).await;
    let result = update(&stack, &[("a", "1")]).await;
    let error = result.error.as_ref().unwrap();
    let expected = "cannot be proposed: no name is left";
    assert!(error.message().contains(expected), "{error}");
    assert!(error.message().contains("::a "), "{error}");
    assert!(provider.checks.lock().unwrap().is_empty() && provider.done.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_provider_without_autonaming_is_reported_where_the_host_requests_it() {
    for (deaf, warns, expected) in [(true, true, 1), (true, false, 0), (false, true, 0)] {
        let namer = Arc::new(Namer {
            warns,
            ..Namer::default()
        });
        let provider = Arc::new(Named {
            deaf,
            ..Named::default()
        });
        let stack = stack(&namer, &provider).await;
        update(&stack, &[("a", "1")]).await;
        // A replacement checks twice.
        let result = update(&stack, &[("a", "2")]).await;
        assert_eq!(warnings(&result), expected, "{:?}", result.diagnostics);
    }
}

//! The process of a provider that is killed while it constructs a component.

use std::sync::Arc;

use futures::future::pending;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use stackwright::{
    Engine,
    operation::OperationOptions,
    plugin::{PluginCommand, PluginSettings},
    provider::ProviderBackend,
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{self as rpc, RegisterResourceRequest};
use stackwright_testkit::{
    fake::{EchoProvider, FakeProxy, ProviderCalls, serve_provider},
    wait::{Ended as _, Within as _},
};
use tokio::sync::Notify;
use tonic::{Request, Response, Status};

use crate::fixture::{client, echo, over_loopback, register, runtime, stack};

/// Registers a component and its child, and then never answers.
struct Carpenter(Arc<Notify>);

#[tonic::async_trait]
impl ProviderCalls for Carpenter {
    async fn handshake(
        &self,
        _request: Request<rpc::ProviderHandshakeRequest>,
    ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
        Ok(Response::new(rpc::ProviderHandshakeResponse {
            accept_secrets: true,
            ..rpc::ProviderHandshakeResponse::default()
        }))
    }

    async fn configure(
        &self,
        _request: Request<rpc::ConfigureRequest>,
    ) -> Result<Response<rpc::ConfigureResponse>, Status> {
        Ok(Response::new(rpc::ConfigureResponse::default()))
    }

    async fn construct(
        &self,
        request: Request<rpc::ConstructRequest>,
    ) -> Result<Response<rpc::ConstructResponse>, Status> {
        let request = request.into_inner();
        let mut client = client(&request.monitor_endpoint).await;
        let component = RegisterResourceRequest {
            r#type: request.r#type,
            name: request.name,
            ..RegisterResourceRequest::default()
        };
        let component = register(&mut client, component).await?.urn;
        register(&mut client, echo("child", &component, "1")).await?;
        self.0.notify_one();
        pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_in_construct_leaves_a_valid_state_and_no_process_and_is_named_with_its_component() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let entered = Arc::new(Notify::new());
    let address = serve_provider(Carpenter(Arc::clone(&entered))).await;
    let proxy = FakeProxy::before(&address.to_string()).await;
    let port = proxy.address.rsplit_once(':').unwrap().1;
    let script = format!("echo $$ > {}; echo {port}; exec sleep 600", file.display());
    let command = PluginCommand {
        program: "/bin/sh".into(),
        arguments: ["-c", &script, "plugin"].map(Into::into).to_vec(),
        ..PluginCommand::default()
    };
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider(
            "echo",
            Arc::new(EchoProvider::default()) as Arc<dyn ProviderBackend>,
        )
        .plugins(PluginSettings {
            commands: [("box".to_owned(), command)].into(),
            ..PluginSettings::default()
        })
        .build()
        .unwrap();
    let program = over_loopback(|address| async move {
        let component = RegisterResourceRequest {
            r#type: "box:index:Box".to_owned(),
            name: "a".to_owned(),
            remote: true,
            ..RegisterResourceRequest::default()
        };
        register(&mut client(&address).await, component)
            .await
            .unwrap_err();
    });
    let stack = stack(&engine, "shop/dev", program).await;
    let operation = stack.update(OperationOptions::default());
    entered.notified().within("the child of the component").await;
    let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    proxy.cut();
    let result = operation.ended().await;
    let error = result.error.as_ref().unwrap();
    let text = "box:index:Box resource 'a' has a problem: plugin box [";
    assert!(error.message().contains(text), "{error}");
    assert!(
        ["did not complete Construct: ", "died during Construct: "]
            .iter()
            .any(|end| error.message().contains(end)),
        "{error}"
    );
    assert_eq!(
        (error.provider(), error.phase()),
        (Some("box"), Some("construct"))
    );
    assert_eq!(error.urn().unwrap().name(), "a");
    let snapshot = &result.snapshot;
    let names: Vec<_> = snapshot.resources.iter().map(|state| state.urn.name()).collect();
    for name in ["a", "child"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(snapshot.pending_operations.is_empty());
    stackwright::state::integrity::verify(snapshot).unwrap();
    engine.close().within("the end of the engine").await;
    assert!(test_kill_process(pid).is_err(), "the process is gone");
}

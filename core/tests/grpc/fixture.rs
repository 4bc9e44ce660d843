//! Shared parts of the tests: an engine with an in-process provider, and requests of clients.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt as _};
use stackwright::{
    Engine, Stack, StackSettings,
    monitor::MonitorServer,
    operation::{OperationOptions, OperationResult},
    program::{Program, ProgramContext},
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{
    RegisterResourceRequest, RegisterResourceResponse, resource_monitor_client::ResourceMonitorClient,
};
use stackwright_proto::values::{Struct, Value, value::Kind};
use stackwright_testkit::{fake::EchoProvider, wait::Ended as _};
use tonic::{Status, transport::Channel};

const MAX_MESSAGE_SIZE: usize = 400 * 1024 * 1024;

pub(crate) fn engine(echo: &Arc<EchoProvider>) -> Engine {
    Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::clone(echo) as Arc<dyn ProviderBackend>)
        .build()
        .unwrap()
}

pub(crate) fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

pub(crate) async fn stack(engine: &Engine, name: &str, program: Arc<dyn Program>) -> Stack {
    let settings = StackSettings {
        program: Some(program),
        ..StackSettings::default()
    };
    engine.stack(name, settings).await.unwrap()
}

pub(crate) async fn update(stack: &Stack) -> OperationResult {
    (*stack.update(OperationOptions::default()).ended().await).clone()
}

pub(crate) async fn client(address: &str) -> ResourceMonitorClient<Channel> {
    ResourceMonitorClient::connect(format!("http://{address}"))
        .await
        .unwrap()
        .max_decoding_message_size(MAX_MESSAGE_SIZE)
        .max_encoding_message_size(MAX_MESSAGE_SIZE)
}

pub(crate) fn text(text: &str) -> Value {
    Value {
        kind: Some(Kind::StringValue(text.to_owned())),
    }
}

pub(crate) fn object(entries: &[(&str, &str)]) -> Struct {
    Struct {
        fields: entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), text(value)))
            .collect(),
    }
}

pub(crate) fn echo(name: &str, parent: &str, value: &str) -> RegisterResourceRequest {
    RegisterResourceRequest {
        r#type: "echo:index:Echo".to_owned(),
        name: name.to_owned(),
        parent: parent.to_owned(),
        custom: true,
        object: Some(object(&[("value", value)])),
        accept_secrets: true,
        supports_result_reporting: true,
        ..RegisterResourceRequest::default()
    }
}

pub(crate) async fn root(client: &mut ResourceMonitorClient<Channel>, project: &str, stack: &str) -> String {
    let request = RegisterResourceRequest {
        r#type: "pulumi:pulumi:Stack".to_owned(),
        name: format!("{project}-{stack}"),
        ..RegisterResourceRequest::default()
    };
    register(client, request).await.unwrap().urn
}

pub(crate) async fn register(
    client: &mut ResourceMonitorClient<Channel>,
    request: RegisterResourceRequest,
) -> Result<RegisterResourceResponse, Status> {
    Ok(client.register_resource(request).await?.into_inner())
}

/// A program that serves its monitor and calls it over loopback, as another process would.
struct OverLoopback(Box<dyn Fn(String) -> BoxFuture<'static, ()> + Send + Sync>);

#[async_trait]
impl Program for OverLoopback {
    async fn run(&self, context: ProgramContext) -> stackwright::Result<()> {
        let server = MonitorServer::start(&context.monitor, context.monitor.runtime())?;
        (self.0)(server.address()).await;
        Ok(())
    }
}

pub(crate) fn over_loopback<F>(calls: impl Fn(String) -> F + Send + Sync + 'static) -> Arc<dyn Program>
where
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(OverLoopback(Box::new(move |address| calls(address).boxed())))
}

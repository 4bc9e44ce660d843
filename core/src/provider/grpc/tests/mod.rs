//! Tests of the provider's calls over a real connection.

mod autonaming;
mod configuration;
mod failures;
mod methods;
mod process;
mod unreadable;
mod values;

use std::{
    sync::{Mutex, mpsc},
    time::Duration,
};

use prost::Message as _;
use stackwright_proto::{
    google, pulumirpc as rpc,
    values::{Struct, value::Kind},
};
use tonic::Status;

use stackwright_testkit::fake::{Answer, FakeProvider};

use super::*;
use crate::{
    plugin::{HostEnvironment, PluginCommand, PluginProcess, PluginTimeouts, Start},
    property::{Asset, AssetSource, PropertyMap, PropertyValue, Unknown},
    provider::{
        Adapter, AdapterOptions, CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffChanges,
        DiffRequest, HandshakeRequest, InvokeRequest, ProviderStatus, ReadRequest, UpdateRequest, Views,
    },
    urn::Urn,
};

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

async fn connect(fake: FakeProvider) -> GrpcProvider {
    let address = format!("127.0.0.1:{}", fake.serve().await);
    let timeouts = PluginTimeouts::default();
    GrpcProvider::at_address("files", &address, timeouts, &runtime())
        .await
        .unwrap()
}

/// Sends the handshake, as the engine does.
async fn greeted(fake: FakeProvider) -> Adapter {
    let provider = connect(fake).await;
    let capabilities = provider.greet(HandshakeRequest::default()).await.unwrap();
    let options = AdapterOptions {
        is_plugin: true,
        ..AdapterOptions::default()
    };
    Adapter::new(Arc::new(provider), capabilities, options)
}

/// Sends the handshake and configures with `inputs`, as the engine does.
async fn ready(fake: FakeProvider, inputs: PropertyMap) -> Adapter {
    let provider = greeted(fake).await;
    if inputs.contains_unknowns() {
        return provider.unconfigured();
    }
    assert_eq!(provider.configure(configuration(inputs)).await.unwrap(), None);
    provider
}

fn configuration(inputs: PropertyMap) -> ConfigureRequest {
    ConfigureRequest {
        urn: Urn::parse("urn:pulumi:dev::shop::pulumi:providers:files::default").unwrap(),
        name: "default".into(),
        id: "1".into(),
        inputs,
    }
}

/// A handler that records its requests and always returns the same response.
fn recorded<Q: Send + 'static, A: Clone + Send + Sync + 'static>(
    answer: A,
) -> (Answer<Q, A>, mpsc::Receiver<Q>) {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let closure = move |request| {
        sender.lock().unwrap().send(request).unwrap();
        Ok(answer.clone())
    };
    (Some(Box::new(closure)), receiver)
}

fn map(entries: impl IntoIterator<Item = (&'static str, PropertyValue)>) -> PropertyMap {
    entries.into_iter().collect()
}

fn secret(text: &str) -> PropertyValue {
    PropertyValue::secret(text.into())
}

fn wire<'a>(entries: impl IntoIterator<Item = (&'static str, &'a str)>) -> Struct {
    let string = |text: &str| stackwright_proto::values::Value {
        kind: Some(Kind::StringValue(text.into())),
    };
    Struct {
        fields: entries
            .into_iter()
            .map(|(key, text)| (key.to_owned(), string(text)))
            .collect(),
    }
}

fn urn() -> Urn {
    Urn::parse("urn:pulumi:dev::shop::files:index:File::a").unwrap()
}

fn create(inputs: PropertyMap, preview: bool) -> CreateRequest {
    CreateRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        inputs,
        timeout: 1.5,
        preview,
        views: Views::default(),
    }
}

fn read(inputs: PropertyMap) -> ReadRequest {
    ReadRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        id: "id".into(),
        inputs: Some(inputs),
        properties: Some(PropertyMap::new()),
        timeout: 0.0,
        preview: false,
        views: Views::default(),
    }
}

fn check(news: PropertyMap) -> CheckRequest {
    CheckRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        olds: None,
        old_outputs: None,
        news,
        random_seed: vec![7],
        preview: true,
        autonaming: None,
    }
}

fn diff() -> DiffRequest {
    let asset = PropertyValue::Asset(Arc::new(Asset {
        hash: "00ff".into(),
        source: AssetSource::Text("long text".into()),
    }));
    DiffRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        id: "id".into(),
        old_inputs: map([("source", asset.clone())]),
        old_outputs: map([("source", asset.clone())]),
        news: map([("source", asset)]),
        ignore_changes: vec!["mode".into()],
        preview: false,
    }
}

fn created(properties: Struct) -> rpc::CreateResponse {
    rpc::CreateResponse {
        id: "new".into(),
        properties: Some(properties),
        refresh_before_update: false,
    }
}

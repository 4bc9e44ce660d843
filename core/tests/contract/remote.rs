//! Remote assets: hashed by the content at their URIs, fetched over HTTP or by the host.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Engine, Error, Result, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::from_fn,
    property::{Asset, AssetSource, PropertyValue, hash::Fetch},
};
use stackwright_testkit::wait::Ended as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::fixture::{Scripted, engine, resource};

/// The SHA-256 of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

async fn registered(engine: &Engine, uri: String) -> Arc<OperationResult> {
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(move |context| {
        let asset = Asset {
            hash: "".into(),
            source: AssetSource::Uri(uri.clone()),
        };
        async move {
            let mut remote = resource("a", "1");
            remote
                .inputs
                .insert("file", PropertyValue::Asset(Arc::new(asset)));
            context.monitor.register(remote).await?;
            Ok(())
        }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await
}

fn hash_in(result: &OperationResult) -> String {
    assert!(result.error.is_none(), "{:?}", result.error);
    let state = result.snapshot.resources.last().unwrap();
    match state.inputs.get("file") {
        Some(PropertyValue::Asset(asset)) => asset.hash.to_string(),
        other => panic!("{other:?}"),
    }
}

struct Hello;

#[async_trait]
impl Fetch for Hello {
    async fn fetch(&self, uri: &str) -> Result<Bytes> {
        if uri == "vault://hello" {
            Ok(Bytes::from_static(b"hello"))
        } else {
            Err(Error::invalid(format!("not found: {uri}")))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_fetches_the_content_of_its_own_uris() {
    let builder = engine().provider("echo", Arc::new(Scripted::default()));
    let engine = builder.fetch(Arc::new(Hello)).build().unwrap();
    assert_eq!(
        hash_in(&*registered(&engine, "vault://hello".to_owned()).await),
        HELLO
    );
    let refused = registered(&engine, "vault://other".to_owned()).await;
    let error = refused.error.clone().unwrap();
    assert!(error.message().contains("not found: vault://other"), "{error}");
}

/// Answers each connection with a status and a body.
async fn serve(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _read = stream.read(&mut request).await;
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _written = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/file")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_fetches_over_http() {
    let builder = engine().provider("echo", Arc::new(Scripted::default()));
    let engine = builder.build().unwrap();
    let uri = serve("200 OK", "hello").await;
    assert_eq!(hash_in(&*registered(&engine, uri).await), HELLO);
    let uri = serve("404 Not Found", "hello").await;
    let refused = registered(&engine, uri.clone()).await;
    let error = refused.error.clone().unwrap();
    assert!(error.message().contains(&uri), "{error}");
}

//! Key services on a real server: data keys that KMS of moto wraps, in every store.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use stackwright::{
    Engine, Error, ErrorKind, Result, StackSettings,
    operation::OperationOptions,
    program,
    property::PropertyValue,
    secrets::{DataKey, KeyServiceCallbacks, KeyServiceProvider, PassphraseProvider, SecretsProvider},
    store::Store,
};

use super::places;

/// A client of KMS.
struct Kms {
    endpoint: String,
    client: reqwest::Client,
}

impl Kms {
    async fn call(&self, action: &str, request: Value) -> Result<Value> {
        let failed = |error: String| Error::new(ErrorKind::Unavailable, error);
        let response = self
            .client
            .post(&self.endpoint)
            .header("x-amz-target", format!("TrentService.{action}"))
            .header("content-type", "application/x-amz-json-1.1")
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/kms/aws4_request, SignedHeaders=host, Signature=0",
            )
            .body(request.to_string())
            .send()
            .await
            .map_err(|error| failed(error.to_string()))?;
        let is_success = response.status().is_success();
        let text = response.text().await.map_err(|error| failed(error.to_string()))?;
        match is_success {
            true => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
            false => Err(failed(text)),
        }
    }

    async fn key(&self, action: &str, request: Value, answer: &str) -> Result<Vec<u8>> {
        let answered = self.call(action, request).await?;
        Ok(STANDARD.decode(answered[answer].as_str().unwrap()).unwrap())
    }
}

#[async_trait]
impl KeyServiceCallbacks for Kms {
    async fn wrap_key(&self, url: &str, key: DataKey) -> Result<Vec<u8>> {
        let id = url.strip_prefix("awskms://").unwrap();
        let request = json!({ "KeyId": id, "Plaintext": STANDARD.encode(key.as_bytes()) });
        self.key("Encrypt", request, "CiphertextBlob").await
    }

    async fn unwrap_key(&self, _url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
        let request = json!({ "CiphertextBlob": STANDARD.encode(wrapped) });
        self.key("Decrypt", request, "Plaintext").await.map(DataKey::new)
    }
}

/// Returns a client with a new key of this alias; `None` where the server is missing.
async fn kms(alias: &str) -> Option<Arc<Kms>> {
    let kms = Kms {
        endpoint: format!("http://{}", places::moto().await?.address()),
        client: places::plain_client(),
    };
    let made = kms.call("CreateKey", json!({})).await.unwrap();
    let id = made["KeyMetadata"]["KeyId"].clone();
    let named = json!({ "AliasName": format!("alias/{alias}"), "TargetKeyId": id });
    // Its answer has no content.
    drop(kms.call("CreateAlias", named).await);
    Some(Arc::new(kms))
}

fn keys(kms: &Arc<Kms>, url: &str) -> Arc<dyn SecretsProvider> {
    let keys = KeyServiceProvider::new(url, Arc::clone(kms) as _, places::runtime()).unwrap();
    Arc::new(keys.or(passphrase()))
}

fn passphrase() -> Arc<dyn SecretsProvider> {
    Arc::new(PassphraseProvider::new("correct horse", places::runtime()))
}

fn engine(store: &Arc<dyn Store>, secrets: Arc<dyn SecretsProvider>) -> Engine {
    let builder = Engine::builder(tokio::runtime::Handle::current());
    builder.store(Arc::clone(store)).secrets(secrets).build().unwrap()
}

async fn update(engine: &Engine, value: &'static str) -> Result<Value> {
    let program = program::from_fn(move |context| async move {
        context
            .monitor
            .export("token", PropertyValue::secret(value.into()));
        Ok(())
    });
    let settings = StackSettings {
        program: Some(program),
        ..StackSettings::default()
    };
    let stack = engine.stack("shop/dev", settings).await?;
    let result = stack.update(OperationOptions::default()).wait().await;
    if let Some(error) = &result.error {
        return Err(error.clone());
    }
    let exported: Value = serde_json::from_slice(&stack.export_deployment(true).await?).unwrap();
    Ok(exported["deployment"].clone())
}

#[tokio::test]
async fn the_data_key_of_a_stack_in_a_bucket_is_wrapped_by_kms() {
    let (Some(kms), Some(store)) = (kms("bucket").await, places::s3("kms").await) else {
        return;
    };
    let url = "awskms://alias/bucket";
    let deployment = update(&engine(&store, keys(&kms, url)), "hunter2").await.unwrap();
    assert_eq!(deployment["secrets_providers"]["type"], "cloud");
    assert_eq!(deployment["secrets_providers"]["state"]["url"], url);
    let wrapped = deployment["secrets_providers"]["state"]["encryptedkey"]
        .as_str()
        .unwrap();
    let key = kms
        .unwrap_key(url, STANDARD.decode(wrapped).unwrap())
        .await
        .unwrap();
    assert_eq!(key.as_bytes().len(), 32);
    let again = update(&engine(&store, keys(&kms, url)), "hunter3").await.unwrap();
    assert_eq!(again["secrets_providers"], deployment["secrets_providers"]);

    let opened = engine(&store, keys(&kms, url));
    let stack = opened.stack("shop/dev", StackSettings::default()).await.unwrap();
    stack.change_secrets(passphrase(), false).await.unwrap();
    let deployment = update(&engine(&store, passphrase()), "hunter4").await.unwrap();
    assert_eq!(deployment["secrets_providers"]["type"], "passphrase");
    let stack = opened.stack("shop/dev", StackSettings::default()).await.unwrap();
    stack.change_secrets(keys(&kms, url), false).await.unwrap();
    let deployment = update(&engine(&store, keys(&kms, url)), "hunter5").await.unwrap();
    assert_ne!(
        deployment["secrets_providers"], again["secrets_providers"],
        "the data key is a new one"
    );
}

#[tokio::test]
async fn a_key_that_kms_does_not_have_is_named() {
    let (Some(kms), Some(store)) = (kms("present").await, places::s3("absent").await) else {
        return;
    };
    let error = update(&engine(&store, keys(&kms, "awskms://alias/absent")), "x")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Secrets);
    assert!(
        error
            .message()
            .starts_with("awskms://alias/absent: the data key was not wrapped"),
        "{error}"
    );
    assert!(error.message().contains("NotFound"), "{error}");
}

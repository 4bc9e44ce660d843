//! The host's encryption of secrets, for an engine and for single stacks.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use stackwright::{
    ErrorKind,
    binding::HostSecrets,
    property::json::to_vec,
    secrets::{DataKey, KeyServiceCallbacks, SecretsCallbacks},
};

use super::{Host, read};
use crate::provider::sw_call_t;

impl Host {
    /// Returns the functions for the secrets of the engine.
    pub(crate) fn secrets(self: &Arc<Self>) -> HostSecrets {
        HostSecrets {
            values: self.functions.encrypt.is_some().then(|| Arc::clone(self) as _),
            keys: self.key_service(),
        }
    }

    /// Returns the functions for the secrets of one stack.
    pub(crate) fn secrets_of_stack(self: &Arc<Self>, stack: &str) -> HostSecrets {
        let secrets = StackSecrets {
            host: Arc::clone(self),
            stack: stack.to_owned(),
        };
        let has_functions = self.functions.encrypt_for_stack.is_some();
        HostSecrets {
            values: has_functions.then(|| Arc::new(secrets) as _),
            keys: self.key_service(),
        }
    }

    fn key_service(self: &Arc<Self>) -> Option<Arc<dyn KeyServiceCallbacks>> {
        self.functions.wrap_key.is_some().then(|| Arc::clone(self) as _)
    }

    async fn key(
        &self,
        function: sw_call_t,
        (url, key): (&str, &[u8]),
        what: &str,
        kind: ErrorKind,
    ) -> stackwright::Result<Vec<u8>> {
        let key = STANDARD.encode(key);
        let request = to_vec(&serde_json::json!({ "url": url, "key": key }))?;
        self.ask(function, request, kind, what).await
    }

    async fn texts(
        &self,
        function: sw_call_t,
        request: &(impl Serialize + Sync),
        what: &str,
        kind: ErrorKind,
    ) -> stackwright::Result<Vec<String>> {
        let answer = self.ask(function, to_vec(request)?, kind, what).await?;
        read(&answer, what)
    }
}

#[async_trait]
impl SecretsCallbacks for Host {
    async fn encrypt(&self, plaintexts: Vec<String>) -> stackwright::Result<Vec<String>> {
        let function = self.functions.encrypt;
        self.texts(function, &plaintexts, "encrypt", ErrorKind::Secrets)
            .await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> stackwright::Result<Vec<String>> {
        let function = self.functions.decrypt;
        self.texts(function, &ciphertexts, "decrypt", ErrorKind::Decrypt)
            .await
    }
}

#[async_trait]
impl KeyServiceCallbacks for Host {
    async fn wrap_key(&self, url: &str, key: DataKey) -> stackwright::Result<Vec<u8>> {
        let function = self.functions.wrap_key;
        self.key(function, (url, key.as_bytes()), "wrap_key", ErrorKind::Secrets)
            .await
    }

    async fn unwrap_key(&self, url: &str, wrapped: Vec<u8>) -> stackwright::Result<DataKey> {
        let function = self.functions.unwrap_key;
        let key = self.key(function, (url, &wrapped), "unwrap_key", ErrorKind::Decrypt);
        key.await.map(DataKey::new)
    }
}

/// The encryption of one stack.
struct StackSecrets {
    host: Arc<Host>,
    stack: String,
}

#[derive(Serialize)]
struct StackTexts<'a> {
    stack: &'a str,
    texts: Vec<String>,
}

impl StackSecrets {
    fn request(&self, texts: Vec<String>) -> StackTexts<'_> {
        let stack = &self.stack;
        StackTexts { stack, texts }
    }
}

#[async_trait]
impl SecretsCallbacks for StackSecrets {
    async fn encrypt(&self, plaintexts: Vec<String>) -> stackwright::Result<Vec<String>> {
        let (function, request) = (self.host.functions.encrypt_for_stack, self.request(plaintexts));
        self.host
            .texts(function, &request, "encrypt_for_stack", ErrorKind::Secrets)
            .await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> stackwright::Result<Vec<String>> {
        let (function, request) = (self.host.functions.decrypt_for_stack, self.request(ciphertexts));
        self.host
            .texts(function, &request, "decrypt_for_stack", ErrorKind::Decrypt)
            .await
    }
}

//! The host's encryption of secrets, for an engine and for single stacks.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use stackwright::{ErrorKind, property::json::to_vec, secrets::SecretsCallbacks};

use super::{Host, read};
use crate::provider::sw_call_t;

impl Host {
    /// Returns the encryption of the engine; `None` when the table has none.
    pub(crate) fn secrets(self: &Arc<Self>) -> Option<Arc<dyn SecretsCallbacks>> {
        self.functions.encrypt.is_some().then(|| Arc::clone(self) as _)
    }

    /// Returns the encryption of one stack; `None` when the table has none.
    pub(crate) fn secrets_of_stack(self: &Arc<Self>, stack: &str) -> Option<Arc<dyn SecretsCallbacks>> {
        let secrets = StackSecrets {
            host: Arc::clone(self),
            stack: stack.to_owned(),
        };
        let has_functions = self.functions.encrypt_for_stack.is_some();
        has_functions.then(|| Arc::new(secrets) as _)
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

//! Secrets of the host: encryption and decryption by Python functions.

use std::sync::Arc;

use async_trait::async_trait;
use pyo3::prelude::*;
use stackwright::{
    ErrorKind,
    secrets::{CallbackProvider, SecretsCallbacks, SecretsProvider},
};

use crate::errors::invalid;
use crate::function::{HostContext, HostFunction};

struct PythonSecrets {
    encrypt: HostFunction,
    decrypt: HostFunction,
}

/// Reads `(kind, state as JSON or None, encrypt, decrypt)`. Secrets of another manager's kind go to `others`.
pub(crate) fn python_secrets(
    described: &Bound<'_, PyAny>,
    context: &HostContext,
    others: Arc<dyn SecretsProvider>,
) -> PyResult<Arc<dyn SecretsProvider>> {
    let py = described.py();
    let (kind, state, encrypt, decrypt): (String, Option<String>, Bound<'_, PyAny>, Bound<'_, PyAny>) =
        described.extract()?;
    let state = state
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| invalid(py, format!("the state of the secrets is no JSON: {error}")))?;
    let callbacks = python_encryption(&encrypt, &decrypt, context)?;
    let provider = CallbackProvider::new(kind, state, callbacks).or(others);
    Ok(Arc::new(provider))
}

/// Reads the functions of an encryption of the host.
pub(crate) fn python_encryption(
    encrypt: &Bound<'_, PyAny>,
    decrypt: &Bound<'_, PyAny>,
    context: &HostContext,
) -> PyResult<Arc<dyn SecretsCallbacks>> {
    Ok(Arc::new(PythonSecrets {
        encrypt: HostFunction::read("encryption of the host", encrypt, context)?,
        decrypt: HostFunction::read("decryption of the host", decrypt, context)?,
    }))
}

#[async_trait]
impl SecretsCallbacks for PythonSecrets {
    async fn encrypt(&self, plaintexts: Vec<String>) -> stackwright::Result<Vec<String>> {
        ask(&self.encrypt, plaintexts, ErrorKind::Secrets).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> stackwright::Result<Vec<String>> {
        ask(&self.decrypt, ciphertexts, ErrorKind::Decrypt).await
    }
}

async fn ask(
    function: &HostFunction,
    texts: Vec<String>,
    kind: ErrorKind,
) -> stackwright::Result<Vec<String>> {
    function.call(texts, |returned| returned.extract(), kind).await
}

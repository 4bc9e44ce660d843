//! Secrets of the host: encryption and decryption by Python functions, of values or of data keys.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use pyo3::prelude::*;
use stackwright::{
    ErrorKind,
    binding::{HostSecrets, SecretsDocument},
    runtime::Runtime,
    secrets::{DataKey, KeyServiceCallbacks, SecretsCallbacks, SecretsProvider},
};

use crate::errors::{OrRaise as _, invalid};
use crate::function::{HostContext, HostFunction};

/// Two functions that reverse each other; the document beside them states what they take.
struct PythonSecrets {
    encrypt: HostFunction,
    decrypt: HostFunction,
}

/// Reads `(kind, state as JSON or None, encrypt, decrypt)`, or `(None, URL of a key service, wrap, unwrap)`. Secrets of another manager's
/// kind go to `others`.
pub(crate) fn python_secrets(
    described: &Bound<'_, PyAny>,
    context: &HostContext,
    others: Arc<dyn SecretsProvider>,
    runtime: &Runtime,
) -> PyResult<Arc<dyn SecretsProvider>> {
    let py = described.py();
    let (kind, text, encrypt, decrypt): (Option<String>, Option<String>, Bound<'_, PyAny>, Bound<'_, PyAny>) =
        described.extract()?;
    let document = match kind {
        None => SecretsDocument {
            url: Some(text.unwrap_or_default()),
            ..SecretsDocument::default()
        },
        Some(kind) => {
            let state = text.map(|text| serde_json::from_str(&text)).transpose();
            SecretsDocument {
                kind,
                state: state
                    .map_err(|error| invalid(py, format!("the state of the secrets is no JSON: {error}")))?,
                url: None,
            }
        }
    };
    let functions = python_encryption(&encrypt, &decrypt, context)?;
    functions.provider(document, others, runtime.clone()).or_raise(py)
}

/// Reads the functions of an encryption of the host.
pub(crate) fn python_encryption(
    encrypt: &Bound<'_, PyAny>,
    decrypt: &Bound<'_, PyAny>,
    context: &HostContext,
) -> PyResult<HostSecrets> {
    let secrets = Arc::new(PythonSecrets {
        encrypt: HostFunction::read("encryption of the host", encrypt, context)?,
        decrypt: HostFunction::read("decryption of the host", decrypt, context)?,
    });
    Ok(HostSecrets {
        values: Some(Arc::clone(&secrets) as _),
        keys: Some(secrets),
    })
}

/// Reads `(wrap_key, unwrap_key)`.
pub(crate) fn python_key_service(
    described: &Bound<'_, PyAny>,
    context: &HostContext,
) -> PyResult<Arc<dyn KeyServiceCallbacks>> {
    let (wrap, unwrap): (Bound<'_, PyAny>, Bound<'_, PyAny>) = described.extract()?;
    Ok(Arc::new(PythonSecrets {
        encrypt: HostFunction::read("key service", &wrap, context)?,
        decrypt: HostFunction::read("key service", &unwrap, context)?,
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

#[async_trait]
impl KeyServiceCallbacks for PythonSecrets {
    async fn wrap_key(&self, url: &str, key: DataKey) -> stackwright::Result<Vec<u8>> {
        let request = KeyRequest(url.to_owned(), key);
        self.encrypt
            .call(request, |returned| returned.extract(), ErrorKind::Secrets)
            .await
    }

    async fn unwrap_key(&self, url: &str, wrapped: Vec<u8>) -> stackwright::Result<DataKey> {
        let request = KeyRequest(url.to_owned(), DataKey::new(wrapped));
        let key = self.decrypt.call(
            request,
            |returned| returned.extract().map(DataKey::new),
            ErrorKind::Decrypt,
        );
        key.await
    }
}

/// The URL of a key service and a key, wiped once Python has its own copy.
struct KeyRequest(String, DataKey);

impl<'py> IntoPyObject<'py> for KeyRequest {
    type Target = pyo3::types::PyTuple;
    type Output = Bound<'py, Self::Target>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        (self.0, Cow::Borrowed(self.1.as_bytes())).into_pyobject(py)
    }
}

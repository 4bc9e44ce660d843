//! The host's encryption: its settings, and the functions that a binding hands over beside them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    error::{Error, Result},
    runtime::Runtime,
    secrets::{CallbackProvider, KeyServiceCallbacks, KeyServiceProvider, SecretsCallbacks, SecretsProvider},
};

/// The name and data that states record for the host's own encryption, or the URL of a key service.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SecretsSettings")]
pub struct SecretsDocument {
    /// The name of the encryption in deployments; `host` when left out.
    pub kind: String,
    /// Data that states keep beside the name for later readers; never a key.
    pub state: Option<Value>,
    /// The URL of a key (`awskms://alias/shop`). The host's functions then wrap and unwrap data keys with it, and the engine encrypts.
    pub url: Option<String>,
}

impl Default for SecretsDocument {
    fn default() -> Self {
        Self {
            kind: "host".to_owned(),
            state: None,
            url: None,
        }
    }
}

/// The functions of a host for secrets.
#[derive(Clone, Default)]
pub struct HostSecrets {
    /// Those that encrypt values.
    pub values: Option<Arc<dyn SecretsCallbacks>>,
    /// Those that wrap data keys.
    pub keys: Option<Arc<dyn KeyServiceCallbacks>>,
}

impl HostSecrets {
    /// Returns the functions of a host that encrypts values.
    #[must_use]
    pub fn of_values(values: Arc<dyn SecretsCallbacks>) -> Self {
        Self {
            values: Some(values),
            keys: None,
        }
    }

    /// Returns the functions of a host that wraps data keys.
    #[must_use]
    pub fn of_keys(keys: Arc<dyn KeyServiceCallbacks>) -> Self {
        Self {
            values: None,
            keys: Some(keys),
        }
    }

    /// Returns the provider of secrets that `document` describes; those of other managers go to `others`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the host does not have the functions.
    pub fn provider(
        self,
        document: SecretsDocument,
        others: Arc<dyn SecretsProvider>,
        runtime: Runtime,
    ) -> Result<Arc<dyn SecretsProvider>> {
        let SecretsDocument { kind, state, url } = document;
        match (url, self.values, self.keys) {
            (Some(url), _, Some(keys)) => {
                Ok(Arc::new(KeyServiceProvider::new(url, keys, runtime)?.or(others)))
            }
            (Some(url), _, None) => Err(Error::invalid(format!(
                "the host has no functions that wrap and unwrap the data key of {url}"
            ))),
            (None, Some(values), _) => Ok(Arc::new(CallbackProvider::new(kind, state, values).or(others))),
            (None, None, _) => Err(Error::invalid(
                "the host has no encryption of its own for this stack",
            )),
        }
    }
}

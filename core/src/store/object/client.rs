//! The HTTP client of bucket stores: one TLS library over one cryptographic library, and nothing from the environment that
//! was not passed.

use std::time::Duration;

use object_store::{
    BackoffConfig, ClientOptions, RetryConfig,
    client::{HttpClient, HttpConnector},
};
use reqwest::{NoProxy, Proxy, redirect::Policy};

use super::super::{REQUEST_TIMEOUT, credentials::Credentials, trust};
use crate::error::{Error, Result};

/// The limit of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a request is repeated, and the time after which it is not repeated any more.
const MAX_RETRIES: usize = 6;
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// The first and the longest pause between two attempts. A pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Returns when a request is repeated: after throttling, after errors of the server and after lost connections.
pub(super) fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: FIRST_PAUSE,
            max_backoff: LONGEST_PAUSE,
            base: 2.0,
        },
        max_retries: MAX_RETRIES,
        retry_timeout: RETRY_TIMEOUT,
    }
}

/// Makes the clients of a store. All of them are one client with one pool of connections.
#[derive(Clone, Debug)]
pub(super) struct Connector(reqwest::Client);

impl Connector {
    /// Creates the client. Proxies and certificate authorities are those of the environment where it may be used.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when a proxy or a file of certificates cannot be used.
    pub(super) fn new(credentials: &Credentials) -> Result<Self> {
        let tls = trust::client_config(&trust::roots(credentials)?, trust::Check::Full)?;
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .http1_only()
            .user_agent(concat!("stackwright/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls);
        let variable = |name: &str| {
            let lower = credentials.variable(&name.to_lowercase());
            lower.or_else(|| credentials.variable(name))
        };
        let excluded = variable("NO_PROXY").and_then(NoProxy::from_string);
        let malformed = |name: &str| Error::invalid(format!("the proxy of the variable {name} is malformed"));
        if let Some(url) = variable("HTTPS_PROXY") {
            let proxy = Proxy::https(url).map_err(|_| malformed("HTTPS_PROXY"))?;
            builder = builder.proxy(proxy.no_proxy(excluded.clone()));
        }
        // Only in lower case, as elsewhere: a web server sets the other one from a header of its request.
        if let Some(url) = credentials.variable("http_proxy") {
            let proxy = Proxy::http(url).map_err(|_| malformed("http_proxy"))?;
            builder = builder.proxy(proxy.no_proxy(excluded));
        }
        let client = builder
            .build()
            .map_err(|error| Error::internal(format!("creating an HTTP client: {error}")))?;
        Ok(Self(client))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

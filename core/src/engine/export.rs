//! HTTP client for the export of spans.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::{
    Client, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Clock,
    store::tls_config,
    telemetry::{SpanSender, Telemetry},
};

/// How long a connection attempt and a whole request may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);

/// The pause before a request is repeated, once, where the collector asks for it.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends requests to a collector; certificates are verified against Mozilla's root certificates. No proxy is used.
pub(super) struct HttpExport {
    client: Client,
    url: Url,
    headers: HeaderMap,
    clock: Arc<dyn Clock>,
}

impl HttpExport {
    /// Creates the client, without a connection.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an endpoint that is no URL of HTTP, and for a header that HTTP does not allow.
    pub(super) fn new(settings: &Telemetry, clock: Arc<dyn Clock>) -> Result<Self> {
        let url = Url::parse(&settings.url()).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| {
            Error::invalid("the endpoint of telemetry takes the URL of a collector, as http://localhost:4318")
        })?;
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let header = HeaderName::from_bytes(name.as_bytes())
                .ok()
                .zip(HeaderValue::from_str(value).ok());
            // The value can be a secret.
            let invalid = || {
                Error::invalid(format!(
                    "the header {name:?} of telemetry is none that HTTP allows"
                ))
            };
            let (name, mut value) = header.ok_or_else(invalid)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .http1_only()
            .user_agent(concat!("stackwright/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls_config()?)
            .build()
            .map_err(|error| Error::internal(format!("creating an HTTP client: {error}")))?;
        Ok(Self {
            client,
            url,
            headers,
            clock,
        })
    }

    async fn post(&self, body: Bytes) -> Result<StatusCode> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body);
        let response = request.send().await;
        let response =
            response.map_err(|error| Error::new(ErrorKind::Unavailable, error.without_url().to_string()))?;
        Ok(response.status())
    }
}

#[async_trait]
impl SpanSender for HttpExport {
    async fn send(&self, body: Bytes) -> Result<()> {
        let mut status = self.post(body.clone()).await?;
        // Those of the protocol that ask for another attempt.
        if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
            self.clock.wait(PAUSE).await;
            status = self.post(body).await?;
        }
        match status.is_success() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Unavailable,
                format!("the collector answers with the status {status}"),
            )),
        }
    }
}

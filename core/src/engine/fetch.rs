//! HTTP client for the hashes of remote assets and archives.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ureq::Agent;

use crate::{
    error::{Error, ErrorKind, Result},
    property::hash::Fetch,
    runtime::Spawner,
};

/// Maximum size of a body, in bytes.
const LIMIT: u64 = 400 * 1024 * 1024;

/// Limit for one download, redirections included.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);

/// Fetches `http` and `https` URIs; certificates are verified against Mozilla's root certificates.
///
/// No proxy is used. A host that needs a proxy or other root certificates supplies its own [`Fetch`].
pub(super) struct HttpFetch {
    agent: Agent,
    spawner: Spawner,
}

impl HttpFetch {
    pub(super) fn new(spawner: Spawner) -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .timeout_global(Some(FETCH_TIMEOUT))
            .build();
        Self {
            agent: config.into(),
            spawner,
        }
    }
}

#[async_trait]
impl Fetch for HttpFetch {
    async fn fetch(&self, uri: &str) -> Result<Bytes> {
        let (agent, uri) = (self.agent.clone(), uri.to_owned());
        let fetched = self.spawner.spawn_blocking(move || {
            let body = agent.get(&uri).call().and_then(|mut response| {
                let body = response.body_mut().with_config().limit(LIMIT);
                body.read_to_vec()
            });
            body.map(Bytes::from).map_err(|error| {
                Error::new(
                    ErrorKind::Unavailable,
                    format!("{uri} cannot be fetched: {error}"),
                )
            })
        });
        fetched.await?
    }
}

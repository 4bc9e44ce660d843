//! Fetching what URIs name over HTTP, for the hashes of remote assets and archives.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ureq::Agent;

use crate::{
    error::{Error, ErrorKind, Result},
    property::hash::Fetch,
    runtime::Spawner,
};

/// How big a body may be.
const LIMIT: u64 = 400 * 1024 * 1024;

/// How long one body may take, redirections included.
const PATIENCE: Duration = Duration::from_secs(300);

/// Fetches `http` and `https` URIs; certificates must lead to a root that the Mozilla foundation trusts.
///
/// No proxy is used, because none is named: a host that needs one, or other roots, supplies a [`Fetch`] of its own.
pub(super) struct HttpFetch {
    agent: Agent,
    spawner: Spawner,
}

impl HttpFetch {
    pub(super) fn new(spawner: Spawner) -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .timeout_global(Some(PATIENCE))
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

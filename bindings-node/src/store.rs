//! Stores of the host, and its callback for credentials, called over the bridge.

use std::sync::Arc;

use async_trait::async_trait;
use napi_derive::napi;
use stackwright::{
    Error, ErrorKind, Language, Result,
    binding::{CredentialHost, ObjectAnswer, ObjectCall, ObjectHost, StoreHost},
};

use crate::{
    bridge::Shared,
    host::JsHost,
    provider::{Answered, Request},
};

/// A store of the host as the package describes it.
#[napi(object)]
pub struct StoreEntry {
    /// The package's number of the object.
    pub number: u32,
    /// Whether the object has a method that copies.
    pub has_copy: bool,
}

/// Returns what the host supplies for the store.
pub(crate) fn store_host(
    shared: &Arc<Shared>,
    store: Option<&StoreEntry>,
    credentials: Option<u32>,
) -> StoreHost {
    let objects = store.map(|entry| JsStore {
        host: JsHost::new(shared, entry.number),
        has_copy: entry.has_copy,
    });
    let credentials = credentials.map(|number| JsCredentials(JsHost::new(shared, number)));
    StoreHost {
        language: Language::Node,
        objects: objects.map(|store| Arc::new(store) as _),
        credentials: credentials.map(|callback| Arc::new(callback) as _),
    }
}

struct JsStore {
    host: Arc<JsHost>,
    has_copy: bool,
}

#[async_trait]
impl ObjectHost for JsStore {
    async fn call(&self, call: ObjectCall) -> Result<ObjectAnswer> {
        match self
            .host
            .ask(Request::UseStore(call), ErrorKind::Unavailable)
            .await?
        {
            Answered::Supplied(answer) => Ok(answer),
            _ => Err(mismatch()),
        }
    }

    fn has_copy(&self) -> bool {
        self.has_copy
    }
}

struct JsCredentials(Arc<JsHost>);

#[async_trait]
impl CredentialHost for JsCredentials {
    async fn credentials(&self) -> Result<Vec<u8>> {
        match self.0.ask(Request::Credentials, ErrorKind::Unavailable).await? {
            Answered::Supplied(answer) => Ok(answer.listing.unwrap_or_default()),
            _ => Err(mismatch()),
        }
    }
}

/// The error of a response to another method: the bridge matches them, so this is a bug.
fn mismatch() -> Error {
    Error::internal("the host's response belongs to another method")
}

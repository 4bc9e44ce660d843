//! Components that a host implements beside providers, called over the bridge: journal, stack reader, secrets, fetcher,
//! autonamer, installer.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use stackwright::{
    Error, ErrorKind, Result,
    autonaming::{Autonamer, NamingRequest, Proposal},
    property::{PropertyMap, hash::Fetch, json::SecretForm},
    provider::{Installation, PluginInstaller, ResolutionRequest, builtin::StackReader},
    secrets::{DataKey, KeyServiceCallbacks, SecretsCallbacks},
    state::{
        JournalEntry,
        journal::{JournalReceiver, entry_to_json},
    },
};

use crate::{
    bridge::{Message, Shared},
    provider::{Answered, JsProvider, Request},
};

/// A component of the host, by the package's number.
pub(crate) struct JsHost {
    object: JsProvider,
    shared: Arc<Shared>,
    number: u32,
}

impl JsHost {
    /// Wraps the package's object `number`.
    pub(crate) fn new(shared: &Arc<Shared>, number: u32) -> Arc<Self> {
        Arc::new(Self {
            object: JsProvider::of_host(Arc::clone(shared), number),
            shared: Arc::clone(shared),
            number,
        })
    }

    /// Calls the object. An exception of this package becomes an error of the same kind, any other one of `kind`.
    pub(crate) async fn ask(&self, request: Request, kind: ErrorKind) -> Result<Answered> {
        match self.object.ask(request).await {
            Ok(Answered::Refused { code, message }) => {
                let own = ErrorKind::ALL
                    .iter()
                    .find(|kind| Some(kind.name()) == code.as_deref());
                Err(Error::new(own.copied().unwrap_or(kind), message))
            }
            Ok(answered) => Ok(answered),
            Err(error) => Err(Error::new(kind, error.message)),
        }
    }

    async fn values(&self, request: Request) -> Result<PropertyMap> {
        match self.ask(request, ErrorKind::NotFound).await? {
            Answered::Values(values) => Ok(values),
            _ => Err(mismatch()),
        }
    }

    async fn yes(&self, request: Request) -> Result<bool> {
        match self.ask(request, ErrorKind::Plugin).await? {
            Answered::Yes(yes) => Ok(yes),
            _ => Err(mismatch()),
        }
    }

    async fn texts(&self, request: Request, kind: ErrorKind) -> Result<Vec<String>> {
        match self.ask(request, kind).await? {
            Answered::Texts(texts) => Ok(texts),
            _ => Err(mismatch()),
        }
    }

    async fn key(&self, request: Request, kind: ErrorKind) -> Result<Vec<u8>> {
        let texts = self.texts(request, kind).await?;
        let key = texts.first().and_then(|text| STANDARD.decode(text).ok());
        key.ok_or_else(mismatch)
    }
}

impl Drop for JsHost {
    fn drop(&mut self) {
        self.shared.send(Message::HostDropped(self.number));
    }
}

/// The error of a response to another method: the bridge matches them, so this is a bug.
fn mismatch() -> Error {
    Error::internal("the host's response belongs to another method")
}

#[async_trait]
impl JournalReceiver for JsHost {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        let text = entry_to_json(entry, SecretForm::Base64)?;
        self.ask(Request::Receive(text), ErrorKind::Unavailable)
            .await
            .map(drop)
    }
}

#[async_trait]
impl StackReader for JsHost {
    async fn stack_outputs(&self, stack: &str) -> Result<PropertyMap> {
        self.values(Request::StackOutputs(stack.to_owned())).await
    }

    async fn stack_resource_outputs(&self, stack: &str) -> Result<PropertyMap> {
        self.values(Request::StackResourceOutputs(stack.to_owned())).await
    }
}

#[async_trait]
impl SecretsCallbacks for JsHost {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.texts(Request::Encrypt(plaintexts), ErrorKind::Secrets).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.texts(Request::Decrypt(ciphertexts), ErrorKind::Decrypt)
            .await
    }
}

/// The package converts keys to bytes and back; their text is base64.
#[async_trait]
impl KeyServiceCallbacks for JsHost {
    async fn wrap_key(&self, url: &str, key: DataKey) -> Result<Vec<u8>> {
        let texts = vec![url.to_owned(), STANDARD.encode(key.as_bytes())];
        self.key(Request::Encrypt(texts), ErrorKind::Secrets).await
    }

    async fn unwrap_key(&self, url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
        let texts = vec![url.to_owned(), STANDARD.encode(wrapped)];
        let key = self.key(Request::Decrypt(texts), ErrorKind::Decrypt);
        key.await.map(DataKey::new)
    }
}

#[async_trait]
impl Fetch for JsHost {
    async fn fetch(&self, uri: &str) -> Result<Bytes> {
        match self
            .ask(Request::Fetch(uri.to_owned()), ErrorKind::Unavailable)
            .await?
        {
            Answered::Content(content) => Ok(content),
            _ => Err(mismatch()),
        }
    }
}

#[async_trait]
impl Autonamer for JsHost {
    async fn propose(&self, request: NamingRequest) -> Result<Option<Proposal>> {
        match self.ask(Request::ProposeName(request), ErrorKind::Failed).await? {
            Answered::Proposal(proposal) => Ok(proposal),
            _ => Err(mismatch()),
        }
    }
}

#[async_trait]
impl PluginInstaller for JsHost {
    async fn is_installed(&self, plugin: ResolutionRequest) -> Result<bool> {
        self.yes(Request::IsInstalled(plugin)).await
    }

    async fn latest_version(&self, plugin: ResolutionRequest) -> Result<Option<semver::Version>> {
        match self
            .ask(Request::LatestVersion(plugin.clone()), ErrorKind::Plugin)
            .await?
        {
            Answered::Version(version) => version.map(|text| plugin.latest(&text)).transpose(),
            _ => Err(mismatch()),
        }
    }

    async fn install(&self, plugin: ResolutionRequest) -> Result<Installation> {
        Ok(match self.yes(Request::Install(plugin)).await? {
            true => Installation::Done,
            false => Installation::Declined,
        })
    }
}

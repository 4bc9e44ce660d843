//! The credentials of remote stores: given, from a callback of the host, or what the environment offers.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::lease::{DEFAULT_LENGTH, LENGTHS};
use crate::{
    error::{Error, Result},
    runtime::{Clock, Timestamp},
};

/// How long before its end a credential is replaced.
const RENEWAL_MARGIN: Duration = Duration::from_secs(60);

/// How long a credential is used that has no end.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);

/// What a remote store accepts as the identity of its user.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// Keys of AWS, for `s3://`.
    AwsKeys {
        /// The id of the access key.
        access_key_id: String,
        /// The secret access key.
        secret_access_key: String,
        /// The session token of temporary keys.
        session_token: Option<String>,
    },
    /// An OAuth token, for `gs://` and `azblob://`.
    BearerToken(String),
    /// The content of a key file of a Google service account, for `gs://`. Not from a [`CredentialSource`].
    GoogleServiceAccount(String),
    /// The key of a storage account, base64, for `azblob://`.
    AzureAccountKey(String),
    /// A shared access signature as a query string, for `azblob://`.
    AzureSignature(String),
    /// A password, for `postgres://`.
    Password(String),
}

impl Credential {
    const fn kind(&self) -> &'static str {
        match self {
            Self::AwsKeys { .. } => "keys of AWS",
            Self::BearerToken(_) => "a bearer token",
            Self::GoogleServiceAccount(_) => "a Google service account",
            Self::AzureAccountKey(_) => "an Azure account key",
            Self::AzureSignature(_) => "an Azure shared access signature",
            Self::Password(_) => "a password",
        }
    }

    /// The error of a store that does not accept this kind.
    pub(super) fn unsuitable(&self, scheme: &str, accepted: &str) -> Error {
        Error::invalid(format!(
            "a store of the scheme {scheme} takes {accepted} as its credentials, not {}",
            self.kind()
        ))
    }
}

/// Shows only the kind.
impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind())
    }
}

/// Supplies credentials while a store is used.
#[async_trait]
pub trait CredentialSource: Send + Sync + 'static {
    /// Returns a credential and the time of its end. It is asked for again one minute before the end; without an end, one
    /// minute after it was returned. Calls do not overlap.
    ///
    /// # Errors
    /// Any; the request of the store that needed the credential fails with it.
    async fn credential(&self) -> Result<(Credential, Option<Timestamp>)>;
}

/// Where the credentials of a store come from.
#[derive(Clone, Default)]
pub enum Credentials {
    /// There are none: for stores that need none, and for PostgreSQL with the password in the URL.
    #[default]
    None,
    /// This one, for as long as the store is used.
    Given(Credential),
    /// A callback.
    Callback(Arc<dyn CredentialSource>),
    /// These environment variables and what they refer to: keys, files of keys, web identities, and the metadata services of
    /// containers and virtual machines. For AWS also profiles with static keys in the files of `~/.aws`.
    Environment(Arc<BTreeMap<String, String>>),
}

/// How a remote store is used.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Where its credentials come from.
    pub credentials: Credentials,
    /// How long the lease of a stack lasts that its holder does not renew: 2 s to 1 h, by default 30 s. The store of a folder has
    /// locks that end with the process instead.
    pub lease: Duration,
    /// Allows a bucket whose server ignores the conditions of writes. Then nothing keeps two hosts from changing a stack at once.
    pub allow_unfenced: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            credentials: Credentials::None,
            lease: DEFAULT_LENGTH,
            allow_unfenced: false,
        }
    }
}

impl From<Credentials> for StoreSettings {
    fn from(credentials: Credentials) -> Self {
        Self {
            credentials,
            ..Self::default()
        }
    }
}

impl StoreSettings {
    /// Returns the length of a lease.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when it is out of range.
    pub(super) fn lease(&self) -> Result<Duration> {
        if LENGTHS.contains(&self.lease) {
            return Ok(self.lease);
        }
        Err(Error::invalid(format!(
            "the lease of a stack must last {:?} to {:?}, not {:?}",
            LENGTHS.start(),
            LENGTHS.end(),
            self.lease
        )))
    }
}

impl Credentials {
    /// Returns a variable of the environment; `None` where the environment may not be used.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        match self {
            Self::Environment(variables) => variables
                .get(name)
                .map(String::as_str)
                .filter(|it| !it.is_empty()),
            Self::None | Self::Given(_) | Self::Callback(_) => None,
        }
    }
}

/// The error of a store that needs credentials and has none.
pub(super) fn missing(url: &str) -> Error {
    Error::invalid(format!("the store {url} needs credentials")).with_hint(
        "pass credentials or a credential callback with the store, or allow the use of the environment",
    )
}

/// The error of a source of credentials that only the host can use.
pub(super) fn only_by_callback(what: &str) -> Error {
    Error::invalid(format!("{what} is not supported as a source of credentials")).with_hint(
        "pass a credential callback that returns the keys or tokens which the provider's own library finds",
    )
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Given(credential) => formatter.debug_tuple("Given").field(credential).finish(),
            Self::Callback(_) => formatter.write_str("Callback"),
            Self::Environment(_) => formatter.write_str("Environment"),
        }
    }
}

/// The credentials of a callback in the form `T` that a client needs, kept while they are valid.
pub(super) struct Kept<T> {
    source: Arc<dyn CredentialSource>,
    clock: Arc<dyn Clock>,
    convert: fn(Credential) -> Result<T>,
    current: tokio::sync::Mutex<Option<(Arc<T>, Timestamp)>>,
}

impl<T> Kept<T> {
    pub(super) fn new(
        source: Arc<dyn CredentialSource>,
        clock: Arc<dyn Clock>,
        convert: fn(Credential) -> Result<T>,
    ) -> Self {
        Self {
            source,
            clock,
            convert,
            current: tokio::sync::Mutex::new(None),
        }
    }

    /// Returns the current credential, and asks for one when there is none or its end is near.
    pub(super) async fn get(&self) -> Result<Arc<T>> {
        let mut current = self.current.lock().await;
        match &*current {
            Some((credential, until)) if self.clock.now() < *until => {
                return Ok(Arc::clone(credential));
            }
            _ => {}
        }
        let (credential, end) = self.source.credential().await?;
        let credential = Arc::new((self.convert)(credential)?);
        let now = self.clock.now();
        // Out of range only for an end that is hardly a time.
        let until = match end {
            Some(end) => end.checked_sub(RENEWAL_MARGIN),
            None => now.checked_add(DEFAULT_LIFETIME),
        };
        *current = Some((Arc::clone(&credential), until.unwrap_or(now)));
        Ok(credential)
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Kept").finish_non_exhaustive()
    }
}

//! Buckets: S3, Google Cloud Storage and Azure Blob Storage, in the reference engine's layout.

mod azure;
mod client;
mod failure;
mod gcs;
mod profile;
mod s3;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::{
    Attribute, Attributes, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
    UpdateVersion,
    list::{PaginatedListOptions, PaginatedListStore},
    path::Path,
};

use super::{
    Condition, HostFacts, Object, ObjectInfo, Objects, Store, StoreSettings, Version, changed, check_key,
    credentials::Credentials,
    location::Location,
    not_found,
    pace::{Pace, REWRITE_INTERVAL},
    shared::shared,
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Runtime, Timestamp},
};

/// The name of the metadata that marks each write, so that a write whose answer was lost is recognised.
const MARK: &str = "stackwrightwrite";

/// Versions that no object has.
const WRONG_TAG: &str = "\"00000000000000000000000000000000\"";
const WRONG_GENERATION: &str = "1";

/// The limit of attempts to create an object while others create and remove it.
const MAX_CREATIONS: usize = 4;

/// A client of a bucket.
trait Client: ObjectStore + PaginatedListStore {}

impl<T: ObjectStore + PaginatedListStore> Client for T {}

/// A bucket of S3, Google Cloud Storage or Azure Blob Storage.
struct Bucket {
    client: Arc<dyn Client>,
    url: String,
    prefix: String,
    versions: Versions,
    /// Whether a listing leaves out the object whose key is the prefix.
    omits_prefix: bool,
    pace: Pace,
    runtime: Runtime,
}

/// What distinguishes the contents of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Versions {
    /// The entity tag.
    Tag,
    /// The generation.
    Generation,
}

/// Opens the store of a URL of the scheme `s3`, `gs` or `azblob`. Nothing is sent.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] when the URL or the credentials cannot be used.
pub(super) fn open(
    url: &str,
    scheme: &str,
    settings: &StoreSettings,
    runtime: &Runtime,
) -> Result<Arc<dyn Store>> {
    let bucket = Bucket::open(url, scheme, &settings.credentials, runtime)?;
    shared(Arc::new(bucket), settings, runtime, &HostFacts::system())
}

impl Bucket {
    fn open(url: &str, scheme: &str, credentials: &Credentials, runtime: &Runtime) -> Result<Self> {
        let location = Location::parse(url)?;
        let (url, prefix) = (location.url().to_owned(), location.prefix.clone());
        let (client, versions): (Arc<dyn Client>, _) = match scheme {
            "gs" => (
                Arc::new(gcs::client(location, credentials, runtime)?),
                Versions::Generation,
            ),
            "azblob" => (
                Arc::new(azure::client(location, credentials, runtime)?),
                Versions::Tag,
            ),
            _ => (
                Arc::new(s3::client(location, credentials, runtime)?),
                Versions::Tag,
            ),
        };
        // The other servers have no such limit.
        let interval = match versions {
            Versions::Generation => REWRITE_INTERVAL,
            Versions::Tag => Duration::ZERO,
        };
        Ok(Self {
            pace: Pace::new(Arc::clone(&runtime.clock), interval),
            client,
            url,
            prefix,
            versions,
            omits_prefix: scheme == "azblob",
            runtime: runtime.clone(),
        })
    }

    fn path(&self, key: &str) -> Result<Path> {
        check_key(key)?;
        Path::parse(format!("{}{key}", self.prefix))
            .map_err(|_| Error::invalid(format!("invalid object key {key:?}")))
    }

    fn failed(&self, error: &object_store::Error, action: &str, key: &str) -> Error {
        failure::convert(error, &self.url, &format!("{action} {key:?}"))
    }

    fn version_of(&self, tag: Option<String>, generation: Option<String>) -> Result<Version> {
        let version = match self.versions {
            Versions::Tag => tag,
            Versions::Generation => generation,
        };
        version.map(Version::from).ok_or_else(|| {
            Error::new(
                ErrorKind::Unavailable,
                format!(
                    "the server of {} does not return the version of an object",
                    self.url
                ),
            )
        })
    }

    /// Reads the attributes of an object, without its content.
    async fn head(&self, path: &Path, key: &str) -> Result<Option<(ObjectMeta, Attributes)>> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        match self.client.get_opts(path, options).await {
            Ok(found) => Ok(Some((found.meta, found.attributes))),
            Err(error) if failure::is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed(&error, "read", key)),
        }
    }

    fn mode(&self, condition: &Condition) -> PutMode {
        match condition {
            Condition::Any => PutMode::Overwrite,
            Condition::Absent => PutMode::Create,
            Condition::Match(version) => {
                let version = Some(version.to_string());
                PutMode::Update(match self.versions {
                    Versions::Tag => UpdateVersion {
                        e_tag: version,
                        version: None,
                    },
                    Versions::Generation => UpdateVersion { e_tag: None, version },
                })
            }
        }
    }
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Bucket")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Objects for Bucket {
    fn url(&self) -> String {
        self.url.clone()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        let path = self.path(key)?;
        let found = match self.client.get_opts(&path, GetOptions::default()).await {
            Ok(found) => found,
            Err(error) if failure::is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.failed(&error, "read", key)),
        };
        let version = self.version_of(found.meta.e_tag.clone(), found.meta.version.clone())?;
        match found.bytes().await {
            Ok(bytes) => Ok(Some(Object { bytes, version })),
            Err(error) => Err(self.failed(&error, "read", key)),
        }
    }

    /// A write whose condition does not hold is looked at: an earlier attempt of the same write may have succeeded, and
    /// only its answer been lost.
    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let path = self.path(key)?;
        let mark = self.runtime.random.uuid();
        for _ in 0..MAX_CREATIONS {
            self.pace.admit(key).await;
            let options = PutOptions {
                mode: self.mode(&condition),
                attributes: Attributes::from_iter([(Attribute::Metadata(MARK.into()), mark.clone())]),
                ..PutOptions::default()
            };
            let error = match self.client.put_opts(&path, bytes.clone().into(), options).await {
                Ok(put) => return self.version_of(put.e_tag, put.version),
                Err(error) => error,
            };
            if failure::is_missing(&error) && matches!(condition, Condition::Match(_)) {
                return Err(changed(key));
            }
            if !failure::is_conflict(&error) {
                return Err(self.failed(&error, "write", key));
            }
            let found = self.head(&path, key).await?;
            let is_own = |attributes: &Attributes| {
                attributes
                    .get(&Attribute::Metadata(MARK.into()))
                    .is_some_and(|found| **found == *mark)
            };
            match (found, &condition) {
                (Some((meta, attributes)), _) if is_own(&attributes) => {
                    return self.version_of(meta.e_tag, meta.version);
                }
                // Two writers created it at once, or another one has removed it meanwhile.
                (None, Condition::Absent) => {}
                _ => return Err(changed(key)),
            }
        }
        Err(changed(key))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let full = format!("{}{prefix}", self.prefix);
        let asked = match full.char_indices().next_back() {
            Some((last, character)) if self.omits_prefix && character != '/' => &full[..last],
            _ => &full,
        };
        let asked = (!asked.is_empty()).then_some(asked);
        let (mut objects, mut token) = (Vec::new(), None);
        loop {
            let options = PaginatedListOptions {
                page_token: token.take(),
                ..PaginatedListOptions::default()
            };
            let page = match self.client.list_paginated(asked, options).await {
                Ok(page) => page,
                Err(error) => return Err(self.failed(&error, "list the objects of", prefix)),
            };
            objects.extend(page.result.objects.into_iter().filter_map(|meta| {
                let key = meta.location.as_ref().strip_prefix(&self.prefix)?;
                if !key.starts_with(prefix) {
                    return None;
                }
                let (seconds, nanoseconds) = (
                    meta.last_modified.timestamp(),
                    meta.last_modified.timestamp_subsec_nanos(),
                );
                Some(ObjectInfo {
                    key: key.to_owned(),
                    size: meta.size,
                    modified: Timestamp::new(seconds, i32::try_from(nanoseconds).unwrap_or(0)).ok()?,
                })
            }));
            token = page.page_token;
            if token.is_none() {
                break;
            }
        }
        objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Ok(objects)
    }

    async fn delete(&self, key: &str) -> Result<()> {
        match self.client.delete(&self.path(key)?).await {
            Ok(()) => Ok(()),
            Err(error) if failure::is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed(&error, "remove", key)),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.pace.admit(to).await;
        match self.client.copy(&self.path(from)?, &self.path(to)?).await {
            Ok(()) => Ok(()),
            Err(error) if failure::is_missing(&error) => Err(not_found(from)),
            Err(error) => Err(self.failed(&error, "copy", from)),
        }
    }

    async fn version(&self, key: &str) -> Result<Option<Version>> {
        let found = self.head(&self.path(key)?, key).await?;
        found
            .map(|(meta, _)| self.version_of(meta.e_tag, meta.version))
            .transpose()
    }

    fn wrong_version(&self) -> Version {
        match self.versions {
            Versions::Tag => WRONG_TAG.into(),
            Versions::Generation => WRONG_GENERATION.into(),
        }
    }
}

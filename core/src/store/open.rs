//! Opening a store by its URL.

use std::{path::Path, sync::Arc};

use super::{
    FileStore, MemoryStore, Store, StoreSettings,
    location::{shown, unknown_parameter},
    numbered::{Removal, with_journals},
    object::open as open_bucket,
    postgres::PostgresStore,
};
use crate::{
    error::{Error, Result},
    runtime::Runtime,
};

/// Opens the store of a URL: `file:///absolute/folder`, `file://./relative/folder` or `memory://`. Stores that need
/// credentials are opened with [`open_with`].
///
/// Relative folders are resolved against `base`. These URLs have no host, as those of the reference engine, so that
/// `file://state` equals `file://./state`. A folder need not exist: the first write creates it. Each `memory://` is a
/// new, empty store.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] when the scheme is unknown or missing.
/// # Examples
/// ```
/// use std::path::Path;
///
/// use stackwright::{runtime::Runtime, store};
///
/// # fn main() -> stackwright::Result<()> {
/// # let tokio = tokio::runtime::Runtime::new().unwrap();
/// let runtime = Runtime::system(tokio.handle().clone());
/// let store = store::open("file://./state", Path::new("/srv/shop"), &runtime)?;
/// assert!(store.url().starts_with("file:///srv/shop/"));
/// # Ok(())
/// # }
/// ```
pub fn open(url: &str, base: &Path, runtime: &Runtime) -> Result<Arc<dyn Store>> {
    open_with(url, base, runtime, &StoreSettings::default())
}

/// Opens the store of a URL with settings: one of [`open`], or
///
/// - `s3://bucket/prefix`, with the parameters `region`, `profile`, `endpoint` (with https, unless it has a scheme or
///   `disableSSL` is true), `s3ForcePathStyle` or `use_path_style`, `disableSSL` or `disable_https`,
///   `request_checksum_calculation` (`when_supported` adds a checksum to the signature of each upload), `anonymous` and
///   `awssdk`, which is ignored;
/// - `gs://bucket/prefix`, with the parameter `anonymous`;
/// - `azblob://container/prefix`, with the parameters `storage_account`, `domain`, `protocol` and `localemu`.
/// - `postgres://user:password@host:port/database`, with the parameter `table` (`pulumi_state` by default), the parameters of
///   TLS of the server's own tools (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`; without one, TLS is required, as with
///   `sslmode=require`) and those of the connection (`host`, `connect_timeout`, `application_name`…).
///
/// The path of a bucket is the prefix of all keys. Nothing is sent before the first use of the store.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] when the URL, one of its parameters or the settings cannot be used.
pub fn open_with(
    url: &str,
    base: &Path,
    runtime: &Runtime,
    settings: &StoreSettings,
) -> Result<Arc<dyn Store>> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(
            Error::invalid(format!("the store URL {:?} has no scheme", shown(url))).with_hint(
                "write file://./state for a folder, or memory:// for a store that ends with the process",
            ),
        );
    };
    match scheme {
        "memory" if rest.is_empty() => Ok(Arc::new(MemoryStore::new(runtime.clone()))),
        "memory" => Err(Error::invalid(format!(
            "the store URL {url:?} must be just memory://"
        ))),
        "file" => {
            let path = file_path(url, rest)?;
            Ok(Arc::new(FileStore::new(base.join(path), runtime.clone())?))
        }
        "s3" | "gs" | "azblob" => open_bucket(url, scheme, settings, runtime),
        "postgres" | "postgresql" => Ok(with_journals(
            PostgresStore::open(url, settings, runtime)?,
            runtime,
            Removal::Conditional,
        )),
        other => Err(Error::invalid(format!(
            "the store URL {:?} has the scheme {other:?}, which is not supported",
            shown(url)
        ))
        .with_hint(
            "there are file:///absolute/folder, file://./relative/folder, memory://, s3://bucket, gs://bucket, \
             azblob://container and postgres://host/database; a program can also pass a store of its own, an object with the methods \
             get, put, list and delete",
        )),
    }
}

/// The parameters of a folder that the reference engine knows. They change nothing here: folders are created, temporary files lie beside their
/// targets, and sidecars are always written.
const IGNORED_OF_FILE: [&str; 6] = [
    "no_tmp_dir",
    "metadata",
    "create_dir",
    "dir_file_mode",
    "base_url",
    "secret_key_path",
];

/// Parses the path of a file URL. The parameters after `?` must be known, and are ignored.
fn file_path(url: &str, rest: &str) -> Result<String> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
        if !IGNORED_OF_FILE.contains(&name) {
            return Err(unknown_parameter(url, name, &IGNORED_OF_FILE));
        }
    }
    if path.is_empty() {
        return Err(Error::invalid(format!("the store URL {url:?} names no folder")));
    }
    if path == "~" || path.starts_with("~/") {
        return Err(Error::invalid(format!(
            "the store URL {url:?} starts with ~, which only a shell expands"
        ))
        .with_hint("write the absolute path"));
    }
    percent_decode(path)
        .ok_or_else(|| Error::invalid(format!("the store URL {url:?} has an invalid percent escape")))
}

pub(crate) fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url_of(url: &str) -> Result<String> {
        let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let runtime = Runtime::system(executor.handle().clone());
        open(url, Path::new("/base"), &runtime).map(|store| store.url())
    }

    #[test]
    fn relative_folders_are_resolved_against_the_base() {
        assert_eq!(url_of("file:///abs/state").unwrap(), "file:///abs/state");
        assert_eq!(url_of("file://./state").unwrap(), "file:///base/state");
        assert_eq!(url_of("file://state").unwrap(), "file:///base/state");
        assert_eq!(
            url_of("file://a%20b?no_tmp_dir=true&metadata=skip&create_dir=1").unwrap(),
            "file:///base/a b"
        );
        assert_eq!(url_of("memory://").unwrap(), "memory://");
    }

    #[test]
    fn the_error_of_an_invalid_url_names_the_reason() {
        for (url, reason) in [
            ("state", "no scheme"),
            ("ftp://host", "\"ftp\", which is not supported"),
            ("s3://bucket", "needs credentials"),
            ("s3://bucket?acl=x", "unknown parameter \"acl\""),
            ("file://", "names no folder"),
            ("file:///abs?prefix=a", "unknown parameter \"prefix\""),
            (
                "file:///abs?no_tmp_dir=true&region=x",
                "unknown parameter \"region\"",
            ),
            ("file://~/x", "starts with ~"),
            ("file:///a%zz", "percent escape"),
        ] {
            let error = url_of(url).unwrap_err();
            assert!(error.message().contains(reason), "{url}: {error}");
        }
    }
}

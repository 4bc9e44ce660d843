//! Sidecars: the reference engine's file driver writes `<file>.attrs` beside each object, with the object's MD5 digest.
//!
//! A sidecar is removed before its object is replaced and written afterwards. A crash in between leaves an object
//! without sidecar. It is not synced: after a power failure it is complete or unreadable.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};

use super::system::{create_private, failure, is_absent};
use crate::{
    error::Result,
    store::{Md5Digest, layout},
};

/// The content of a sidecar, in the order of the reference engine's driver.
#[derive(Serialize)]
struct Attributes<'a> {
    #[serde(rename = "user.cache_control")]
    cache_control: &'a str,
    #[serde(rename = "user.content_disposition")]
    content_disposition: &'a str,
    #[serde(rename = "user.content_encoding")]
    content_encoding: &'a str,
    #[serde(rename = "user.content_language")]
    content_language: &'a str,
    #[serde(rename = "user.content_type")]
    content_type: &'a str,
    #[serde(rename = "user.metadata")]
    metadata: Option<()>,
    md5: String,
}

/// Returns whether this store writes a sidecar for an object: for checkpoints and their backups. History files, which
/// never change, have none, as creating a file is expensive.
pub(super) fn is_kept_for(key: &str) -> bool {
    key.starts_with(layout::STACKS)
}

/// Returns whether an object may have a sidecar, of this store or of the reference engine.
pub(super) fn may_stand_beside(key: &str) -> bool {
    is_kept_for(key) || key.starts_with(layout::HISTORY)
}

/// Returns the digest of a content.
pub(in crate::store) fn digest(bytes: &[u8]) -> Md5Digest {
    Md5::digest(bytes).into()
}

/// Writes the text of a sidecar.
pub(super) fn encode(digest: Md5Digest) -> Vec<u8> {
    let attributes = Attributes {
        cache_control: "",
        content_disposition: "",
        content_encoding: "",
        content_language: "",
        content_type: "text/plain; charset=utf-8",
        metadata: None,
        md5: STANDARD.encode(digest),
    };
    let mut text = serde_json::to_vec(&attributes).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Parses the digest in the text of a sidecar; `None` for an unknown format.
pub(super) fn decode(text: &[u8]) -> Option<Md5Digest> {
    #[derive(Deserialize)]
    struct Recorded {
        md5: String,
    }
    let recorded: Recorded = serde_json::from_slice(text).ok()?;
    STANDARD.decode(recorded.md5).ok()?.try_into().ok()
}

/// Reads the sidecar of a file.
pub(super) fn read(file: &Path) -> Option<Vec<u8>> {
    fs::read(path(file)).ok()
}

/// Removes the sidecar of a file that is about to be replaced or has been removed.
pub(super) fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(path(file)) {
        Err(error) if !is_absent(&error) => Err(failure("removing", &path(file), error)),
        _ => Ok(()),
    }
}

/// Moves the sidecar of a file that is about to be replaced to another name of its content. After a failure both are
/// without one, or the sidecar stays.
pub(super) fn move_to(file: &Path, other: &Path) {
    match fs::rename(path(file), path(other)) {
        Err(error) if !is_absent(&error) => {
            tracing::debug!(path = %path(other).display(), %error, "a sidecar could not be moved");
        }
        _ => {}
    }
}

/// Writes the sidecar of a file that has none. After a failure the file has none.
pub(super) fn write(file: &Path, text: &[u8]) {
    let path = path(file);
    let written = create_private(&path).and_then(|mut sidecar| sidecar.write_all(text));
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "a sidecar could not be written");
        if error.kind() != io::ErrorKind::AlreadyExists {
            fs::remove_file(&path).ok();
        }
    }
}

fn path(file: &Path) -> PathBuf {
    let mut path = file.to_owned().into_os_string();
    path.push(".attrs");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sidecar that the reference engine's driver has written for `.pulumi/meta.yaml`.
    const META: &str = concat!(
        r#"{"user.cache_control":"","user.content_disposition":"","user.content_encoding":"","#,
        r#""user.content_language":"","user.content_type":"text/plain; charset=utf-8","user.metadata":null,"#,
        r#""md5":"EaRWdV65+nlqCnYlI4a4Wg=="}"#,
        "\n"
    );

    #[test]
    fn a_sidecar_has_the_text_of_the_reference_engine() {
        let digest = digest(b"version: 1\n");
        assert_eq!(String::from_utf8(encode(digest)).unwrap(), META);
        assert_eq!(decode(META.as_bytes()), Some(digest));
        for damaged in [
            "",
            "{}",
            r#"{"md5":""}"#,
            r#"{"md5":"EaRW"}"#,
            &META[..META.len() / 2],
        ] {
            assert_eq!(decode(damaged.as_bytes()), None, "{damaged}");
        }
    }
}

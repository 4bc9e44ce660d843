//! The deployment format: snapshots as the reference engine's version 3 and 4 JSON, in checkpoints and in exports.
//!
//! Documents are written and parsed as streams of records. Secrets are encrypted and decrypted in one batch each; a
//! ciphertext that was read is remembered, so that a snapshot that is read and written back has the same bytes
//! (times come back in UTC, and objects that the engine does not interpret have their keys sorted).

mod document;
mod feature;
mod free_form;
mod interner;
mod known_members;
mod manifest_of;
mod parts;
mod read;
mod record;
mod references_of;
mod secrets_of;
mod write;

use sha2::{Digest as _, Sha256};

pub(crate) use document::NEWEST_VERSION;
pub(in crate::state) use document::parse;
pub(in crate::state) use free_form::maybe as maybe_free_form;
pub(crate) use manifest_of::{has_magic, magic_mismatch};
pub use read::Checkpoint;
pub(crate) use read::read_large_checkpoint;
pub use read::{SecretsAccess, read_checkpoint, read_deployment};
pub(in crate::state) use read::{check_record, decrypt};
pub use record::RecordJson;
use record::RecordsJson;
pub(crate) use record::StateJson;
pub(crate) use references_of::references_of_checkpoint;
pub(crate) use secrets_of::secrets_of_checkpoint;
pub(in crate::state) use write::encrypt;
pub use write::{Layout, SecretsShown, write_checkpoint, write_deployment};
pub(crate) use write::{write_beside, write_encrypted_deployment};

/// Returns the lower-case hex SHA-256 of `bytes` without blanks at their end, which mean nothing in a checkpoint. Journals name the
/// checkpoint that they extend by it.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes.trim_ascii_end())
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string does not fail.
            write!(text, "{byte:02x}").unwrap_or_default();
            text
        })
}

/// Returns the magic that a manifest of `version` must have.
#[must_use]
pub fn magic(version: &str) -> String {
    if version.is_empty() {
        String::new()
    } else {
        content_hash(version.as_bytes())
    }
}

#[cfg(test)]
mod tests;

//! The content of a row: a JSON document with the object in base64.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    error::{Error, ErrorKind, Result},
    store::Version,
};

#[derive(Deserialize)]
struct Row<'text> {
    #[serde(borrow)]
    data: Cow<'text, str>,
}

/// Writes the document of an object.
pub(super) fn encode(bytes: &[u8]) -> String {
    const BEGIN: &str = "{\"data\":\"";
    let mut text = String::with_capacity(BEGIN.len() + bytes.len().div_ceil(3) * 4 + 2);
    text.push_str(BEGIN);
    BASE64_STANDARD.encode_string(bytes, &mut text);
    text.push_str("\"}");
    text
}

/// Reads the document of the object `key`.
pub(super) fn decode(key: &str, text: &str) -> Result<Bytes> {
    let malformed = |reason: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::State,
            format!("the row of the object {key:?} is malformed: {reason}"),
        )
    };
    let row: Row<'_> = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let bytes = BASE64_STANDARD.decode(row.data.as_bytes());
    bytes.map(Bytes::from).map_err(|error| malformed(&error))
}

/// Returns the version of a row with this document: the same as the server computes. The table has no column for it, and
/// another program that writes a row changes it nevertheless.
pub(super) fn version_of(text: &str) -> Version {
    let hash = Sha256::digest(text.as_bytes());
    let mut version = String::with_capacity(hash.len() * 2);
    for byte in hash {
        for digit in [byte >> 4, byte & 15] {
            version.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    version.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_the_reference_engines_and_can_be_written_with_spaces() {
        assert_eq!(encode(b"{}"), r#"{"data":"e30="}"#);
        assert_eq!(&decode("k", &encode(b"{}")).unwrap()[..], b"{}");
        assert_eq!(&decode("k", r#"{ "data" : "e30=" }"#).unwrap()[..], b"{}");
        assert_eq!(
            &*version_of(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        for text in ["{}", r#"{"data": 1}"#, r#"{"data": "e3"}"#] {
            assert!(
                decode("k", text).unwrap_err().message().contains("\"k\""),
                "{text}"
            );
        }
    }
}

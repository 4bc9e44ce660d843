//! Extensions: packages that a provider serves beside its own, once it has been given their parameter.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use crate::error::{Error, ErrorKind, Result};

/// An extension of a package, which the package's provider serves once it has been given its value.
///
/// ```
/// use stackwright::resource::Extension;
///
/// let extension = Extension::new("more", "1.0.0", b"into more".to_vec());
/// // A record of a resource that needs it has its reference.
/// assert!(extension.reference().starts_with("6ad8e93c"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Extension {
    reference: SmolStr,
    /// The name of the package that the extension is.
    pub name: String,
    /// Its version; empty for none.
    pub version: String,
    /// The value; opaque to the engine.
    pub value: Vec<u8>,
}

/// An extension as deployments and journals have it, with its value in base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ExtensionJson {
    name: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    value: String,
}

impl Extension {
    /// Creates an extension. Its reference follows from its content.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>, value: Vec<u8>) -> Self {
        let (name, version) = (name.into(), version.into());
        let mut digest = Sha256::new();
        for part in [name.as_bytes(), b"\0", version.as_bytes(), b"\0", &value] {
            digest.update(part);
        }
        let digits = digest.finalize().into_iter().map(|byte| format!("{byte:02x}"));
        Self {
            reference: digits.collect::<String>().into(),
            name,
            version,
            value,
        }
    }

    /// Returns the reference under which records name it: the hex SHA-256 of name, version and value, with a zero byte
    /// between them.
    #[must_use]
    pub fn reference(&self) -> &SmolStr {
        &self.reference
    }

    /// Returns the JSON of deployments: `name`, `version` and `value`, in base64.
    #[must_use]
    pub(crate) fn to_json(&self) -> ExtensionJson {
        ExtensionJson {
            name: self.name.clone(),
            version: self.version.clone(),
            value: STANDARD.encode(&self.value),
        }
    }

    /// Reads the JSON of deployments. The extension keeps the reference under which it was recorded.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the value is not base64.
    pub(crate) fn of_json(reference: &str, json: ExtensionJson) -> Result<Self> {
        let value = STANDARD.decode(&json.value).map_err(|error| {
            let text = format!("the value of the extension {reference} is not base64: {error}");
            Error::new(ErrorKind::State, text)
        })?;
        Ok(Self {
            reference: reference.into(),
            name: json.name,
            version: json.version,
            value,
        })
    }
}

impl From<ExtensionJson> for serde_json::Value {
    fn from(json: ExtensionJson) -> Self {
        let ExtensionJson { name, version, value } = json;
        serde_json::json!({"name": name, "version": version, "value": value})
    }
}

/// Name, version and reference; the value may be large.
impl fmt::Debug for Extension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Extension")
            .field("reference", &self.reference)
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// The name, and the version where there is one.
impl fmt::Display for Extension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        match self.version.as_str() {
            "" => Ok(()),
            version => write!(formatter, " {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_the_hash_of_the_content_with_a_zero_byte_between_its_parts() {
        let extension = Extension::new("more", "1.0.0", b"into more".to_vec());
        // printf 'more\0001.0.0\000into more' | sha256sum
        assert_eq!(
            extension.reference(),
            "6ad8e93c372da4925085c348182aa6cbf8d5aa60c2e66a86292b728e4615defc"
        );
        let again = Extension::new("more", "1.0.0", b"into more".to_vec());
        assert_eq!(extension, again);
        for other in [
            Extension::new("more1", ".0.0", b"into more".to_vec()),
            Extension::new("more", "1.0.0i", b"nto more".to_vec()),
            Extension::new("more", "1.0.0", b"into mor".to_vec()),
        ] {
            assert_ne!(other.reference(), extension.reference(), "{other:?}");
        }
    }

    #[test]
    fn it_is_written_with_its_value_in_base64_and_read_under_its_recorded_reference() {
        let extension = Extension::new("more", "", vec![0, 255]);
        let json = serde_json::Value::from(extension.to_json());
        assert_eq!(json, serde_json::to_value(extension.to_json()).unwrap());
        assert_eq!(
            json,
            serde_json::json!({"name": "more", "version": "", "value": "AP8="})
        );
        let json: ExtensionJson = serde_json::from_value(json).unwrap();
        assert_eq!(
            Extension::of_json(extension.reference(), json).unwrap(),
            extension
        );
        let json = serde_json::from_value(serde_json::json!({"name": "more", "value": "?"})).unwrap();
        let error = Extension::of_json("abc", json).unwrap_err();
        assert!(
            error
                .message()
                .starts_with("the value of the extension abc is not base64"),
            "{error}"
        );
    }
}

//! Reads the magic that a checkpoint or a deployment document names, without reading its resources.

use serde::Deserialize;

use super::magic;
use crate::error::{Error, ErrorKind};

/// Returns whether the magic of the manifest of a checkpoint, or of a deployment document, is that of its version. It is also
/// where there is none.
#[must_use]
pub(crate) fn has_magic(document: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        checkpoint: Content,
        deployment: Option<Latest>,
    }
    #[derive(Default, Deserialize)]
    struct Content {
        latest: Option<Latest>,
    }
    #[derive(Deserialize)]
    struct Latest {
        #[serde(default)]
        manifest: Manifest,
    }
    #[derive(Default, Deserialize)]
    struct Manifest {
        #[serde(default)]
        magic: String,
        #[serde(default)]
        version: String,
    }
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    deserializer.disable_recursion_limit();
    let latest = File::deserialize(&mut deserializer)
        .ok()
        .and_then(|file| file.checkpoint.latest.or(file.deployment));
    latest.is_none_or(|latest| latest.manifest.magic == magic(&latest.manifest.version))
}

/// Returns the error of a magic that is not that of its version.
pub(crate) fn magic_mismatch() -> Error {
    Error::new(
        ErrorKind::State,
        "magic cookie mismatch; possible tampering/corruption detected",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magic_belongs_to_its_version() {
        let checkpoint = |magic: &str| {
            format!(
                r#"{{"version": 3, "checkpoint": {{"latest": {{"manifest": {{"magic": "{magic}", "version": "v1"}}}}}}}}"#
            )
        };
        assert!(has_magic(checkpoint(&magic("v1")).as_bytes()));
        assert!(!has_magic(checkpoint(&magic("v2")).as_bytes()));
        assert!(has_magic(br#"{"version": 3, "checkpoint": {"latest": {}}}"#));
        let deployment = |magic: &str| {
            format!(
                r#"{{"version": 3, "deployment": {{"manifest": {{"magic": "{magic}", "version": "v1"}}}}}}"#
            )
        };
        assert!(has_magic(deployment(&magic("v1")).as_bytes()));
        assert!(!has_magic(deployment("x").as_bytes()));
        assert!(has_magic(br#"{"version": 3, "checkpoint": {}}"#));
    }
}

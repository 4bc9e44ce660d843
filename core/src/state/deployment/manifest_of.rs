//! Reads the magic that a checkpoint names, without reading its resources.

use serde::Deserialize;

use super::magic;

/// Returns whether the magic of a checkpoint's manifest is that of its version. It is also where there is none.
#[must_use]
pub(crate) fn has_magic(checkpoint: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct File {
        checkpoint: Content,
    }
    #[derive(Deserialize)]
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
    let mut deserializer = serde_json::Deserializer::from_slice(checkpoint);
    deserializer.disable_recursion_limit();
    let latest = File::deserialize(&mut deserializer)
        .ok()
        .and_then(|file| file.checkpoint.latest);
    latest.is_none_or(|latest| latest.manifest.magic == magic(&latest.manifest.version))
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
        assert!(has_magic(br#"{"version": 3, "checkpoint": {}}"#));
    }
}

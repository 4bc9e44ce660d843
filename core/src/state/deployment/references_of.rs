//! Reads the names of the stacks that a checkpoint's stack references name, without decrypting it.

use serde::{Deserialize, Deserializer, de::IgnoredAny};

use crate::token::STACK_REFERENCE;

#[derive(Deserialize)]
struct File {
    checkpoint: Option<Checkpoint>,
}

#[derive(Deserialize)]
struct Checkpoint {
    latest: Option<Latest>,
}

#[derive(Deserialize)]
struct Latest {
    resources: Option<Vec<Record>>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    inputs: Option<Inputs>,
}

#[derive(Deserialize)]
struct Inputs {
    #[serde(default, deserialize_with = "text")]
    name: Option<String>,
}

/// Other inputs can have any kind, also that of the name in other resources.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Other(IgnoredAny),
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Name::deserialize(deserializer)? {
        Name::Text(text) => Some(text),
        Name::Other(_) => None,
    })
}

/// Returns the names as the references have them.
///
/// # Errors
/// For a text that is no checkpoint.
pub(crate) fn references_of_checkpoint(checkpoint: &[u8]) -> Result<Vec<String>, serde_json::Error> {
    let file: File = serde_json::from_slice(checkpoint)?;
    let latest = file.checkpoint.and_then(|checkpoint| checkpoint.latest);
    let records = latest.and_then(|latest| latest.resources).unwrap_or_default();
    let references = records
        .into_iter()
        .filter(|record| record.kind == STACK_REFERENCE);
    Ok(references.filter_map(|record| record.inputs?.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_stack_references_are_read() {
        let text = r#"{"version": 3, "checkpoint": {"stack": "dev", "latest": {"manifest": {}, "resources": [
            {"urn": "a", "type": "pulumi:pulumi:StackReference", "inputs": {"name": "organization/net/dev"}},
            {"urn": "b", "type": "pulumi:pulumi:StackReference", "inputs": {"name": {"4dabf18193072939515e22adb298388d": "x"}}},
            {"urn": "c", "type": "shop:index:Shelf", "inputs": {"name": "organization/other/dev"}},
            {"urn": "d", "type": "shop:index:Shelf", "inputs": {"name": [1]}},
            {"urn": "e", "type": "pulumi:pulumi:Stack"}]}}}"#;
        let names = references_of_checkpoint(text.as_bytes()).unwrap();
        assert_eq!(names, ["organization/net/dev"]);
        for empty in [r#"{"checkpoint": {}}"#, r#"{"checkpoint": {"latest": null}}"#] {
            assert!(references_of_checkpoint(empty.as_bytes()).unwrap().is_empty());
        }
        assert!(references_of_checkpoint(b"[").is_err());
    }
}

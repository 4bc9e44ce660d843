//! Reads the secrets manager that a checkpoint names, without reading its resources.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    state: Option<Value>,
}

/// The path of members to the manager.
const PATH: [&str; 3] = ["checkpoint", "latest", "secrets_providers"];

/// The member after the manager, at which the search ends.
const RESOURCES: &str = "resources";

/// Returns kind and state of the manager; `None` when the checkpoint names none, or is no checkpoint. The search ends
/// at the resources, before which the format has the manager.
#[must_use]
pub(crate) fn secrets_of_checkpoint(checkpoint: &[u8]) -> Option<(String, Option<Value>)> {
    let mut found = None;
    let search = Search {
        path: &PATH,
        found: &mut found,
    };
    // The search ends with an error, so that the rest is not read.
    let _ended = search.deserialize(&mut serde_json::Deserializer::from_slice(checkpoint));
    found.map(|named| (named.kind, named.state))
}

struct Search<'a> {
    path: &'a [&'static str],
    found: &'a mut Option<Named>,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((member, rest)) = self.path.split_first() else {
            return Ok(());
        };
        while let Some(name) = map.next_key::<String>()? {
            if name != *member {
                if name == RESOURCES {
                    break;
                }
                map.next_value::<IgnoredAny>()?;
            } else if rest.is_empty() {
                *self.found = Some(map.next_value()?);
                break;
            } else {
                map.next_value_seed(Search {
                    path: rest,
                    found: self.found,
                })?;
                break;
            }
        }
        Err(A::Error::custom("the search has ended"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_is_found_without_reading_the_resources() {
        let state = serde_json::json!({ "salt": "v1:x:y" });
        let text = br#"{"version": 3, "checkpoint": {"stack": "s", "latest": {"manifest": {"secrets_providers": {"type": "no"}},
            "secrets_providers": {"type": "passphrase", "state": {"salt": "v1:x:y"}}, "resources": [ not JSON"#;
        let (kind, found) = secrets_of_checkpoint(text).unwrap();
        assert_eq!((kind.as_str(), found), ("passphrase", Some(state)));
    }

    #[test]
    fn a_checkpoint_without_a_manager_names_none() {
        for text in [
            r#"{"checkpoint": {"latest": {"resources": [{"secrets_providers": {"type": "no"}}]}}}"#,
            r#"{"checkpoint": {"latest": null}}"#,
            r#"{"version": 3, "checkpoint": {}}"#,
            "",
            "damaged",
        ] {
            assert!(secrets_of_checkpoint(text.as_bytes()).is_none(), "{text}");
        }
    }
}

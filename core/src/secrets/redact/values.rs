//! The texts inside property values: names, strings, contents of assets, and URNs.

use std::collections::BTreeMap;

use super::Redactor;
use crate::property::{Archive, ArchiveSource, Asset, AssetSource, PropertyMap, PropertyValue};

impl Redactor {
    /// Returns a value for people: with a placeholder for each known secret in its texts, which are names as well.
    /// Unknown output values are unknowns.
    pub(crate) fn scrub_value(&self, value: &PropertyValue) -> PropertyValue {
        let scrub = |text: &str| self.scrub(text).into_owned();
        match value {
            PropertyValue::Array(values) => {
                PropertyValue::array(values.iter().map(|value| self.scrub_value(value)).collect())
            }
            PropertyValue::Object(map) => PropertyValue::Object(renamed(
                map.iter()
                    .map(|(key, value)| (scrub(key), self.scrub_value(value))),
            )),
            PropertyValue::Output(output) => match &output.element {
                Some(element) => self.scrub_value(element),
                None => PropertyValue::unknown(),
            },
            other => with_texts(other, &scrub),
        }
    }
}

/// Collects entries. A name that is taken, since two names have the same form without their secrets, gets a number.
pub(crate) fn renamed(entries: impl Iterator<Item = (String, PropertyValue)>) -> PropertyMap {
    let mut map = PropertyMap::new();
    for (name, value) in entries {
        let free = numbered(name, |name| map.contains_key(name));
        map.insert(free, value);
    }
    map
}

/// Returns a name that is not taken: the name itself, or the name with the first free number from 2 on.
pub(crate) fn numbered(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let mut number = 2_u64;
    loop {
        let free = format!("{name} ({number})");
        if !is_taken(&free) {
            return free;
        }
        number += 1;
    }
}

/// Returns a value with other texts, where it is a string, an asset, an archive or a reference; other values stay as they are. A
/// reference to a resource whose URN has another text becomes that text.
pub(crate) fn with_texts(value: &PropertyValue, change: &dyn Fn(&str) -> String) -> PropertyValue {
    match value {
        PropertyValue::String(text) => {
            let changed = change(text);
            match changed.as_str() == &**text {
                true => value.clone(),
                false => PropertyValue::string(changed),
            }
        }
        PropertyValue::Asset(asset) => {
            let source = match &asset.source {
                AssetSource::Text(text) => AssetSource::Text(change(text)),
                AssetSource::Path(path) => AssetSource::Path(change(path)),
                AssetSource::Uri(uri) => AssetSource::Uri(change(uri)),
            };
            match source == asset.source {
                true => value.clone(),
                // The hash is that of the text before.
                false => PropertyValue::Asset(
                    Asset {
                        source,
                        ..Asset::default()
                    }
                    .into(),
                ),
            }
        }
        PropertyValue::Archive(archive) => {
            let source = match &archive.source {
                ArchiveSource::Assets(members) => ArchiveSource::Assets(assets(members, change)),
                ArchiveSource::Path(path) => ArchiveSource::Path(change(path)),
                ArchiveSource::Uri(uri) => ArchiveSource::Uri(change(uri)),
            };
            match source == archive.source {
                true => value.clone(),
                false => PropertyValue::Archive(
                    Archive {
                        source,
                        ..Archive::default()
                    }
                    .into(),
                ),
            }
        }
        PropertyValue::ResourceReference(reference) => {
            let changed = change(reference.urn.as_str());
            match changed == reference.urn.as_str() {
                true => value.clone(),
                false => PropertyValue::string(changed),
            }
        }
        other => other.clone(),
    }
}

fn assets(
    members: &BTreeMap<String, PropertyValue>,
    change: &dyn Fn(&str) -> String,
) -> BTreeMap<String, PropertyValue> {
    let mut changed = BTreeMap::new();
    for (name, member) in members {
        let free = numbered(change(name), |name| changed.contains_key(name));
        changed.insert(free, with_texts(member, change));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_names_assets_and_archives_and_no_entry_is_lost() {
        let redactor = Redactor::new();
        redactor.learn(["hunter2", "swordfish"]);
        let asset = |text: &str| {
            PropertyValue::Asset(
                Asset {
                    source: AssetSource::Text(text.to_owned()),
                    ..Asset::default()
                }
                .into(),
            )
        };
        let archive = PropertyValue::Archive(
            Archive {
                source: ArchiveSource::Assets([("hunter2.txt".to_owned(), asset("a hunter2"))].into()),
                ..Archive::default()
            }
            .into(),
        );
        let value = PropertyValue::Object(
            [
                ("hunter2", 1.0.into()),
                ("swordfish", 2.0.into()),
                ("text", asset("text hunter2")),
                ("files", archive),
            ]
            .into_iter()
            .collect(),
        );
        let scrubbed = redactor.scrub_value(&value);
        let text = format!("{scrubbed:?}");
        assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
        let PropertyValue::Object(map) = scrubbed else {
            panic!("{text}");
        };
        let names: Vec<_> = map.keys().map(|key| key.as_str()).collect();
        assert_eq!(names, ["[secret]", "[secret] (2)", "files", "text"]);
    }
}

//! Contents of assets and archives: detection, and restoration of contents that a message left out.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::property::{Archive, ArchiveSource, PropertyMap, PropertyValue};

/// Restores assets and archives without contents from those in `recorded` with the same hash.
pub(super) fn restore<'a>(map: &mut PropertyMap, recorded: impl IntoIterator<Item = &'a PropertyMap>) {
    if !map.values().any(is_elided) {
        return;
    }
    let mut contents = Contents::default();
    for value in recorded.into_iter().flat_map(PropertyMap::values) {
        contents.collect(value);
    }
    if !contents.0.is_empty() {
        contents.restore_map(map);
    }
}

/// Returns whether the value contains an asset or an archive without contents at any level.
fn is_elided(value: &PropertyValue) -> bool {
    value.any(&mut |value| match value {
        PropertyValue::Asset(asset) => asset.is_elided(),
        PropertyValue::Archive(archive) => archive.is_elided(),
        _ => false,
    })
}

/// Returns the hash of an asset or archive with contents.
fn hash_of_complete(value: &PropertyValue) -> Option<&SmolStr> {
    let hash = match value {
        PropertyValue::Asset(asset) if !asset.is_elided() => &asset.hash,
        PropertyValue::Archive(archive) if !archive.is_elided() => &archive.hash,
        _ => return None,
    };
    Some(hash).filter(|hash| !hash.is_empty())
}

/// Assets and archives with contents, by hash.
#[derive(Default)]
struct Contents(FxHashMap<SmolStr, PropertyValue>);

impl Contents {
    fn collect(&mut self, value: &PropertyValue) {
        value.any(&mut |value| {
            if let Some(hash) = hash_of_complete(value) {
                let entry = self.0.entry(hash.clone());
                entry.or_insert_with(|| value.clone());
            }
            false
        });
    }

    fn restore_map(&self, map: &mut PropertyMap) {
        for (_, value) in map.iter_mut() {
            if is_elided(value) {
                *value = self.restored(value);
            }
        }
    }

    /// Returns the asset or archive of a hash, if it is of the same kind as `value`.
    fn known(&self, hash: &str, value: &PropertyValue) -> PropertyValue {
        let found = self
            .0
            .get(hash)
            .filter(|found| std::mem::discriminant::<PropertyValue>(found) == std::mem::discriminant(value));
        found.unwrap_or(value).clone()
    }

    fn restored(&self, value: &PropertyValue) -> PropertyValue {
        match value {
            PropertyValue::Asset(asset) if asset.is_elided() => self.known(&asset.hash, value),
            PropertyValue::Archive(archive) if archive.is_elided() => self.known(&archive.hash, value),
            PropertyValue::Archive(archive) => match &archive.source {
                ArchiveSource::Assets(assets) => {
                    let assets: BTreeMap<String, PropertyValue> = assets
                        .iter()
                        .map(|(name, value)| (name.clone(), self.restored(value)))
                        .collect();
                    PropertyValue::Archive(Arc::new(Archive {
                        hash: archive.hash.clone(),
                        source: ArchiveSource::Assets(assets),
                    }))
                }
                ArchiveSource::Path(_) | ArchiveSource::Uri(_) => value.clone(),
            },
            PropertyValue::Array(values) => {
                PropertyValue::array(values.iter().map(|value| self.restored(value)).collect())
            }
            PropertyValue::Object(map) => {
                let mut map = map.clone();
                self.restore_map(&mut map);
                PropertyValue::Object(map)
            }
            PropertyValue::Secret(secret) if is_elided(&secret.element) => {
                PropertyValue::secret(self.restored(&secret.element))
            }
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::{Asset, AssetSource};

    fn asset(hash: &str, text: &str) -> PropertyValue {
        PropertyValue::Asset(Arc::new(Asset {
            hash: hash.into(),
            source: AssetSource::Text(text.into()),
        }))
    }

    fn archive(hash: &str, assets: impl IntoIterator<Item = (&'static str, PropertyValue)>) -> PropertyValue {
        let assets = assets.into_iter().map(|(name, value)| (name.to_owned(), value));
        PropertyValue::Archive(Arc::new(Archive {
            hash: hash.into(),
            source: ArchiveSource::Assets(assets.collect()),
        }))
    }

    fn map(entries: impl IntoIterator<Item = (&'static str, PropertyValue)>) -> PropertyMap {
        entries.into_iter().collect()
    }

    #[test]
    fn elided_contents_are_restored_by_hash_from_each_recorded_map() {
        let inputs = map([("source", PropertyValue::secret(asset("ab", "text")))]);
        let outputs = map([("code", archive("cd", [("a", asset("ef", "other"))]))]);
        let mut answer = map([
            ("code", archive("cd", [])),
            ("list", PropertyValue::array(vec![asset("ab", ""), "x".into()])),
            ("nested", archive("0a", [("b", asset("ef", ""))])),
            ("source", PropertyValue::secret(asset("ab", ""))),
            ("unknown", asset("99", "")),
        ]);
        answer.restore_contents([&inputs, &outputs]);
        let expected = map([
            ("code", archive("cd", [("a", asset("ef", "other"))])),
            (
                "list",
                PropertyValue::array(vec![asset("ab", "text"), "x".into()]),
            ),
            ("nested", archive("0a", [("b", asset("ef", "other"))])),
            ("source", PropertyValue::secret(asset("ab", "text"))),
            ("unknown", asset("99", "")),
        ]);
        assert_eq!(answer, expected);
    }

    #[test]
    fn an_asset_is_not_restored_from_an_archive_with_its_hash() {
        let recorded = map([("code", archive("ab", [("a", asset("ef", "x"))]))]);
        let mut answer = map([("source", asset("ab", ""))]);
        answer.restore_contents([&recorded]);
        assert_eq!(answer, map([("source", asset("ab", ""))]));
    }
}

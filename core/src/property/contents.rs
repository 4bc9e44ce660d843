//! Contents of assets: whether a value has any, and putting back what a message left out.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use crate::property::{Archive, ArchiveSource, PropertyMap, PropertyValue};

impl PropertyMap {
    /// Tells whether an asset or an archive is anywhere in the map.
    #[must_use]
    pub fn contains_assets(&self) -> bool {
        self.values().any(|value| {
            value.any(&mut |value| matches!(value, PropertyValue::Asset(_) | PropertyValue::Archive(_)))
        })
    }
}

/// Assets and archives by hash, for putting their contents back where a provider returned the hash alone.
#[derive(Default)]
pub struct ElidedContents(FxHashMap<smol_str::SmolStr, PropertyValue>);

impl ElidedContents {
    /// Remembers every asset and archive of a map that has both a hash and contents.
    #[must_use]
    pub fn of(map: &PropertyMap) -> Self {
        let mut contents = Self::default();
        let mut remember = |value: &PropertyValue| {
            match value {
                PropertyValue::Asset(asset) if !asset.hash.is_empty() && !asset.is_elided() => {
                    contents
                        .0
                        .entry(asset.hash.clone())
                        .or_insert_with(|| value.clone());
                }
                PropertyValue::Archive(archive) if !archive.hash.is_empty() && !archive.is_elided() => {
                    contents
                        .0
                        .entry(archive.hash.clone())
                        .or_insert_with(|| value.clone());
                }
                _ => {}
            }
            false
        };
        for value in map.values() {
            value.any(&mut remember);
        }
        contents
    }

    /// Returns the map with the contents of each elided asset and archive that is known here.
    #[must_use]
    pub fn restore(&self, map: &PropertyMap) -> PropertyMap {
        if self.0.is_empty() || !map.contains_assets() {
            return map.clone();
        }
        map.iter()
            .map(|(key, value)| (key.clone(), self.restored(value)))
            .collect()
    }

    fn restored(&self, value: &PropertyValue) -> PropertyValue {
        let known = |hash: &str| self.0.get(hash).cloned().unwrap_or_else(|| value.clone());
        match value {
            PropertyValue::Asset(asset) if asset.is_elided() => match known(&asset.hash) {
                restored @ PropertyValue::Asset(_) => restored,
                _ => value.clone(),
            },
            PropertyValue::Archive(archive) if archive.is_elided() => match known(&archive.hash) {
                restored @ PropertyValue::Archive(_) => restored,
                _ => value.clone(),
            },
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
                _ => value.clone(),
            },
            PropertyValue::Array(values) => {
                PropertyValue::array(values.iter().map(|value| self.restored(value)).collect())
            }
            PropertyValue::Object(map) => PropertyValue::Object(self.restore(map)),
            PropertyValue::Secret(secret) => {
                let element = self.restored(&secret.element);
                if element == secret.element {
                    value.clone()
                } else {
                    PropertyValue::secret(element)
                }
            }
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::{Asset, AssetSource};

    #[test]
    fn elided_contents_come_back_by_hash() {
        let asset = |hash: &str, text: &str| {
            PropertyValue::Asset(Arc::new(Asset {
                hash: hash.into(),
                source: AssetSource::Text(text.into()),
            }))
        };
        let one = |value| {
            [("k", PropertyValue::array(vec![value]))]
                .into_iter()
                .collect::<PropertyMap>()
        };
        let contents = ElidedContents::of(&one(asset("ab", "text")));
        assert_eq!(contents.restore(&one(asset("ab", ""))), one(asset("ab", "text")));
        assert_eq!(contents.restore(&one(asset("cd", ""))), one(asset("cd", "")));
    }
}

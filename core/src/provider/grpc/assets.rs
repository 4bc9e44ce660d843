//! Assets that a provider answers by their hash alone get their contents back from what was sent.

use std::{collections::BTreeMap, sync::Arc};

use smol_str::SmolStr;

use crate::property::{ArchiveSource, AssetSource, PropertyMap, PropertyValue};

/// Gives assets and archives without contents those of an asset or archive in `sent` with the same hash.
pub(super) fn restore(answer: &mut PropertyMap, sent: &PropertyMap) {
    if !answer.values().any(|value| value.any(&mut is_elided)) {
        return;
    }
    let mut known = BTreeMap::new();
    for value in sent.values() {
        collect(value, &mut known);
    }
    for (_, value) in answer.iter_mut() {
        if value.any(&mut is_elided) {
            *value = restored(std::mem::take(value), &known);
        }
    }
}

fn hash_of(value: &PropertyValue) -> Option<&SmolStr> {
    match value {
        PropertyValue::Asset(asset) => Some(&asset.hash),
        PropertyValue::Archive(archive) => Some(&archive.hash),
        _ => None,
    }
    .filter(|hash| !hash.is_empty())
}

fn is_elided(value: &PropertyValue) -> bool {
    let empty = match value {
        PropertyValue::Asset(asset) => matches!(&asset.source, AssetSource::Text(text) if text.is_empty()),
        PropertyValue::Archive(archive) => {
            matches!(&archive.source, ArchiveSource::Assets(assets) if assets.is_empty())
        }
        _ => false,
    };
    empty && hash_of(value).is_some()
}

fn collect(value: &PropertyValue, known: &mut BTreeMap<SmolStr, PropertyValue>) {
    value.any(&mut |value| {
        if let Some(hash) = hash_of(value)
            && !is_elided(value)
        {
            known.insert(hash.clone(), value.clone());
        }
        false
    });
}

fn restored(value: PropertyValue, known: &BTreeMap<SmolStr, PropertyValue>) -> PropertyValue {
    match value {
        PropertyValue::Array(values) => Arc::unwrap_or_clone(values)
            .into_iter()
            .map(|value| restored(value, known))
            .collect::<Vec<_>>()
            .into(),
        PropertyValue::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, restored(value, known)))
            .collect::<PropertyMap>()
            .into(),
        PropertyValue::Secret(secret) => PropertyValue::secret(restored(secret.element.clone(), known)),
        value if is_elided(&value) => {
            let same_kind = |found: &&PropertyValue| {
                std::mem::discriminant::<PropertyValue>(found) == std::mem::discriminant(&value)
            };
            let found = hash_of(&value).and_then(|hash| known.get(hash)).filter(same_kind);
            found.cloned().unwrap_or(value)
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Asset;

    fn asset(text: &str) -> PropertyValue {
        PropertyValue::Asset(Arc::new(Asset {
            hash: "00ff".into(),
            source: AssetSource::Text(text.into()),
        }))
    }

    #[test]
    fn an_asset_without_contents_gets_those_of_the_same_hash() {
        let sent: PropertyMap = [("source", PropertyValue::secret(asset("hello")))]
            .into_iter()
            .collect();
        let mut answer: PropertyMap = [
            ("list", vec![asset(""), "x".into()].into()),
            ("source", PropertyValue::secret(asset(""))),
        ]
        .into_iter()
        .collect();
        restore(&mut answer, &sent);
        assert_eq!(answer.get("list"), Some(&vec![asset("hello"), "x".into()].into()));
        assert_eq!(answer.get("source"), sent.get("source"));
    }
}

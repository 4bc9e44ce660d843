//! Hashes of assets and archives: the state stores them instead of the contents, to detect changes.

mod entries;
mod tar;
#[cfg(test)]
mod tests;
mod unpack;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use self::entries::{Content, Entries, MAX_CONTENT_SIZE, ensure_size};
use crate::{
    error::{Error, Result},
    property::{Archive, ArchiveSource, Asset, AssetSource, PropertyMap, PropertyValue, Secret},
    runtime::Spawner,
};

/// Downloads the contents of URIs. The engine itself opens only `file` URIs.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Returns the whole body.
    ///
    /// # Errors
    /// Any error of the download; the message contains the URI.
    async fn fetch(&self, uri: &str) -> Result<Bytes>;
}

/// Returns the map with the hashes of all assets and archives, including nested ones. Relative paths are relative to
/// `directory`, the program's. A map without assets is returned at once; files are read on the blocking pool.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] if contents cannot be read, are not of their declared kind, are neither regular
/// files nor directories, or have more than 16 GiB (1 GiB for a packed archive inside another archive), or for a URI
/// other than `file` without `fetch`; otherwise the error of `fetch`.
///
/// # Cancel safety
/// Dropping the future loses the map; a file that is being read is read to its end in the background.
pub async fn fill_hashes(
    map: PropertyMap,
    directory: &Path,
    spawner: &Spawner,
    fetch: Option<&dyn Fetch>,
) -> Result<PropertyMap> {
    if !map.contains_assets() {
        return Ok(map);
    }
    let mut bodies = BTreeMap::new();
    for uri in remote_uris(&map) {
        let Some(fetch) = fetch else {
            return Err(Error::invalid(format!(
                "no fetcher is configured for the contents of {uri}"
            )));
        };
        let body = fetch.fetch(&uri).await?;
        bodies.insert(uri, body);
    }
    let hasher = Hasher {
        directory: directory.to_owned(),
        bodies,
    };
    spawner.spawn_blocking(move || hasher.map(&map)).await?
}

/// Returns the URIs whose bodies are needed, without local files.
fn remote_uris(map: &PropertyMap) -> Vec<String> {
    let mut uris = Vec::new();
    for value in map.values() {
        value.any(&mut |value| {
            let uri = match value {
                PropertyValue::Asset(asset) => match &asset.source {
                    AssetSource::Uri(uri) if asset.hash.is_empty() => Some(uri),
                    _ => None,
                },
                PropertyValue::Archive(archive) => match &archive.source {
                    // An enclosing archive may need the contents of an archive with a hash.
                    ArchiveSource::Uri(uri) => Some(uri),
                    _ => None,
                },
                _ => None,
            };
            uris.extend(uri.filter(|uri| file_path(uri).is_none()).cloned());
            false
        });
    }
    uris.sort_unstable();
    uris.dedup();
    uris
}

/// Returns the path of a `file` URI.
fn file_path(uri: &str) -> Option<PathBuf> {
    let parsed = url::Url::parse(uri).ok()?;
    (parsed.scheme() == "file").then(|| parsed.to_file_path().ok())?
}

/// Reads contents and computes hashes; blocks.
struct Hasher {
    directory: PathBuf,
    bodies: BTreeMap<String, Bytes>,
}

impl Hasher {
    fn map(&self, map: &PropertyMap) -> Result<PropertyMap> {
        let mut filled = map.clone();
        for (key, value) in map.iter() {
            if let Some(value) = self.value(value)? {
                filled.insert(key.clone(), value);
            }
        }
        Ok(filled)
    }

    /// Returns the value with hashes; `None` if it is unchanged.
    fn value(&self, value: &PropertyValue) -> Result<Option<PropertyValue>> {
        Ok(match value {
            PropertyValue::Asset(asset) if asset.hash.is_empty() => {
                Some(PropertyValue::Asset(Arc::new(Asset {
                    hash: self.asset_hash(asset)?,
                    source: asset.source.clone(),
                })))
            }
            PropertyValue::Archive(archive) => self
                .archive(archive)?
                .map(|archive| PropertyValue::Archive(Arc::new(archive))),
            PropertyValue::Array(values) => {
                let mut filled = None;
                for (index, value) in values.iter().enumerate() {
                    if let Some(value) = self.value(value)? {
                        filled.get_or_insert_with(|| values.to_vec())[index] = value;
                    }
                }
                filled.map(PropertyValue::array)
            }
            PropertyValue::Object(map) => {
                let filled = self.map(map)?;
                (!filled.same_content(map)).then_some(PropertyValue::Object(filled))
            }
            PropertyValue::Secret(secret) => self.value(&secret.element)?.map(|element| {
                PropertyValue::Secret(Arc::new(Secret {
                    element,
                    ..Secret::default()
                }))
            }),
            PropertyValue::Output(output) => match &output.element {
                Some(element) => self.value(element)?.map(|element| {
                    let mut output = output.as_ref().clone();
                    output.element = Some(element);
                    PropertyValue::Output(Arc::new(output))
                }),
                None => None,
            },
            _ => None,
        })
    }

    fn archive(&self, archive: &Archive) -> Result<Option<Archive>> {
        let mut source = None;
        if let ArchiveSource::Assets(assets) = &archive.source {
            let mut filled = assets.clone();
            let mut changed = false;
            for (name, value) in assets {
                if let Some(value) = self.value(value)? {
                    filled.insert(name.clone(), value);
                    changed = true;
                }
            }
            source = changed.then_some(ArchiveSource::Assets(filled));
        }
        let hash = archive
            .hash
            .is_empty()
            .then(|| self.archive_hash(archive))
            .transpose()?;
        if source.is_none() && hash.is_none() {
            return Ok(None);
        }
        Ok(Some(Archive {
            hash: hash.unwrap_or_else(|| archive.hash.clone()),
            source: source.unwrap_or_else(|| archive.source.clone()),
        }))
    }

    fn asset_hash(&self, asset: &Asset) -> Result<SmolStr> {
        let mut digest = Sha256::new();
        self.asset_content(asset)?
            .write_to(&mut |bytes| digest.update(bytes))?;
        Ok(hexadecimal(&digest.finalize()))
    }

    fn archive_hash(&self, archive: &Archive) -> Result<SmolStr> {
        let mut digest = Sha256::new();
        // A packed archive is hashed as it is; only other archives are packed for the hash.
        if let Some(content) = self.packed(archive)? {
            content.write_to(&mut |bytes| digest.update(bytes))?;
            return Ok(hexadecimal(&digest.finalize()));
        }
        let mut tar = tar::Writer::new(|bytes: &[u8]| digest.update(bytes));
        let mut size = 0_u64;
        Entries::new(self).visit(archive, &mut |name, content| {
            size = size.saturating_add(content.len());
            ensure_size(size, MAX_CONTENT_SIZE, name)?;
            tar.file(name, &content)
        })?;
        tar.finish();
        Ok(hexadecimal(&digest.finalize()))
    }

    /// Opens an asset's contents.
    fn asset_content(&self, asset: &Asset) -> Result<Content> {
        match &asset.source {
            AssetSource::Text(_) if asset.is_elided() => Err(Error::invalid(
                "the contents of an asset were left out, so an archive cannot be made of it",
            )),
            AssetSource::Text(text) => Ok(Content::Bytes(Bytes::copy_from_slice(text.as_bytes()))),
            AssetSource::Path(path) => self.asset_file(&self.directory.join(path), path),
            AssetSource::Uri(uri) => match file_path(uri) {
                Some(path) => self.asset_file(&path, uri),
                None => self.body(uri).map(Content::Bytes),
            },
        }
    }

    fn asset_file(&self, path: &Path, shown: &str) -> Result<Content> {
        if path.is_dir() {
            return Err(Error::invalid(format!(
                "asset path '{shown}' is a directory; try using an archive"
            )));
        }
        Content::file(path, shown)
    }

    fn body(&self, uri: &str) -> Result<Bytes> {
        self.bodies
            .get(uri)
            .cloned()
            .ok_or_else(|| Error::internal(format!("the contents of {uri} were not fetched")))
    }

    /// Opens an archive file of a packed format; `None` for any other archive.
    fn packed(&self, archive: &Archive) -> Result<Option<Content>> {
        match &archive.source {
            ArchiveSource::Assets(_) => Ok(None),
            ArchiveSource::Path(path) => {
                let file = self.directory.join(path);
                if unpack::Format::of(path).is_none() || file.is_dir() {
                    return Ok(None);
                }
                Content::file(&file, path).map(Some)
            }
            ArchiveSource::Uri(uri) => match file_path(uri) {
                Some(path) if path.is_dir() => Ok(None),
                Some(path) => Content::file(&path, uri).map(Some),
                None => self.body(uri).map(|body| Some(Content::Bytes(body))),
            },
        }
    }
}

fn hexadecimal(digest: &[u8]) -> SmolStr {
    use std::fmt::Write as _;
    let mut text = smol_str::SmolStrBuilder::new();
    for byte in digest {
        // Writing to a builder in memory never fails.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text.finish()
}

//! Values as expressions of source code: without secrets, and without what source code cannot have.

use crate::property::{Archive, ArchiveSource, Asset, AssetSource, PropertyValue};

/// A value in source code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
    /// An asset or an archive: the kind of its source, and the source.
    File(FileKind, &'static str, String),
    /// An archive of assets and archives by name.
    Assets(Vec<(String, Self)>),
    /// A secret value of the configuration.
    Secret {
        key: String,
        is_text: bool,
    },
    /// A value that source code cannot have, and why.
    Missing(&'static str),
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Asset,
    Archive,
}

/// The metadata that bridged providers keep in inputs: the names of inputs that they have filled in.
const DEFAULTS: &str = "__defaults";

/// Returns the entries of an object that a program has to declare: without the metadata of providers, and without inputs that
/// the provider has filled in and fills in again.
pub(super) fn declared_entries(
    map: &crate::property::PropertyMap,
) -> impl Iterator<Item = (&str, &PropertyValue)> {
    let filled: Vec<&str> = match map.get(DEFAULTS).map(PropertyValue::unwrapped) {
        Some(PropertyValue::Array(names)) => names.iter().filter_map(PropertyValue::as_str).collect(),
        _ => Vec::new(),
    };
    let entries = map.iter().map(|(key, value)| (key.as_str(), value));
    entries.filter(move |(key, _)| *key != DEFAULTS && !filled.contains(key))
}

/// Returns the expression of an asset.
pub(super) fn asset(asset: &Asset) -> Expression {
    if asset.is_elided() {
        return Expression::Missing("the contents of this asset are not recorded");
    }
    let (source, text) = match &asset.source {
        AssetSource::Text(text) => ("text", text),
        AssetSource::Path(path) => ("path", path),
        AssetSource::Uri(uri) => ("uri", uri),
    };
    Expression::File(FileKind::Asset, source, text.clone())
}

/// Returns the expression of an archive; `inner` makes those of its parts.
pub(super) fn archive(
    archive: &Archive,
    mut inner: impl FnMut(&str, &PropertyValue) -> Expression,
) -> Expression {
    if archive.is_elided() {
        return Expression::Missing("the contents of this archive are not recorded");
    }
    match &archive.source {
        ArchiveSource::Path(path) => Expression::File(FileKind::Archive, "path", path.clone()),
        ArchiveSource::Uri(uri) => Expression::File(FileKind::Archive, "uri", uri.clone()),
        ArchiveSource::Assets(assets) => {
            let parts = assets
                .iter()
                .map(|(name, part)| (name.clone(), inner(name, part)));
            Expression::Assets(parts.collect())
        }
    }
}

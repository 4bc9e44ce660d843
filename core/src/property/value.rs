//! The kinds of property values.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use smol_str::SmolStr;

use crate::{property::PropertyMap, token::ResourceId, urn::Urn};

/// A property value. Compound kinds share their content, so cloning is cheap.
///
/// Equality is that of recorded values: NaN is equal to NaN, so that an unchanged NaN is no difference.
#[derive(Clone, Default)]
pub enum PropertyValue {
    /// No value.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A number; the protocol has only doubles.
    Number(f64),
    /// A text.
    String(SmolStr),
    /// Raw bytes.
    Bytes(bytes::Bytes),
    /// A list.
    Array(Arc<Vec<Self>>),
    /// Values by name.
    Object(PropertyMap),
    /// The contents of a file.
    Asset(Arc<Asset>),
    /// A tree of assets.
    Archive(Arc<Archive>),
    /// A reference to another resource.
    ResourceReference(Arc<ResourceReference>),
    /// A value that is never shown or stored in plaintext.
    Secret(Arc<Secret>),
    /// A value with its dependencies, possibly unknown and possibly secret: only between program and engine.
    Output(Arc<Output>),
    /// A value that is unknown until its resource has been created.
    Unknown(Unknown),
}

impl PartialEq for PropertyValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => left == right || (left.is_nan() && right.is_nan()),
            (Self::String(left), Self::String(right)) => left == right,
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            (Self::Array(left), Self::Array(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => left == right,
            (Self::Asset(left), Self::Asset(right)) => left == right,
            (Self::Archive(left), Self::Archive(right)) => left == right,
            (Self::ResourceReference(left), Self::ResourceReference(right)) => left == right,
            (Self::Secret(left), Self::Secret(right)) => left == right,
            (Self::Output(left), Self::Output(right)) => left == right,
            (Self::Unknown(left), Self::Unknown(right)) => left == right,
            _ => false,
        }
    }
}

/// The kind of value of an unknown; each has its own sentinel in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are sufficient")]
pub enum Unknown {
    Bool,
    Number,
    String,
    Array,
    Asset,
    Archive,
    Object,
}

/// The contents of a file: their source and their hash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asset {
    /// Lower-case hex SHA-256 of the contents; empty when not computed.
    pub hash: SmolStr,
    /// The source of the contents.
    pub source: AssetSource,
}

/// The source of an asset's contents.
#[derive(Clone, Debug, PartialEq)]
pub enum AssetSource {
    /// The text itself; empty with a hash of other contents if the contents were elided.
    Text(String),
    /// A file, relative to the program's directory.
    Path(String),
    /// A URI.
    Uri(String),
}

impl Default for AssetSource {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// A tree of assets: its source and its hash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    /// Lower-case hex SHA-256 as the reference engine computes it; empty when not computed.
    pub hash: SmolStr,
    /// The source of the contents.
    pub source: ArchiveSource,
}

/// The source of an archive's contents.
#[derive(Clone, Debug, PartialEq)]
pub enum ArchiveSource {
    /// Assets and archives by name.
    Assets(BTreeMap<String, PropertyValue>),
    /// A directory or an archive file, relative to the program's directory.
    Path(String),
    /// A URI.
    Uri(String),
}

impl Default for ArchiveSource {
    fn default() -> Self {
        Self::Assets(BTreeMap::new())
    }
}

/// The hash of an asset without contents: that of zero bytes.
pub(crate) const EMPTY_ASSET_HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// The hash of an archive without entries: that of a tar's two final blocks.
pub(crate) const EMPTY_ARCHIVE_HASH: &str =
    "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

impl Asset {
    /// Returns whether the contents were left out and only their hash is kept, as state and messages may do.
    #[must_use]
    pub fn is_elided(&self) -> bool {
        matches!(&self.source, AssetSource::Text(text) if text.is_empty())
            && !self.hash.is_empty()
            && self.hash != EMPTY_ASSET_HASH
    }
}

impl Archive {
    /// Returns whether the contents were left out and only their hash is kept, as state and messages may do.
    #[must_use]
    pub fn is_elided(&self) -> bool {
        matches!(&self.source, ArchiveSource::Assets(assets) if assets.is_empty())
            && !self.hash.is_empty()
            && self.hash != EMPTY_ARCHIVE_HASH
    }
}

/// A reference to another resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceReference {
    /// The resource.
    pub urn: Urn,
    /// `None` for a component; otherwise the id, or `Err` for an unknown one.
    pub id: Option<Result<ResourceId, Unknown>>,
    /// The version of the package that defines the resource; may be empty.
    pub package_version: SmolStr,
}

/// A secret value with its cached ciphertext.
#[derive(Clone, Default)]
pub struct Secret {
    /// The value in plaintext.
    pub element: PropertyValue,
    /// The ciphertext of the last encryption, so that an unchanged secret keeps it between saves.
    pub(crate) ciphertext: OnceLock<CachedCiphertext>,
}

/// A ciphertext and the manager that created it.
#[derive(Clone, Debug)]
pub(crate) struct CachedCiphertext {
    /// The identity of the manager's key; other managers cannot decrypt the text.
    pub manager: Arc<str>,
    /// The ciphertext, in the manager's own format.
    pub text: Arc<str>,
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.element == other.element
    }
}

/// A value with its dependencies, as SDKs send it for remote components and calls.
#[derive(Clone, PartialEq)]
pub struct Output {
    /// The value; `None` if it is unknown.
    pub element: Option<PropertyValue>,
    /// Whether the value is secret.
    pub secret: bool,
    /// The resources that the value depends on, in the order of the message.
    pub dependencies: Vec<Urn>,
}

impl PropertyValue {
    /// Creates a text value.
    pub fn string(text: impl Into<SmolStr>) -> Self {
        Self::String(text.into())
    }

    /// Creates a list.
    #[must_use]
    pub fn array(values: Vec<Self>) -> Self {
        Self::Array(Arc::new(values))
    }

    /// Wraps a value as secret; a secret is returned unchanged.
    #[must_use]
    pub fn secret(element: Self) -> Self {
        match element {
            Self::Secret(_) => element,
            _ => Self::Secret(Arc::new(Secret {
                element,
                ciphertext: OnceLock::new(),
            })),
        }
    }

    /// Returns the untyped unknown.
    #[must_use]
    pub const fn unknown() -> Self {
        Self::Unknown(Unknown::String)
    }

    /// Returns the text of a string, through secrets and outputs.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self.unwrapped() {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value below all secret and output wrappers of this level.
    #[must_use]
    pub fn unwrapped(&self) -> &Self {
        match self {
            Self::Secret(secret) => secret.element.unwrapped(),
            Self::Output(output) => match &output.element {
                Some(element) => element.unwrapped(),
                None => self,
            },
            _ => self,
        }
    }

    /// Returns whether this is null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns whether this value is itself a secret (not whether it contains one).
    #[must_use]
    pub fn is_secret(&self) -> bool {
        match self {
            Self::Secret(_) => true,
            Self::Output(output) => output.secret,
            _ => false,
        }
    }

    /// Returns whether the value contains an unknown at any level.
    #[must_use]
    pub fn contains_unknowns(&self) -> bool {
        self.any(&mut |value| {
            matches!(value, Self::Unknown(_))
                || matches!(value, Self::Output(output) if output.element.is_none())
        })
    }

    /// Returns the value without the unknowns in it; `None` if it is an unknown itself.
    pub(super) fn without_unknowns(&self) -> Option<Self> {
        Some(match self {
            Self::Unknown(_) => return None,
            Self::Array(values) => {
                let known = values.iter().filter_map(Self::without_unknowns);
                Self::Array(Arc::new(known.collect()))
            }
            Self::Object(map) => Self::Object(map.clone().without_unknowns()),
            Self::Secret(secret) => Self::secret(secret.element.without_unknowns()?),
            Self::Output(output) => Self::Output(Arc::new(Output {
                element: Some(output.element.as_ref()?.without_unknowns()?),
                ..Output::clone(output)
            })),
            other => other.clone(),
        })
    }

    /// Returns whether the value contains a secret at any level.
    #[must_use]
    pub fn contains_secrets(&self) -> bool {
        self.any(&mut Self::is_secret)
    }

    /// Returns whether `test` holds for this value or any value inside.
    pub fn any(&self, test: &mut impl FnMut(&Self) -> bool) -> bool {
        if test(self) {
            return true;
        }
        match self {
            Self::Array(values) => values.iter().any(|value| value.any(test)),
            Self::Object(map) => map.values().any(|value| value.any(test)),
            Self::Secret(secret) => secret.element.any(test),
            Self::Output(output) => output.element.as_ref().is_some_and(|value| value.any(test)),
            Self::Archive(archive) => match &archive.source {
                ArchiveSource::Assets(assets) => assets.values().any(|value| value.any(test)),
                ArchiveSource::Path(_) | ArchiveSource::Uri(_) => false,
            },
            _ => false,
        }
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for PropertyValue {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<f64> for PropertyValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for PropertyValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<PropertyMap> for PropertyValue {
    fn from(map: PropertyMap) -> Self {
        Self::Object(map)
    }
}

impl From<Vec<Self>> for PropertyValue {
    fn from(values: Vec<Self>) -> Self {
        Self::Array(Arc::new(values))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.element {
            _ if self.secret => formatter.write_str("[secret]"),
            Some(element) => write!(formatter, "output({element:?})"),
            None => formatter.write_str("output(unknown)"),
        }
    }
}

impl fmt::Debug for PropertyValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => fmt::Debug::fmt(value, formatter),
            Self::Number(value) => fmt::Debug::fmt(value, formatter),
            Self::String(value) => fmt::Debug::fmt(value, formatter),
            Self::Bytes(value) => write!(formatter, "bytes({})", value.len()),
            Self::Array(values) => fmt::Debug::fmt(values, formatter),
            Self::Object(map) => fmt::Debug::fmt(map, formatter),
            Self::Asset(asset) => fmt::Debug::fmt(asset, formatter),
            Self::Archive(archive) => fmt::Debug::fmt(archive, formatter),
            Self::ResourceReference(reference) => write!(formatter, "resource({})", reference.urn),
            Self::Secret(_) => formatter.write_str("[secret]"),
            Self::Output(output) => fmt::Debug::fmt(output, formatter),
            Self::Unknown(_) => formatter.write_str("unknown"),
        }
    }
}

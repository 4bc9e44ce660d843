//! From property values to JavaScript values.

use napi::Result;
use stackwright::property::{
    Archive, ArchiveSource, Asset, AssetSource, Output, PropertyMap, PropertyValue, ResourceReference,
    Unknown,
};

use super::{Js, Scope, UNKNOWNS, brand};

/// Makes JavaScript values during one callback.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    scope: Scope,
    /// `(brand, a, b, c) => instance`: instantiates the package's value classes.
    revive: Js,
}

impl Writer {
    /// Creates a writer for the running callback.
    pub(crate) const fn new(scope: Scope, revive: Js) -> Self {
        Self { scope, revive }
    }

    /// Returns the environment.
    pub(crate) const fn scope(&self) -> Scope {
        self.scope
    }

    /// Makes an object of values by name.
    pub(crate) fn map(&self, map: &PropertyMap) -> Result<Js> {
        let object = self.scope.object()?;
        for (key, value) in map.iter() {
            self.scope.set_named(object, key, self.value(value)?)?;
        }
        Ok(object)
    }

    /// Makes any value.
    pub(crate) fn value(&self, value: &PropertyValue) -> Result<Js> {
        match value {
            PropertyValue::Null => self.scope.null(),
            PropertyValue::Bool(value) => self.scope.boolean(*value),
            PropertyValue::Number(value) => self.scope.number(*value),
            PropertyValue::String(value) => self.scope.text(value),
            PropertyValue::Bytes(value) => self.scope.bytes(value),
            PropertyValue::Array(values) => {
                let array = self.scope.array(values.len())?;
                for (index, value) in values.iter().enumerate() {
                    self.scope.set_element(array, index, self.value(value)?)?;
                }
                Ok(array)
            }
            PropertyValue::Object(map) => self.map(map),
            PropertyValue::Asset(asset) => self.asset(asset),
            PropertyValue::Archive(archive) => self.archive(archive),
            PropertyValue::ResourceReference(reference) => self.resource_reference(reference),
            PropertyValue::Secret(secret) => {
                let element = self.value(&secret.element)?;
                let nothing = self.scope.undefined()?;
                self.revive(brand::SECRET, [element, nothing, nothing])
            }
            PropertyValue::Output(output) => self.output(output),
            PropertyValue::Unknown(unknown) => self.unknown(*unknown),
        }
    }

    /// Sets a text property.
    pub(crate) fn set_text(&self, object: Js, name: &str, value: &str) -> Result<()> {
        self.scope.set_named(object, name, self.scope.text(value)?)
    }

    /// Sets a truth property.
    pub(crate) fn set_bool(&self, object: Js, name: &str, value: bool) -> Result<()> {
        self.scope.set_named(object, name, self.scope.boolean(value)?)
    }

    /// Sets a property that is a map of values.
    pub(crate) fn set_map(&self, object: Js, name: &str, value: &PropertyMap) -> Result<()> {
        self.scope.set_named(object, name, self.map(value)?)
    }

    /// Makes a list of texts.
    pub(crate) fn texts<T: AsRef<str>>(&self, texts: &[T]) -> Result<Js> {
        let array = self.scope.array(texts.len())?;
        for (index, text) in texts.iter().enumerate() {
            self.scope
                .set_element(array, index, self.scope.text(text.as_ref())?)?;
        }
        Ok(array)
    }

    fn revive(&self, number: u32, parts: [Js; 3]) -> Result<Js> {
        let [first, second, third] = parts;
        let number = self.scope.number(f64::from(number))?;
        self.scope.call(self.revive, &[number, first, second, third])
    }

    fn unknown(&self, unknown: Unknown) -> Result<Js> {
        let found = UNKNOWNS.iter().find(|(known, _)| *known == unknown);
        let name = self.scope.text(found.map_or("string", |(_, name)| name))?;
        let nothing = self.scope.undefined()?;
        self.revive(brand::UNKNOWN, [name, nothing, nothing])
    }

    fn asset(&self, asset: &Asset) -> Result<Js> {
        let (kind, content) = match &asset.source {
            AssetSource::Text(text) => ("text", text),
            AssetSource::Path(path) => ("path", path),
            AssetSource::Uri(uri) => ("uri", uri),
        };
        let parts = [
            self.scope.text(kind)?,
            self.scope.text(content)?,
            self.scope.text(&asset.hash)?,
        ];
        self.revive(brand::ASSET, parts)
    }

    fn archive(&self, archive: &Archive) -> Result<Js> {
        let (kind, content) = match &archive.source {
            ArchiveSource::Assets(assets) => {
                let object = self.scope.object()?;
                for (name, asset) in assets {
                    self.scope.set_named(object, name, self.value(asset)?)?;
                }
                ("assets", object)
            }
            ArchiveSource::Path(path) => ("path", self.scope.text(path)?),
            ArchiveSource::Uri(uri) => ("uri", self.scope.text(uri)?),
        };
        let parts = [self.scope.text(kind)?, content, self.scope.text(&archive.hash)?];
        self.revive(brand::ARCHIVE, parts)
    }

    fn resource_reference(&self, reference: &ResourceReference) -> Result<Js> {
        let id = match &reference.id {
            None => self.scope.undefined()?,
            Some(Ok(id)) => self.scope.text(id.as_ref())?,
            Some(Err(unknown)) => self.unknown(*unknown)?,
        };
        let parts = [
            self.scope.text(reference.urn.as_str())?,
            id,
            self.scope.text(&reference.package_version)?,
        ];
        self.revive(brand::RESOURCE_REFERENCE, parts)
    }

    fn output(&self, output: &Output) -> Result<Js> {
        let element = match &output.element {
            Some(element) => self.value(element)?,
            None => self.unknown(Unknown::String)?,
        };
        let parts = [
            element,
            self.scope.boolean(output.secret)?,
            self.texts(&output.dependencies)?,
        ];
        self.revive(brand::OUTPUT, parts)
    }
}

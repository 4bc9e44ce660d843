//! From JavaScript values to property values.

use std::collections::BTreeMap;

use napi::{Error, Result, Status, sys::ValueType};
use smol_str::SmolStr;
use stackwright::{
    property::{
        Archive, ArchiveSource, Asset, AssetSource, Key, Output, PropertyMap, PropertyValue,
        ResourceReference, Unknown,
    },
    token::ResourceId,
    urn::Urn,
};

use super::{BRAND, Js, MAX_VALUE_DEPTH, Scope, UNKNOWNS, brand, circle::TOO_DEEP};

/// Reads JavaScript values during one callback. Errors name the path of the malformed value.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    scope: Scope,
    brand: Js,
}

impl Reader {
    /// Creates a reader for the running callback.
    pub(crate) fn new(scope: Scope) -> Result<Self> {
        Ok(Self {
            scope,
            brand: scope.shared_symbol(BRAND)?,
        })
    }

    /// Returns the environment.
    pub(crate) const fn scope(&self) -> Scope {
        self.scope
    }

    /// Reads values by name; `undefined` and `null` are an empty map.
    pub(crate) fn map(&self, value: Js) -> Result<PropertyMap> {
        match self.scope.kind(value)? {
            ValueType::napi_undefined | ValueType::napi_null => Ok(PropertyMap::new()),
            ValueType::napi_object if self.brand_of(value)?.is_none() && !self.scope.is_array(value)? => {
                self.object(value, 0).map_err(|error| self.explain(value, error))
            }
            _ => Err(Error::from_reason("expected an object of values by name")),
        }
    }

    /// Reads any value.
    pub(crate) fn value(&self, value: Js) -> Result<PropertyValue> {
        self.nested(value, 0).map_err(|error| self.explain(value, error))
    }

    /// Reads a property of an object; `None` when it is `undefined` or `null`.
    pub(crate) fn field(&self, object: Js, name: &str) -> Result<Option<Js>> {
        let value = self.scope.get_named(object, name)?;
        match self.scope.kind(value)? {
            ValueType::napi_undefined | ValueType::napi_null => Ok(None),
            _ => Ok(Some(value)),
        }
    }

    /// Reads a text property.
    pub(crate) fn text_field(&self, object: Js, name: &str) -> Result<Option<String>> {
        self.field(object, name)?
            .map(|value| {
                self.scope
                    .as_text(value)
                    .map_err(|error| no_text(name, "text", error))
            })
            .transpose()
    }

    /// Reads a truth property; anything but `true` and `false` is refused.
    pub(crate) fn bool_field(&self, object: Js, name: &str) -> Result<Option<bool>> {
        self.field(object, name)?
            .map(|value| self.scope.as_bool(value).map_err(|_| not_a(name, "boolean")))
            .transpose()
    }

    /// Reads a number property.
    pub(crate) fn number_field(&self, object: Js, name: &str) -> Result<Option<f64>> {
        self.field(object, name)?
            .map(|value| self.scope.as_number(value).map_err(|_| not_a(name, "number")))
            .transpose()
    }

    /// Reads a property that is a map of values.
    pub(crate) fn map_field(&self, object: Js, name: &str) -> Result<Option<PropertyMap>> {
        self.field(object, name)?
            .map(|value| self.map(value).map_err(|error| within(name, error)))
            .transpose()
    }

    /// Reads a property that is a list of texts; absent is empty.
    pub(crate) fn texts_field(&self, object: Js, name: &str) -> Result<Vec<String>> {
        let Some(array) = self.field(object, name)? else {
            return Ok(Vec::new());
        };
        self.texts(array, name)
    }

    /// Reads a list of texts.
    pub(crate) fn texts(&self, array: Js, name: &str) -> Result<Vec<String>> {
        self.elements(array, name, |element| {
            self.scope
                .as_text(element)
                .map_err(|error| no_text(name, "list of texts", error))
        })
    }

    /// Reads the elements of an array.
    pub(crate) fn elements<T>(
        &self,
        array: Js,
        name: &str,
        mut read: impl FnMut(Js) -> Result<T>,
    ) -> Result<Vec<T>> {
        if !self.scope.is_array(array)? {
            return Err(not_a(name, "list"));
        }
        let length = self.scope.length(array)?;
        let mut result = Vec::with_capacity(length as usize);
        for index in 0..length {
            result.push(read(self.scope.element(array, index)?)?);
        }
        Ok(result)
    }

    /// Calls `read` for each own property of an object.
    pub(crate) fn entries(&self, object: Js, mut read: impl FnMut(&str, Js) -> Result<()>) -> Result<()> {
        let names = self.scope.own_names(object)?;
        for index in 0..self.scope.length(names)? {
            let name = self.scope.element(names, index)?;
            let value = self.scope.get(object, name)?;
            self.scope.with_text(name, |name| read(name, value))??;
        }
        Ok(())
    }

    pub(super) fn brand_of(&self, object: Js) -> Result<Option<f64>> {
        let number = self.scope.get(object, self.brand)?;
        if self.scope.kind(number)? == ValueType::napi_number {
            self.scope.as_number(number).map(Some)
        } else {
            Ok(None)
        }
    }

    fn nested(&self, value: Js, depth: usize) -> Result<PropertyValue> {
        match self.scope.kind(value)? {
            ValueType::napi_undefined | ValueType::napi_null => Ok(PropertyValue::Null),
            ValueType::napi_boolean => self.scope.as_bool(value).map(PropertyValue::Bool),
            ValueType::napi_number => self.scope.as_number(value).map(PropertyValue::Number),
            ValueType::napi_string => self
                .scope
                .with_text(value, |text| PropertyValue::String(SmolStr::new(text))),
            ValueType::napi_object if depth >= MAX_VALUE_DEPTH => Err(Error::from_reason(TOO_DEEP)),
            ValueType::napi_object => self.compound(value, depth + 1),
            ValueType::napi_function => Err(Error::from_reason("a function is not a value")),
            ValueType::napi_bigint => Err(Error::from_reason(
                "a BigInt is not a value: pass a number or a text",
            )),
            _ => Err(Error::from_reason("a symbol is not a value")),
        }
    }

    fn compound(&self, value: Js, depth: usize) -> Result<PropertyValue> {
        if self.scope.is_array(value)? {
            let length = self.scope.length(value)?;
            let mut values = Vec::with_capacity(length as usize);
            for index in 0..length {
                let element = self.scope.element(value, index)?;
                let read = self.nested(element, depth);
                values.push(read.map_err(|error| within(&format!("[{index}]"), error))?);
            }
            return Ok(PropertyValue::array(values));
        }
        if let Some(number) = self.brand_of(value)? {
            return self.branded(value, number, depth);
        }
        if let Some(content) = self.scope.as_bytes(value)? {
            return Ok(PropertyValue::Bytes(content));
        }
        if self.scope.is_promise(value)? {
            return Err(Error::from_reason("a promise is not a value: await it first"));
        }
        if self.scope.is_date(value)? {
            return Err(Error::from_reason("a date is not a value: pass a text"));
        }
        self.object(value, depth).map(PropertyValue::Object)
    }

    fn object(&self, object: Js, depth: usize) -> Result<PropertyMap> {
        let names = self.scope.own_names(object)?;
        let length = self.scope.length(names)?;
        if length == 0 {
            self.refuse_opaque(object)?;
        }
        let mut entries: Vec<(Key, PropertyValue)> = Vec::with_capacity(length as usize);
        for index in 0..length {
            let name = self.scope.element(names, index)?;
            let key = self.scope.with_text(name, |name| Key::new(name));
            let key = key.map_err(|error| {
                Error::from_reason(format!("in the name of a property, {}", error.reason))
            })?;
            let value = self
                .scope
                .get(object, name)
                .map_err(|error| within(&key, error))?;
            // As in JSON, undefined properties are omitted.
            if self.scope.kind(value)? == ValueType::napi_undefined {
                continue;
            }
            let value = self.nested(value, depth).map_err(|error| within(&key, error))?;
            entries.push((key, value));
        }
        Ok(entries.into_iter().collect())
    }

    /// Rejects objects whose content is not in properties: a Map, a Set, an Error, an object with private members only.
    fn refuse_opaque(&self, object: Js) -> Result<()> {
        let constructor = self.scope.get_named(object, "constructor")?;
        if self.scope.kind(constructor)? != ValueType::napi_function {
            return Ok(());
        }
        let name = self.scope.get_named(constructor, "name")?;
        if self.scope.kind(name)? != ValueType::napi_string {
            return Ok(());
        }
        let name = self.scope.as_text(name)?;
        if name == "Object" {
            return Ok(());
        }
        Err(Error::from_reason(format!(
            "an object of the class {name}, without properties of its own, is not a value: pass plain data"
        )))
    }

    fn branded(&self, value: Js, number: f64, depth: usize) -> Result<PropertyValue> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the package's numbers are small and whole; anything else matches no class"
        )]
        match number as u32 {
            brand::SECRET => {
                let element = self.nested(self.scope.get_named(value, "value")?, depth)?;
                Ok(PropertyValue::secret(element))
            }
            brand::UNKNOWN => Ok(PropertyValue::Unknown(self.unknown(value)?)),
            brand::ASSET => self.asset(value),
            brand::ARCHIVE => self.archive(value, depth),
            brand::RESOURCE_REFERENCE => self.resource_reference(value),
            brand::OUTPUT => self.output(value, depth),
            _ => Err(Error::from_reason("a value of a newer version of this package")),
        }
    }

    fn unknown(&self, value: Js) -> Result<Unknown> {
        let name = self.text_field(value, "kind")?.unwrap_or_default();
        let found = UNKNOWNS.iter().find(|(_, known)| *known == name);
        found
            .map(|(unknown, _)| *unknown)
            .ok_or_else(|| Error::from_reason(format!("there is no kind {name:?} of unknowns")))
    }

    fn asset(&self, value: Js) -> Result<PropertyValue> {
        let source = if let Some(path) = self.text_field(value, "path")? {
            AssetSource::Path(path)
        } else if let Some(uri) = self.text_field(value, "uri")? {
            AssetSource::Uri(uri)
        } else {
            AssetSource::Text(self.text_field(value, "text")?.unwrap_or_default())
        };
        let hash = self.text_field(value, "hash")?.unwrap_or_default().into();
        Ok(PropertyValue::Asset(Asset { hash, source }.into()))
    }

    fn archive(&self, value: Js, depth: usize) -> Result<PropertyValue> {
        let source = if let Some(path) = self.text_field(value, "path")? {
            ArchiveSource::Path(path)
        } else if let Some(uri) = self.text_field(value, "uri")? {
            ArchiveSource::Uri(uri)
        } else {
            let mut assets = BTreeMap::new();
            if let Some(object) = self.field(value, "assets")? {
                for (name, asset) in self.object(object, depth)? {
                    assets.insert(name.to_string(), asset);
                }
            }
            ArchiveSource::Assets(assets)
        };
        let hash = self.text_field(value, "hash")?.unwrap_or_default().into();
        Ok(PropertyValue::Archive(Archive { hash, source }.into()))
    }

    fn resource_reference(&self, value: Js) -> Result<PropertyValue> {
        let urn = self.text_field(value, "urn")?.unwrap_or_default();
        let urn = Urn::parse(&urn).map_err(|error| Error::from_reason(error.to_string()))?;
        let id = match self.field(value, "id")? {
            None => None,
            Some(id) if self.scope.kind(id)? == ValueType::napi_string => {
                Some(Ok(ResourceId::from(self.scope.as_text(id)?)))
            }
            Some(id) => Some(Err(self.unknown(id)?)),
        };
        let package_version = self
            .text_field(value, "packageVersion")?
            .unwrap_or_default()
            .into();
        let reference = ResourceReference {
            urn,
            id,
            package_version,
        };
        Ok(PropertyValue::ResourceReference(reference.into()))
    }

    fn output(&self, value: Js, depth: usize) -> Result<PropertyValue> {
        let element = match self.nested(self.scope.get_named(value, "value")?, depth)? {
            PropertyValue::Unknown(_) => None,
            known => Some(known),
        };
        let dependencies = self.texts_field(value, "dependencies")?;
        let secret = self.bool_field(value, "secret")?.unwrap_or_default();
        if dependencies.is_empty() {
            let element = element.unwrap_or(PropertyValue::unknown());
            return Ok(if secret {
                PropertyValue::secret(element)
            } else {
                element
            });
        }
        let dependencies = dependencies.iter().map(|urn| Urn::parse(urn));
        let output = Output {
            element,
            secret,
            dependencies: dependencies
                .collect::<std::result::Result<_, _>>()
                .map_err(|error| Error::from_reason(error.to_string()))?,
        };
        Ok(PropertyValue::Output(output.into()))
    }
}

/// The error of a property of a wrong type.
fn not_a(name: &str, wanted: &str) -> Error {
    Error::from_reason(format!("{name}: expected a {wanted}"))
}

/// The error of a property that is not a text, or has no UTF-8 form.
fn no_text(name: &str, wanted: &str, error: Error) -> Error {
    match error.status {
        Status::InvalidArg => within(name, error),
        _ => not_a(name, wanted),
    }
}

/// Prepends `step` to the path in an error.
fn within(step: &str, error: Error) -> Error {
    let reason = &error.reason;
    let joined = if reason.starts_with('[') {
        format!("{step}{reason}")
    } else if reason.contains(": ") && !reason.starts_with(char::is_whitespace) && is_path(reason) {
        format!("{step}.{reason}")
    } else {
        format!("{step}: {reason}")
    };
    Error::from_reason(joined)
}

/// Returns whether a text starts with a path: no spaces before the first colon and space.
fn is_path(text: &str) -> bool {
    text.split_once(": ").is_some_and(|(path, _)| !path.contains(' '))
}

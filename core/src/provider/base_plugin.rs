//! The plugin of a parameterized package, as recorded in provider resources.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    error::{Error, Result},
    property::{PropertyMap, PropertyValue},
};

const NAME: &str = "name";
const VERSION: &str = "version";
const PARAMETER: &str = "parameterization";

/// A plugin that serves different packages, depending on a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BasePlugin {
    /// Its name; differs from the package's.
    pub name: String,
    /// Its version; differs from the package's.
    pub version: Option<semver::Version>,
    /// The parameter; opaque to the engine.
    pub value: Vec<u8>,
}

impl BasePlugin {
    /// Reads the plugin of a package from the engine's object of a provider's inputs; `None` for a package without
    /// parameter. A plugin without a name has the package's name.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if the parameter is not base64 text, or the version is invalid.
    pub(super) fn read(package: &str, internal: &PropertyMap) -> Result<Option<Self>> {
        let Some(parameter) = internal.get(PARAMETER) else {
            return Ok(None);
        };
        let text = |key: &str| internal.get(key).map(PropertyValue::unwrapped)?.as_str();
        let bad = |why: &str| {
            Error::invalid(format!(
                "could not read the parameter of package {package}: {why}"
            ))
        };
        let encoded = parameter
            .unwrapped()
            .as_str()
            .ok_or_else(|| bad("it is no text"))?;
        let value = STANDARD
            .decode(encoded)
            .map_err(|error| bad(&error.to_string()))?;
        let version = match text(VERSION).filter(|text| !text.is_empty()) {
            Some(text) => Some(semver::Version::parse(text).map_err(|error| {
                Error::invalid(format!(
                    "could not parse plugin version {text:?} of package {package}: {error}"
                ))
            })?),
            None => None,
        };
        let name = text(NAME).filter(|name| !name.is_empty()).unwrap_or(package);
        Ok(Some(Self {
            name: name.to_owned(),
            version,
            value,
        }))
    }

    /// Writes the plugin to the engine's object.
    pub(super) fn write(&self, internal: &mut PropertyMap) {
        internal.insert(NAME, self.name.as_str().into());
        if let Some(version) = &self.version {
            internal.insert(VERSION, version.to_string().into());
        }
        internal.insert(PARAMETER, STANDARD.encode(&self.value).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(entries: &[(&str, &str)]) -> PropertyMap {
        entries
            .iter()
            .map(|(key, value)| (*key, PropertyValue::from(*value)))
            .collect()
    }

    #[test]
    fn it_is_written_like_the_reference_engine_and_read_again() {
        let plugin = BasePlugin {
            name: "terraform-provider".into(),
            version: semver::Version::parse("0.8.1").ok(),
            value: br#"{"remote":1}?>"#.to_vec(),
        };
        let mut internal = PropertyMap::new();
        plugin.write(&mut internal);
        assert_eq!(
            internal,
            object(&[
                ("name", "terraform-provider"),
                ("version", "0.8.1"),
                ("parameterization", "eyJyZW1vdGUiOjF9Pz4="),
            ])
        );
        assert_eq!(BasePlugin::read("random", &internal).unwrap(), Some(plugin));
    }

    #[test]
    fn a_missing_parameter_is_none_and_an_empty_parameter_is_some() {
        let named = object(&[("name", "base"), ("version", "1.0.0")]);
        assert_eq!(BasePlugin::read("made", &named).unwrap(), None);
        let empty = BasePlugin::read("made", &object(&[("parameterization", "")])).unwrap();
        let expected = BasePlugin {
            name: "made".into(),
            ..BasePlugin::default()
        };
        assert_eq!(empty, Some(expected));
    }

    #[test]
    fn malformed_fields_are_refused_with_the_name_of_the_package() {
        for (entries, expected) in [
            (
                object(&[("parameterization", "?")]),
                "could not read the parameter of package made: ",
            ),
            (
                object(&[("parameterization", ""), ("version", "new")]),
                "could not parse plugin version \"new\" of package made: ",
            ),
            (
                [("parameterization", PropertyValue::from(1.0))]
                    .into_iter()
                    .collect(),
                "could not read the parameter of package made: it is no text",
            ),
        ] {
            let error = BasePlugin::read("made", &entries).unwrap_err();
            assert!(error.message().starts_with(expected), "{error}");
        }
    }
}

//! Provider settings: the engine's own fields among a provider resource's inputs (version, download address…).

use std::collections::BTreeMap;

use crate::{
    error::{Error, Result},
    property::{PropertyMap, PropertyValue},
    provider::BasePlugin,
};

/// The object of a provider's inputs that belongs to the engine and never reaches a plugin.
pub(crate) const INTERNAL: &str = "__internal";

/// The plugin of a provider resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProviderSettings {
    /// The package.
    pub package: String,
    /// The requested version of the package.
    pub version: Option<semver::Version>,
    /// The download address; empty if unknown.
    pub download_url: String,
    /// Hex checksums of the plugin by platform (`linux-amd64`).
    pub checksums: BTreeMap<String, String>,
    /// The plugin of a parameterized package; `None` for a package with a plugin of its own.
    pub base: Option<BasePlugin>,
    /// Variables of the host's environment, by name, with the names under which the plugin sees their values, too.
    pub environment: BTreeMap<String, String>,
}

impl ProviderSettings {
    /// Reads the engine's fields from a provider's inputs; in old states they are top-level fields.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if a version or a parameter is malformed.
    pub(crate) fn read(package: &str, inputs: &PropertyMap) -> Result<Self> {
        let (internal, base) = match inputs.get(INTERNAL).map(PropertyValue::unwrapped) {
            Some(PropertyValue::Object(internal)) => (internal.clone(), BasePlugin::read(package, internal)?),
            // The user's own configuration may have the same keys as the engine's fields.
            _ => (inputs.clone(), None),
        };
        let version = match inputs
            .get("version")
            .and_then(PropertyValue::as_str)
            .filter(|text| !text.is_empty())
        {
            Some(text) => Some(semver::Version::parse(text).map_err(|error| {
                Error::invalid(format!(
                    "could not parse provider version {text:?} of package {package}: {error}"
                ))
            })?),
            None => None,
        };
        let text = |key: &str| {
            internal
                .get(key)
                .and_then(PropertyValue::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let texts = |key: &str| match internal.get(key).map(PropertyValue::unwrapped) {
            Some(PropertyValue::Object(map)) => map
                .iter()
                .filter_map(|(name, text)| Some((name.to_string(), text.as_str()?.to_owned())))
                .collect(),
            _ => BTreeMap::new(),
        };
        Ok(Self {
            package: package.to_owned(),
            version,
            download_url: text("pluginDownloadURL"),
            checksums: texts("pluginChecksums"),
            base,
            environment: texts("envVarMappings"),
        })
    }

    /// Writes the fields to a provider's inputs, as they are recorded.
    #[must_use]
    pub(crate) fn write(&self, mut inputs: PropertyMap) -> PropertyMap {
        let mut internal = PropertyMap::new();
        if !self.download_url.is_empty() {
            internal.insert("pluginDownloadURL", self.download_url.as_str().into());
        }
        for (key, texts) in [
            ("pluginChecksums", &self.checksums),
            ("envVarMappings", &self.environment),
        ] {
            if !texts.is_empty() {
                let texts = texts
                    .iter()
                    .map(|(name, text)| (name.as_str(), text.as_str().into()));
                internal.insert(key, texts.collect::<PropertyMap>().into());
            }
        }
        if let Some(base) = &self.base {
            base.write(&mut internal);
        }
        let has_internal = !internal.is_empty() || self.version.is_some();
        if let Some(version) = &self.version {
            inputs.insert("version", version.to_string().into());
        }
        if has_internal {
            // Present even if empty, so that a later read does not take the user's keys for the engine's fields.
            inputs.insert(INTERNAL, internal.into());
        }
        inputs
    }

    /// Returns the key of a default provider: `<package>[-<version>][-<url>]`, as in its name.
    #[must_use]
    pub(crate) fn key(&self) -> String {
        let mut key = self.package.clone();
        if let Some(version) = &self.version {
            key.push('-');
            key.push_str(&version.to_string());
        }
        if !self.download_url.is_empty() {
            key.push('-');
            key.push_str(&self.download_url);
        }
        key
    }

    /// Returns the inputs without the engine's object, as a plugin receives them.
    #[must_use]
    pub(crate) fn strip(inputs: &PropertyMap) -> PropertyMap {
        let mut inputs = inputs.clone();
        if inputs.contains_key(INTERNAL) {
            inputs.remove(INTERNAL);
        }
        inputs
    }

    /// Returns the outputs of a provider with these inputs.
    #[must_use]
    pub(crate) fn outputs(inputs: &PropertyMap) -> PropertyMap {
        Self::strip(inputs)
    }

    /// Restores the engine's fields in the inputs that the plugin's CheckConfig returned.
    ///
    /// # Errors
    /// The rest of a message after the provider's name, if the plugin changed its own version.
    pub(crate) fn restore(mut checked: PropertyMap, news: &PropertyMap) -> Result<PropertyMap, String> {
        if let Some(expected) = news.get("version") {
            match checked.get("version") {
                Some(version) if version != expected => {
                    return Err(format!(
                        "attempted to change version from {:?} to {:?}",
                        expected.as_str().unwrap_or_default(),
                        version.as_str().unwrap_or_default()
                    ));
                }
                Some(_) => {}
                None => {
                    checked.insert("version", expected.clone());
                }
            }
        }
        checked.remove(INTERNAL);
        if let Some(internal) = news.get(INTERNAL) {
            checked.insert(INTERNAL, internal.clone());
        }
        Ok(checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_being_written_and_read() {
        let settings = ProviderSettings {
            package: "files".into(),
            version: semver::Version::parse("1.2.3").ok(),
            download_url: "https://example.com/files".into(),
            checksums: BTreeMap::from([("linux-amd64".into(), "00ff".into())]),
            base: None,
            environment: BTreeMap::from([("MY_TOKEN".into(), "TOKEN".into())]),
        };
        let inputs = settings.write(PropertyMap::new());
        assert_eq!(ProviderSettings::read("files", &inputs).unwrap(), settings);
        assert_eq!(ProviderSettings::strip(&inputs).len(), 1);
    }

    #[test]
    fn a_parameterized_package_keeps_its_own_version_and_that_of_its_plugin() {
        let recorded: PropertyMap = [
            ("region", PropertyValue::from("here")),
            ("version", "3.6.0".into()),
            (
                INTERNAL,
                PropertyMap::from_iter([
                    ("name", PropertyValue::from("terraform-provider")),
                    ("version", "0.8.1".into()),
                    ("parameterization", "cmFuZG9t".into()),
                ])
                .into(),
            ),
        ]
        .into_iter()
        .collect();
        let settings = ProviderSettings::read("random", &recorded).unwrap();
        let expected = ProviderSettings {
            package: "random".into(),
            version: semver::Version::parse("3.6.0").ok(),
            base: Some(BasePlugin {
                name: "terraform-provider".into(),
                version: semver::Version::parse("0.8.1").ok(),
                value: b"random".to_vec(),
            }),
            ..ProviderSettings::default()
        };
        assert_eq!(settings, expected);
        assert_eq!(settings.key(), "random-3.6.0");
        let configuration: PropertyMap = [("region", PropertyValue::from("here"))].into_iter().collect();
        assert_eq!(settings.write(configuration), recorded);
    }

    #[test]
    fn keys_of_the_user_are_not_read_as_settings() {
        let configuration = [
            ("name", PropertyValue::from("x")),
            ("parameterization", "?".into()),
        ];
        let settings = ProviderSettings::read("files", &configuration.into_iter().collect()).unwrap();
        assert_eq!(settings.base, None);
    }

    #[test]
    fn a_plugin_may_drop_its_version_but_not_change_it() {
        let settings = ProviderSettings {
            version: semver::Version::parse("1.0.0").ok(),
            ..ProviderSettings::default()
        };
        let news = settings.write(PropertyMap::new());
        assert_eq!(
            ProviderSettings::restore(PropertyMap::new(), &news).unwrap(),
            news
        );
        let other = [("version", PropertyValue::from("2.0.0"))].into_iter().collect();
        assert!(ProviderSettings::restore(other, &news).is_err());
    }
}

//! The option of requests that names the plugin of a package, where that is not the one of its name.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::{PackageParameter, PackageSource};

/// The plugin that serves the package, where that is not the one of its name: with a parameter, or with an extension.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct ServedBy(Option<SourceDocument>);

/// The plugin that serves a package of another name.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PackageSource")]
struct SourceDocument {
    /// The name of the plugin.
    plugin_name: String,
    /// The version of the plugin; left out, any.
    #[serde(default)]
    plugin_version: String,
    /// The address from which the plugin can be downloaded, for the resolver and the installer.
    #[serde(default, rename = "pluginDownloadURL")]
    plugin_download_url: String,
    /// The parameter with which the plugin serves a package of another name.
    #[serde(default)]
    parameterization: Option<ParameterDocument>,
    /// The extension that the provider of the plugin's own package is given, so that it serves a package of another name, too.
    #[serde(default)]
    extension: Option<ParameterDocument>,
}

/// The parameter of a package.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PackageParameter")]
struct ParameterDocument {
    /// The name of the package.
    name: String,
    /// The version of the package.
    version: String,
    /// The value, in base64.
    #[serde(default, deserialize_with = "base64")]
    #[schemars(with = "String")]
    value: Vec<u8>,
}

fn base64<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(reader)?;
    STANDARD
        .decode(text)
        .map_err(|_| de::Error::custom("the value of a package's parameter is not base64"))
}

impl ServedBy {
    /// Returns the plugin of the package.
    pub(super) fn source(self) -> Option<Arc<PackageSource>> {
        self.0.map(|document| Arc::new(document.into()))
    }
}

impl From<SourceDocument> for PackageSource {
    fn from(document: SourceDocument) -> Self {
        Self {
            plugin: document.plugin_name,
            version: document.plugin_version,
            download_url: document.plugin_download_url,
            parameterization: document.parameterization.map(PackageParameter::from),
            extension: document.extension.map(PackageParameter::from),
            ..Self::default()
        }
    }
}

impl From<ParameterDocument> for PackageParameter {
    fn from(document: ParameterDocument) -> Self {
        let ParameterDocument { name, version, value } = document;
        Self { name, version, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Registration;

    #[test]
    fn the_plugin_of_a_package_is_an_option_of_a_request() {
        let read = |package: &str| {
            let text = format!(r#"{{"type": "more:index:Thing", "name": "a", "package": {package}}}"#);
            Registration::from_json(text.as_bytes()).map(|registration| registration.package.source)
        };
        let source = read(
            r#"{"pluginName": "base", "pluginVersion": "0.8.1",
                "extension": {"name": "more", "version": "1.0.0", "value": "aW50byBtb3Jl"}}"#,
        );
        let expected = PackageSource {
            plugin: "base".to_owned(),
            version: "0.8.1".to_owned(),
            extension: Some(PackageParameter {
                name: "more".to_owned(),
                version: "1.0.0".to_owned(),
                value: b"into more".to_vec(),
            }),
            ..PackageSource::default()
        };
        assert_eq!(source.unwrap().as_deref(), Some(&expected));
        let wrong =
            r#"{"pluginName": "base", "extension": {"name": "more", "version": "1.0.0", "value": "*"}}"#;
        let error = read(wrong).unwrap_err();
        assert!(error.message().contains("is not base64"), "{error}");
    }
}

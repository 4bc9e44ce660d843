//! The option of a declaration that names the plugin of its package, where that is not the one of the package's name.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::value::Expression;

/// What makes a plugin serve the package of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageForm {
    /// A parameter: the plugin serves the package of the parameter's name.
    Parameterization,
    /// An extension, which a provider of the plugin's own package is given.
    Extension,
}

/// The plugin that serves the package of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredPackage {
    /// The name of the plugin.
    pub(crate) plugin: String,
    /// The version of the plugin; empty for any.
    pub(crate) version: String,
    /// The address of the plugin; empty for none.
    pub(crate) download_url: String,
    pub(crate) form: PackageForm,
    /// The name and the version of the parameter or the extension.
    pub(crate) parameter: (String, String),
    pub(crate) value: Vec<u8>,
}

/// The names of the option's members in a language.
pub(super) struct PackageKeys {
    pub(super) plugin: &'static str,
    pub(super) version: &'static str,
    pub(super) download_url: &'static str,
}

/// The names of the members in the documents of the bindings.
pub(super) const DOCUMENT_KEYS: PackageKeys = PackageKeys {
    plugin: "pluginName",
    version: "pluginVersion",
    download_url: "pluginDownloadURL",
};

impl DeclaredPackage {
    /// Returns the name of the member that holds the parameter or the extension.
    pub(super) fn member(&self) -> &'static str {
        match self.form {
            PackageForm::Parameterization => "parameterization",
            PackageForm::Extension => "extension",
        }
    }

    /// Returns the option as an object.
    pub(super) fn expression(&self, keys: &PackageKeys) -> Expression {
        let text = |value: &str| Expression::Text(value.to_owned());
        let (name, version) = &self.parameter;
        let parameter = Expression::Object(vec![
            ("name".to_owned(), text(name)),
            ("version".to_owned(), text(version)),
            ("value".to_owned(), Expression::Text(STANDARD.encode(&self.value))),
        ]);
        let plugin = [
            (keys.plugin, &self.plugin),
            (keys.version, &self.version),
            (keys.download_url, &self.download_url),
        ];
        let set = plugin.into_iter().filter(|(_, value)| !value.is_empty());
        let members = set.map(|(key, value)| (key.to_owned(), text(value)));
        Expression::Object(members.chain([(self.member().to_owned(), parameter)]).collect())
    }
}

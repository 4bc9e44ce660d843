//! The request of an import: the resources to import, as callers and import files of the reference engine write them.

use std::{collections::BTreeMap, fmt};

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    error::{Error, Result},
    property::{PropertyMap, json::GivenMap},
};

/// Existing resources that an import begins to manage.
///
/// ```
/// use stackwright::operation::ImportRequest;
///
/// let request = br#"{"resources": [{"type": "files:index:File", "name": "notes", "id": "/tmp/notes"}]}"#;
/// assert_eq!(ImportRequest::from_json(request)?.resources[0].id, "/tmp/notes");
/// # Ok::<(), stackwright::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportRequest {
    /// The resources, in any order: parents and providers may follow.
    #[schemars(extend("x-python" = "Sequence[ImportResource]"))]
    pub resources: Vec<ImportResource>,
    /// URNs of recorded resources by names, which [`ImportResource::parent`] and [`ImportResource::provider`] can have.
    #[schemars(extend("x-takes" = "URNs by name"))]
    pub name_table: BTreeMap<String, String>,
    /// The configuration of providers of [`Self::name_table`] that are not recorded, by name. An input of the provider among
    /// [`Self::resources`] is the better place.
    #[schemars(with = "BTreeMap<String, Map<String, Value>>")]
    pub provider_inputs: BTreeMap<String, GivenInputs>,
    /// An import file of the reference engine, in place of the members above.
    ///
    /// # Rust
    /// [`crate::binding::import_request`] replaces it by its members.
    #[schemars(
        with = "Option<Map<String, Value>>",
        extend("x-raw" = true, "x-python" = "Mapping[str, Any] | bytes | str | None", "x-typescript" = "string | object")
    )]
    pub file: Option<String>,
    /// Whether each imported resource is protected, so that an update or a destroy does not delete it; `true` when left out.
    pub protect: Option<bool>,
    /// Whether the result has source code of the imported resources; `true` when left out. For code of the Pulumi SDKs the
    /// provider of each package is asked for its schema.
    pub generate_code: Option<bool>,
}

/// An existing resource, a component, or a new provider of such resources.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportResource {
    /// The type token: `package:module:member`. The type of a provider is `pulumi:providers:package`: it is created, with
    /// [`Self::inputs`] as its configuration.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The name for references of other resources to it and in source code; that of the URN, too, where
    /// [`Self::logical_name`] is left out.
    pub name: String,
    /// The id by which the provider finds it. Components and providers have none.
    pub id: String,
    /// The parent: the name of another resource of the import, of [`ImportRequest::name_table`] or of a recorded resource, in this
    /// order, or a URN. A name that several recorded resources have is refused. Left out, it is the stack.
    pub parent: String,
    /// The provider, likewise. Left out, it is the default provider of the package, also below a parent with another one.
    pub provider: String,
    /// The version of the package that the default provider has; left out, the newest that the state has.
    pub version: String,
    /// The address from which the plugin of the default provider is installed.
    pub plugin_download_url: String,
    /// The names of the inputs to keep; left out, all that the provider returns.
    pub properties: Vec<String>,
    /// Whether it is a component, which is recorded without a call of a provider.
    pub component: bool,
    /// Whether its provider constructs the component.
    pub remote: bool,
    /// Inputs that complete those that the provider returns, and never replace them. Those of a provider are its
    /// configuration. Secrets may be encrypted by the stack's secrets manager, as a state has them.
    #[schemars(
        with = "Option<Map<String, Value>>",
        extend("x-python" = "Mapping[str, PropertyValue]", "x-typescript" = "{ readonly [name: string]: PropertyValue }")
    )]
    pub inputs: Option<GivenInputs>,
    /// The outputs, as a state has them. The provider is not asked for the resource then: its inputs are [`Self::inputs`].
    #[schemars(
        with = "Option<Map<String, Value>>",
        extend("x-python" = "Mapping[str, PropertyValue]", "x-typescript" = "{ readonly [name: string]: PropertyValue }")
    )]
    pub outputs: Option<GivenInputs>,
    /// The name in the URN, where it is not [`Self::name`].
    pub logical_name: String,
    /// The parameter by which another plugin serves the package, whose version [`Self::version`] is.
    pub parameterization: Option<ImportParameterization>,
    /// An extension that the resource needs. Where the package of its type is the extension itself, [`Self::provider`] is one
    /// of the package that is extended.
    pub extension: Option<ImportExtension>,
}

/// The plugin of a parameterized package.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportParameterization {
    /// The name of the plugin.
    pub plugin_name: String,
    /// The version of the plugin.
    pub plugin_version: String,
    /// The parameter, in base64.
    pub value: String,
}

/// An extension of a package.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportExtension {
    /// The name of the extension.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its value, in base64.
    pub value: String,
}

/// Values that a caller supplies. Debug output shows their names.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(from = "GivenMap")]
pub struct GivenInputs(pub PropertyMap);

impl From<GivenMap> for GivenInputs {
    fn from(given: GivenMap) -> Self {
        Self(given.0)
    }
}

impl fmt::Debug for GivenInputs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl ImportRequest {
    /// Reads a request. A member that it does not have is an error.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the fault and its place.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text)
            .map_err(|error| Error::invalid(format!("cannot read the import: {error}")))
    }

    /// Reads an import file of the reference engine: an object with `resources` and `nameTable`. Members that no import has, which
    /// files of other tools may contain, are ignored.
    ///
    /// # Errors
    /// Those of [`Self::from_json`], and for a file without resources.
    ///
    /// # Examples
    /// ```
    /// use stackwright::operation::ImportRequest;
    ///
    /// let file = br#"{"$schema": "a", "resources": [{"type": "t:m:T", "name": "a", "id": "1", "note": "b"}]}"#;
    /// assert_eq!(ImportRequest::from_import_file(file)?.resources[0].id, "1");
    /// assert!(ImportRequest::from_json(file).is_err());
    /// # Ok::<(), stackwright::Error>(())
    /// ```
    pub fn from_import_file(text: &[u8]) -> Result<Self> {
        Self::from_json(&Self::known_members(text)?)
    }

    /// Returns an import file without the members that no import has.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a text that is no JSON object, and for a file without resources.
    pub(crate) fn known_members(text: &[u8]) -> Result<Vec<u8>> {
        let parsed = serde_json::from_slice::<Value>(text).map_err(|error| {
            let fault = format!("an import file is a JSON object, and this text is not JSON: {error}");
            Error::invalid(fault).with_hint("the text is the content of the file, and not its path")
        })?;
        let Value::Object(mut file) = parsed else {
            return Err(Error::invalid(
                "an import file is a JSON object, with `resources`",
            ));
        };
        if !file.contains_key("resources") {
            return Err(without_resources(&file));
        }
        retain_members::<Self>(&mut file);
        let resources = file.get_mut("resources").and_then(Value::as_array_mut);
        for resource in resources.into_iter().flatten().filter_map(Value::as_object_mut) {
            retain_members::<ImportResource>(resource);
            if let Some(Value::Object(made)) = resource.get_mut("parameterization") {
                retain_members::<ImportParameterization>(made);
            }
            if let Some(Value::Object(extension)) = resource.get_mut("extension") {
                retain_members::<ImportExtension>(extension);
            }
        }
        Ok(Value::Object(file).to_string().into_bytes())
    }

    /// Returns whether imported resources are protected.
    pub(crate) fn protects(&self) -> bool {
        self.protect.unwrap_or(true)
    }

    /// Returns whether the result has source code.
    pub(crate) fn generates_code(&self) -> bool {
        self.generate_code.unwrap_or(true)
    }
}

/// How many members of a file without resources an error names.
const MAX_NAMED_MEMBERS: usize = 8;

/// The error for an import file without resources, which would import nothing.
fn without_resources(file: &Map<String, Value>) -> Error {
    const TEXT: &str = "an import file has `resources`, a list";
    // Their order in the file is not known in every build.
    let mut names: Vec<_> = file.keys().collect();
    names.sort_unstable();
    let members = names.iter().take(MAX_NAMED_MEMBERS);
    let members: Vec<_> = members.map(|name| format!("'{name}'")).collect();
    let error = Error::invalid(match members.is_empty() {
        true => format!("{TEXT}, and this one is empty"),
        false => format!("{TEXT}, and this one has only {}", members.join(", ")),
    });
    match file.contains_key("type") && file.contains_key("name") {
        true => error.with_hint("a single resource is a list with one element"),
        false => error,
    }
}

/// Removes the members that the schema of a document does not have.
fn retain_members<Document: JsonSchema>(members: &mut Map<String, Value>) {
    let schema = schema_for!(Document);
    if let Some(Value::Object(known)) = schema.get("properties") {
        members.retain(|name, _| known.contains_key(name));
    }
}

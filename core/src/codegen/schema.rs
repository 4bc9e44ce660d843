//! The parts of a package's schema that source code of the SDKs needs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::names::capitalized;

/// The schema of a package, as its provider serves it. Members that source code does not need are not read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PackageSchema {
    pub(super) name: String,
    meta: Option<Meta>,
    language: BTreeMap<String, LanguageInfo>,
    pub(super) provider: ResourceSchema,
    resources: BTreeMap<String, ResourceSchema>,
    types: BTreeMap<String, ResourceSchema>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    module_format: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LanguageInfo {
    package_name: String,
    module_name_overrides: BTreeMap<String, String>,
    module_to_package: BTreeMap<String, String>,
}

/// A resource, or an object type.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceSchema {
    /// Those of a resource.
    pub(super) input_properties: BTreeMap<String, PropertySchema>,
    /// Those of an object type.
    properties: BTreeMap<String, PropertySchema>,
    pub(super) is_component: bool,
}

/// A property: its type and its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PropertySchema {
    #[serde(rename = "$ref")]
    reference: String,
    pub(super) items: Option<Box<Self>>,
    pub(super) additional_properties: Option<Box<Self>>,
    one_of: Vec<Self>,
    pub(super) default: Option<Value>,
}

/// The place of a class in a package.
pub(super) struct ClassPlace {
    /// The modules below the package; empty for its root.
    pub(super) modules: Vec<String>,
    pub(super) class: String,
}

impl PackageSchema {
    /// Reads the schema that a provider serves.
    ///
    /// # Errors
    /// The fault of the JSON.
    pub(crate) fn read(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Returns the schema of a resource type.
    pub(super) fn resource(&self, token: &str) -> Option<&ResourceSchema> {
        self.resources.get(token)
    }

    /// Returns the members of an object type to which a property refers.
    pub(super) fn members_of(&self, property: &PropertySchema) -> Option<&BTreeMap<String, PropertySchema>> {
        let of = |property: &PropertySchema| {
            let token = property.reference.strip_prefix("#/types/")?;
            // References are encoded as parts of URIs.
            let token = token.replace("%2F", "/").replace("%2f", "/");
            let members = self.types.get(&token).map(|object| &object.properties)?;
            (!members.is_empty()).then_some(members)
        };
        of(property).or_else(|| property.one_of.iter().find_map(of))
    }

    /// Returns the name of the package that users import: `pulumi_random`, `@pulumi/random`.
    pub(super) fn package(&self, language: &str) -> String {
        let own = self.language.get(language).map(|info| info.package_name.as_str());
        match (own.filter(|name| !name.is_empty()), language) {
            (Some(name), _) => name.to_owned(),
            (None, "python") => format!("pulumi_{}", self.name.replace('-', "_")),
            (None, _) => format!("@pulumi/{}", self.name),
        }
    }

    /// Returns where the class of a resource type is.
    pub(super) fn class(&self, token: &str, language: &str) -> ClassPlace {
        let mut parts = token.splitn(3, ':').skip(1);
        let module = parts.next().unwrap_or_default();
        let class = parts.next().unwrap_or_default();
        // The format of bridged providers; others have the whole part.
        let is_bridged = self
            .meta
            .as_ref()
            .is_some_and(|meta| meta.module_format.contains("(?:/"));
        let module = match module.rsplit_once('/') {
            Some((module, last)) if is_bridged || capitalized(last) == class => module,
            _ => module,
        };
        let info = self.language.get(language);
        let overridden = info.and_then(|info| {
            info.module_name_overrides
                .get(module)
                .or_else(|| info.module_to_package.get(module))
        });
        let module = overridden.map_or(module, String::as_str);
        let modules = module
            .split(['/', '.'])
            .filter(|part| !part.is_empty() && *part != "index");
        ClassPlace {
            modules: modules.map(str::to_owned).collect(),
            class: capitalized(class),
        }
    }
}

//! The parts of a package's schema that source code of the SDKs needs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{names::capitalized, value::Expression};

/// The schema of a package, as its provider serves it. Members that source code does not need are not read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PackageSchema {
    pub(crate) name: String,
    /// The publisher, as a part of the names of its packages; empty for `pulumi`.
    namespace: String,
    meta: Option<Meta>,
    language: BTreeMap<String, LanguageInfo>,
    pub(super) provider: ResourceSchema,
    config: ConfigSchema,
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

/// The configuration of the package, which its provider takes, too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigSchema {
    variables: BTreeMap<String, PropertySchema>,
}

/// A resource, or an object type.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceSchema {
    /// Those of a resource.
    pub(super) input_properties: BTreeMap<String, PropertySchema>,
    /// Those of an object type, and the outputs of a resource.
    properties: BTreeMap<String, PropertySchema>,
    pub(super) is_component: bool,
}

/// A property: its type and its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PropertySchema {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "$ref")]
    reference: String,
    pub(super) items: Option<Box<Self>>,
    pub(super) additional_properties: Option<Box<Self>>,
    pub(super) one_of: Vec<Self>,
    pub(super) secret: bool,
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

    /// Returns the lists of properties that the inputs of a resource type can have, outputs included; of a provider for
    /// `None`.
    pub(super) fn properties_of(
        &self,
        token: Option<&str>,
    ) -> impl Iterator<Item = &BTreeMap<String, PropertySchema>> {
        let resource = match token {
            Some(token) => self.resource(token),
            None => Some(&self.provider),
        };
        let own = resource.map(|resource| [&resource.input_properties, &resource.properties]);
        let configuration = token.is_none().then_some(&self.config.variables);
        own.into_iter().flatten().chain(configuration)
    }

    /// Returns the type of the package to which a property refers.
    fn referred(&self, property: &PropertySchema) -> Option<&ResourceSchema> {
        let token = property.reference.strip_prefix("#/types/")?;
        // References are encoded as parts of URIs.
        let token = token.replace("%2F", "/").replace("%2f", "/");
        self.types.get(&token)
    }

    /// Returns the members of an object type to which a property refers.
    pub(super) fn members_of(&self, property: &PropertySchema) -> Option<&BTreeMap<String, PropertySchema>> {
        let members = self.referred(property).map(|object| &object.properties)?;
        (!members.is_empty()).then_some(members)
    }

    /// Returns whether values of a property are strings, which a provider's class does not write as JSON. Those of an enumeration
    /// and of several types are none.
    pub(super) fn is_string(&self, property: &PropertySchema) -> bool {
        property.kind == "string" && property.one_of.is_empty() && self.referred(property).is_none()
    }

    /// Returns, of a property of several types, the one that fits a value best; any other property as it is.
    pub(super) fn part_for<'a>(
        &self,
        property: &'a PropertySchema,
        value: &Expression,
    ) -> &'a PropertySchema {
        let parts = property.one_of.iter();
        let fitting = match value {
            Expression::List(_) => parts.clone().find(|part| part.items.is_some()),
            Expression::Object(map) => {
                let known = |part: &&PropertySchema| {
                    let members = self.members_of(part);
                    members.map(|members| map.iter().filter(|(key, _)| members.contains_key(key)).count())
                };
                // Of equals, the first one.
                let objects = parts.clone().filter(|part| known(part).is_some()).rev();
                let object = objects.max_by_key(known);
                object.or_else(|| parts.clone().find(|part| part.additional_properties.is_some()))
            }
            _ => None,
        };
        fitting.unwrap_or(property)
    }

    /// Returns the name of the package that users import: `pulumi_random`, `@pulumi/random`.
    pub(super) fn package(&self, language: &str) -> String {
        let own = self.language.get(language).map(|info| info.package_name.as_str());
        let publisher = match self.namespace.as_str() {
            "" => "pulumi",
            namespace => namespace,
        };
        match (own.filter(|name| !name.is_empty()), language) {
            (Some(name), _) => name.to_owned(),
            (None, "python") => format!("{publisher}_{}", self.name).replace('-', "_"),
            (None, _) => format!("@{publisher}/{}", self.name),
        }
    }

    /// Returns where the class of a resource type is: the parts of its module in the form of the SDKs, which is in lower case
    /// unless the schema names another one.
    pub(super) fn class(&self, token: &str, language: &str) -> ClassPlace {
        let mut parts = token.splitn(3, ':').skip(1);
        let module = self.module(parts.next().unwrap_or_default());
        let class = parts.next().unwrap_or_default();
        let overridden = self.language.get(language).and_then(|info| {
            let modules = match language {
                "python" => &info.module_name_overrides,
                _ => &info.module_to_package,
            };
            modules.get(module)
        });
        let module = match overridden {
            // Python has the names as they are, Node those of folders.
            Some(module) if language == "python" => module.clone(),
            Some(module) => module.to_lowercase(),
            None => module.to_lowercase(),
        };
        let modules = module.split(['/', '.']).filter(|part| !part.is_empty());
        ClassPlace {
            modules: modules.map(str::to_owned).collect(),
            class: capitalized(class),
        }
    }

    /// Returns the module of the middle part of a token; empty for the package itself.
    fn module<'a>(&self, part: &'a str) -> &'a str {
        // The format of bridged providers, whose last part is the resource; others have the whole part.
        let format = self.meta.as_ref().map(|meta| meta.module_format.as_str());
        let is_bridged = format.is_some_and(|format| format.contains("(?:/"));
        let module = match part.rsplit_once('/') {
            Some((module, _)) if is_bridged => module,
            _ => part,
        };
        if module.starts_with("index") { "" } else { module }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(schema: &str, token: &str, language: &str) -> String {
        let schema = PackageSchema::read(schema).unwrap();
        let ClassPlace { modules, class } = schema.class(token, language);
        format!("{} {} {class}", schema.package(language), modules.join("."))
    }

    #[test]
    fn a_class_is_where_the_generator_of_the_sdks_puts_it() {
        let bridged = r#"{"name": "c-d", "meta": {"moduleFormat": "(.*)(?:/[^/]*)"}}"#;
        let plain = r#"{"name": "cloud", "namespace": "my-org", "language": {
            "python": {"moduleNameOverrides": {"compute/v1": "compute/one", "tasks": ""}},
            "nodejs": {"packageName": "@cloud/sdk", "moduleToPackage": {"compute/v1": "Compute/One"}}}}"#;
        let table = [
            (bridged, "c-d:index/thing:Thing", "python", "pulumi_c_d  Thing"),
            (
                bridged,
                "c-d:appMesh/route:Route",
                "python",
                "pulumi_c_d appmesh Route",
            ),
            (
                bridged,
                "c-d:appMesh/route:Route",
                "nodejs",
                "@pulumi/c-d appmesh Route",
            ),
            (plain, "cloud:index:thing", "python", "my_org_cloud  Thing"),
            (
                plain,
                "cloud:compute/v1:Disk",
                "python",
                "my_org_cloud compute.one Disk",
            ),
            (
                plain,
                "cloud:compute/v1:Disk",
                "nodejs",
                "@cloud/sdk compute.one Disk",
            ),
            (plain, "cloud:tasks:Job", "python", "my_org_cloud  Job"),
            (plain, "cloud:mod/sub:Sub", "nodejs", "@cloud/sdk mod.sub Sub"),
        ];
        for (schema, token, language, expected) in table {
            assert_eq!(place(schema, token, language), expected, "{token} in {language}");
        }
    }
}

//! The documents of our own API: registrations, reads and calls of functions, with the options of each.
//!
//! Members that have `x-in` in the schema are written by hosts in C alone; the other bindings have arguments for them, or find
//! them out. What is left is the options as Python and Node have them. A reference to a resource is its URN; these two
//! accept the resource itself in its place: `x-reference` in the schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::members::{
    Dependencies, DownloadUrl, NoParent, PackageVersion, Parent, ProviderName, ProviderReference, Reference,
    References, SecretOutputs, Sources,
};
use super::served_by::ServedBy;
use crate::{
    property::json::{PlainMap, PlainValue},
    resource::{CustomTimeouts, HookBindings, PropertyDependencies},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The options of a resource.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ResourceOptions")]
pub(crate) struct RegistrationDocument {
    /// The type token.
    #[serde(rename = "type")]
    #[schemars(with = "String", extend("x-in" = ["c"]))]
    pub(super) resource_type: TypeToken,
    /// The name.
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) name: String,
    /// Whether a provider manages it; `false` for a component. Left out, it is `true`.
    #[serde(default = "custom")]
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) custom: bool,
    /// Whether it is a component whose provider constructs it, with the resources below it.
    #[serde(default)]
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) remote: bool,
    /// The inputs.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>", extend("x-in" = ["c"]))]
    pub(super) inputs: PlainMap,
    #[serde(default)]
    pub(super) parent: Parent,
    #[serde(default)]
    pub(super) no_parent: NoParent,
    #[serde(default)]
    pub(super) dependencies: Dependencies,
    #[serde(default)]
    pub(super) depends_on: Sources,
    /// The URNs of the resources that each input comes from, by its name. Left out, each input comes from all of
    /// [`Self::dependencies`].
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<String>>", extend("x-in" = ["c"]))]
    pub(super) property_dependencies: Option<PropertyDependencies>,
    /// The provider resource that manages it, or its reference, `<urn>::<id>`. Left out, it is that of the parent, or else the
    /// default provider of the package.
    #[serde(default)]
    pub(super) provider: ProviderName,
    /// Provider resources for a component's children, by package.
    #[serde(default)]
    #[schemars(
        with = "BTreeMap<String, ProviderReference>",
        extend(
            "x-takes" = "provider resources by package",
            "x-python" = "Mapping[str, Resource | str] | Sequence[Resource] | None",
            "x-typescript" = "{ readonly [name: string]: AnyResource | string }"
        )
    )]
    pub(super) providers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) version: PackageVersion,
    #[serde(default, rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: DownloadUrl,
    #[serde(default)]
    pub(super) package: ServedBy,
    /// For a provider: variables of the host's environment, by name, with the names under which its plugin sees their values, too.
    /// A provider in this process has no plugin, and ignores them.
    #[serde(default)]
    pub(super) env_var_mappings: BTreeMap<String, String>,
    /// Never deletes or replaces it.
    #[serde(default)]
    #[schemars(extend("x-python" = "bool | None"))]
    pub(super) protect: Option<bool>,
    /// A replacement deletes the old one first.
    #[serde(default)]
    #[schemars(extend("x-python" = "bool | None"))]
    pub(super) delete_before_replace: Option<bool>,
    /// Paths of inputs whose changes are ignored.
    #[serde(default)]
    pub(super) ignore_changes: Vec<String>,
    /// Paths of properties whose changes replace it.
    #[serde(default)]
    pub(super) replace_on_changes: Vec<String>,
    #[serde(default)]
    pub(super) additional_secret_outputs: SecretOutputs,
    /// Former names: URNs, or the parts that differ.
    #[serde(default)]
    #[schemars(extend("x-takes" = "a list of URNs and of parts of names"))]
    pub(super) aliases: Vec<AliasDocument>,
    /// The id of an existing resource that is imported.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) import_id: ResourceId,
    /// How long each call to the provider may take, in seconds. A provider in this process receives the limit, and keeps it itself.
    #[serde(default)]
    pub(super) custom_timeouts: TimeoutsDocument,
    /// Drops it from the state instead of deleting it.
    #[serde(default)]
    #[schemars(extend("x-python" = "bool | None"))]
    pub(super) retain_on_delete: Option<bool>,
    /// The resource, or its URN, whose deletion deletes this one, too.
    #[serde(default)]
    #[schemars(with = "Option<Reference>", extend("x-python" = "Resource | str | None", "x-typescript" = "AnyResource | string"))]
    pub(super) deleted_with: Option<Urn>,
    /// Resources, or their URNs, whose replacement replaces this one, too: one or several.
    #[serde(default)]
    #[schemars(extend(
        "x-takes" = "resources or their URNs",
        "x-python" = "Resource | str | Sequence[Resource | str] | None",
        "x-typescript" = "AnyResource | string | readonly (AnyResource | string)[]"
    ))]
    pub(super) replace_with: References,
    /// Paths of properties whose differences are not shown.
    #[serde(default)]
    pub(super) hide_diffs: Vec<String>,
    /// A value whose change replaces the resource.
    #[serde(default)]
    #[schemars(with = "Value", extend("x-python" = "PropertyValue", "x-typescript" = "Input"))]
    pub(super) replacement_trigger: Option<PlainValue>,
    /// The names of hooks by the moment at which they run.
    #[serde(default)]
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) resource_hooks: HookBindings,
    /// The names of transforms that are called for it and for everything below it, in this order. They are defined before.
    #[serde(default)]
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) transforms: Vec<String>,
}

/// Resources are custom by default.
const fn custom() -> bool {
    true
}

/// A former name: a URN as text or in an object, or the parts that differ.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "an alias is a URN, or an object of `urn`, `name`, `type`, `stack`, `project`, `parent`, `noParent`"
)]
#[schemars(inline, extend("x-takes" = "a URN or the parts that differ"))]
pub(super) enum AliasDocument {
    Text(#[schemars(with = "AliasUrn")] Urn),
    Parts(AliasParts),
}

/// The schema of a former URN.
#[derive(JsonSchema)]
#[schemars(inline, extend("format" = "urn", "x-takes" = "a URN"))]
#[expect(dead_code, reason = "a schema has no values")]
struct AliasUrn(String);

/// A former name of a resource: the parts that differ.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Alias")]
pub(super) struct AliasParts {
    /// The whole URN, in place of parts.
    #[schemars(with = "Option<AliasUrn>")]
    pub(super) urn: Option<Urn>,
    /// The name.
    pub(super) name: Option<String>,
    /// The type token.
    #[serde(rename = "type")]
    pub(super) resource_type: Option<String>,
    /// The name of the stack.
    pub(super) stack: Option<String>,
    /// The name of the project.
    pub(super) project: Option<String>,
    /// The parent: a resource or its URN.
    #[schemars(with = "Option<Reference>", extend("x-python" = "Resource | str", "x-typescript" = "AnyResource | string"))]
    pub(super) parent: Option<Urn>,
    /// Whether it had no parent.
    pub(super) no_parent: bool,
}

/// How long each call to the provider may take, in seconds.
// Other than in a record, a name that does not exist is a mistake.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CustomTimeouts")]
pub(super) struct TimeoutsDocument {
    /// The limit of Create.
    #[schemars(range(min = 0), extend("x-takes" = "a number of seconds from 0"))]
    create: Option<f64>,
    /// The limit of Update.
    #[schemars(range(min = 0), extend("x-takes" = "a number of seconds from 0"))]
    update: Option<f64>,
    /// The limit of Delete.
    #[schemars(range(min = 0), extend("x-takes" = "a number of seconds from 0"))]
    delete: Option<f64>,
    /// The limit of Read.
    #[schemars(range(min = 0), extend("x-takes" = "a number of seconds from 0"))]
    read: Option<f64>,
}

impl From<TimeoutsDocument> for CustomTimeouts {
    fn from(timeouts: TimeoutsDocument) -> Self {
        Self {
            create: timeouts.create,
            update: timeouts.update,
            delete: timeouts.delete,
            read: timeouts.read,
        }
    }
}

/// The options of reading a resource that is not managed here.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ReadOptions")]
pub(crate) struct ReadDocument {
    /// The type token.
    #[serde(rename = "type")]
    #[schemars(with = "String", extend("x-in" = ["c"]))]
    pub(super) resource_type: TypeToken,
    /// The name.
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) name: String,
    /// The id.
    #[schemars(with = "String", extend("x-in" = ["c"]))]
    pub(super) id: ResourceId,
    #[serde(default)]
    pub(super) parent: Parent,
    #[serde(default)]
    pub(super) no_parent: NoParent,
    /// What the provider needs to find it, beside the id.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>", extend("x-in" = ["c"]))]
    pub(super) inputs: PlainMap,
    #[serde(default)]
    pub(super) dependencies: Dependencies,
    #[serde(default)]
    pub(super) depends_on: Sources,
    /// The provider resource that reads it, or its reference, `<urn>::<id>`. Left out, it is that of the parent, or else the
    /// default provider of the package.
    #[serde(default)]
    pub(super) provider: ProviderName,
    #[serde(default)]
    pub(super) version: PackageVersion,
    #[serde(default, rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: DownloadUrl,
    #[serde(default)]
    pub(super) package: ServedBy,
    #[serde(default)]
    pub(super) additional_secret_outputs: SecretOutputs,
}

/// The options of a function's call.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "InvokeOptions")]
pub(crate) struct InvokeDocument {
    /// The function, as `package:module:member`.
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) token: String,
    /// The arguments.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>", extend("x-in" = ["c"]))]
    pub(super) arguments: PlainMap,
    /// The provider resource that is called, or its reference, `<urn>::<id>`. Left out, it is that of the parent, or else the
    /// default provider of the package.
    #[serde(default)]
    pub(super) provider: ProviderName,
    #[serde(default)]
    pub(super) version: PackageVersion,
    #[serde(default, rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: DownloadUrl,
    #[serde(default)]
    pub(super) package: ServedBy,
    /// The resource, or its URN, whose provider is called when no other is named.
    #[serde(default)]
    pub(super) parent: Parent,
    /// Resources that must exist before the call: one or several, each itself or its URN; an output stands for the resources that it
    /// comes from. While one of them is only planned, the result is unknown.
    #[serde(default)]
    pub(super) depends_on: Sources,
    /// Whether a transform of functions makes the call, which is not transformed then: that transform would wait for itself.
    #[serde(default)]
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) in_transform: bool,
}

/// The options of a query whether a resource exists.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ExistsOptions")]
pub(crate) struct ExistsDocument {
    /// The type token.
    #[serde(rename = "type")]
    #[schemars(with = "String", extend("x-in" = ["c"]))]
    pub(super) resource_type: TypeToken,
    /// The id.
    #[schemars(with = "String", extend("x-in" = ["c"]))]
    pub(super) id: ResourceId,
    /// What the provider needs to find it, beside the id.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>", extend("x-in" = ["c"]))]
    pub(super) inputs: PlainMap,
    /// The provider resource that is asked, or its reference, `<urn>::<id>`. Left out, it is that of the parent, or else the
    /// default provider of the package.
    #[serde(default)]
    pub(super) provider: ProviderName,
    #[serde(default)]
    pub(super) version: PackageVersion,
    #[serde(default, rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: DownloadUrl,
    #[serde(default)]
    pub(super) package: ServedBy,
    /// The resource, or its URN, whose provider is asked when no other is named.
    #[serde(default)]
    pub(super) parent: Parent,
    /// Resources that must exist before the query: one or several, each itself or its URN; an output stands for the resources that
    /// it comes from. While one of them is only planned, the result is unknown.
    #[serde(default)]
    pub(super) depends_on: Sources,
}

/// The options of a method's call.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CallOptions")]
pub(crate) struct MethodDocument {
    /// The method, as `package:module:Type/method`, or `pulumi:providers:package/method`.
    #[schemars(extend("x-in" = ["c"]))]
    pub(super) token: String,
    /// The resource whose method it is.
    #[serde(default)]
    #[schemars(with = "Option<Reference>", extend("x-in" = ["c"]))]
    pub(super) of: Option<Urn>,
    /// The arguments.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>", extend("x-in" = ["c"]))]
    pub(super) arguments: PlainMap,
    /// The URNs of the resources that each argument comes from, by its name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<String>>", extend("x-in" = ["c"]))]
    pub(super) argument_dependencies: Option<PropertyDependencies>,
    /// The provider resource that is called, or its reference, `<urn>::<id>`. Left out, it is that of the resource, or else the
    /// default provider of the package.
    #[serde(default)]
    pub(super) provider: ProviderName,
    #[serde(default)]
    pub(super) version: PackageVersion,
    #[serde(default, rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: DownloadUrl,
    #[serde(default)]
    pub(super) package: ServedBy,
}

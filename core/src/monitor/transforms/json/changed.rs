//! The documents that transforms return.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::IgnoredAny};

use crate::{
    monitor::{
        PackageChoice, TransformOptions,
        documents::{AliasDocument, TimeoutsDocument},
        members::References,
    },
    property::json::{PlainMap, PlainValue},
    resource::{Alias, HookBindings, ResourceOptions},
    token::ResourceId,
    urn::Urn,
};

/// A changed registration; the facts that cannot change may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    #[serde(default, rename = "type")]
    pub(super) resource_type: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) custom: Option<bool>,
    #[serde(default)]
    pub(super) parent: Option<Urn>,
    #[serde(default)]
    pub(super) inputs: Option<PlainMap>,
    /// The options that change; `null` removes one.
    #[serde(default)]
    pub(super) options: Option<OptionsDocument>,
}

/// The options of a registration, with the names of [`crate::monitor::RegistrationDocument`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OptionsDocument {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) depends_on: References,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) provider: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) providers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) version: String,
    #[serde(default, deserialize_with = "or_default", rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) plugin_checksums: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) protect: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) delete_before_replace: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) ignore_changes: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) replace_on_changes: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) additional_secret_outputs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) aliases: Vec<AliasDocument>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) import_id: ResourceId,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) custom_timeouts: TimeoutsDocument,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) retain_on_delete: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) deleted_with: Option<Urn>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) replace_with: References,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) hide_diffs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) replacement_trigger: Option<PlainValue>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) resource_hooks: HookBindings,
}

/// The names of changed options.
#[derive(Deserialize)]
pub(super) struct ChangedNames {
    #[serde(default)]
    pub(super) options: Option<BTreeMap<String, IgnoredAny>>,
}

impl ChangedNames {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.options.iter().flat_map(BTreeMap::keys).map(String::as_str)
    }
}

/// Reads an option; `null` removes it.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(reader: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(reader).map(Option::unwrap_or_default)
}

/// A changed call of a function.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangedInvoke {
    #[serde(default)]
    pub(super) token: Option<String>,
    #[serde(default)]
    pub(super) arguments: Option<PlainMap>,
    /// The options that change; `null` removes one.
    #[serde(default)]
    pub(super) options: Option<PackageDocument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PackageDocument {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) provider: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) version: String,
    #[serde(default, deserialize_with = "or_default", rename = "pluginDownloadURL")]
    pub(super) plugin_download_url: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) plugin_checksums: BTreeMap<String, String>,
}

impl From<PackageDocument> for PackageChoice {
    fn from(document: PackageDocument) -> Self {
        Self {
            provider: document.provider,
            version: document.version,
            download_url: document.plugin_download_url,
            checksums: document.plugin_checksums,
            ..Self::default()
        }
    }
}

impl From<OptionsDocument> for TransformOptions {
    fn from(document: OptionsDocument) -> Self {
        Self {
            depends_on: document.depends_on.into(),
            package: PackageChoice {
                provider: document.provider,
                version: document.version,
                download_url: document.plugin_download_url,
                checksums: document.plugin_checksums,
                ..PackageChoice::default()
            },
            providers: document.providers,
            protect: document.protect,
            delete_before_replace: document.delete_before_replace,
            aliases: document.aliases.into_iter().map(Alias::from).collect(),
            retain_on_delete: document.retain_on_delete,
            others: ResourceOptions {
                ignore_changes: document.ignore_changes,
                replace_on_changes: document.replace_on_changes,
                additional_secret_outputs: document.additional_secret_outputs,
                import_id: document.import_id,
                custom_timeouts: document.custom_timeouts.into(),
                deleted_with: document.deleted_with,
                replace_with: document.replace_with.into(),
                hide_diffs: document.hide_diffs,
                replacement_trigger: document.replacement_trigger.map(|value| value.0),
                resource_hooks: document.resource_hooks,
            }
            .into(),
        }
    }
}

//! The documents that transforms get.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    monitor::{PackageChoice, TransformOptions},
    property::json::{PlainMap, PlainValue},
    resource::{Alias, CustomTimeouts, HookBindings},
    token::ResourceId,
    urn::Urn,
};

/// A registration as it is written for a transform.
#[derive(Serialize)]
pub(super) struct Written<'a> {
    #[serde(rename = "type")]
    pub(super) resource_type: &'a str,
    pub(super) name: &'a str,
    pub(super) custom: bool,
    pub(super) parent: Option<&'a Urn>,
    pub(super) inputs: PlainMap,
    pub(super) options: WrittenOptions<'a>,
}

/// The options of a registration; what is not set is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenOptions<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) depends_on: &'a [Urn],
    #[serde(flatten)]
    pub(super) package: WrittenPackage<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) providers: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) protect: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delete_before_replace: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) ignore_changes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) replace_on_changes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) additional_secret_outputs: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<WrittenAlias<'a>>,
    #[serde(skip_serializing_if = "ResourceId::is_empty")]
    pub(super) import_id: &'a ResourceId,
    #[serde(skip_serializing_if = "CustomTimeouts::is_empty")]
    pub(super) custom_timeouts: &'a CustomTimeouts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retain_on_delete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deleted_with: Option<&'a Urn>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) replace_with: &'a [Urn],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) hide_diffs: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replacement_trigger: Option<PlainValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) resource_hooks: &'a HookBindings,
}

/// The options that choose a provider.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenPackage<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) provider: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) version: &'a str,
    #[serde(rename = "pluginDownloadURL", skip_serializing_if = "str::is_empty")]
    pub(super) plugin_download_url: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) plugin_checksums: &'a BTreeMap<String, String>,
}

/// A former name: a URN, or the parts that differ.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenAlias<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) urn: Option<&'a Urn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) resource_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<&'a Urn>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) no_parent: bool,
}

/// A call of a function as it is written for a transform.
#[derive(Serialize)]
pub(super) struct WrittenInvoke<'a> {
    pub(super) token: &'a str,
    pub(super) arguments: PlainMap,
    pub(super) options: WrittenPackage<'a>,
}

impl<'a> WrittenPackage<'a> {
    pub(super) fn of(package: &'a PackageChoice) -> Self {
        Self {
            provider: &package.provider,
            version: &package.version,
            plugin_download_url: &package.download_url,
            plugin_checksums: &package.checksums,
        }
    }
}

impl<'a> WrittenOptions<'a> {
    pub(super) fn of(options: &'a TransformOptions) -> Self {
        let others = &*options.others;
        Self {
            depends_on: &options.depends_on,
            package: WrittenPackage::of(&options.package),
            providers: &options.providers,
            protect: options.protect,
            delete_before_replace: options.delete_before_replace,
            ignore_changes: &others.ignore_changes,
            replace_on_changes: &others.replace_on_changes,
            additional_secret_outputs: &others.additional_secret_outputs,
            aliases: options.aliases.iter().map(WrittenAlias::of).collect(),
            import_id: &others.import_id,
            custom_timeouts: &others.custom_timeouts,
            retain_on_delete: options.retain_on_delete,
            deleted_with: others.deleted_with.as_ref(),
            replace_with: &others.replace_with,
            hide_diffs: &others.hide_diffs,
            replacement_trigger: others.replacement_trigger.clone().map(PlainValue),
            resource_hooks: &others.resource_hooks,
        }
    }
}

impl<'a> WrittenAlias<'a> {
    pub(super) fn of(alias: &'a Alias) -> Self {
        match alias {
            Alias::Urn(urn) => Self {
                urn: Some(urn),
                ..Self::default()
            },
            Alias::Spec {
                name,
                resource_type,
                stack,
                project,
                parent,
                no_parent,
            } => Self {
                urn: None,
                name: name.as_deref(),
                resource_type: resource_type.as_deref(),
                stack: stack.as_deref(),
                project: project.as_deref(),
                parent: parent.as_ref(),
                no_parent: *no_parent,
            },
        }
    }
}

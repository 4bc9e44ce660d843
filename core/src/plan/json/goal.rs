//! The members of a goal in a document, in their order.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use smol_str::SmolStr;

use crate::{
    error::Result,
    resource::{Alias, CustomTimeouts, PropertyDependencies},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// A goal; `D` writes the values, or is their text.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoalJson<D> {
    #[serde(rename = "type")]
    pub(super) resource_type: TypeToken,
    pub(super) name: String,
    #[serde(default)]
    pub(super) custom: bool,
    pub(super) input_diff: Option<D>,
    pub(super) output_diff: Option<D>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Urn>,
    #[serde(default)]
    pub(super) protect: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dependencies: Option<Vec<Urn>>,
    #[serde(default, skip_serializing_if = "SmolStr::is_empty")]
    pub(super) provider: SmolStr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) property_dependencies: Option<PropertyDependencies>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delete_before_replace: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ignore_changes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) additional_secret_outputs: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) aliases: Option<Vec<Urn>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) structured_aliases: Option<Vec<AliasJson>>,
    #[serde(default, skip_serializing_if = "ResourceId::is_empty")]
    pub(super) id: ResourceId,
    #[serde(default)]
    pub(super) custom_timeouts: CustomTimeouts,
}

/// A former name; parts that the resource itself determines are empty.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct AliasJson {
    #[serde(rename = "URN", alias = "urn")]
    urn: String,
    #[serde(alias = "name")]
    name: String,
    #[serde(rename = "Type", alias = "type")]
    resource_type: String,
    #[serde(alias = "project")]
    project: String,
    #[serde(alias = "stack")]
    stack: String,
    #[serde(alias = "parent")]
    parent: String,
    #[serde(alias = "noParent")]
    no_parent: bool,
}

impl AliasJson {
    /// Returns the document form of a former name that is not a URN.
    pub(super) fn of(alias: &Alias) -> Option<Self> {
        let Alias::Spec {
            name,
            resource_type,
            stack,
            project,
            parent,
            no_parent,
        } = alias
        else {
            return None;
        };
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        Some(Self {
            urn: String::new(),
            name: text(name),
            resource_type: text(resource_type),
            project: text(project),
            stack: text(stack),
            parent: parent.as_ref().map(ToString::to_string).unwrap_or_default(),
            no_parent: *no_parent,
        })
    }

    /// Parses a former name.
    ///
    /// # Errors
    /// An invalid URN.
    pub(super) fn alias(self) -> Result<Alias> {
        if !self.urn.is_empty() {
            return Ok(Alias::Urn(Urn::parse(&self.urn)?));
        }
        let part = |text: String| (!text.is_empty()).then_some(text);
        Ok(Alias::Spec {
            name: part(self.name),
            resource_type: part(self.resource_type),
            stack: part(self.stack),
            project: part(self.project),
            parent: part(self.parent).map(|urn| Urn::parse(&urn)).transpose()?,
            no_parent: self.no_parent,
        })
    }
}

/// The text of differences of properties, as it is read.
#[derive(Deserialize)]
pub(super) struct DiffJson<'a> {
    #[serde(borrow)]
    pub(super) adds: Option<&'a RawValue>,
    pub(super) deletes: Option<Vec<SmolStr>>,
    #[serde(borrow)]
    pub(super) updates: Option<&'a RawValue>,
}

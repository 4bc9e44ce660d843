//! The import file of a preview: a request for the resources that the preview would create, with places for their ids.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde::Serialize;
use stackwright::{
    event::{EngineEvent, EventPayload, StepMetadata},
    property::{
        PropertyMap, PropertyValue,
        json::{PlainMap, to_vec_pretty},
    },
    resource::ResourceState,
    step::StepOp,
    urn::Urn,
};

use crate::{
    failure::{Failure, Result},
    invocation::Invocation,
    text,
};

/// The indentation of the document.
const WIDE: &str = "    ";
/// What the document has in place of the ids, which only the user knows.
const PLACEHOLDER: &str = "<PLACEHOLDER>";
/// What the types of provider resources begin with.
const PROVIDER: &str = "pulumi:providers:";

/// The document, in the order of its members.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    name_table: BTreeMap<String, Urn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resources: Vec<Row>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin_download_url: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    component: bool,
    #[serde(skip_serializing_if = "is_false")]
    remote: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<PlainMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_name: Option<String>,
}

/// Collects the resources that a preview would create.
#[derive(Default)]
pub(super) struct ImportFile {
    document: Document,
    names: BTreeMap<Urn, String>,
    taken: BTreeSet<String>,
    /// The resources of the document.
    created: BTreeSet<Urn>,
    /// The inputs of the providers so far.
    providers: BTreeMap<Urn, PropertyMap>,
    /// What the document cannot have.
    left_out: Vec<String>,
}

impl ImportFile {
    /// Adds an event.
    pub(super) fn event(&mut self, event: &EngineEvent) {
        let EventPayload::ResourcePre(step) = &event.payload else {
            return;
        };
        let Some(state) = &step.metadata.new else {
            return;
        };
        let (metadata, state) = (&step.metadata, &state.0);
        let is_provider = metadata.urn.resource_type().starts_with(PROVIDER);
        if is_provider {
            self.providers.insert(metadata.urn.clone(), state.inputs.clone());
        }
        let is_default = is_provider && is_default(&metadata.urn);
        if metadata.op == StepOp::Create && !metadata.urn.is_root_stack() && !is_default {
            self.add(metadata, state, is_provider);
        }
    }

    fn add(&mut self, metadata: &StepMetadata, state: &ResourceState, is_provider: bool) {
        let urn = &metadata.urn;
        let name = self.name_of(urn);
        let parent = state.parent.as_ref().filter(|parent| !parent.is_root_stack());
        let parent = parent.map(|parent| self.reference(parent));
        let provider: Option<Urn> = state
            .provider
            .rsplit_once("::")
            .and_then(|(urn, _)| urn.parse().ok());
        let explicit = provider.as_ref().filter(|provider| !is_default(provider));
        let explicit = explicit.map(|provider| self.reference(provider));
        let of_provider = provider
            .as_ref()
            .and_then(|provider| self.providers.get(provider));
        let (version, plugin_download_url) = of_provider.map_or((None, None), place_of_plugin);
        let is_component = !state.custom;
        let row = Row {
            resource_type: urn.resource_type().to_owned(),
            id: (state.custom && !is_provider).then_some(PLACEHOLDER),
            parent,
            provider: explicit,
            version,
            plugin_download_url,
            component: is_component,
            remote: is_component && provider.is_some(),
            inputs: is_provider.then(|| self.inputs_of(&name, &state.inputs)),
            logical_name: (name != urn.name()).then(|| urn.name().to_owned()),
            name,
        };
        self.created.insert(urn.clone());
        self.document.resources.push(row);
    }

    /// Returns the name of a resource in the document, which no other one has.
    fn name_of(&mut self, urn: &Urn) -> String {
        if let Some(name) = self.names.get(urn) {
            return name.clone();
        }
        let mut name = urn.name().to_owned();
        let member = urn.resource_type().rsplit(':').next().unwrap_or_default();
        let longer = format!("{name}{}", title(member));
        let mut count = 1;
        while self.taken.contains(&name) {
            name = match count {
                1 => longer.clone(),
                count => format!("{longer}{count}"),
            };
            count += 1;
        }
        self.taken.insert(name.clone());
        self.names.insert(urn.clone(), name.clone());
        name
    }

    /// Returns the name by which a row refers to a resource: one of the document, or one that is recorded.
    fn reference(&mut self, urn: &Urn) -> String {
        let name = self.name_of(urn);
        if !self.created.contains(urn) {
            self.document.name_table.insert(name.clone(), urn.clone());
        }
        name
    }

    /// Returns the configuration of a provider without what is no plain value.
    fn inputs_of(&mut self, provider: &str, inputs: &PropertyMap) -> PlainMap {
        let mut kept = PropertyMap::new();
        for (name, value) in inputs.iter().filter(|(name, _)| !name.starts_with("__")) {
            let lone = PropertyMap::from_iter([(name.clone(), value.clone())]);
            match (lone.contains_secrets(), lone.contains_unknowns()) {
                (false, false) => drop(kept.insert(name.clone(), value.clone())),
                (is_secret, _) => {
                    let why = if is_secret {
                        "secret"
                    } else {
                        "not known before the update"
                    };
                    self.left_out.push(format!(
                        "the input {name} of the provider {provider} is {why}, and left out of the import file: add it there"
                    ));
                }
            }
        }
        PlainMap(kept)
    }

    /// Writes the document.
    pub(super) fn write(self, invocation: &Invocation, file: &str) -> Result {
        for warning in &self.left_out {
            invocation.warn(warning);
        }
        let document = text::utf8(to_vec_pretty(&self.document, WIDE)?)?;
        fs::write(invocation.path(file), format!("{document}\n"))
            .map_err(|error| Failure::new(format!("open {file}: {}", text::reason(&error))))
    }
}

/// Returns whether a provider is one that the engine has made for a package.
fn is_default(provider: &Urn) -> bool {
    let name = provider.name();
    name == "default" || name.starts_with("default_")
}

/// Returns the version of a provider's plugin, and where it is downloaded from.
fn place_of_plugin(inputs: &PropertyMap) -> (Option<String>, Option<String>) {
    let text = |map: &PropertyMap, name: &str| map.get(name)?.as_str().map(str::to_owned);
    let url = match inputs.get("__internal").map(PropertyValue::unwrapped) {
        Some(PropertyValue::Object(internal)) => text(internal, "pluginDownloadURL"),
        _ => None,
    };
    (
        text(inputs, "version"),
        url.or_else(|| text(inputs, "pluginDownloadURL")),
    )
}

/// Returns a word with a capital at its beginning.
fn title(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature of such functions"
)]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

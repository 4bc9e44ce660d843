//! Writes a plan: its secrets are encrypted in one batch, then the resources are streamed into one buffer.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::goal::{AliasJson, GoalJson};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{GoalPlan, Plan, PlanConfig, PlanDiff, ResourcePlan},
    property::json::{self, Ciphertexts, MapJson, SecretCollector, SecretForm},
    resource::Alias,
    secrets::SecretsManager,
    state::{Manifest, deployment::magic},
    urn::Urn,
};

/// Writes a plan as the reference engine does: indented by four spaces, with a newline at the end.
///
/// # Errors
/// [`ErrorKind::Secrets`] when a secret cannot be encrypted.
pub(in crate::plan) async fn write(plan: &Plan) -> Result<String> {
    let manager = manager_of(plan).await?;
    let config = config_of(plan, manager.as_ref().map(|named| &*named.manager)).await?;
    let ciphertexts = match &manager {
        Some(named) => encrypt(plan, &*named.manager).await?,
        None => Ciphertexts::remembered("none".into()),
    };
    let mut resources: Vec<_> = plan.resources.iter().collect();
    resources.sort_unstable_by_key(|(urn, _)| *urn);
    let document = Document {
        manifest: &plan.manifest,
        config,
        resources,
        form: SecretForm::Encrypted(&ciphertexts),
        named: manager.filter(|named| named.must_be_named),
    };
    let mut text = json::to_vec_pretty(&document, "    ")?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|_| Error::internal("a JSON text is not UTF-8"))
}

/// The secrets manager of a document.
struct Named {
    manager: Arc<dyn SecretsManager>,
    /// Whether the document must contain it, because the state does not.
    must_be_named: bool,
}

async fn manager_of(plan: &Plan) -> Result<Option<Named>> {
    if let Some(manager) = &plan.keys.manager {
        return Ok(Some(Named {
            manager: Arc::clone(manager),
            must_be_named: plan.keys.is_own,
        }));
    }
    let in_config = matches!(&plan.config, PlanConfig::Known(config) if config.to_json().is_err());
    if !in_config && !maps_of(plan).any(|map| map.contains_secrets()) {
        return Ok(None);
    }
    Ok(Some(Named {
        manager: plan.keys.provider.create().await?,
        must_be_named: true,
    }))
}

/// Returns all values of a plan that can contain secrets.
pub(super) fn maps_of(plan: &Plan) -> impl Iterator<Item = &crate::property::PropertyMap> {
    plan.resources.values().flat_map(|resource| {
        let diffs = resource
            .goal
            .iter()
            .flat_map(|goal| [&goal.input_diff, &goal.output_diff]);
        diffs
            .flat_map(|diff| [&diff.adds, &diff.updates])
            .chain(&resource.outputs)
    })
}

async fn encrypt(plan: &Plan, manager: &dyn SecretsManager) -> Result<Ciphertexts> {
    manager.ready().await?;
    let mut collector = SecretCollector::new(manager.identity());
    maps_of(plan).for_each(|map| collector.collect(map));
    let ciphertexts = match collector.is_empty() {
        true => Vec::new(),
        false => manager.encrypt(collector.plaintexts()?).await?,
    };
    collector.finish(ciphertexts)
}

async fn config_of(plan: &Plan, manager: Option<&dyn SecretsManager>) -> Result<serde_json::Value> {
    let text = match &plan.config {
        PlanConfig::Read(value) => return Ok(value.clone()),
        PlanConfig::Known(config) => {
            let mut config = config.clone();
            if let Some(manager) = manager {
                config.seal(manager).await?;
            }
            config.to_json()?
        }
    };
    serde_json::from_str(&text).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the configuration is no JSON: {error}"),
        )
    })
}

struct Document<'a> {
    manifest: &'a Manifest,
    config: serde_json::Value,
    resources: Vec<(&'a Urn, &'a ResourcePlan)>,
    form: SecretForm<'a>,
    named: Option<Named>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("manifest", &ManifestJson(self.manifest))?;
        fields.serialize_entry("config", &self.config)?;
        fields.serialize_entry("resourcePlans", &Resources(self))?;
        if let Some(Named { manager, .. }) = &self.named {
            let provider = SecretsProviderJson {
                kind: manager.kind(),
                state: manager.state(),
            };
            fields.serialize_entry("secrets_providers", &provider)?;
        }
        fields.end()
    }
}

#[derive(Serialize)]
struct SecretsProviderJson<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<serde_json::Value>,
}

struct ManifestJson<'a>(&'a Manifest);

impl Serialize for ManifestJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self.0.time {
            Some(time) => fields.serialize_entry("time", &time.to_string())?,
            None => fields.serialize_entry("time", "0001-01-01T00:00:00Z")?,
        }
        fields.serialize_entry("magic", &magic(&self.0.version))?;
        fields.serialize_entry("version", &self.0.version)?;
        fields.end()
    }
}

struct Resources<'a>(&'a Document<'a>);

impl Serialize for Resources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Document { resources, form, .. } = self.0;
        serializer.collect_map(
            resources
                .iter()
                .map(|(urn, plan)| (urn, ResourceJson { plan, form: *form })),
        )
    }
}

struct ResourceJson<'a> {
    plan: &'a ResourcePlan,
    form: SecretForm<'a>,
}

impl Serialize for ResourceJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { plan, form } = *self;
        let mut fields = serializer.serialize_map(None)?;
        if let Some(goal) = &plan.goal {
            fields.serialize_entry("goal", &goal_json(goal, form))?;
        }
        if !plan.steps.is_empty() {
            fields.serialize_entry("steps", &plan.steps)?;
        }
        let outputs = plan.outputs.as_ref().map(|outputs| MapJson::new(outputs, form));
        fields.serialize_entry("state", &outputs)?;
        if let Some(seed) = &plan.seed {
            fields.serialize_entry("seed", &STANDARD.encode(seed))?;
        }
        fields.end()
    }
}

fn goal_json<'a>(goal: &'a GoalPlan, form: SecretForm<'a>) -> GoalJson<DiffJson<'a>> {
    let list = |items: &Vec<String>| (!items.is_empty()).then(|| items.clone());
    let urns: Vec<Urn> = goal
        .aliases
        .iter()
        .filter_map(|alias| match alias {
            Alias::Urn(urn) => Some(urn.clone()),
            Alias::Spec { .. } => None,
        })
        .collect();
    let specs: Vec<AliasJson> = goal.aliases.iter().filter_map(AliasJson::of).collect();
    GoalJson {
        resource_type: goal.resource_type.clone(),
        name: goal.name.clone(),
        custom: goal.custom,
        input_diff: Some(DiffJson {
            diff: &goal.input_diff,
            form,
        }),
        output_diff: Some(DiffJson {
            diff: &goal.output_diff,
            form,
        }),
        parent: goal.parent.clone(),
        protect: goal.protect,
        dependencies: (!goal.dependencies.is_empty()).then(|| goal.dependencies.clone()),
        provider: goal.provider.clone(),
        property_dependencies: (!goal.property_dependencies.is_empty())
            .then(|| goal.property_dependencies.clone()),
        delete_before_replace: goal.delete_before_replace,
        ignore_changes: list(&goal.ignore_changes),
        additional_secret_outputs: list(&goal.additional_secret_outputs),
        aliases: (!urns.is_empty()).then_some(urns),
        structured_aliases: (!specs.is_empty()).then_some(specs),
        id: goal.import_id.clone(),
        custom_timeouts: goal.custom_timeouts,
    }
}

/// Differences of properties during serialization.
struct DiffJson<'a> {
    diff: &'a PlanDiff,
    form: SecretForm<'a>,
}

impl Serialize for DiffJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { diff, form } = *self;
        let mut fields = serializer.serialize_map(None)?;
        if !diff.adds.is_empty() {
            fields.serialize_entry("adds", &MapJson::new(&diff.adds, form))?;
        }
        if !diff.deletes.is_empty() {
            fields.serialize_entry("deletes", &diff.deletes)?;
        }
        if !diff.updates.is_empty() {
            fields.serialize_entry("updates", &MapJson::new(&diff.updates, form))?;
        }
        fields.end()
    }
}

//! Parses a plan in parts, so that errors name the place of the invalid part.

use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{Arc, OnceLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::goal::{AliasJson, DiffJson, GoalJson};
use crate::{
    error::{Error, Result},
    plan::{GoalPlan, Plan, PlanConfig, PlanDiff, PlanKeys, ResourcePlan},
    property::{
        PropertyMap,
        json::{self, OpenedSecrets, SealedSecrets, StateMap},
    },
    resource::Alias,
    runtime::Timestamp,
    secrets::{SecretsManager, SecretsProvider},
    state::Manifest,
    step::StepOp,
    urn::Urn,
};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    manifest: Option<&'a RawValue>,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    #[serde(rename = "resourcePlans", borrow)]
    resource_plans: Option<&'a RawValue>,
    #[serde(borrow)]
    secrets_providers: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ManifestJson {
    time: Option<Timestamp>,
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct SecretsProviderJson {
    #[serde(rename = "type")]
    kind: String,
    state: Option<Value>,
}

#[derive(Deserialize)]
struct ResourceJson<'a> {
    #[serde(borrow)]
    goal: Option<&'a RawValue>,
    #[serde(borrow)]
    steps: Option<&'a RawValue>,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    #[serde(borrow)]
    seed: Option<&'a RawValue>,
}

/// Parses a document. `manager` is the stack's; a secrets provider named in the document takes precedence.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the place, [`crate::ErrorKind::Decrypt`] when a secret cannot be decrypted.
pub(in crate::plan) async fn read(
    text: &str,
    manager: Option<&Arc<dyn SecretsManager>>,
    provider: &Arc<dyn SecretsProvider>,
) -> Result<Plan> {
    let document: Document<'_> = part(text, "the document")?;
    let manifest = manifest(document.manifest)?;
    let config = match document.config {
        Some(raw) => part(raw.get(), "config")?,
        None => Value::Object(serde_json::Map::new()),
    };
    let named: Option<SecretsProviderJson> = optional(document.secrets_providers, "secrets_providers")?;
    let mut keys = PlanKeys {
        manager: manager.cloned(),
        provider: Arc::clone(provider),
        is_own: false,
    };
    if let Some(named) = named {
        keys.manager = Some(provider.open(&named.kind, named.state.as_ref()).await?);
        keys.is_own = true;
    }
    let mut resources = resources(document.resource_plans)?;
    decrypt(&mut resources, keys.manager.as_deref()).await?;
    Ok(Plan {
        manifest,
        config: PlanConfig::Read(config),
        resources,
        keys,
        document: OnceLock::new(),
    })
}

/// Parses the resources of a document without any secrets manager: encrypted secrets have no value.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the place.
pub(in crate::plan) fn read_sealed(text: &str) -> Result<FxHashMap<Urn, ResourcePlan>> {
    let document: Document<'_> = part(text, "the document")?;
    manifest(document.manifest)?;
    resources(document.resource_plans)
}

fn refuse(place: impl Display, problem: impl Display) -> Error {
    Error::invalid(format!("invalid plan: {place}: {problem}"))
}

/// Parses a part; errors name its place.
fn part<'a, T: Deserialize<'a>>(text: &'a str, place: impl Display) -> Result<T> {
    serde_json::from_str(text).map_err(|error| refuse(place, error))
}

/// Parses values, which have a nesting limit of their own.
fn values(raw: Option<&RawValue>, place: impl Display) -> Result<Option<PropertyMap>> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
        return Ok(None);
    };
    json::from_slice::<StateMap>(raw.get().as_bytes())
        .map(|values| Some(values.0))
        .map_err(|error| refuse(place, error.message()))
}

fn optional<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>, place: impl Display) -> Result<Option<T>> {
    raw.map_or(Ok(None), |raw| part(raw.get(), place))
}

fn manifest(raw: Option<&RawValue>) -> Result<Manifest> {
    let read: Option<ManifestJson> = optional(raw, "manifest")?;
    let read = read.ok_or_else(|| refuse("manifest", "it is missing"))?;
    Ok(Manifest {
        time: read.time,
        version: read.version,
        plugins: Vec::new(),
    })
}

fn resources(raw: Option<&RawValue>) -> Result<FxHashMap<Urn, ResourcePlan>> {
    let raw: Option<BTreeMap<String, &RawValue>> = optional(raw, "resourcePlans")?;
    // The plan of a stack without resources may omit them.
    raw.unwrap_or_default()
        .into_iter()
        .map(|(name, raw)| {
            let place = format!("resourcePlans[{name:?}]");
            let urn = Urn::parse(&name).map_err(|error| refuse(&place, error))?;
            Ok((urn, resource(raw, &place)?))
        })
        .collect()
}

fn resource(raw: &RawValue, place: &str) -> Result<ResourcePlan> {
    let read: ResourceJson<'_> = part(raw.get(), place)?;
    let goal: Option<GoalJson<&RawValue>> = optional(read.goal, format_args!("{place}.goal"))?;
    let goal = goal.map(|goal| goal_plan(goal, place)).transpose()?;
    let steps: Option<Vec<StepOp>> = optional(read.steps, format_args!("{place}.steps"))?;
    let seed: Option<String> = optional(read.seed, format_args!("{place}.seed"))?;
    let seed = seed.map(|seed| {
        STANDARD
            .decode(seed)
            .map_err(|error| refuse(format_args!("{place}.seed"), error))
    });
    Ok(ResourcePlan {
        goal,
        steps: steps.unwrap_or_default(),
        outputs: values(read.state, format_args!("{place}.state"))?,
        seed: seed.transpose()?,
    })
}

fn goal_plan(read: GoalJson<&RawValue>, place: &str) -> Result<GoalPlan> {
    let mut aliases: Vec<Alias> = read
        .aliases
        .unwrap_or_default()
        .into_iter()
        .map(Alias::Urn)
        .collect();
    for alias in read.structured_aliases.unwrap_or_default() {
        let alias = AliasJson::alias(alias)
            .map_err(|error| refuse(format_args!("{place}.goal.structuredAliases"), error))?;
        aliases.push(alias);
    }
    Ok(GoalPlan {
        resource_type: read.resource_type,
        name: read.name,
        custom: read.custom,
        input_diff: diff(read.input_diff, &format!("{place}.goal.inputDiff"))?,
        output_diff: diff(read.output_diff, &format!("{place}.goal.outputDiff"))?,
        parent: read.parent,
        protect: read.protect,
        dependencies: read.dependencies.unwrap_or_default(),
        provider: read.provider,
        property_dependencies: read.property_dependencies.unwrap_or_default(),
        delete_before_replace: read.delete_before_replace,
        ignore_changes: read.ignore_changes.unwrap_or_default(),
        additional_secret_outputs: read.additional_secret_outputs.unwrap_or_default(),
        aliases,
        import_id: read.id,
        custom_timeouts: read.custom_timeouts,
    })
}

fn diff(raw: Option<&RawValue>, place: &str) -> Result<PlanDiff> {
    let read: Option<DiffJson<'_>> = optional(raw, place)?;
    let Some(read) = read else {
        return Ok(PlanDiff::default());
    };
    let map = |raw, name: &str| -> Result<PropertyMap> {
        Ok(values(raw, format_args!("{place}.{name}"))?.unwrap_or_default())
    };
    Ok(PlanDiff {
        adds: map(read.adds, "adds")?,
        deletes: read.deletes.unwrap_or_default(),
        updates: map(read.updates, "updates")?,
    })
}

/// Decrypts all secrets in one batch.
async fn decrypt(
    resources: &mut FxHashMap<Urn, ResourcePlan>,
    manager: Option<&dyn SecretsManager>,
) -> Result<()> {
    let mut sealed = SealedSecrets::new();
    let mut holder = None;
    for (urn, resource) in resources.iter_mut() {
        let mut holds = false;
        each_map(resource, &mut |map| holds |= sealed.collect(map));
        if holds && holder.is_none() {
            holder = Some(urn.clone());
        }
    }
    let Some(holder) = holder else {
        return Ok(());
    };
    let manager = manager.ok_or_else(|| {
        refuse(
            format_args!("resourcePlans[{:?}]", holder.as_str()),
            "it has an encrypted value, but the stack has no secrets manager",
        )
    })?;
    let plaintexts = manager.decrypt(sealed.ciphertexts()).await?;
    let opened: OpenedSecrets = sealed.open(&plaintexts, &manager.identity())?;
    for resource in resources.values_mut() {
        each_map(resource, &mut |map| opened.fill(map));
    }
    Ok(())
}

fn each_map(resource: &mut ResourcePlan, visit: &mut dyn FnMut(&mut PropertyMap)) {
    if let Some(goal) = &mut resource.goal {
        for diff in [&mut goal.input_diff, &mut goal.output_diff] {
            visit(&mut diff.adds);
            visit(&mut diff.updates);
        }
    }
    resource.outputs.iter_mut().for_each(visit);
}

//! The effect of Import for a resource of a list: what the list supplies completes what the provider returns.

use std::sync::Arc;

use super::{
    Applier, Result, goal,
    import::{Found, find},
};
use crate::{
    executor::{PlannedImport, Step, StepFailure, outcome::Applied},
    message::Text,
    property::{PropertyMap, PropertyValue},
    provider::{CheckRequest, ProviderHandle},
    resource::ResourceState,
    token::ResourceId,
};

/// Records an existing resource, or a component, which has neither inputs nor outputs.
pub(super) async fn import(applier: &Applier, step: &Step, planned: &PlannedImport) -> Result<Applied> {
    if let Some(refusal) = &planned.refusal {
        return Err(StepFailure::new(refusal.clone()));
    }
    let goal = goal(step)?;
    let mut new = Arc::clone(goal);
    let state = Arc::make_mut(&mut new);
    // The option of a program: the record does not keep it.
    state.options.import_id = ResourceId::default();
    if !goal.custom {
        let now = applier.now();
        state.created = Some(now);
        state.modified = Some(now);
        return Ok(Applied::of(new));
    }
    let found = match &planned.outputs {
        Some(outputs) => supplied(applier, goal, &planned.inputs, outputs)?,
        None => find(applier, step, goal, &planned.inputs).await?,
    };
    let read = applier.with_secrets_of(completed(&found.inputs, &planned.inputs), &planned.inputs);
    let (inputs, mut warnings) = selected(&read, &planned.properties);
    if let Some(provider) = &step.provider {
        warnings.extend(check(applier, step, planned, provider, (&read, &inputs)).await?);
    }
    found.record(applier, state, inputs);
    Ok(Applied {
        warnings,
        ..Applied::of(new)
    })
}

/// Returns a resource whose outputs are supplied: its provider is not called.
fn supplied(
    applier: &Applier,
    goal: &ResourceState,
    inputs: &PropertyMap,
    outputs: &PropertyMap,
) -> Result<Found> {
    let (mut inputs, mut outputs) = (inputs.clone(), outputs.clone());
    for (label, values) in [("inputs", &mut inputs), ("outputs", &mut outputs)] {
        let sanitized = applier.sanitizer.sanitize(label, values);
        sanitized.map_err(StepFailure::new)?;
    }
    Ok(Found::supplied(goal.options.import_id.clone(), inputs, outputs))
}

/// Returns `read` with those of the supplied values that are missing or null there, at every level of objects.
fn completed(read: &PropertyMap, supplied: &PropertyMap) -> PropertyMap {
    let mut completed = read.clone();
    for (key, value) in supplied.iter() {
        match (read.get(key), value) {
            (None | Some(PropertyValue::Null), _) => {
                completed.insert(key.clone(), value.clone());
            }
            (Some(PropertyValue::Object(read)), PropertyValue::Object(supplied)) => {
                completed.insert(
                    key.clone(),
                    PropertyValue::Object(self::completed(read, supplied)),
                );
            }
            _ => {}
        }
    }
    completed
}

/// Returns the inputs of these names, all without any, and a warning for each name without an input.
fn selected(inputs: &PropertyMap, names: &[String]) -> (PropertyMap, Vec<Text>) {
    if names.is_empty() {
        return (inputs.clone(), Vec::new());
    }
    let kept = names
        .iter()
        .filter_map(|name| Some((name.as_str(), inputs.get(name)?.clone())));
    let missing = names.iter().filter(|name| !inputs.contains_key(name));
    let warnings = missing.map(|name| {
        let known: Vec<&str> = inputs.keys().map(|key| key.as_str()).collect();
        let known = known.join(", ");
        Text::from(format!(
            "the resource has no input {name:?} among the properties to import; its inputs are: {known}"
        ))
    });
    (kept.collect(), warnings.collect())
}

/// Has the provider check the inputs to record; its failures are warnings. The record keeps the inputs as they were read.
async fn check(
    applier: &Applier,
    step: &Step,
    planned: &PlannedImport,
    provider: &ProviderHandle,
    (read, inputs): (&PropertyMap, &PropertyMap),
) -> Result<Vec<Text>> {
    let request = CheckRequest {
        urn: step.urn.clone(),
        resource_type: step.urn.resource_type().into(),
        name: step.urn.name().to_owned(),
        olds: Some(read.clone()),
        old_outputs: None,
        news: inputs.clone(),
        random_seed: planned.seed.clone(),
        preview: applier.options.preview,
        autonaming: None,
    };
    let question = async {
        let waits = provider.waits_for_registrations;
        let _turn = applier.limits.question(&step.urn, "check", waits).await;
        let response = provider.provider.check(request).await?;
        applier.sanitizer.sanitize_check(inputs, response)
    };
    let response = applier.call(step, "check", question).await;
    let response = response.map_err(|error| StepFailure::provider(&error))?;
    if response.failures.is_empty() {
        return Ok(Vec::new());
    }
    // The texts match the reference engine; tools match on them.
    let summary = match planned.properties.is_empty() {
        true => format!(
            "One or more imported inputs failed to validate. This is almost certainly a bug in the `{}` provider. The import \
             will still proceed, but you will need to edit the generated code after copying it into your program.",
            step.urn.resource_type().split(':').next().unwrap_or_default()
        ),
        false => "One or more imported inputs failed to validate. Try specifying a different set of properties to import with in \
                  the future."
            .to_owned(),
    };
    let failures = response
        .failures
        .iter()
        .map(|failure| failure.text(&step.urn, inputs));
    Ok(std::iter::once(summary.into()).chain(failures).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(json: &str) -> PropertyMap {
        crate::property::json::from_plain_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn supplied_inputs_fill_gaps_and_never_override() {
        let read = values(r#"{"size": 1, "name": null, "tags": {"a": 1}, "list": [1]}"#);
        let supplied =
            values(r#"{"size": 2, "name": "n", "tags": {"a": 2, "b": 3}, "list": [2, 3], "text": "t"}"#);
        let expected =
            values(r#"{"size": 1, "name": "n", "tags": {"a": 1, "b": 3}, "list": [1], "text": "t"}"#);
        assert_eq!(completed(&read, &supplied), expected);
    }

    #[test]
    fn selected_properties_are_kept_and_unknown_ones_are_named() {
        let inputs = values(r#"{"size": 1, "name": "n"}"#);
        assert_eq!(selected(&inputs, &[]), (inputs.clone(), Vec::new()));
        let (kept, warnings) = selected(&inputs, &["size".to_owned(), "nme".to_owned()]);
        assert_eq!(kept, values(r#"{"size": 1}"#));
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].library().contains("\"nme\"") && warnings[0].library().ends_with("name, size"));
    }
}

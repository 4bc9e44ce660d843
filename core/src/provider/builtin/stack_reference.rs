//! References to other stacks: `pulumi:pulumi:StackReference` and the functions that read stacks.

use super::{BuiltinProvider, StackReader, failed, object, string_argument};
use crate::{
    property::{PropertyMap, PropertyValue},
    provider::{
        CheckFailure, CheckRequest, CheckResponse, DiffChanges, DiffRequest, DiffResponse, ProviderResult,
        ReadRequest, ReadResponse,
    },
};

const DEPRECATED: &str = "The \"pulumi:pulumi:StackReference\" resource type is deprecated. \
    Update your SDK or if already up to date raise an issue at https://github.com/pulumi/pulumi/issues.";

/// Returns the first failure of a reference's inputs; `None` if they are valid.
fn fault(inputs: &PropertyMap) -> Option<CheckFailure> {
    let failure = |property: &str, reason: String| {
        Some(CheckFailure {
            property: property.to_owned(),
            reason,
        })
    };
    if let Some(other) = inputs.keys().find(|key| *key != "name") {
        return failure(other, format!("unknown property \"{other}\""));
    }
    match inputs.get("name").map(PropertyValue::unwrapped) {
        None => failure("name", "missing required property \"name\"".to_owned()),
        Some(PropertyValue::String(_) | PropertyValue::Unknown(_)) => None,
        Some(_) => failure("name", "property \"name\" must be a string".to_owned()),
    }
}

/// Compares the names: another name is another stack.
pub(super) fn diff(request: &DiffRequest) -> DiffResponse {
    if request.old_inputs.get("name") == request.news.get("name") {
        return DiffResponse {
            changes: DiffChanges::None,
            ..DiffResponse::default()
        };
    }
    DiffResponse {
        changes: DiffChanges::Some,
        replaces: vec!["name".to_owned()],
        ..DiffResponse::default()
    }
}

impl BuiltinProvider {
    fn stacks(&self) -> ProviderResult<&dyn StackReader> {
        self.stacks
            .as_deref()
            .ok_or_else(|| failed("no backend client is available"))
    }

    pub(super) fn check_stack_reference(&self, request: CheckRequest) -> CheckResponse {
        if let Some(failure) = fault(&request.news) {
            return CheckResponse {
                inputs: PropertyMap::new(),
                failures: vec![failure],
            };
        }
        self.warn(&request.urn, DEPRECATED);
        CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        }
    }

    pub(super) async fn read_stack_reference(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        // A program that reads a reference passes the name in the outputs, a refresh in the inputs.
        let inputs = match request.inputs.filter(|inputs| !inputs.is_empty()) {
            Some(inputs) => inputs,
            None => {
                let properties = request.properties.as_ref();
                let name = properties.and_then(|properties| properties.get("name"));
                name.map(|name| object([("name", name.clone())]))
                    .unwrap_or_default()
            }
        };
        if let Some(failure) = fault(&inputs) {
            return Err(failed(failure.reason));
        }
        let outputs = self.read_stack(&inputs).await?;
        Ok(ReadResponse {
            id: request.id,
            inputs: Some(inputs),
            outputs: Some(outputs),
            ..ReadResponse::default()
        })
    }

    /// Reads the outputs of the stack `name`.
    pub(super) async fn read_stack(&self, inputs: &PropertyMap) -> ProviderResult<PropertyMap> {
        let name = string_argument(inputs, "name")?;
        let outputs = self
            .stacks()?
            .stack_outputs(name)
            .await
            .map_err(|error| failed(error.message()))?;
        // Maps are in the order of their keys, so the names are sorted.
        let secret: Vec<PropertyValue> = outputs
            .iter()
            .filter(|(_, value)| value.contains_secrets())
            .map(|(key, _)| key.as_str().into())
            .collect();
        Ok(object([
            ("name", name.into()),
            ("outputs", outputs.into()),
            ("secretOutputNames", secret.into()),
        ]))
    }

    /// Reads the outputs of the resources of the stack `stackName`.
    pub(super) async fn read_stack_resources(&self, arguments: &PropertyMap) -> ProviderResult<PropertyMap> {
        let name = string_argument(arguments, "stackName")?;
        let outputs = self
            .stacks()?
            .stack_resource_outputs(name)
            .await
            .map_err(|error| failed(error.message()))?;
        Ok(object([("name", name.into()), ("outputs", outputs.into())]))
    }
}

//! Functions and methods of a package: what the schema declares of their arguments and results.

use serde::Deserialize;
use serde_json::Value;

use super::{PackageSchema, PropertySchema, ResourceSchema, TypeSchema};
use crate::{message::nearest_names, property::PropertyMap, provider::CheckFailure};

/// The resource that a method is called on, among its arguments.
const RECEIVER: &str = "__self__";
/// The only member of a result that is no object, which the SDKs unwrap.
const SINGLE_RESULT: &str = "result";

/// A function, whose arguments are checked and whose results are made as the inputs and the outputs of a resource are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "FunctionDocument")]
pub(super) struct FunctionSchema(ResourceSchema);

/// A function as schemas have it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FunctionDocument {
    inputs: TypeSchema,
    /// The result: an object with declared members, or a value of another type.
    outputs: Option<Value>,
    /// That where `outputs` does not have it.
    return_type: Option<Value>,
}

impl TryFrom<FunctionDocument> for FunctionSchema {
    type Error = serde_json::Error;

    fn try_from(document: FunctionDocument) -> Result<Self, Self::Error> {
        let mut inputs = document.inputs;
        inputs.required.retain(|name| name != RECEIVER);
        let mut function = ResourceSchema {
            input_properties: inputs.properties,
            required_inputs: inputs.required,
            ..ResourceSchema::default()
        };
        if let Some(declared) = document.outputs.or(document.return_type) {
            let (object, value) = (
                TypeSchema::deserialize(&declared)?,
                PropertySchema::deserialize(&declared)?,
            );
            let is_map = value.additional_properties.is_some();
            let is_object =
                matches!(value.kind.as_str(), "object" | "") && value.reference.is_empty() && !is_map;
            (function.properties, function.required) = match is_object {
                true => (object.properties, object.required),
                false => {
                    let name = SINGLE_RESULT.to_owned();
                    ([(name.clone(), value)].into(), vec![name])
                }
            };
        }
        Ok(Self(function))
    }
}

/// A call of a function that the schema has.
pub(in crate::simulation) struct FunctionCall<'a> {
    schema: &'a PackageSchema,
    function: &'a ResourceSchema,
    token: &'a str,
}

impl<'a> FunctionCall<'a> {
    /// Returns the call of a function or a method; `None` where the schema has none at all.
    ///
    /// # Errors
    /// The text of the refusal of one that the schema lacks, with the most similar one.
    pub(in crate::simulation) fn of(
        schema: &'a PackageSchema,
        token: &'a str,
    ) -> Result<Option<Self>, String> {
        if let Some(FunctionSchema(function)) = schema.functions.get(token) {
            return Ok(Some(Self {
                schema,
                function,
                token,
            }));
        }
        if schema.functions.is_empty() {
            return Ok(None);
        }
        let near = nearest_names(token, schema.functions.keys().map(String::as_str), 1);
        let hint = near.first().map(|near| format!("; did you mean `{near}`?"));
        let hint = hint.unwrap_or_default();
        Err(format!(
            "the schema of {} has no function {token}{hint}",
            schema.name
        ))
    }

    /// Adds the defaults of arguments that are left out, and returns what is wrong with the others.
    pub(in crate::simulation) fn check(&self, arguments: &mut PropertyMap) -> Vec<CheckFailure> {
        self.function.complete(arguments);
        self.schema.check(self.function, arguments)
    }

    /// Returns the result for arguments: those that are members of the result too, and values of the declared types. Equal arguments
    /// give equal results; in previews, unknown ones give unknown values.
    pub(in crate::simulation) fn result(&self, arguments: &PropertyMap, is_preview: bool) -> PropertyMap {
        let is_member = |name: &str| self.function.properties.contains_key(name);
        let mut result: PropertyMap = arguments
            .iter()
            .filter(|(name, value)| is_member(name) && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let seed = format!("{} {arguments:?}", self.token);
        let is_unknown = is_preview && arguments.contains_unknowns();
        self.schema
            .complete_outputs(self.function, &mut result, None, &seed, is_unknown);
        self.mark_secrets(&mut result);
        result
    }

    /// Marks the secret members of a result.
    pub(in crate::simulation) fn mark_secrets(&self, result: &mut PropertyMap) {
        self.schema.mark_secrets(self.function, result);
    }
}

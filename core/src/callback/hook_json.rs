//! The JSON of hooks' calls, for hosts without typed values.

use serde::Serialize;

use super::{ErrorHookCall, HookCall};
use crate::{
    error::Result,
    property::{
        PropertyMap,
        json::{self, PlainMap, PlainValue},
    },
    resource::{CustomTimeouts, HookBindings, ResourceState},
    token::ResourceId,
    urn::Urn,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookDocument<'a> {
    urn: &'a str,
    id: &'a ResourceId,
    name: &'a str,
    r#type: &'a str,
    new_inputs: Option<PlainMap>,
    old_inputs: Option<PlainMap>,
    new_outputs: Option<PlainMap>,
    old_outputs: Option<PlainMap>,
    new_options: Option<OptionsDocument<'a>>,
    old_options: Option<OptionsDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorHookDocument<'a> {
    urn: &'a str,
    id: &'a ResourceId,
    name: &'a str,
    r#type: &'a str,
    new_inputs: Option<PlainMap>,
    old_inputs: Option<PlainMap>,
    old_outputs: Option<PlainMap>,
    new_options: Option<OptionsDocument<'a>>,
    old_options: Option<OptionsDocument<'a>>,
    failed_operation: &'a str,
    errors: &'a [String],
}

/// The options of a record, by the names that registrations give them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OptionsDocument<'a> {
    parent: Option<&'a str>,
    dependencies: Vec<&'a str>,
    provider: &'a str,
    protect: bool,
    retain_on_delete: bool,
    aliases: Vec<&'a str>,
    ignore_changes: &'a [String],
    replace_on_changes: &'a [String],
    additional_secret_outputs: &'a [String],
    import_id: &'a ResourceId,
    custom_timeouts: CustomTimeouts,
    deleted_with: Option<&'a str>,
    replace_with: Vec<&'a str>,
    hide_diffs: &'a [String],
    replacement_trigger: Option<PlainValue>,
    resource_hooks: &'a HookBindings,
}

impl<'a> OptionsDocument<'a> {
    fn of(state: &'a ResourceState) -> Self {
        let options = &*state.options;
        Self {
            parent: state.parent.as_ref().map(Urn::as_str),
            dependencies: texts(&state.dependencies),
            provider: &state.provider,
            protect: state.protect,
            retain_on_delete: state.retain_on_delete,
            aliases: texts(&state.aliases),
            ignore_changes: &options.ignore_changes,
            replace_on_changes: &options.replace_on_changes,
            additional_secret_outputs: &options.additional_secret_outputs,
            import_id: &options.import_id,
            custom_timeouts: options.custom_timeouts,
            deleted_with: options.deleted_with.as_ref().map(Urn::as_str),
            replace_with: texts(&options.replace_with),
            hide_diffs: &options.hide_diffs,
            replacement_trigger: options.replacement_trigger.clone().map(PlainValue),
            resource_hooks: &options.resource_hooks,
        }
    }
}

fn texts(urns: &[Urn]) -> Vec<&str> {
    urns.iter().map(Urn::as_str).collect()
}

fn inputs(state: Option<&ResourceState>) -> Option<PlainMap> {
    plain(state.map(|state| &state.inputs))
}

fn plain(values: Option<&PropertyMap>) -> Option<PlainMap> {
    values.cloned().map(PlainMap)
}

impl HookCall {
    /// Writes `{"urn", "id", "name", "type", "newInputs", "oldInputs", "newOutputs", "oldOutputs", "newOptions",
    /// "oldOptions"}`; what a call does not have is null. Values have the plain form, secrets are readable; options have
    /// the names that registrations give them.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when values nest too deep to be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let (new, old) = (self.new.as_deref(), self.old.as_deref());
        json::to_vec(&HookDocument {
            urn: self.urn.as_str(),
            id: &self.id,
            name: self.urn.name(),
            r#type: self.urn.resource_type(),
            new_inputs: inputs(new),
            old_inputs: inputs(old),
            new_outputs: plain(self.new_outputs.as_ref()),
            old_outputs: plain(old.map(|old| &old.outputs)),
            new_options: new.map(OptionsDocument::of),
            old_options: old.map(OptionsDocument::of),
        })
    }
}

impl ErrorHookCall {
    /// Writes `{"urn", "id", "name", "type", "newInputs", "oldInputs", "oldOutputs", "newOptions", "oldOptions",
    /// "failedOperation", "errors"}`, as [`HookCall::to_json`] does.
    ///
    /// # Errors
    /// Those of [`HookCall::to_json`].
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let (new, old) = (self.new.as_deref(), self.old.as_deref());
        json::to_vec(&ErrorHookDocument {
            urn: self.urn.as_str(),
            id: &self.id,
            name: self.urn.name(),
            r#type: self.urn.resource_type(),
            new_inputs: inputs(new),
            old_inputs: inputs(old),
            old_outputs: plain(old.map(|old| &old.outputs)),
            new_options: new.map(OptionsDocument::of),
            old_options: old.map(OptionsDocument::of),
            failed_operation: self.failed_operation,
            errors: &self.errors,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::{property::PropertyValue, token::TypeToken};

    fn state() -> Arc<ResourceState> {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        state.inputs = [("value", PropertyValue::secret("x".into()))]
            .into_iter()
            .collect();
        state.protect = true;
        Arc::new(state)
    }

    fn read(text: Result<Vec<u8>>) -> Value {
        serde_json::from_slice(&text.unwrap()).unwrap()
    }

    #[test]
    fn a_call_of_a_deletion_has_the_old_record_with_readable_secrets() {
        let old = state();
        let call = HookCall {
            urn: old.urn.clone(),
            id: "a-1".into(),
            new: None,
            old: Some(old),
            new_outputs: None,
        };
        let document = read(call.to_json());
        assert_eq!((&document["name"], &document["id"]), (&json!("a"), &json!("a-1")));
        assert_eq!(document["oldInputs"]["value"]["value"], "x");
        assert_eq!(document["oldOptions"]["protect"], true);
        assert_eq!(
            (&document["newInputs"], &document["newOptions"]),
            (&json!(null), &json!(null))
        );
    }

    #[test]
    fn a_call_after_a_failure_has_the_errors() {
        let new = state();
        let call = ErrorHookCall {
            urn: new.urn.clone(),
            id: "".into(),
            new: Some(new),
            old: None,
            failed_operation: "create",
            errors: vec!["later".to_owned(), "first".to_owned()],
        };
        let document = read(call.to_json());
        assert_eq!(document["failedOperation"], "create");
        assert_eq!(document["errors"], json!(["later", "first"]));
        assert_eq!(document["type"], "pkg:index:Type");
    }
}

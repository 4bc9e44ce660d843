//! Hooks behind the protocol: the messages of their calls.

use async_trait::async_trait;
use stackwright_proto::{
    pulumirpc::{
        ErrorHookRequest, ErrorHookResponse, ResourceHookRequest, ResourceHookResponse,
        ResourceOptions as WireOptions,
    },
    values::Struct,
};

use super::{ErrorHook, ErrorHookCall, HookCall, RemoteFunction, ResourceHook};
use crate::{
    error::{Error, ErrorKind, Result},
    property::{
        PropertyMap,
        wire::{EncodeOptions, to_struct, to_value},
    },
    resource::{Alias, ResourceState, wire},
    urn::Urn,
};

/// A hook that is a function behind the protocol.
pub(crate) struct RemoteHook {
    function: RemoteFunction,
}

impl RemoteHook {
    pub(crate) fn new(function: RemoteFunction) -> Self {
        Self { function }
    }

    /// Returns the encoding of a call's values: unknowns, secrets and references stay, output values do not.
    fn encoding(&self) -> Encoding {
        Encoding {
            keep_bytes: self.function.accepts_bytes,
        }
    }
}

#[async_trait]
impl ResourceHook for RemoteHook {
    async fn run(&self, call: HookCall) -> Result<()> {
        let request = self.encoding().resource_hook(call)?;
        let response: ResourceHookResponse = self.function.call(&request).await?;
        outcome(response.error)
    }
}

#[async_trait]
impl ErrorHook for RemoteHook {
    async fn should_retry(&self, call: ErrorHookCall) -> Result<bool> {
        let request = self.encoding().error_hook(call)?;
        let response: ErrorHookResponse = self.function.call(&request).await?;
        outcome(response.error).map(|()| response.retry)
    }
}

/// A response with an error text is a failure.
fn outcome(error: String) -> Result<()> {
    match error.is_empty() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Program, error)),
    }
}

#[derive(Clone, Copy)]
struct Encoding {
    keep_bytes: bool,
}

impl Encoding {
    fn options(self, label: &'static str) -> EncodeOptions {
        EncodeOptions {
            keep_outputs: false,
            keep_bytes: self.keep_bytes,
            ..EncodeOptions::all(label)
        }
    }

    fn values(self, label: &'static str, values: Option<&PropertyMap>) -> Result<Option<Struct>> {
        let options = self.options(label);
        values.map(|values| to_struct(values, &options)).transpose()
    }

    fn resource_hook(self, call: HookCall) -> Result<ResourceHookRequest> {
        let (new, old) = (call.new.as_deref(), call.old.as_deref());
        Ok(ResourceHookRequest {
            id: call.id.to_string(),
            name: call.urn.name().to_owned(),
            r#type: call.urn.resource_type().to_owned(),
            new_inputs: self.values("new inputs", new.map(|new| &new.inputs))?,
            old_inputs: self.values("old inputs", old.map(|old| &old.inputs))?,
            new_outputs: self.values("new outputs", call.new_outputs.as_ref())?,
            old_outputs: self.values("old outputs", old.map(|old| &old.outputs))?,
            old_options: old.map(|old| self.resource_options(old)).transpose()?,
            new_options: new.map(|new| self.resource_options(new)).transpose()?,
            urn: call.urn.to_string(),
        })
    }

    fn error_hook(self, call: ErrorHookCall) -> Result<ErrorHookRequest> {
        let (new, old) = (call.new.as_deref(), call.old.as_deref());
        Ok(ErrorHookRequest {
            id: call.id.to_string(),
            name: call.urn.name().to_owned(),
            r#type: call.urn.resource_type().to_owned(),
            new_inputs: self.values("new inputs", new.map(|new| &new.inputs))?,
            old_inputs: self.values("old inputs", old.map(|old| &old.inputs))?,
            old_outputs: self.values("old outputs", old.map(|old| &old.outputs))?,
            failed_operation: call.failed_operation.to_owned(),
            errors: call.errors,
            old_options: old.map(|old| self.resource_options(old)).transpose()?,
            new_options: new.map(|new| self.resource_options(new)).transpose()?,
            urn: call.urn.to_string(),
        })
    }

    /// Encodes the options of a record. It has no version and no plugin: its provider has.
    fn resource_options(self, state: &ResourceState) -> Result<WireOptions> {
        let options = &state.options;
        let trigger = options.replacement_trigger.as_ref();
        let trigger = trigger.map(|value| to_value(value, &self.options("replacementTrigger")));
        let aliases: Vec<Alias> = state.aliases.iter().cloned().map(Alias::Urn).collect();
        Ok(WireOptions {
            depends_on: texts(&state.dependencies),
            protect: Some(state.protect),
            ignore_changes: options.ignore_changes.clone(),
            replace_on_changes: options.replace_on_changes.clone(),
            aliases: wire::aliases(&aliases),
            provider: state.provider.to_string(),
            custom_timeouts: wire::timeouts(&options.custom_timeouts),
            retain_on_delete: Some(state.retain_on_delete),
            deleted_with: text(options.deleted_with.as_ref()),
            additional_secret_outputs: options.additional_secret_outputs.clone(),
            hooks: wire::hooks(&options.resource_hooks),
            import: options.import_id.to_string(),
            hide_diff: options.hide_diffs.clone(),
            replace_with: texts(&options.replace_with),
            replacement_trigger: trigger.transpose()?.flatten(),
            parent: text(state.parent.as_ref()),
            ..WireOptions::default()
        })
    }
}

fn texts(urns: &[Urn]) -> Vec<String> {
    urns.iter().map(Urn::to_string).collect()
}

fn text(urn: Option<&Urn>) -> String {
    urn.map(Urn::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        property::{Output, PropertyValue},
        resource::CustomTimeouts,
        token::TypeToken,
    };
    use stackwright_proto::values::value::Kind;

    fn state(edit: impl FnOnce(&mut ResourceState)) -> Arc<ResourceState> {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        edit(&mut state);
        Arc::new(state)
    }

    const ENCODING: Encoding = Encoding { keep_bytes: false };

    #[test]
    fn a_call_before_a_creation_has_new_inputs_and_options_alone() {
        let new = state(|state| {
            state.aliases = vec![Urn::new("dev", "shop", "", "pkg:index:Type", "former")];
            state.options.custom_timeouts = CustomTimeouts {
                create: Some(3930.0),
                ..CustomTimeouts::default()
            };
            state
                .options
                .resource_hooks
                .insert("BeforeCreate".to_owned(), vec!["drain".to_owned()]);
        });
        let call = HookCall {
            urn: new.urn.clone(),
            id: "".into(),
            new: Some(new),
            old: None,
            new_outputs: None,
        };
        let request = ENCODING.resource_hook(call).unwrap();
        assert_eq!(
            (request.name.as_str(), request.r#type.as_str()),
            ("a", "pkg:index:Type")
        );
        assert!(request.id.is_empty() && request.new_inputs.is_some());
        assert!(request.old_inputs.is_none() && request.old_options.is_none());
        assert!(request.new_outputs.is_none() && request.old_outputs.is_none());
        let options = request.new_options.unwrap();
        assert_eq!(
            (options.protect, options.retain_on_delete),
            (Some(false), Some(false))
        );
        assert_eq!(options.custom_timeouts.unwrap().create, "1h5m30s");
        assert_eq!(options.hooks.unwrap().before_create, ["drain"]);
        assert_eq!(options.aliases.len(), 1);
    }

    #[test]
    fn output_values_are_sent_as_their_values() {
        let output = PropertyValue::Output(Arc::new(Output {
            element: Some("x".into()),
            secret: false,
            dependencies: Vec::new(),
        }));
        let new = state(|state| state.inputs = [("value", output)].into_iter().collect());
        let call = ErrorHookCall {
            urn: new.urn.clone(),
            id: "".into(),
            new: Some(new),
            old: None,
            failed_operation: "create",
            errors: vec!["second".to_owned(), "first".to_owned()],
        };
        let request = ENCODING.error_hook(call).unwrap();
        let value = request.new_inputs.unwrap().fields["value"].kind.clone();
        assert!(matches!(value, Some(Kind::StringValue(text)) if text == "x"));
        assert_eq!(request.errors, ["second", "first"]);
    }

    #[test]
    fn a_response_with_an_error_is_a_failure() {
        assert!(outcome(String::new()).is_ok());
        assert_eq!(outcome("not now".to_owned()).unwrap_err().message(), "not now");
    }
}

//! Construct and Call: functions of the table that register resources with a context.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use stackwright::{
    monitor::{Component, Monitor},
    property::json::{PlainMap, PlainValue},
    provider::{
        Call, ConstructRequest, MethodRequest, MethodResponse, ProviderError, ProviderResult, ProviderStatus,
        Reply,
    },
    resource::{CustomTimeouts, PropertyDependencies},
    urn::Urn,
};
use tokio_util::sync::CancellationToken;

use super::{
    CProvider, HostFunction,
    c_provider::parse_answer,
    pending_call::ContextFunction,
    response::{PropertyFailure, check_failures},
};
use crate::context::sw_context_t;

/// The request of `construct`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Construct {
    urn: Urn,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    parent: Option<Urn>,
    inputs: PlainMap,
    input_dependencies: PropertyDependencies,
    dependencies: Vec<Urn>,
    providers: BTreeMap<String, String>,
    protect: Option<bool>,
    delete_before_replace: Option<bool>,
    retain_on_delete: Option<bool>,
    ignore_changes: Vec<String>,
    replace_on_changes: Vec<String>,
    additional_secret_outputs: Vec<String>,
    deleted_with: Option<Urn>,
    replace_with: Vec<Urn>,
    replacement_trigger: Option<PlainValue>,
    custom_timeouts: CustomTimeouts,
    aliases: Vec<Urn>,
    preview: bool,
}

impl Construct {
    fn new(urn: Urn, request: ConstructRequest) -> Self {
        let aliases = request.former_urns();
        Self {
            urn,
            resource_type: request.resource_type.to_string(),
            name: request.name,
            parent: request.parent,
            inputs: PlainMap(request.inputs.collapse_outputs()),
            input_dependencies: request.input_dependencies,
            dependencies: request.dependencies,
            providers: request.providers,
            protect: request.protect,
            delete_before_replace: request.delete_before_replace,
            retain_on_delete: request.retain_on_delete,
            ignore_changes: request.options.ignore_changes.clone(),
            replace_on_changes: request.options.replace_on_changes.clone(),
            additional_secret_outputs: request.options.additional_secret_outputs.clone(),
            deleted_with: request.options.deleted_with.clone(),
            replace_with: request.options.replace_with.clone(),
            replacement_trigger: request.options.replacement_trigger.clone().map(PlainValue),
            custom_timeouts: request.options.custom_timeouts,
            aliases,
            preview: request.run.dry_run,
        }
    }
}

/// The response of `construct`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Constructed {
    outputs: PlainMap,
    output_dependencies: PropertyDependencies,
}

/// The request of `call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Method {
    token: String,
    arguments: PlainMap,
    argument_dependencies: PropertyDependencies,
    preview: bool,
}

impl From<MethodRequest> for Method {
    fn from(request: MethodRequest) -> Self {
        Self {
            token: request.token,
            arguments: PlainMap(request.arguments.collapse_outputs()),
            argument_dependencies: request.argument_dependencies,
            preview: request.run.dry_run,
        }
    }
}

/// The response of `call`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Called {
    result: PlainMap,
    result_dependencies: PropertyDependencies,
    failures: Vec<PropertyFailure>,
}

impl CProvider {
    pub(super) async fn construct(&self, request: Box<ConstructRequest>) -> ProviderResult<Reply> {
        let Some(function) = self.functions.construct else {
            return Call::Construct(request).without_method();
        };
        let component = Component::register(&request).await?;
        let context =
            sw_context_t::of_component(component.clone(), Arc::clone(&self.shared)).map_err(internal)?;
        let document = Construct::new(component.urn().clone(), *request);
        let constructed: Constructed = self.run("construct", function, context, document).await?;
        let outputs = constructed.output_dependencies.attach(constructed.outputs.0);
        component.finish(outputs).await.map(Reply::Construct)
    }

    pub(super) async fn call_method(&self, request: Box<MethodRequest>) -> ProviderResult<Reply> {
        let Some(function) = self.functions.call else {
            return Call::Method(request).without_method();
        };
        let monitor = Monitor::of(&request.monitor).ok_or_else(|| {
            let text = "the request of Call has no monitor of this process";
            ProviderError::new(ProviderStatus::FailedPrecondition, text)
        })?;
        let context = sw_context_t::of_method(monitor, Arc::clone(&self.shared)).map_err(internal)?;
        let called: Called = self
            .run("call", function, context, Method::from(*request))
            .await?;
        Ok(Reply::Method(MethodResponse {
            result: called.result_dependencies.attach(called.result.0),
            result_dependencies: called.result_dependencies,
            failures: check_failures(called.failures),
        }))
    }

    /// Calls a function with a context, waits for its completion and the callbacks of the context, and parses its
    /// response.
    async fn run<T: DeserializeOwned + Default>(
        &self,
        name: &str,
        function: ContextFunction,
        context: Arc<sw_context_t>,
        request: impl Serialize,
    ) -> ProviderResult<T> {
        // A dropped call is cancelled, also while it waits for callbacks.
        let guard = context.cancellation().map(CancellationToken::drop_guard);
        let function = HostFunction::WithContext(function, Arc::clone(&context));
        let answer = self.answer(function, request).await;
        context.finish().await;
        drop(guard);
        let answer = parse_answer(name, answer?)?;
        match context.failure() {
            Some(error) => Err(ProviderError::new(ProviderStatus::Unknown, error.message())),
            None => Ok(answer),
        }
    }
}

fn internal(error: stackwright::Error) -> ProviderError {
    ProviderError::new(ProviderStatus::Internal, error.message())
}

//! The scripted provider: an in-process provider whose answers come from an [`AnswerSource`], as JSON.

mod reply;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use stackwright::{
    monitor::{Component, Monitor},
    property::{PropertyMap, json::PlainMap},
    provider::{
        Capabilities, CheckFailure, CheckRequest, CheckResponse, ConfigureRequest, ConstructRequest,
        ConstructResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest, DiffResponse,
        HandshakeRequest, InvokeRequest, InvokeResponse, MethodRequest, MethodResponse, Provider,
        ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse, UpdateRequest,
        UpdateResponse, Views,
    },
};

use reply::{Reply, WithViews};

use crate::{
    scenario::ProviderLimits,
    script::{ProviderCall, Providers, Scene},
};

/// The source of a scripted provider's answers.
#[async_trait]
pub trait AnswerSource: Send + Sync + 'static {
    /// Answers a call; values in plain JSON form. An error has `status`, `message` and perhaps `initFailure`. The
    /// future is dropped when the engine cancels the call.
    async fn answer(&self, package: &str, method: &str, request: Value) -> Result<Value, Value>;

    /// Runs the code of a component or a method; returns `outputs` and `failures`, or an error like [`Self::answer`].
    async fn run(&self, body: Body) -> Result<Value, Value> {
        Err(json!({ "status": 12, "message": format!("no code for {}", body.description) }))
    }
}

/// The code of a component or a method.
pub struct Body {
    /// The monitor that it uses.
    pub monitor: Monitor,
    /// The component.
    pub component: Option<Component>,
    /// `package`, `method`, `token`, `name` and `inputs`.
    pub description: Value,
}

/// Answers from the script of a scenario, or of a test.
pub struct Script {
    /// The providers and their things.
    pub providers: Arc<Providers>,
    /// The scene of the operation.
    pub scene: Arc<Scene>,
}

#[async_trait]
impl AnswerSource for Script {
    async fn answer(&self, package: &str, method: &str, request: Value) -> Result<Value, Value> {
        let call = ProviderCall {
            package: package.to_owned(),
            method: method.to_owned(),
            request,
            engine: None,
        };
        self.providers
            .answer(&self.scene, call)
            .await
            .map_err(|failure| failure.to_json())
    }
}

/// A provider of one package, for hosts in the same process.
pub struct ScriptedProvider {
    source: Arc<dyn AnswerSource>,
    package: String,
    waits_for_registrations: bool,
    limits: ProviderLimits,
}

impl ScriptedProvider {
    /// Creates the provider of `package`.
    pub fn new(package: impl Into<String>, source: Arc<dyn AnswerSource>) -> Self {
        Self {
            source,
            package: package.into(),
            waits_for_registrations: false,
            limits: ProviderLimits::default(),
        }
    }

    /// Declares whether calls may wait for later registrations.
    #[must_use]
    pub fn waits_for_registrations(mut self, waits: bool) -> Self {
        self.waits_for_registrations = waits;
        self
    }

    /// Removes capabilities and methods from the provider.
    #[must_use]
    pub fn with_limits(self, limits: ProviderLimits) -> Self {
        Self { limits, ..self }
    }

    /// Calls a method on a resource, and publishes the view steps of the answer.
    async fn ask_with_views<R: Reply>(
        &self,
        method: &str,
        request: Value,
        views: Views,
    ) -> ProviderResult<R> {
        let WithViews { view_steps, answer } = self.ask::<WithViews<R>>(method, request).await?;
        views.publish_with_answer(view_steps);
        Ok(answer)
    }

    async fn ask<R: Reply>(&self, method: &str, request: Value) -> ProviderResult<R> {
        match self.source.answer(&self.package, method, request).await {
            Ok(answer) => reply::read(answer),
            Err(error) => Err(reply::failure(&error)),
        }
    }
}

/// A failure of an input of a component, or of a method's argument.
#[derive(serde::Deserialize)]
struct Failure {
    property: String,
    reason: String,
}

impl From<Failure> for CheckFailure {
    fn from(failure: Failure) -> Self {
        Self {
            property: failure.property,
            reason: failure.reason,
        }
    }
}

/// Reads the failures that the code of a component or a method ends with.
fn failures(answer: &Value) -> Vec<CheckFailure> {
    let failures = serde_json::from_value::<Vec<Failure>>(answer["failures"].clone()).unwrap_or_default();
    failures.into_iter().map(CheckFailure::from).collect()
}

/// Returns values in the engine's plain JSON form.
pub(crate) fn plain(map: PropertyMap) -> Value {
    serde_json::to_value(PlainMap(map)).unwrap_or_else(|error| json!({ "not JSON": error.to_string() }))
}

fn check(request: CheckRequest) -> Value {
    json!({
        "urn": request.urn, "type": request.resource_type, "name": request.name,
        "olds": request.olds.map(plain), "oldOutputs": request.old_outputs.map(plain), "news": plain(request.news), "preview": request.preview,
        "autonaming": request.autonaming.map(|naming| {
            json!({ "proposedName": naming.proposed_name, "mode": naming.mode.name() })
        }),
    })
}

fn diff(request: DiffRequest) -> Value {
    json!({
        "urn": request.urn, "type": request.resource_type, "name": request.name, "id": request.id,
        "oldInputs": plain(request.old_inputs), "oldOutputs": plain(request.old_outputs),
        "news": plain(request.news), "ignoreChanges": request.ignore_changes, "preview": request.preview,
    })
}

impl Provider for ScriptedProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities {
            waits_for_registrations: self.waits_for_registrations,
            accept_secrets: !self.limits.declines_secrets,
            ..Capabilities::all()
        })
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.ask("checkConfig", check(request)).await
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.ask("diffConfig", diff(request)).await
    }

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        let request = json!({
            "urn": request.urn, "name": request.name, "id": request.id, "inputs": plain(request.inputs),
        });
        self.ask::<()>("configure", request).await.map(|()| None)
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.ask("check", check(request)).await
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.ask("diff", diff(request)).await
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let json = json!({
            "urn": request.urn, "type": request.resource_type, "name": request.name,
            "inputs": plain(request.inputs), "timeout": request.timeout, "preview": request.preview,
        });
        self.ask_with_views("create", json, request.views).await
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        let json = json!({
            "urn": request.urn, "type": request.resource_type, "name": request.name, "id": request.id,
            "inputs": request.inputs.map(plain), "outputs": request.properties.map(plain),
            "timeout": request.timeout, "preview": request.preview, "oldViews": request.views.recorded(),
        });
        self.ask_with_views("read", json, request.views).await
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        let json = json!({
            "urn": request.urn, "type": request.resource_type, "name": request.name, "id": request.id,
            "oldInputs": plain(request.old_inputs), "oldOutputs": plain(request.old_outputs),
            "news": plain(request.news), "ignoreChanges": request.ignore_changes,
            "timeout": request.timeout, "preview": request.preview, "oldViews": request.views.recorded(),
        });
        self.ask_with_views("update", json, request.views).await
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        if self.limits.without_delete {
            let text = format!("{} cannot be deleted", request.urn);
            return Err(ProviderError::unimplemented(text));
        }
        let json = json!({
            "urn": request.urn, "type": request.resource_type, "name": request.name, "id": request.id,
            "inputs": plain(request.inputs), "outputs": plain(request.outputs), "timeout": request.timeout,
            "oldViews": request.views.recorded(),
        });
        self.ask_with_views("delete", json, request.views).await
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let request = json!({
            "token": request.token, "arguments": plain(request.arguments), "preview": request.preview,
        });
        self.ask("invoke", request).await
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let (token, name) = (request.resource_type.as_str(), request.name.as_str());
        let trigger = request.options.replacement_trigger.clone();
        let trigger = PropertyMap::from_iter(trigger.map(|trigger| ("trigger", trigger)));
        let options = json!({
            "type": token, "name": name, "inputs": plain(request.inputs.clone()), "parent": request.parent,
            "protect": request.protect, "providers": request.providers, "preview": request.run.dry_run,
            "dependencies": request.dependencies, "ignoreChanges": request.options.ignore_changes,
            "replaceOnChanges": request.options.replace_on_changes, "deletedWith": request.options.deleted_with,
            "additionalSecretOutputs": request.options.additional_secret_outputs, "aliases": request.former_urns(),
            "replaceWith": request.options.replace_with,
            "retainOnDelete": request.retain_on_delete, "deleteBeforeReplace": request.delete_before_replace,
            "replacementTrigger": plain(trigger)["trigger"], "customTimeouts": request.options.custom_timeouts,
        });
        self.ask::<()>("construct", options).await?;
        let component = Component::register(&request).await?;
        let description = json!({
            "package": self.package, "method": "construct", "token": token, "name": name,
            "inputs": plain(request.inputs.clone()),
        });
        let body = Body {
            monitor: component.monitor().clone(),
            component: Some(component.clone()),
            description,
        };
        let answer = self
            .source
            .run(body)
            .await
            .map_err(|error| reply::failure(&error))?;
        let input_errors = failures(&answer);
        if !input_errors.is_empty() {
            return Err(ProviderError {
                input_errors,
                ..ProviderError::new(ProviderStatus::InvalidArgument, "the inputs are invalid")
            });
        }
        component.finish(reply::outputs(&answer)?).await
    }

    async fn call_method(&self, request: MethodRequest) -> ProviderResult<MethodResponse> {
        let monitor = Monitor::of(&request.monitor).ok_or_else(|| {
            ProviderError::new(ProviderStatus::FailedPrecondition, "a method without a monitor")
        })?;
        let mut arguments = request.arguments.clone();
        let this = arguments
            .remove("__self__")
            .map(|value| plain([("of", value)].into_iter().collect()));
        let asked = json!({
            "token": request.token, "arguments": plain(arguments.clone()), "self": this, "preview": request.run.dry_run,
        });
        self.ask::<()>("call", asked).await?;
        let description = json!({
            "package": self.package, "method": "call", "token": request.token, "name": request.token,
            "inputs": plain(arguments),
        });
        let body = Body {
            monitor,
            component: None,
            description,
        };
        let answer = self
            .source
            .run(body)
            .await
            .map_err(|error| reply::failure(&error))?;
        Ok(MethodResponse {
            result: reply::outputs(&answer)?,
            result_dependencies: reply::dependencies(&answer),
            failures: failures(&answer),
        })
    }

    async fn cancel(&self) {
        // A failed cancellation is not reported to the engine.
        drop(self.ask::<()>("cancel", json!({})).await);
    }

    async fn close(&self) {
        drop(self.ask::<()>("close", json!({})).await);
    }
}

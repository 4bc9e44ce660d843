//! Remote components: their providers construct them, and register what belongs to them at this monitor.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;

use crate::{
    callback::PANICKED,
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    executor::{AbandonedCall, Failure},
    generator::RunEnded,
    monitor::{
        Monitor, Registered, Registration, WireStatus, defaults::ProviderUse, in_flight::Flight,
        register::Refused, server::Server, traces::place,
    },
    property::{PropertyMap, PropertyPath, plain_text},
    provider::{
        ConstructRequest, MonitorHandle, ProviderError, ProviderHandle, ProviderResult, ProviderStatus,
    },
    resource::{PropertyDependencies, ProviderReference},
    token::TypeToken,
    urn::Urn,
};

/// A component or a method that has failed.
pub(super) struct FailedCall<'a> {
    /// The beginning of the text.
    pub(super) head: String,
    /// The package of the provider.
    pub(super) package: &'a str,
    /// `construct` or `call`.
    pub(super) method: &'static str,
    /// The component, or the resource whose method it is.
    pub(super) urn: Option<&'a Urn>,
    /// Where the program uses it, as a sentence.
    pub(super) used: Option<String>,
}

impl Monitor {
    /// Constructs a remote component; the registration is complete but for its provider.
    pub(super) async fn construct(
        &self,
        registration: Box<Registration>,
        flight: Flight,
    ) -> Result<Registered, WireStatus> {
        let constructed = self.construct_unguarded(registration).await;
        drop(flight);
        match constructed {
            Ok(registered) => Ok(registered),
            Err(refused) => Err(self.refused(refused).await),
        }
    }

    async fn construct_unguarded(&self, registration: Box<Registration>) -> Result<Registered, Refused> {
        let urn = self.urn_of(&registration);
        let provider = self.component_provider(&registration, &urn).await?;
        if provider.provider.is_unconfigured() {
            return self.construct_bare(*registration).await;
        }
        let (label, inputs) = (format!("inputs of {urn}"), registration.inputs.clone());
        let inputs = self
            .inspect_assets(&label, inputs, &urn)
            .await?
            .upgrade_to_outputs();
        let listed = registration.property_dependencies.clone();
        let input_dependencies = listed.unwrap_or_else(|| {
            let names = inputs.keys().cloned();
            PropertyDependencies::sharing(names, registration.dependencies.clone())
        });
        // Known until the component is constructed.
        let trace = self.issue_trace(&registration.source_position, &registration.stack_trace);
        let request = ConstructRequest {
            monitor: self.handle(),
            run: Arc::clone(self.run_info()),
            resource_type: registration.resource_type.clone(),
            name: registration.name.clone(),
            parent: registration.parent.clone(),
            inputs,
            input_dependencies,
            dependencies: registration.dependencies.clone(),
            providers: registration.providers.clone(),
            protect: registration.protect,
            delete_before_replace: registration.delete_before_replace,
            retain_on_delete: registration.retain_on_delete,
            aliases: registration.aliases.clone(),
            options: registration.options.clone(),
            stack_trace_handle: trace.text(),
        };
        let constructing = self
            .0
            .generator
            .executor()
            .constructing(&urn, registration.resource_type.package());
        let answer = unless_panicked(provider.provider.construct(request));
        let answer = self.within_limit(&provider, "construct", urn.as_str(), answer);
        let answer = self
            .unless_ended(answer, || AbandonedCall::on(&urn, "construct"))
            .await?;
        drop((constructing, trace));
        let sanitized = answer.and_then(|response| {
            self.0
                .generator
                .executor()
                .sanitizer()
                .sanitize_construct(response)
        });
        let response = match sanitized {
            Ok(response) => response,
            Err(error) => {
                let failed = FailedCall {
                    head: format!(
                        "{} resource '{}' has a problem: ",
                        registration.resource_type, registration.name
                    ),
                    package: registration.resource_type.package(),
                    method: "construct",
                    urn: Some(&urn),
                    used: place(&registration.source_position)
                        .map(|place| format!("the component is used at {place}")),
                };
                return Err(self.fail_call(&failed, &error, &registration.inputs));
            }
        };
        self.learn(&response.outputs);
        Ok(Registered {
            urn: response.urn,
            id: crate::token::ResourceId::default(),
            outputs: response.outputs.collapse_outputs(),
            output_dependencies: response.output_dependencies,
            unknown: false,
            failed: false,
            skipped: false,
        })
    }

    /// Registers a component whose provider cannot be called: it is shown without its children.
    async fn construct_bare(&self, registration: Registration) -> Result<Registered, Refused> {
        let bare = Registration {
            resource_type: registration.resource_type,
            name: registration.name,
            parent: registration.parent,
            no_parent: registration.no_parent,
            ..Registration::default()
        };
        Ok(Registered {
            outputs: PropertyMap::new(),
            ..self.register(bare).await?
        })
    }

    /// Returns the URN that a resource will have: a component, when its provider registers it.
    pub(super) fn urn_of(&self, registration: &Registration) -> Urn {
        let Registration {
            parent,
            resource_type,
            name,
            ..
        } = registration;
        self.urn_below(parent.as_ref(), resource_type, name)
    }

    /// Returns the URN of a resource below a parent.
    pub(super) fn urn_below(&self, parent: Option<&Urn>, resource_type: &TypeToken, name: &str) -> Urn {
        let run = self.run_info();
        let parent = parent.map_or("", Urn::qualified_type);
        Urn::new(&run.stack, &run.project, parent, resource_type.as_str(), name)
    }

    async fn component_provider(
        &self,
        registration: &Registration,
        urn: &Urn,
    ) -> Result<ProviderHandle, Refused> {
        let package = registration.resource_type.package();
        let what = ProviderUse::Resource(urn);
        let chosen = self
            .0
            .defaults
            .provider_for(package, &registration.package, what)
            .await?;
        let Some(chosen) = chosen else {
            let text = format!("the default provider of package '{package}' failed");
            return Err(WireStatus::unknown(text).into());
        };
        let choice = &registration.package;
        self.add_extension(choice, &chosen.reference, urn.as_str())
            .await?;
        self.configured_provider(&chosen.reference)
    }

    /// Returns a configured provider.
    pub(super) fn configured_provider(
        &self,
        reference: &ProviderReference,
    ) -> Result<ProviderHandle, Refused> {
        let found = self.0.generator.registry().get(reference);
        found.ok_or_else(|| WireStatus::unknown(format!("unknown provider '{reference}'")).into())
    }

    /// Awaits a Construct or a method within the limit of its provider's calls. It may wait for other resources: the time in
    /// which the run works on these does not count.
    pub(super) async fn within_limit<T>(
        &self,
        provider: &ProviderHandle,
        method: &'static str,
        subject: &str,
        call: impl Future<Output = ProviderResult<T>>,
    ) -> ProviderResult<T> {
        let activity = self.0.generator.executor().activity();
        let Some(limit) = provider.provider.limit() else {
            let _waiting = activity.waiting();
            return call.await;
        };
        let answer = activity.within(limit.timeout, call).await;
        answer.unwrap_or_else(|| Err(limit.exceeded(&format!("{method} of {subject}"), limit.timeout)))
    }

    /// Awaits a provider's call, until the run has ended. `describe` describes a call that is given up.
    pub(super) async fn unless_ended<T>(
        &self,
        call: impl Future<Output = T>,
        describe: impl FnOnce() -> AbandonedCall,
    ) -> Result<T, Refused> {
        let executor = self.0.generator.executor();
        tokio::select! {
            biased;
            answer = call => Ok(answer),
            () = self.0.closed.cancelled() => {
                Err(WireStatus::shut_down("waiting on step's done channel").into())
            }
            () = executor.terminated() => {
                executor.control().abandon(describe());
                Err(Refused::Unanswered(RunEnded))
            }
        }
    }

    /// Reports the failure of a component or a method, and ends the run; the status of the request is that of a run
    /// that has ended. The report is about no resource.
    pub(super) fn fail_call(
        &self,
        call: &FailedCall<'_>,
        error: &ProviderError,
        inputs: &PropertyMap,
    ) -> Refused {
        let executor = self.0.generator.executor();
        if executor.control().is_stopped() {
            // The run has ended already: the failure follows from that.
            return Refused::Invalid(WireStatus::run_failed());
        }
        let text = format!("{}{}", call.head, with_input_errors(error, inputs));
        executor.diagnose(Diagnostic::error(text.clone()));
        let mut failure = Error::new(ErrorKind::Provider, text);
        if let Some(cause) = &error.cause {
            failure = failure.with_facts_of(cause);
        }
        failure = failure.with_provider(call.package).with_phase(call.method);
        if let Some(urn) = call.urn {
            failure = failure.with_urn(urn.clone());
        }
        if let Some(used) = &call.used {
            failure = failure.with_hint(used.clone());
        }
        executor.control().fail(Failure::Callback(failure), true);
        Refused::Invalid(WireStatus::run_failed())
    }

    /// Returns the handle of this monitor, for code that the engine calls.
    #[must_use]
    pub fn handle(&self) -> MonitorHandle {
        MonitorHandle::new(Arc::new(Server(self.clone())))
    }

    /// Returns the monitor of a handle.
    #[must_use]
    pub fn of(handle: &MonitorHandle) -> Option<Self> {
        let server: Option<&Server> = handle.access().downcast_ref();
        server.map(|server| server.0.clone())
    }
}

/// Awaits code of a provider that calls the engine again.
///
/// # Errors
/// Those of the call, and one when code of the host panics.
pub(super) async fn unless_panicked<T>(call: impl Future<Output = ProviderResult<T>>) -> ProviderResult<T> {
    let ended = AssertUnwindSafe(call).catch_unwind().await;
    ended.unwrap_or_else(|_| Err(ProviderError::new(ProviderStatus::Unknown, PANICKED)))
}

/// Returns the message of an error, followed by a line for each refused input, with its value unless that is secret.
fn with_input_errors(error: &ProviderError, inputs: &PropertyMap) -> String {
    let mut text = error.message.clone();
    for refused in &error.input_errors {
        let path = PropertyPath::parse(&refused.property).ok();
        let value = path.and_then(|path| path.get_marked(inputs));
        let value = value.map_or_else(|| "<nil>".to_owned(), |value| plain_text(&value));
        let (property, reason) = (&refused.property, &refused.reason);
        text.push_str(&format!(
            "\n- property {property} with value '{value}' has a problem: {reason}"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        property::{Output, PropertyValue},
        provider::{CheckFailure, ProviderStatus},
    };

    #[test]
    fn every_refused_input_is_listed_with_its_path_and_its_value_unless_that_is_secret() {
        let refused = |property: &str, reason: &str| CheckFailure {
            property: property.to_owned(),
            reason: reason.to_owned(),
        };
        let error = ProviderError {
            input_errors: vec![
                refused("size", "too large"),
                refused("login.password", "too short"),
                refused("keys[1]", "is no key"),
                refused("name", "is required"),
            ],
            ..ProviderError::new(ProviderStatus::InvalidArgument, "bad inputs")
        };
        let size = PropertyValue::Output(Arc::new(Output {
            element: Some(7.0.into()),
            secret: false,
            dependencies: Vec::new(),
        }));
        let login = PropertyMap::from_iter([("password", PropertyValue::from("pw"))]);
        let keys = vec!["a".into(), PropertyValue::secret("b".into())];
        let inputs = PropertyMap::from_iter([
            ("size", size),
            ("login", PropertyValue::secret(login.into())),
            ("keys", keys.into()),
        ]);
        assert_eq!(
            with_input_errors(&error, &inputs),
            "bad inputs\n\
             - property size with value '7' has a problem: too large\n\
             - property login.password with value '[secret]' has a problem: too short\n\
             - property keys[1] with value '[secret]' has a problem: is no key\n\
             - property name with value '<nil>' has a problem: is required"
        );
    }
}

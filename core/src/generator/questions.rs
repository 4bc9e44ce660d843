//! What a provider is asked about a goal before any step: whether its inputs are valid, and how they differ.

use crate::{
    diagnostic::{Diagnostic, Severity},
    error::Error,
    generator::{
        Generator, Unanswered,
        difference::{Difference, interpret, trigger_fires},
        register::Registering,
    },
    message::{Message, Text},
    property::{
        PropertyMap, PropertyValue,
        path::{PropertyPath, reset_all},
    },
    provider::{
        CheckFailure, CheckRequest, DiffChanges, DiffRequest, DiffResponse, ProviderError, ProviderHandle,
    },
    resource::{ProviderReference, ResourceState},
    state::StateRef,
    token::TypeToken,
    urn::Urn,
};

/// A question to a resource's own provider.
#[derive(Clone, Copy)]
pub(super) struct Phase {
    /// The provider's method, as errors name it.
    method: &'static str,
    /// Whether the answer may wait for a later registration.
    waits: bool,
}

impl Phase {
    pub(super) const fn of(method: &'static str, provider: &ProviderHandle) -> Option<Self> {
        Some(Self {
            method,
            waits: provider.waits_for_registrations,
        })
    }
}

impl Generator {
    /// Asks the provider to check inputs; what it finds wrong ends the run.
    pub(super) async fn check(
        &self,
        registering: &Registering,
        provider: &ProviderHandle,
        olds: Option<PropertyMap>,
        news: PropertyMap,
    ) -> Result<PropertyMap, Unanswered> {
        let urn = &registering.urn;
        let manager;
        let provider = if registering.goal.resource_type.is_provider() {
            // Rare, and so it is kept out of what every registration has room for.
            manager = Box::pin(self.manager_of(urn, &news)).await?;
            &manager
        } else {
            provider
        };
        let request = CheckRequest {
            urn: urn.clone(),
            resource_type: urn.resource_type().into(),
            name: urn.name().to_owned(),
            olds,
            news,
            random_seed: registering.seed.clone(),
            preview: self.executor.is_preview(),
            autonaming: registering.autonaming.clone(),
        };
        let news = request.news.clone();
        let question = provider.provider.check(request);
        let checked = async { self.executor.sanitizer().sanitize_check(&news, question.await?) };
        let response = self.consult(urn, Phase::of("check", provider), checked).await?;
        if response.failures.is_empty() {
            return Ok(response.inputs);
        }
        let mut first = None;
        for failure in &response.failures {
            let text = check_failure_text(registering, failure, &news);
            let text = self.tell_fault(Some(urn), text);
            first.get_or_insert(text);
        }
        let why = first.as_ref().map_or("", Text::library);
        let text = Text::pair(format!("resource {urn} is invalid"), why);
        let package = registering.goal.resource_type.asked_package();
        Err(self.end_for(Error::of_provider(package, "check", text).with_urn(urn.clone())))
    }

    /// Awaits a question about a resource. A failed one ends the run; so does a termination. `phase` names the question
    /// when it is put to the resource's own provider. Those to policy packs do not count against the limit of questions.
    pub(super) async fn consult<T>(
        &self,
        urn: &Urn,
        phase: Option<Phase>,
        question: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, Unanswered> {
        let question = async {
            let _slot = match phase {
                Some(Phase { method, waits }) => Some(self.executor.question(urn, method, waits).await),
                None => None,
            };
            question.await
        };
        self.answered(urn, phase.map(|phase| phase.method), question)
            .await
    }

    /// Finds who is asked about a provider resource. Its plugin starts before its question counts among those that are
    /// put at a time: one that hangs must not keep others from being asked.
    pub(super) async fn manager_of(
        &self,
        urn: &Urn,
        inputs: &PropertyMap,
    ) -> Result<ProviderHandle, Unanswered> {
        let loading = self.registry.manager_of(urn, inputs);
        self.answered(urn, None, loading).await
    }

    /// Awaits an answer; a failure ends the run, and so does a termination.
    async fn answered<T>(
        &self,
        urn: &Urn,
        phase: Option<&'static str>,
        answer: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, Unanswered> {
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|error| {
                if self.executor.control().is_cancelled() {
                    return Unanswered::Ending;
                }
                let facts = || {
                    let asked = TypeToken::from(urn.resource_type());
                    Some(Error::of_provider(asked.asked_package(), phase?, &error.message))
                };
                let cause = error.cause.clone().or_else(facts);
                self.bail_because(Some(urn), error.text(), cause)
            }),
            () = self.executor.terminated() => Err(Unanswered::Ending),
        }
    }

    /// Warns of inputs whose names are reserved. Dynamic providers and bridged ones use some of these on purpose, and the
    /// engine's own fields of providers are of that form.
    pub(super) fn warn_of_internal_keys(&self, registering: &Registering) {
        const IN_USE: [&str; 3] = ["__provider", "__defaults", "__internal"];
        let keys = registering.goal.inputs.keys().map(|key| key.as_str());
        for key in keys.filter(|key| key.starts_with("__") && !IN_USE.contains(key)) {
            let text =
                format!("internal key {key:?}: names of properties that begin with \"__\" are reserved");
            self.executor
                .diagnose(Diagnostic::warning(text).about(registering.urn.clone()));
        }
    }

    pub(super) fn with_ignored_changes(
        &self,
        registering: &Registering,
        old: Option<&PropertyMap>,
    ) -> PropertyMap {
        let goal = &registering.goal;
        let (Some(old), false) = (old, goal.options.ignore_changes.is_empty()) else {
            return goal.inputs.clone();
        };
        let (inputs, failed) = reset_all(&goal.options.ignore_changes, old, goal.inputs.clone());
        if !failed.is_empty() {
            let text = format!(
                "cannot ignore changes in added or removed elements of the path: \"{}\"",
                failed.join(", ")
            );
            self.executor
                .diagnose(Diagnostic::new(Severity::Info, text).about(registering.urn.clone()));
        }
        inputs
    }

    /// Finds out what differs between the record and the goal. `target` says that the user wants a replacement in any
    /// case, or that the record is tainted; the replacement's own trigger comes before all else.
    pub(super) async fn difference(
        &self,
        registering: &Registering,
        old: &StateRef,
        new: &ResourceState,
        target: bool,
    ) -> Result<Difference, Unanswered> {
        let urn = &registering.urn;
        let trigger = new.options.replacement_trigger.as_ref();
        if !self.executor.is_preview() && trigger.is_some_and(PropertyValue::contains_unknowns) {
            return Err(self.bail(
                Some(urn),
                format!("replacement trigger contains unknowns for {urn}"),
            ));
        }
        if trigger_fires(old.state.options.replacement_trigger.as_ref(), trigger) {
            return Ok(Difference::replacement(""));
        }
        if target {
            return Ok(Difference::replacement("id"));
        }
        if new
            .options
            .replace_with
            .iter()
            .any(|other| self.claims.is_replaced(other))
        {
            return Ok(Difference::replacement("replaceWith"));
        }
        if new
            .options
            .deleted_with
            .as_ref()
            .is_some_and(|other| self.claims.is_replaced(other))
        {
            return Ok(Difference::replacement("deletedWith"));
        }
        if self.provider_replaces(registering, &old.state, new).await? {
            return Ok(Difference::replacement("provider"));
        }
        let Some(provider) = &registering.provider else {
            return Ok(Difference::of_component(&old.state.inputs, &new.inputs));
        };
        let response = if self.options.use_legacy_diff && old.state.inputs == new.inputs {
            DiffResponse {
                changes: DiffChanges::None,
                ..DiffResponse::default()
            }
        } else {
            self.ask_for_difference(registering, provider, old, new).await?
        };
        // What the engine compares itself is what Check gave, and that may have put an ignored change back.
        let compared = if response.changes == DiffChanges::Unknown {
            reset_all(&new.options.ignore_changes, &old.state.inputs, new.inputs.clone()).0
        } else {
            new.inputs.clone()
        };
        let response = response.completed(&old.state.inputs, &compared);
        let has_init_errors = !old.state.init_errors.is_empty();
        let paths = &new.options.replace_on_changes;
        let paths = self.paths_that_count(urn, paths, &response, has_init_errors)?;
        Ok(interpret(
            response,
            &paths,
            has_init_errors,
            old.state.pending_replacement,
        ))
    }

    /// Asks the provider what differs. It knows the resource as the program calls it now, whatever it was called before.
    async fn ask_for_difference(
        &self,
        registering: &Registering,
        provider: &ProviderHandle,
        old: &StateRef,
        new: &ResourceState,
    ) -> Result<DiffResponse, Unanswered> {
        let urn = &registering.urn;
        // In a block of its own, so that the request is not held while the provider works.
        let question = {
            let request = diff_request(
                &old.state,
                new.inputs.clone(),
                &new.options.ignore_changes,
                self.executor.is_preview(),
            );
            provider.provider.diff(DiffRequest {
                urn: urn.clone(),
                resource_type: urn.resource_type().into(),
                name: urn.name().to_owned(),
                ..request
            })
        };
        let response = self.consult(urn, Phase::of("diff", provider), question).await?;
        if let Some(text) = &response.unavailable {
            self.executor
                .diagnose(Diagnostic::warning(text.clone()).about(urn.clone()));
        }
        Ok(response)
    }

    /// Returns the paths of `replaceOnChanges`, none where nothing has changed: then a wrong one is no matter either.
    pub(super) fn paths_that_count(
        &self,
        urn: &Urn,
        paths: &[String],
        response: &DiffResponse,
        has_init_errors: bool,
    ) -> Result<Vec<PropertyPath>, Unanswered> {
        if response.changes != DiffChanges::Some && !has_init_errors {
            return Ok(Vec::new());
        }
        paths
            .iter()
            .map(|text| {
                PropertyPath::parse(text).map_err(|error| {
                    let text = format!(
                        "replaceOnChanges of resource '{}': {}",
                        urn.name(),
                        error.message()
                    );
                    self.bail(Some(urn), text)
                })
            })
            .collect()
    }

    /// Tells whether another provider manages the resource now, and one that cannot go on with what exists.
    pub(super) async fn provider_replaces(
        &self,
        registering: &Registering,
        old: &ResourceState,
        new: &ResourceState,
    ) -> Result<bool, Unanswered> {
        if old.provider == new.provider {
            return Ok(false);
        }
        let (Ok(before), Ok(after)) = (
            ProviderReference::parse(&old.provider),
            ProviderReference::parse(&new.provider),
        ) else {
            return Ok(true);
        };
        let renamed = before.urn != after.urn && self.claims.current_urn(&before.urn) == after.urn;
        if renamed {
            return Ok(false);
        }
        let Some(recorded) = self.base.provider(&before) else {
            return Ok(true);
        };
        // Rare, and so it is kept out of what every registration has room for.
        let question = self.registry.replaces_resources(recorded, &after);
        let phase = Some(Phase {
            method: "diff",
            waits: false,
        });
        Box::pin(self.consult(&registering.urn, phase, question)).await
    }
}

/// Builds the question whether a recorded resource differs from new inputs.
pub(super) fn diff_request(
    old: &ResourceState,
    news: PropertyMap,
    ignore_changes: &[String],
    preview: bool,
) -> DiffRequest {
    DiffRequest {
        urn: old.urn.clone(),
        resource_type: old.urn.resource_type().into(),
        name: old.urn.name().to_owned(),
        id: old.id.clone(),
        old_inputs: old.inputs.clone(),
        old_outputs: old.outputs.clone(),
        news,
        ignore_changes: ignore_changes.to_vec(),
        preview,
    }
}

fn check_failure_text(registering: &Registering, failure: &CheckFailure, inputs: &PropertyMap) -> Text {
    let resource_type = registering.goal.resource_type.as_str();
    let (name, reason) = (registering.urn.name(), &failure.reason);
    if failure.property.is_empty() {
        return format!("{resource_type} resource '{name}' has a problem: {reason}").into();
    }
    let value = PropertyPath::parse(&failure.property)
        .ok()
        .and_then(|path| path.get(inputs).cloned());
    Text::from(Message::InvalidProperty {
        resource_type,
        name,
        property: &failure.property,
        value: &in_braces(value.as_ref()),
        is_set: value.is_some_and(|value| !value.is_null()),
        reason,
    })
}

/// Prints a value as the reference engine does in messages: in braces. A secret one is not printed at all.
pub(super) fn in_braces(value: Option<&PropertyValue>) -> String {
    value.map_or_else(
        || "{<nil>}".to_owned(),
        |value| format!("{{{}}}", plain_text(value)),
    )
}

fn plain_text(value: &PropertyValue) -> String {
    match value {
        PropertyValue::String(text) => text.to_string(),
        PropertyValue::Null => "<nil>".to_owned(),
        PropertyValue::Number(number) => number.to_string(),
        _ if value.contains_secrets() => "[secret]".to_owned(),
        _ => format!("{value:?}"),
    }
}

//! Applying one step: the provider's call that each kind of step makes, and the record that comes of it.

use std::sync::Arc;

use crate::{
    executor::{
        Executor, Step, StepFailure, StepOp,
        outcome::{Applied, join_reasons},
    },
    property::PropertyMap,
    provider::{
        ConfigureRequest, CreateRequest, DeleteRequest, InitFailure, ProviderError, ReadRequest,
        UpdateRequest,
    },
    resource::ResourceState,
    state::keep_order,
    token::ResourceId,
};

type Result<T, E = StepFailure> = std::result::Result<T, E>;

impl Executor {
    /// Calls the provider as the step's kind asks for. Nothing is recorded here.
    pub(crate) async fn apply(&self, step: &Step) -> Result<Applied> {
        match step.op {
            StepOp::Same => self.apply_same(step).await,
            StepOp::Create | StepOp::CreateReplacement => self.apply_create(step).await,
            StepOp::Update => self.apply_update(step).await,
            StepOp::Delete | StepOp::DeleteReplaced => self.apply_delete(step).await,
            StepOp::Read | StepOp::ReadReplacement => self.apply_read(step).await,
            StepOp::Refresh => self.apply_refresh(step).await,
            StepOp::Import | StepOp::ImportReplacement => self.apply_import(step).await,
            StepOp::Replace | StepOp::Discard | StepOp::DiscardReplaced | StepOp::RemovePendingReplace => {
                Ok(Applied {
                    new: step.new.clone(),
                    ..Applied::default()
                })
            }
        }
    }

    async fn apply_same(&self, step: &Step) -> Result<Applied> {
        let (Some(old), Some(new)) = (&step.old, &step.new) else {
            return Ok(Applied {
                new: step.new.clone(),
                ..Applied::default()
            });
        };
        if new.is_provider() && !step.detail.untargeted && !step.detail.skipped_create {
            self.adopt_provider(step, &old.state).await?;
        }
        if step.detail.untargeted || Arc::ptr_eq(&old.state, new) {
            return Ok(Applied {
                new: Some(Arc::clone(new)),
                ..Applied::default()
            });
        }
        let mut new = new.clone();
        let state = Arc::make_mut(&mut new);
        state.id = old.state.id.clone();
        state.outputs = old.state.outputs.clone();
        state.created = old.state.created;
        state.modified = old.state.modified;
        state.init_errors = old.state.init_errors.clone();
        state.refresh_before_update = old.state.refresh_before_update;
        keep_order(&old.state, state);
        if *new == *old.state {
            // The very record: keep sharing it, so that nothing is written and no memory is held twice.
            new = Arc::clone(&old.state);
        }
        Ok(Applied {
            new: Some(new),
            ..Applied::default()
        })
    }

    /// An unchanged provider is configured as it was recorded.
    async fn adopt_provider(&self, step: &Step, old: &ResourceState) -> Result<()> {
        let Some(manager) = &step.provider else {
            return Ok(());
        };
        let request = ConfigureRequest {
            urn: step.urn.clone(),
            name: step.urn.name().to_owned(),
            id: old.id.clone(),
            inputs: old.inputs.clone(),
        };
        match self
            .call(step, "configure", manager.provider.configure(request))
            .await
        {
            Ok(_) => Ok(()),
            Err(error) => Err(StepFailure::provider(&error)),
        }
    }

    async fn apply_create(&self, step: &Step) -> Result<Applied> {
        let goal = step
            .new
            .as_ref()
            .ok_or_else(|| StepFailure::new("a create step without a new state"))?;
        let mut new = Arc::clone(goal);
        let mut partial_failure = None;
        if let Some(provider) = step.provider.as_ref().filter(|_| goal.custom) {
            if self.is_preview() && !provider.supports_preview {
                Arc::make_mut(&mut new).outputs = goal.inputs.clone();
            } else {
                let request = CreateRequest {
                    urn: goal.urn.clone(),
                    resource_type: goal.resource_type.clone(),
                    name: goal.urn.name().to_owned(),
                    inputs: goal.inputs.clone(),
                    timeout: goal.custom_timeouts.create.unwrap_or_default(),
                    preview: self.is_preview(),
                };
                let state = Arc::make_mut(&mut new);
                match self.call(step, "create", provider.provider.create(request)).await {
                    Ok(response) => {
                        if response.id.is_empty() && !self.is_preview() {
                            return Err(StepFailure {
                                status: crate::event::OperationStatus::Unknown,
                                ..StepFailure::new(format!(
                                    "plugin returned empty resource.ID from create '{}'",
                                    step.urn
                                ))
                            });
                        }
                        state.id = response.id;
                        state.outputs = response.outputs;
                        state.refresh_before_update = response.refresh_before_update;
                    }
                    Err(mut error) => {
                        let Some(failure) = error.init_failure.take() else {
                            // The reference engine never calls the state unknown after a failed Create.
                            return Err(StepFailure {
                                status: crate::event::OperationStatus::Ok,
                                ..StepFailure::provider(&error)
                            });
                        };
                        partial_failure = Some(join_reasons(&failure.reasons));
                        take_init_failure(state, *failure);
                    }
                }
            }
        }
        let now = self.now();
        let state = Arc::make_mut(&mut new);
        state.created = Some(now);
        state.modified = Some(now);
        Ok(Applied {
            new: Some(new),
            partial_failure,
            ..Applied::default()
        })
    }

    async fn apply_update(&self, step: &Step) -> Result<Applied> {
        let (Some(old), Some(goal)) = (&step.old, &step.new) else {
            return Err(StepFailure::new("an update step without an old and a new state"));
        };
        let mut new = Arc::clone(goal);
        let state = Arc::make_mut(&mut new);
        state.id = old.state.id.clone();
        state.created = old.state.created;
        state.modified = old.state.modified;
        let mut partial_failure = None;
        if let Some(provider) = step.provider.as_ref().filter(|_| goal.custom) {
            if self.is_preview() && !provider.supports_preview {
                state.outputs = goal.inputs.clone();
            } else {
                let request = UpdateRequest {
                    urn: old.state.urn.clone(),
                    resource_type: goal.resource_type.clone(),
                    name: goal.urn.name().to_owned(),
                    id: old.state.id.clone(),
                    old_inputs: old.state.inputs.clone(),
                    old_outputs: old.state.outputs.clone(),
                    news: goal.inputs.clone(),
                    ignore_changes: step.ignore_changes.clone(),
                    timeout: goal.custom_timeouts.update.unwrap_or_default(),
                    preview: self.is_preview(),
                };
                match self.call(step, "update", provider.provider.update(request)).await {
                    Ok(response) => {
                        state.outputs = response.outputs;
                        state.refresh_before_update = response.refresh_before_update;
                    }
                    Err(mut error) => {
                        let Some(failure) = error.init_failure.take() else {
                            return Err(StepFailure::provider(&error));
                        };
                        partial_failure = Some(join_reasons(&failure.reasons));
                        // The old inputs stay, so that the next update sees the difference again.
                        state.inputs = old.state.inputs.clone();
                        let id = state.id.clone();
                        take_init_failure(state, *failure);
                        if state.id.is_empty() {
                            state.id = id;
                        }
                    }
                }
            }
            state.modified = Some(self.now());
        } else {
            state.outputs = old.state.outputs.clone();
        }
        Ok(Applied {
            new: Some(new),
            partial_failure,
            ..Applied::default()
        })
    }

    async fn apply_delete(&self, step: &Step) -> Result<Applied> {
        let old = step
            .old
            .as_ref()
            .ok_or_else(|| StepFailure::new("a delete step without an old state"))?;
        let state = &old.state;
        if step.op == StepOp::Delete && state.protect && !self.options().ignore_protect {
            return Err(StepFailure {
                continues: true,
                ..StepFailure::new(protected_message(state))
            });
        }
        let spared = state.external || state.retain_on_delete || step.detail.deleted_with_gone;
        let Some(provider) = step
            .provider
            .as_ref()
            .filter(|_| state.custom && !spared && !self.is_preview())
        else {
            return Ok(Applied::default());
        };
        let request = DeleteRequest {
            urn: state.urn.clone(),
            resource_type: state.resource_type.clone(),
            name: state.urn.name().to_owned(),
            id: state.id.clone(),
            inputs: state.inputs.clone(),
            outputs: state.outputs.clone(),
            timeout: state.custom_timeouts.delete.unwrap_or_default(),
        };
        match self.call(step, "delete", provider.provider.delete(request)).await {
            Ok(()) => Ok(Applied::default()),
            Err(error) => Err(StepFailure::provider(&error)),
        }
    }

    async fn apply_read(&self, step: &Step) -> Result<Applied> {
        let goal = step
            .new
            .as_ref()
            .ok_or_else(|| StepFailure::new("a read step without a new state"))?;
        let mut new = Arc::clone(goal);
        let mut partial_failure = None;
        let known = goal.id.as_str() != crate::resource::UNKNOWN_ID;
        if let Some(provider) = step.provider.as_ref().filter(|_| known) {
            let request = self.read_request(goal, goal.inputs.clone(), goal.inputs.clone());
            let state = Arc::make_mut(&mut new);
            match self.call(step, "read", provider.provider.read(request)).await {
                Ok(response) => {
                    let outputs = response.outputs.filter(|_| !response.id.is_empty());
                    let Some(outputs) = outputs else {
                        return Err(StepFailure::new(format!("resource '{}' does not exist", goal.id)));
                    };
                    state.outputs = outputs;
                    state.id = response.id;
                }
                Err(mut error) => {
                    let Some(failure) = error.init_failure.take() else {
                        return Err(StepFailure::provider(&error));
                    };
                    partial_failure = Some(join_reasons(&failure.reasons));
                    take_init_failure(state, *failure);
                }
            }
            if let Some(old) = &step.old {
                let unchanged = old.state.inputs == state.inputs && old.state.outputs == state.outputs;
                state.created = old.state.created;
                state.modified = if unchanged {
                    old.state.modified
                } else {
                    Some(self.now())
                };
            }
        }
        Ok(Applied {
            new: Some(new),
            partial_failure,
            ..Applied::default()
        })
    }

    async fn apply_import(&self, step: &Step) -> Result<Applied> {
        let goal = step
            .new
            .as_ref()
            .ok_or_else(|| StepFailure::new("an import step without a new state"))?;
        let provider = step
            .provider
            .as_ref()
            .ok_or_else(|| StepFailure::new("an import step without a provider"))?;
        let request = ReadRequest {
            id: goal.import_id.clone(),
            ..self.read_request(goal, PropertyMap::new(), PropertyMap::new())
        };
        let mut new = Arc::clone(goal);
        let state = Arc::make_mut(&mut new);
        let read = self.call(step, "read", provider.provider.read(request)).await;
        let (id, inputs, outputs) = match read {
            Ok(response) => (response.id, response.inputs, response.outputs),
            Err(mut error) => {
                let Some(failure) = error.init_failure.take() else {
                    return Err(StepFailure::provider(&error));
                };
                state.init_errors = failure.reasons;
                (failure.id.into(), failure.inputs, Some(failure.outputs))
            }
        };
        let Some(outputs) = outputs.filter(|_| !id.is_empty()) else {
            return Err(StepFailure::new(format!(
                "resource '{}' does not exist",
                goal.import_id
            )));
        };
        let Some(inputs) = inputs else {
            let package = goal.resource_type.package();
            return Err(StepFailure::new(format!(
                "provider does not support importing resources; please try updating the '{package}' plugin"
            )));
        };
        state.id = if id.is_empty() { goal.import_id.clone() } else { id };
        state.inputs = inputs;
        state.outputs = outputs;
        let now = self.now();
        state.created = Some(now);
        state.modified = Some(now);
        Ok(Applied {
            new: Some(new),
            ..Applied::default()
        })
    }

    pub(crate) fn read_request(
        &self,
        state: &ResourceState,
        inputs: PropertyMap,
        properties: PropertyMap,
    ) -> ReadRequest {
        ReadRequest {
            urn: state.urn.clone(),
            resource_type: state.resource_type.clone(),
            name: state.urn.name().to_owned(),
            id: state.id.clone(),
            inputs,
            properties,
            timeout: state.custom_timeouts.read.unwrap_or_default(),
            preview: self.is_preview(),
        }
    }

    /// Awaits a provider's call; a second cancellation gives it up.
    pub(crate) async fn call<T>(
        &self,
        step: &Step,
        phase: &'static str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        tokio::select! {
            biased;
            result = call => result,
            () = self.terminated() => Err(ProviderError::new(
                crate::provider::ProviderStatus::Cancelled,
                format!("the {phase} of {} was given up because the operation was terminated", step.urn),
            )),
        }
    }
}

/// Records what exists of a resource whose initialization failed.
fn take_init_failure(state: &mut ResourceState, failure: InitFailure) {
    state.id = ResourceId::from(failure.id);
    state.outputs = failure.outputs;
    state.init_errors = failure.reasons;
    state.refresh_before_update = failure.refresh_before_update;
}

/// Returns the refusal to delete a protected resource, in the words that existing tools match on.
pub(crate) fn protected_message(state: &ResourceState) -> String {
    let urn = &state.urn;
    format!(
        "resource \"{urn}\" cannot be deleted\nbecause it is protected. To unprotect the resource, either remove the \
         `protect` flag from the resource in your program and run an update, or unprotect it in the stack's state"
    )
}

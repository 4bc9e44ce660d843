//! Refresh: reading a recorded resource, and what the difference to its record means.

use std::sync::Arc;

use crate::{
    event::{DetailedDiff, DiffKind},
    executor::{Executor, Step, StepFailure, outcome::Applied},
    property::path::reset_all,
    provider::{DiffChanges, DiffRequest, InitFailure},
    resource::ResourceState,
    step::StepOp,
};

impl Executor {
    /// Reads the step's record. Components and providers are as they are.
    ///
    /// What was read completes the step's new record, which is the old one unless the program has renamed it.
    pub(crate) async fn apply_refresh(&self, step: &Step) -> Result<Applied, StepFailure> {
        let old = &step
            .old
            .as_ref()
            .ok_or_else(|| StepFailure::new("a refresh step without an old state"))?
            .state;
        let start = step.new.as_ref().unwrap_or(old);
        let same = || Applied {
            new: Some(Arc::clone(start)),
            result_op: Some(result_of_the_unread(step, old)),
            ..Applied::default()
        };
        let Some(provider) = step
            .provider
            .as_ref()
            .filter(|_| old.custom && !old.is_provider())
        else {
            return Ok(same());
        };
        if old.pending_replacement || old.id.is_empty() {
            return Ok(same());
        }
        let mut warnings = Vec::new();
        let request = self.read_request(step, old, Some(old.inputs.clone()), Some(old.outputs.clone()));
        let mut new = Arc::clone(start);
        let answer = self.call(step, "read", provider.provider.read(request)).await;
        match self.was_read(answer, [&old.inputs, &old.outputs]) {
            Ok(response) => {
                let Some(outputs) = response.outputs.filter(|_| !response.id.is_empty()) else {
                    return Ok(Applied {
                        result_op: Some(StepOp::Delete),
                        ..Applied::default()
                    });
                };
                let unchanged = response.id == old.id
                    && outputs == old.outputs
                    && response
                        .inputs
                        .as_ref()
                        .is_none_or(|inputs| *inputs == old.inputs)
                    && old.init_errors.is_empty()
                    && response.refresh_before_update == old.refresh_before_update;
                if unchanged && !self.tells_of_refresh(step) {
                    return Ok(same());
                }
                if unchanged {
                    // The record stays as it is; whether it is what was asked for, Diff tells.
                    return Ok(Applied {
                        result_op: Some(StepOp::Update),
                        ..same()
                    });
                }
                let state = Arc::make_mut(&mut new);
                state.id = response.id;
                state.outputs = outputs;
                if let Some(inputs) = response.inputs {
                    state.inputs = inputs;
                }
                state.init_errors.clear();
                state.refresh_before_update = response.refresh_before_update;
            }
            Err(mut error) => {
                let Some(failure) = error.init_failure.take() else {
                    return Err(StepFailure::provider(&error));
                };
                warnings.push(take_unhealthy(Arc::make_mut(&mut new), *failure));
            }
        }
        Arc::make_mut(&mut new).modified = Some(self.now());
        Ok(Applied {
            new: Some(new),
            result_op: Some(StepOp::Update),
            warnings,
            ..Applied::default()
        })
    }

    /// Tells whether anybody hears what a refresh came to: the one before an update is not reported.
    pub(super) fn tells_of_refresh(&self, step: &Step) -> bool {
        self.options.reports_refresh || step.op != StepOp::Refresh
    }

    /// Tells what a refresh came to in the words of the provider's Diff: what it does not count as a change is `same`.
    ///
    /// The refreshed record is saved either way; the answer only decides what is reported. A Diff that fails, fails the
    /// step: nobody knows then whether what was read can be trusted.
    pub(crate) async fn refresh_result(
        &self,
        step: &Step,
        applied: &mut Applied,
    ) -> Result<Option<(Vec<String>, Option<DetailedDiff>)>, StepFailure> {
        let (Some(old), Some(new), Some(provider)) = (&step.old, &applied.new, &step.provider) else {
            return Ok(None);
        };
        if applied.result_op != Some(StepOp::Update) {
            return Ok(None);
        }
        let old = &old.state;
        if old.external || self.options.compares_outputs {
            if old.outputs == new.outputs {
                applied.result_op = Some(StepOp::Same);
            }
            return Ok(None);
        }
        // The question is turned round: from what is there now to what was recorded.
        let request = DiffRequest {
            urn: new.urn.clone(),
            resource_type: new.urn.resource_type().into(),
            name: new.urn.name().to_owned(),
            id: new.id.clone(),
            old_inputs: new.inputs.clone(),
            old_outputs: new.outputs.clone(),
            news: old.inputs.clone(),
            ignore_changes: old.options.ignore_changes.clone(),
            preview: self.is_preview(),
        };
        let question = async {
            let _slot = self
                .question(&step.urn, "diff", provider.waits_for_registrations)
                .await;
            provider.provider.diff(request).await
        };
        match self.call(step, "diff", question).await {
            Ok(diff) => {
                let diff = if diff.changes == DiffChanges::Unknown {
                    // What is ignored is as it was read; what cannot be put so counts as a difference.
                    let (inputs, _) = reset_all(&old.options.ignore_changes, &new.inputs, old.inputs.clone());
                    diff.completed(&new.inputs, &inputs)
                } else {
                    diff
                };
                if diff.changes != DiffChanges::Some {
                    applied.result_op = Some(StepOp::Same);
                    return Ok(None);
                }
                Ok(Some((diff.diffs, diff.detailed_diff.map(inverted))))
            }
            Err(error) => Err(StepFailure::provider(&error)),
        }
    }
}

/// Records what was read of a resource that is not well, and returns the warning of that.
fn take_unhealthy(state: &mut ResourceState, failure: InitFailure) -> String {
    let mut text = "Refreshed resource is in an unhealthy state:".to_owned();
    for reason in &failure.reasons {
        text.push_str("\n* ");
        text.push_str(reason);
    }
    if !failure.id.is_empty() {
        state.id = failure.id.into();
    }
    state.outputs = failure.outputs;
    if let Some(inputs) = failure.inputs {
        state.inputs = inputs;
    }
    state.init_errors = failure.reasons;
    state.refresh_before_update = failure.refresh_before_update;
    text
}

/// A registered component that nothing was read of is reported as updated all the same, as the reference engine does.
fn result_of_the_unread(step: &Step, old: &ResourceState) -> StepOp {
    if step.detail.internal && !old.custom {
        StepOp::Update
    } else {
        StepOp::Same
    }
}

/// Turns a difference round: what one side adds, the other deletes.
fn inverted(diff: DetailedDiff) -> DetailedDiff {
    diff.into_iter()
        .map(|(path, mut property)| {
            property.kind = match property.kind {
                DiffKind::Add => DiffKind::Delete,
                DiffKind::AddReplace => DiffKind::DeleteReplace,
                DiffKind::Delete => DiffKind::Add,
                DiffKind::DeleteReplace => DiffKind::AddReplace,
                DiffKind::Update | DiffKind::UpdateReplace => property.kind,
            };
            (path, property)
        })
        .collect()
}

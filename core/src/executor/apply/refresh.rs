//! The effect of Refresh: a recorded resource is read, and what was read is compared with its record.

use std::sync::Arc;

use super::{Applier, Result, read::read_request, record};
use crate::{
    event::{DetailedDiff, DiffKind},
    executor::{Step, StepFailure, outcome::Applied},
    property::path::reset_all,
    provider::{DiffChanges, DiffRequest, InitFailure},
    resource::ResourceState,
    step::StepOp,
};

/// Reads the record of a step, and adds the differences to the step.
///
/// A refresh before an update is not reported, and so not compared.
pub(super) async fn refresh(applier: &Applier, step: &mut Step) -> Result<Applied> {
    let mut applied = read(applier, step).await?;
    if applier.options.reports_refresh
        && let Some((diffs, detailed)) = compare(applier, step, &mut applied).await?
    {
        step.diffs = diffs;
        step.detailed_diff = detailed;
    }
    Ok(applied)
}

/// Reads the record of a step. Those of components and providers stay as they are.
///
/// The response completes the step's new record, which is the old one unless the program has renamed it.
async fn read(applier: &Applier, step: &Step) -> Result<Applied> {
    let old = record(step)?;
    let start = step.new.as_ref().unwrap_or(old);
    let same = || Applied {
        result_op: Some(result_of_unread(step, old)),
        ..Applied::of(Arc::clone(start))
    };
    let is_read = old.custom && !old.is_provider() && !old.pending_replacement && !old.id.is_empty();
    let Some(provider) = step.provider.as_ref().filter(|_| is_read) else {
        return Ok(same());
    };
    let mut warnings = Vec::new();
    let request = read_request(applier, step, old, Some(&old.inputs), Some(&old.outputs));
    let mut new = Arc::clone(start);
    let answer = applier.call(step, "read", provider.provider.read(request)).await;
    let recorded = [&old.inputs, &old.outputs];
    match applier.sanitizer.sanitize_read(answer, recorded) {
        Ok(response) => {
            let Some(outputs) = response.outputs.filter(|_| !response.id.is_empty()) else {
                return Ok(Applied {
                    result_op: Some(StepOp::Delete),
                    ..Applied::default()
                });
            };
            // A mark that the provider has dropped is no change.
            let outputs = applier.with_secrets_of(outputs, &old.inputs);
            let inputs = response.inputs;
            let inputs = inputs.map(|inputs| applier.with_secrets_of(inputs, &old.inputs));
            let unchanged = response.is_recorded
                || response.id == old.id
                    && outputs == old.outputs
                    && inputs.as_ref().is_none_or(|inputs| *inputs == old.inputs)
                    && old.init_errors.is_empty()
                    && response.refresh_before_update == old.refresh_before_update;
            if unchanged {
                let mut same = same();
                if applier.options.reports_refresh {
                    // The record stays unchanged; Diff decides whether it matches the goal.
                    same.result_op = Some(StepOp::Update);
                }
                return Ok(same);
            }
            let state = Arc::make_mut(&mut new);
            state.id = response.id;
            state.outputs = outputs;
            if let Some(inputs) = inputs {
                state.inputs = inputs;
            }
            state.init_errors.clear();
            state.refresh_before_update = response.refresh_before_update;
        }
        Err(mut error) => {
            let Some(mut failure) = error.init_failure.take() else {
                return Err(StepFailure::provider(&error));
            };
            let inputs = failure.inputs.take();
            failure.inputs = inputs.map(|inputs| applier.with_secrets_of(inputs, &old.inputs));
            warnings.push(take_unhealthy(Arc::make_mut(&mut new), *failure).into());
        }
    }
    Arc::make_mut(&mut new).modified = Some(applier.now());
    Ok(Applied {
        result_op: Some(StepOp::Update),
        warnings,
        ..Applied::of(new)
    })
}

/// Decides by the provider's Diff whether a refresh found a change, and returns how it differs: without a difference
/// the result is `same`.
///
/// The refreshed record is saved either way; Diff only decides what is reported. A failed Diff fails the step: the
/// outputs that were read cannot be trusted then.
async fn compare(
    applier: &Applier,
    step: &Step,
    applied: &mut Applied,
) -> Result<Option<(Vec<String>, Option<DetailedDiff>)>> {
    let (Some(old), Some(new), Some(provider)) = (&step.old, &applied.new, &step.provider) else {
        return Ok(None);
    };
    if applied.result_op != Some(StepOp::Update) {
        return Ok(None);
    }
    let old = &old.state;
    if old.external || applier.options.compares_outputs {
        if old.outputs == new.outputs {
            applied.result_op = Some(StepOp::Same);
        }
        return Ok(None);
    }
    // The Diff is inverted: from the state that was read to the recorded one.
    let request = DiffRequest {
        urn: new.urn.clone(),
        resource_type: new.urn.resource_type().into(),
        name: new.urn.name().to_owned(),
        id: new.id.clone(),
        old_inputs: new.inputs.clone(),
        old_outputs: new.outputs.clone(),
        news: old.inputs.clone(),
        ignore_changes: old.options.ignore_changes.clone(),
        preview: applier.options.preview,
    };
    let question = async {
        let _slot = applier
            .limits
            .question(&step.urn, "diff", provider.waits_for_registrations)
            .await;
        provider.provider.diff(request).await
    };
    match applier.call(step, "diff", question).await {
        Ok(diff) => {
            let diff = if diff.changes == DiffChanges::Unknown {
                // Ignored paths keep the values that were read; one that cannot be reset counts as a difference.
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

/// Records the state of an unhealthy resource, and returns its warning.
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

/// A registered component is reported as updated although it is not read, as in the reference engine.
fn result_of_unread(step: &Step, old: &ResourceState) -> StepOp {
    if step.detail.internal && !old.custom {
        StepOp::Update
    } else {
        StepOp::Same
    }
}

/// Inverts a difference: what one side adds, the other deletes.
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

//! The steps of a chain.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    executor::{Step, StepDetail},
    generator::diff::Difference,
    provider::ProviderHandle,
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
};

/// Returns a step of a chain.
pub(super) fn step(
    op: StepOp,
    old: Option<&StateRef>,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
) -> Option<Step> {
    Step::new(op, old.cloned(), Some(Arc::clone(new))).map(|step| step.with_provider(provider))
}

/// Returns the step that updates a resource. The properties at the paths in `ignored` keep their recorded values.
pub(super) fn update(
    old: &StateRef,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
    difference: Difference,
    ignored: Vec<String>,
) -> Option<Step> {
    let update = step(StepOp::Update, Some(old), new, provider)?;
    Some(Step {
        ignore_changes: ignored,
        ..update.with_diff(difference.keys, difference.diffs, difference.detailed)
    })
}

/// Returns the step that keeps a record as it is.
pub(super) fn untargeted(record: &StateRef) -> Option<Step> {
    let detail = StepDetail {
        untargeted: true,
        ..StepDetail::default()
    };
    let step = Step::new(
        StepOp::Same,
        Some(record.clone()),
        Some(Arc::clone(&record.state)),
    );
    step.map(|step| step.with_detail(detail))
}

/// Returns the steps that create a resource again after a delete-before-replace has deleted it for another one.
pub(super) fn recreate(
    old: &StateRef,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
    keys: Vec<String>,
) -> Vec<Option<Step>> {
    vec![
        step(StepOp::Replace, Some(old), new, provider.clone()),
        step(StepOp::CreateReplacement, Some(old), new, provider)
            .map(|step| step.with_diff(keys, Vec::new(), None)),
    ]
}

/// Returns the steps of a replacement whose old half was deleted first.
pub(super) fn create_after_delete(
    old: &StateRef,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
    difference: &Difference,
) -> Vec<Option<Step>> {
    [StepOp::Replace, StepOp::CreateReplacement]
        .into_iter()
        .map(|op| Some(difference.describe(step(op, Some(old), new, provider.clone())?)))
        .collect()
}

/// Returns the steps of a replacement whose old half is deleted at the end of the run, unless a former run deleted it.
pub(super) fn create_before_delete(
    old: &StateRef,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
    difference: &Difference,
) -> Vec<Option<Step>> {
    // Where ids are names, a second deletion would delete the new resource.
    let is_pending_replacement = old.state.pending_replacement;
    let mut steps = create_after_delete(old, new, provider, difference);
    for step in steps.iter_mut().flatten() {
        step.detail.pending_delete = !is_pending_replacement;
    }
    if !is_pending_replacement {
        steps.reverse();
    }
    steps
}

/// Keeps the position of an adopted record, before its dependents, unless it gets a new dependency.
pub(super) fn keep_place(step: &mut Step) {
    let (Some(old), Some(new)) = (&step.old, &step.new) else {
        return;
    };
    let mut needs = FxHashSet::default();
    old.state.for_each_dependency(|urn| {
        needs.insert(urn);
    });
    let mut has_more = old.state.provider != new.provider;
    new.for_each_dependency(|urn| has_more |= !needs.contains(urn));
    let goes_on = matches!(step.op, StepOp::Same | StepOp::Update);
    step.detail.in_place |= goes_on && !has_more;
}

//! Adoption: unclaimed records that other resources need are kept unchanged.

use std::collections::BTreeSet;

use crate::{
    generator::{Purpose, RunEnded, context::Context, steps::untargeted},
    resource::ResourceState,
    state::{EdgeKind, StateRef},
    urn::Urn,
};

/// Adopts a recorded provider that the program refers to without registering it, so that an update does not delete it.
pub(super) async fn adopt_provider(context: &Context, urn: &Urn) -> Result<(), RunEnded> {
    let Context { base, claims, .. } = context;
    if context.options.purpose != Purpose::Update || !urn.resource_type().starts_with("pulumi:providers:") {
        return Ok(());
    }
    let Some(record) = base.live(urn).filter(|_| !claims.is_seen(urn)) else {
        return Ok(());
    };
    // Boxed: rare, and would otherwise enlarge every registration's future.
    Box::pin(async {
        let _turn = context.adoption.lock().await;
        match claims.adopt(record) {
            true => keep(context, record).await,
            false => Ok(()),
        }
    })
    .await
}

/// Adopts the unprocessed records that a kept record needs: the program may no longer register them, and the journal
/// requires each record after its dependencies.
pub(super) async fn adopt_needs(context: &Context, record: &StateRef) -> Result<(), RunEnded> {
    let Context { base, claims, .. } = context;
    let Some(position) = base.position(&record.state.urn) else {
        return Ok(());
    };
    let _turn = context.adoption.lock().await;
    for need in untouched_needs(context, position) {
        let record = &base.records()[need];
        if let Some(copy) = context.replacements.copy_of(record.id) {
            adopt_copy(context, &copy).await?;
        } else if claims.adopt(record) {
            keep(context, record).await?;
        }
    }
    Ok(())
}

/// Adopts, before the record at `position`, the old copy of its provider if this run has replaced that.
pub(super) async fn adopt_replaced_provider(context: &Context, position: usize) -> Result<(), RunEnded> {
    let (base, replacements) = (&context.base, &context.replacements);
    for (need, kind) in base.graph().dependencies(position) {
        let record = &base.records()[need];
        if kind == EdgeKind::Provider
            && is_provider_of(&record.state, &base.records()[position].state)
            && let Some(copy) = replacements.copy_of(record.id)
        {
            adopt_copy(context, &copy).await?;
        }
    }
    Ok(())
}

async fn adopt_copy(context: &Context, copy: &StateRef) -> Result<(), RunEnded> {
    match context.claims.adopt_copy(copy.id) {
        true => keep(context, copy).await,
        false => Ok(()),
    }
}

/// Runs the step that keeps an adopted record. The caller holds the lock `adoption`.
async fn keep(context: &Context, record: &StateRef) -> Result<(), RunEnded> {
    let Some(mut step) = untargeted(record) else {
        return Ok(());
    };
    // Old copies are shown only when they are deleted.
    step.detail.internal = record.state.delete;
    context.plans.check_steps(std::slice::from_ref(&step))?;
    let kept = context.run.executor.run_step(&mut step).await;
    kept.map(|_| ()).map_err(|_| RunEnded)
}

/// Returns whether the record at `user` needs the record at `need`, which has the URN that it refers to.
fn is_meant(context: &Context, user: usize, need: usize, kind: EdgeKind) -> bool {
    let records = context.base.records();
    let state = &records[need].state;
    if kind != EdgeKind::Provider {
        return !state.delete && state.view_of.is_none();
    }
    is_provider_of(state, &records[user].state)
}

/// Returns whether the provider reference of `user` is to this record: the id distinguishes old copies from the record
/// in use.
pub(super) fn is_provider_of(provider: &ResourceState, user: &ResourceState) -> bool {
    let reference = user.provider.rsplit_once("::");
    reference.is_some_and(|(_, id)| id == provider.id.as_str())
}

/// Returns the positions of the unprocessed records that the record at `position` needs, at any depth, each after its
/// own dependencies.
fn untouched_needs(context: &Context, position: usize) -> BTreeSet<usize> {
    let (base, claims, replacements) = (&context.base, &context.claims, &context.replacements);
    let mut needs = BTreeSet::new();
    let mut pending = vec![position];
    while let Some(user) = pending.pop() {
        for (need, kind) in base.graph().dependencies(user) {
            let record = &base.records()[need];
            if !is_meant(context, user, need, kind) || needs.contains(&need) {
                continue;
            }
            if claims.is_untouched(record) {
                needs.insert(need);
                pending.push(need);
            } else if kind == EdgeKind::Provider && replacements.copy_of(record.id).is_some() {
                needs.insert(need);
            }
        }
    }
    needs
}

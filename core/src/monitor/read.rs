//! Reads: their URNs are claimed in the order of arrival.

use std::{future::Future, sync::Arc};

use futures::future::Either;
use tokio_util::sync::CancellationToken;

use crate::{
    generator::{ClaimGuard, RegisterOutcome},
    monitor::{
        Monitor, PackageChoice, Read, Registered, Registration, WireStatus, check::check_type, goal::goal_of,
        in_flight::Flight, providers::ProviderUse, register::answer, request_error::RequestError,
        shared::Shared,
    },
    resource::{Goal, PropertyDependencies, ResourceOptions},
};

/// What chooses the provider of a read that names none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// The parent hands down its own, as to a registration.
    Parent,
    /// The program has chosen the default provider: an SDK knows the providers of the parent.
    Program,
}

/// Claims the URN of a read, or announces it, and starts its work.
pub(super) fn read(
    monitor: &Monitor,
    read: Read,
    choice: Choice,
) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
    let Monitor { shared, start, .. } = monitor;
    shared.values.learn(&read.inputs);
    let referred = read.parent.iter().chain(&read.dependencies);
    let awaited = shared.transforms.announced(referred);
    if !awaited.is_empty() {
        let work = defer(shared, read, choice, awaited);
        return Either::Left(shared.admission.begin(*start, work));
    }
    let work = shared.admission.enter("sending resource registration");
    let work = work.and_then(|flight| begin(shared, read, choice, flight));
    Either::Right(shared.admission.begin(*start, work))
}

/// Claims the URN of a read, and returns its work.
fn begin(
    shared: &Arc<Shared>,
    mut read: Read,
    choice: Choice,
    flight: Flight,
) -> Result<impl Future<Output = Result<Registered, WireStatus>> + Send + use<>, RequestError> {
    shared.providers.name_package(&mut read.package)?;
    let (claim, goal, inherited) = claim(shared, &read)?;
    if choice == Choice::Parent {
        read.package = inherited;
    }
    let shared = Arc::clone(shared);
    Ok(async move {
        let outcome = read_claimed(&shared, read, claim, goal).await;
        answer(&shared, outcome, flight).await
    })
}

/// Announces a read that refers to resources whose URNs are not claimed yet; it claims its own after them.
fn defer(
    shared: &Arc<Shared>,
    read: Read,
    choice: Choice,
    awaited: Vec<CancellationToken>,
) -> Result<impl Future<Output = Result<Registered, WireStatus>> + Send + use<>, RequestError> {
    let flight = shared.admission.enter("sending resource registration")?;
    let shared = Arc::clone(shared);
    let urn = shared
        .placement
        .urn_below(read.parent.as_ref(), &read.resource_type, &read.name);
    let announcement = shared.transforms.announce(urn);
    Ok(async move {
        let begun = match shared.admission.until_all(awaited).await {
            Ok(()) => begin(&shared, read, choice, flight),
            Err(error) => {
                drop(flight);
                Err(error)
            }
        };
        drop(announcement);
        match begun {
            Ok(work) => work.await,
            Err(error) => Err(shared.admission.status_of(error).await),
        }
    })
}

async fn read_claimed(
    shared: &Shared,
    read: Read,
    claim: ClaimGuard,
    mut goal: Box<Goal>,
) -> Result<RegisterOutcome, RequestError> {
    let Shared {
        generator, providers, ..
    } = shared;
    let package = read.resource_type.package().to_owned();
    let what = ProviderUse::Read(claim.urn(), read.resource_type.as_str());
    let chosen = providers.provider_for(&package, &read.package, what);
    let Some(provider) = chosen.await? else {
        return Ok(generator.skip(claim, &goal)?);
    };
    goal.provider = provider.text;
    goal.extension = providers.extension_of(&read.package)?;
    shared.values.inspect("inputs", &goal.inputs)?;
    Ok(generator.read(claim, *goal, read.id).await?)
}

/// Claims the URN of a read; returns its goal, and the choice of its provider after that of the parent.
fn claim(shared: &Shared, read: &Read) -> Result<(ClaimGuard, Box<Goal>, PackageChoice), RequestError> {
    let mut registration = Registration {
        resource_type: read.resource_type.clone(),
        name: read.name.clone(),
        custom: true,
        inputs: read.inputs.clone(),
        parent: read.parent.clone(),
        no_parent: read.no_parent,
        dependencies: read.dependencies.clone(),
        property_dependencies: Some(PropertyDependencies::new()),
        package: read.package.clone(),
        options: ResourceOptions {
            additional_secret_outputs: read.additional_secret_outputs.clone(),
            ..ResourceOptions::default()
        }
        .into(),
        source_position: read.source_position.clone(),
        stack_trace: read.stack_trace.clone(),
        ..Registration::default()
    };
    check_type(&registration)?;
    shared.placement.inherit(&mut registration);
    // Options of managed resources do not apply to a read.
    registration.protect = None;
    registration.retain_on_delete = None;
    registration.options.deleted_with = None;
    let mut goal = Box::new(goal_of(&mut registration));
    goal.property_dependencies = PropertyDependencies::new();
    let generator = &shared.generator;
    generator.expect_provider(|| shared.providers.default_asked_for(&registration));
    let claim = generator.claim(&goal)?;
    Ok((claim, goal, registration.package))
}

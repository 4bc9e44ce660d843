//! Registrations: their URNs are claimed in the order of arrival, and their goals are reached in tasks.

use std::{future::Future, sync::Arc};

use futures::future::Either;

use crate::{
    generator::{ClaimGuard, RegisterOutcome},
    monitor::{
        Monitor, Registered, Registration, WireStatus,
        admission::Start,
        check::check,
        construct::construct,
        goal::goal_of,
        in_flight::Flight,
        providers::ProviderUse,
        request_error::RequestError,
        shared::Shared,
        transforms::{Deferred, Lineage},
    },
    property::PropertyMap,
    resource::{Goal, PropertyDependencies},
    token::ResourceId,
    urn::{ROOT_STACK_TYPE, Urn},
};

/// Claims the URN of a registration, or announces it, and starts its work.
pub(super) fn register(
    monitor: &Monitor,
    registration: Registration,
) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
    let Monitor { shared, start, .. } = monitor;
    shared.values.learn(&registration.inputs);
    if let Some(trigger) = &registration.options.replacement_trigger {
        shared.values.redactor().learn_value(trigger);
    }
    let mut registration = Box::new(registration);
    let named = shared.providers.name_package(&mut registration.package);
    let named = named.map_err(RequestError::from);
    if shared.transforms.defer(&shared.placement, &mut registration) {
        let work = named
            .and_then(|()| Deferred::announce(shared, &mut registration))
            .inspect_err(|error| shared.reports.refused.note(&registration, error))
            .map(|(flight, deferred)| {
                let monitor = monitor.clone();
                async move { register_deferred(&monitor, registration, deferred, flight).await }
            });
        // Not on the calling thread: transforms may need the thread of the program.
        return Either::Left(Either::Left(shared.admission.begin(Start::Spawned, work)));
    }
    if registration.remote {
        let work = named
            .and_then(|()| accept(shared, &mut registration))
            .inspect_err(|error| shared.reports.refused.note(&registration, error))
            .map(|flight| {
                let monitor = monitor.clone();
                async move { construct(&monitor, registration, flight).await }
            });
        return Either::Left(Either::Right(shared.admission.begin(*start, work)));
    }
    let accepted = named
        .and_then(|()| accept(shared, &mut registration))
        .inspect_err(|error| shared.reports.refused.note(&registration, error));
    let work = accepted.and_then(|flight| {
        let (claim, goal) = claim(shared, &mut registration, None)?;
        Ok(apply(shared, registration, flight, claim, goal))
    });
    Either::Right(shared.admission.begin(*start, work))
}

/// Accepts a valid registration, and completes it with what it inherits.
fn accept(shared: &Shared, registration: &mut Registration) -> Result<Flight, RequestError> {
    let flight = shared.admission.enter("sending resource registration")?;
    check(registration)?;
    shared.placement.inherit(registration);
    Ok(flight)
}

/// Transforms and claims a deferred registration, and brings the resource to its goal.
async fn register_deferred(
    monitor: &Monitor,
    mut registration: Box<Registration>,
    deferred: Deferred,
    flight: Flight,
) -> Result<Registered, WireStatus> {
    let shared = &monitor.shared;
    // A failed transform leaves the options behind.
    let aliases = registration.aliases.clone();
    let claimed = match deferred.transform(shared, &mut registration).await {
        Ok(_) if registration.remote => Ok(None),
        Ok(lineage) => claim(shared, &mut registration, lineage).map(Some),
        Err(error) => {
            registration.aliases = aliases;
            shared.reports.refused.note(&registration, &error);
            Err(error)
        }
    };
    // Those that wait for the claim can continue, also when it failed.
    drop(deferred);
    match claimed {
        Ok(Some((claim, goal))) => apply(shared, registration, flight, claim, goal).await,
        Ok(None) => construct(monitor, registration, flight).await,
        Err(error) => shared.admission.conclude(Err(error), flight).await,
    }
}

/// Claims the URN of a complete registration; `lineage` has the transforms of everything below it.
fn claim(
    shared: &Shared,
    registration: &mut Registration,
    lineage: Option<Arc<Lineage>>,
) -> Result<(ClaimGuard, Box<Goal>), RequestError> {
    let Shared {
        generator,
        placement,
        transforms,
        ..
    } = shared;
    // Output values are kept for transforms only.
    registration.inputs = std::mem::take(&mut registration.inputs).collapse_outputs();
    let goal = Box::new(goal_of(registration));
    generator.expect_provider(|| shared.providers.default_asked_for(registration));
    let claim = match generator.claim(&goal).map_err(RequestError::from) {
        Ok(claim) => claim,
        Err(error) => {
            shared.reports.refused.note_goal(*goal, &error);
            return Err(error);
        }
    };
    if !goal.custom {
        generator.executor().component_registered(claim.urn());
    }
    // A child whose parent's URN was computed can be registered next.
    placement.parents.record(claim.urn(), registration, &goal);
    if transforms.in_use() {
        transforms.record(claim.urn(), lineage);
    }
    if goal.resource_type.as_str() == ROOT_STACK_TYPE && goal.parent.is_none() {
        placement.root.get_or_init(|| claim.urn().clone());
    }
    Ok((claim, goal))
}

/// Brings a claimed resource to its goal, and returns the answer.
fn apply(
    shared: &Arc<Shared>,
    registration: Box<Registration>,
    flight: Flight,
    claim: ClaimGuard,
    goal: Box<Goal>,
) -> impl Future<Output = Result<Registered, WireStatus>> + Send + use<> {
    let shared = Arc::clone(shared);
    async move {
        // Very many run concurrently: the generator's future must not contain the memory of the completion.
        let (claim, goal) = match complete(&shared, registration, claim, goal).await {
            Ok(Completed::Ready(claim, goal)) => (claim, goal),
            Ok(Completed::Skipped(outcome)) => return answer(&shared, Ok(outcome), flight).await,
            Err(error) => return answer(&shared, Err(error), flight).await,
        };
        let outcome = shared.generator.register(claim, goal).await;
        answer(&shared, outcome.map_err(RequestError::from), flight).await
    }
}

/// A completed registration.
enum Completed {
    /// It has its provider.
    Ready(ClaimGuard, Box<Goal>),
    /// Its provider failed, and the run continues without it.
    Skipped(RegisterOutcome),
}

/// Completes a goal with its provider and the hashes of its assets.
async fn complete(
    shared: &Shared,
    registration: Box<Registration>,
    claim: ClaimGuard,
    mut goal: Box<Goal>,
) -> Result<Completed, RequestError> {
    match add_provider_and_hashes(shared, &registration, claim.urn(), &mut goal).await {
        Ok(true) => Ok(Completed::Ready(claim, goal)),
        Ok(false) => Ok(Completed::Skipped(shared.generator.skip(claim, &goal)?)),
        Err(error) => {
            shared.reports.refused.note_goal(*goal, &error);
            Err(error)
        }
    }
}

/// Adds the provider and the hashes of assets to a goal. False when the provider has failed and the run continues without it.
async fn add_provider_and_hashes(
    shared: &Shared,
    registration: &Registration,
    urn: &Urn,
    goal: &mut Goal,
) -> Result<bool, RequestError> {
    let resource_type = &registration.resource_type;
    if registration.custom && !resource_type.is_provider() {
        let package = resource_type.package().to_owned();
        let what = ProviderUse::Resource(urn);
        let chosen = shared
            .providers
            .provider_for(&package, &registration.package, what);
        let Some(provider) = chosen.await? else {
            return Ok(false);
        };
        goal.provider = provider.text;
        goal.extension = shared.providers.extension_of(&registration.package)?;
        if registration.package.provider.is_empty() {
            // Children inherit this provider.
            shared.placement.parents.record_found(urn, &goal.provider);
        }
    }
    if let Some(package) = resource_type.provided_package() {
        goal.inputs =
            shared
                .providers
                .inputs_of_explicit(package, registration, std::mem::take(&mut goal.inputs))?;
    }
    goal.inputs = shared
        .values
        .inspect_assets("inputs", std::mem::take(&mut goal.inputs), urn)
        .await?;
    if let Some(trigger) = &goal.options.replacement_trigger {
        shared.values.inspect_value("replacementTrigger", trigger)?;
    }
    Ok(true)
}

/// Ends a request, and converts its outcome to its answer.
pub(super) async fn answer(
    shared: &Shared,
    outcome: Result<RegisterOutcome, RequestError>,
    flight: Flight,
) -> Result<Registered, WireStatus> {
    let outcome = shared.admission.conclude(outcome, flight).await?;
    let state = outcome.state;
    let known = outcome.succeeded && !outcome.unknown;
    Ok(Registered {
        urn: state.urn.clone(),
        id: if known {
            state.id.clone()
        } else {
            ResourceId::default()
        },
        // A component's recorded outputs are not returned: it registers them again.
        outputs: if known && state.custom {
            state.outputs.clone()
        } else {
            PropertyMap::new()
        },
        output_dependencies: PropertyDependencies::new(),
        unknown: outcome.unknown,
        failed: !outcome.succeeded,
        skipped: outcome.skipped,
    })
}

/// Publishes the outputs of a component, or of the root stack.
pub(super) fn register_outputs(
    monitor: &Monitor,
    urn: &Urn,
    outputs: PropertyMap,
) -> impl Future<Output = Result<(), WireStatus>> + Send + use<> {
    let Monitor { shared, start, .. } = monitor;
    shared.values.learn(&outputs);
    let work = shared.admission.enter("sending resource outputs").map(|flight| {
        let (shared, urn) = (Arc::clone(shared), urn.clone());
        async move {
            let published = async {
                let outputs = shared.values.inspect_assets("outputs", outputs, &urn).await?;
                let published = shared.generator.register_outputs(&urn, outputs).await;
                published.map_err(RequestError::from)
            };
            let published = published.await.map_err(RequestError::of_outputs);
            shared.admission.conclude(published, flight).await
        }
    });
    shared
        .admission
        .begin(*start, work.map_err(RequestError::of_outputs))
}

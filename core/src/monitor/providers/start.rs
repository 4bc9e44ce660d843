//! The start of a default provider, once for all requests that need it.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _, Shared};

use super::{ProviderUse, ResolvedProvider, configuration, name::default_name};
use crate::{
    executor::Failure,
    generator::{Generator, RunEnded},
    monitor::{RunInfo, in_flight::InFlight},
    provider::settings::ProviderSettings,
    resource::{Goal, ProviderReference},
    token::TypeToken,
    urn::Urn,
};

/// The start of a default provider, which any number of requests wait for.
pub(super) type Start = Shared<BoxFuture<'static, Started>>;

/// The result of a start.
#[derive(Clone)]
pub(super) enum Started {
    /// The provider is ready.
    Ready(ResolvedProvider),
    /// It failed, and the run continues.
    Failed,
    /// The run is ending.
    Ending,
}

/// Starts a default provider in a task of its own, for `what` first: the task completes although requests that wait for
/// it are dropped.
pub(super) fn start(
    generator: &Arc<Generator>,
    run: &Arc<RunInfo>,
    in_flight: &InFlight,
    settings: ProviderSettings,
    what: ProviderUse<'_>,
) -> Start {
    let control = generator.executor().control().clone();
    let spawner = &generator.executor().runtime().spawner;
    let (generator, run) = (Arc::clone(generator), Arc::clone(run));
    let first_user = match what {
        ProviderUse::Resource(urn) | ProviderUse::Read(urn, _) => Some(urn.clone()),
        ProviderUse::Token(_) => None,
    };
    // The request that needs the provider is in flight, so that nothing is sealed.
    let flight = in_flight.enter();
    let task = spawner.spawn(async move {
        let started = register(&generator, &run, settings, first_user).await;
        drop(flight);
        started
    });
    let start = task.map(move |started| match started {
        Ok(Ok(started)) => started,
        Ok(Err(RunEnded)) => Started::Ending,
        Err(error) => {
            control.fail(Failure::Fatal(error), true);
            Started::Ending
        }
    });
    start.boxed().shared()
}

/// Registers a default provider.
async fn register(
    generator: &Arc<Generator>,
    run: &RunInfo,
    settings: ProviderSettings,
    first_user: Option<Urn>,
) -> Result<Started, RunEnded> {
    let inputs = settings.write(configuration::inputs(&settings.package, run));
    let goal = Box::new(Goal {
        resource_type: TypeToken::provider_of(&settings.package),
        name: default_name(&settings),
        custom: true,
        inputs,
        ..Goal::default()
    });
    let claim = generator.claim(&goal)?;
    if let Some(user) = first_user {
        generator
            .executor()
            .control()
            .first_user(claim.urn().clone(), user);
    }
    let outcome = generator.register(claim, goal).await?;
    let state = outcome.state;
    Ok(if outcome.succeeded {
        Started::Ready(ProviderReference::new(state.urn.clone(), state.id.clone()).into())
    } else {
        Started::Failed
    })
}

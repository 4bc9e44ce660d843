//! Starting a default provider, once for all that want it.

use futures::future::{BoxFuture, FutureExt as _, Shared};

use super::{Serving, Wanted, configuration, name::default_name};
use crate::{
    executor::Failure,
    generator::RunEnded,
    monitor::Monitor,
    provider::settings::ProviderSettings,
    resource::{Goal, ProviderReference},
    token::TypeToken,
    urn::Urn,
};

/// The start of a default provider, which any number of requests wait for.
pub(super) type Start = Shared<BoxFuture<'static, Started>>;

/// What came of it.
#[derive(Clone)]
pub(super) enum Started {
    /// There it is.
    Ready(Serving),
    /// It failed, and the run goes on all the same.
    Failed,
    /// The run is ending.
    Ending,
}

impl Monitor {
    /// Starts a default provider in a task of its own, for `what` first: requests that wait for it may be dropped, and
    /// what was begun is brought to its end.
    pub(super) fn start(&self, settings: ProviderSettings, what: Wanted<'_>) -> Start {
        let monitor = self.clone();
        let first_user = match what {
            Wanted::Resource(urn) | Wanted::Read(urn, _) => Some(urn.clone()),
            Wanted::Token(_) => None,
        };
        // The request that wants the provider is in flight, so that there is room for this.
        let flight = self.0.in_flight.enter();
        let task = self.runtime().spawner.spawn(async move {
            let started = monitor.start_default(settings, first_user).await;
            drop(flight);
            started
        });
        let control = self.0.generator.executor().control().clone();
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

    async fn start_default(
        &self,
        settings: ProviderSettings,
        first_user: Option<Urn>,
    ) -> Result<Started, RunEnded> {
        let inputs = settings.write(configuration::inputs(&settings.package, &self.0.run));
        let goal = Box::new(Goal {
            resource_type: TypeToken::provider_of(&settings.package),
            name: default_name(&settings),
            custom: true,
            inputs,
            ..Goal::default()
        });
        let generator = &self.0.generator;
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
}

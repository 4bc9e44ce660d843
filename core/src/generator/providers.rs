//! Who manages a resource: the provider that its goal names, one of this run or one that is only recorded.

use std::sync::Arc;

use crate::{
    executor::{Step, StepDetail},
    generator::{Generator, Purpose, Unanswered, register::Registering},
    provider::ProviderHandle,
    resource::{Goal, ProviderReference},
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

impl Generator {
    /// Lets what was recorded under a provider's former URN find it.
    pub(super) fn note_renamed_provider(&self, registering: &Registering) {
        let Registering { urn, goal, old, .. } = registering;
        if let Some(old) = old.as_ref().filter(|old| old.state.urn != *urn)
            && goal.resource_type.is_provider()
        {
            self.registry.rename(&old.state.urn, urn);
        }
    }

    /// Keeps a recorded provider that the program names without registering it, so that an update does not delete it
    /// with what is left over.
    pub(super) async fn keep_provider(&self, urn: &Urn) -> Result<(), Unanswered> {
        let needed = self.options.purpose == Purpose::Update;
        if !needed || !urn.resource_type().starts_with("pulumi:providers:") {
            return Ok(());
        }
        match self.base.live(urn).filter(|_| !self.claims.is_seen(urn)) {
            // Rare, and so it is kept out of what every registration has room for.
            Some(record) => {
                Box::pin(async {
                    let _turn = self.keeping.lock().await;
                    match self.claims.take_over(record, &self.base) {
                        true => self.keep(record).await,
                        false => Ok(()),
                    }
                })
                .await
            }
            None => Ok(()),
        }
    }

    /// Takes a record over as it is that no registration has claimed. Registrations that claim it meanwhile wait for the
    /// lock `keeping`, which the caller holds.
    pub(super) async fn keep(&self, record: &StateRef) -> Result<(), Unanswered> {
        let detail = StepDetail {
            untargeted: true,
            // Of old copies only their deletion is shown.
            internal: record.state.delete,
            ..StepDetail::default()
        };
        let step = Step::new(
            StepOp::Same,
            Some(record.clone()),
            Some(Arc::clone(&record.state)),
        );
        let Some(step) = step else { return Ok(()) };
        let mut step = step.with_detail(detail);
        self.plan_steps(std::slice::from_ref(&step))?;
        match self.executor.run_step(&mut step).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Unanswered::Ending),
        }
    }

    /// Awaits a provider that is made from its record. When that fails the run ends; so it does at a termination.
    pub(super) async fn loaded<T>(
        &self,
        urn: &Urn,
        loading: impl Future<Output = crate::error::Result<T>>,
    ) -> Result<T, Unanswered> {
        tokio::select! {
            biased;
            loaded = loading => loaded.map_err(|error| {
                if self.executor.control().is_cancelled() {
                    return Unanswered::Ending;
                }
                self.bail_because(Some(urn), error.text().clone(), Some(error))
            }),
            () = self.executor.terminated() => Err(Unanswered::Ending),
        }
    }

    /// Finds who manages the resource.
    pub(super) async fn provider_of(
        &self,
        urn: &Urn,
        goal: &Goal,
    ) -> Result<Option<ProviderHandle>, Unanswered> {
        if !goal.custom {
            return Ok(None);
        }
        if goal.resource_type.is_provider() {
            return Ok(Some(self.registry.manager()));
        }
        if let Some(provider) = self.registry.get_named(&goal.provider) {
            return Ok(Some(provider));
        }
        let reference = ProviderReference::parse(&goal.provider).map_err(|error| {
            self.bail(
                Some(urn),
                format!(
                    "bad provider reference '{}' for resource {urn}: {error}",
                    goal.provider
                ),
            )
        })?;
        if let Some(provider) = self.registry.get(&reference) {
            return Ok(Some(provider));
        }
        // A provider that the program does not register any more may still be the one that it names.
        match self.base.provider(&reference) {
            Some(state) => Box::pin(self.loaded(urn, self.registry.ensure(state)))
                .await
                .map(Some),
            None => Err(self.bail(
                Some(urn),
                format!("unknown provider '{reference}' for resource '{urn}'"),
            )),
        }
    }
}

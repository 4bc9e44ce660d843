//! The providers of resources: the one that a goal names, of this run or only recorded, and those of records.

use std::sync::Arc;

use crate::{
    generator::{RunEnded, registration::Registering, run::Run},
    property::PropertyMap,
    provider::{ProviderHandle, ProviderRegistry},
    resource::{Extension, Goal, ProviderReference, ResourceState},
    state::{PriorState, StateRef},
    urn::Urn,
};

/// Finds the providers of resources; the run ends when there is none.
pub(super) struct ProviderLookup {
    pub(super) registry: Arc<ProviderRegistry>,
    pub(super) base: Arc<PriorState>,
    pub(super) run: Run,
}

impl ProviderLookup {
    /// Finds the provider of a goal, with the extension that the goal needs; `None` for components.
    pub(super) async fn of_goal(&self, urn: &Urn, goal: &Goal) -> Result<Option<ProviderHandle>, RunEnded> {
        let provider = self.named_by(urn, goal).await?;
        if let Some(extension) = &goal.extension {
            // Boxed: rare, and would otherwise enlarge every registration's future.
            Box::pin(self.extend(urn, &goal.provider, extension)).await?;
        }
        Ok(provider)
    }

    /// Gives a provider an extension, and makes that durable before a record refers to it.
    async fn extend(&self, urn: &Urn, provider: &str, extension: &Arc<Extension>) -> Result<(), RunEnded> {
        let extending = self.registry.extend(provider, extension, urn.as_str());
        self.run.load(urn, extending).await?;
        let executor = &self.run.executor;
        executor.add_extension(extension).await.map_err(|_| RunEnded)
    }

    async fn named_by(&self, urn: &Urn, goal: &Goal) -> Result<Option<ProviderHandle>, RunEnded> {
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
            let reference = &goal.provider;
            let text = format!("bad provider reference '{reference}' for resource {urn}: {error}");
            self.run.bail(urn, text)
        })?;
        if let Some(provider) = self.registry.get(&reference) {
            return Ok(Some(provider));
        }
        // The program may refer to a provider that it no longer registers.
        let Some(state) = self.base.provider(&reference) else {
            let text = format!("unknown provider '{reference}' for resource '{urn}'");
            return Err(self.run.bail(urn, text));
        };
        let loading = self.run.load(urn, self.registry.ensure(state));
        Box::pin(loading).await.map(Some)
    }

    /// Finds the provider of a recorded resource.
    pub(super) async fn of_record(&self, record: &StateRef) -> Result<Option<ProviderHandle>, RunEnded> {
        let loading = self.registry.of_record(&self.base, &record.state);
        self.run.load(&record.state.urn, loading).await
    }

    /// Finds the provider of each of the recorded resources.
    pub(super) async fn of_records(
        &self,
        states: impl Iterator<Item = &ResourceState>,
    ) -> Result<Vec<Option<ProviderHandle>>, RunEnded> {
        let loading = self.registry.of_records(&self.base, states);
        self.run.unless_terminated(loading).await
    }

    /// Finds the plugin that checks and compares the inputs of a provider resource. It starts before the call counts
    /// against the limit, so that a plugin that hangs does not block others.
    pub(super) async fn manager_for(
        &self,
        urn: &Urn,
        inputs: &PropertyMap,
    ) -> Result<ProviderHandle, RunEnded> {
        let loading = self.registry.manager_of(urn, inputs);
        self.run.ask(urn, None, loading).await
    }

    /// Registers a renamed provider under its former URN as well, which records refer to.
    pub(super) fn note_renamed(&self, registering: &Registering) {
        let Registering { urn, goal, old, .. } = registering;
        if let Some(old) = old.as_ref().filter(|old| old.state.urn != *urn)
            && goal.resource_type.is_provider()
        {
            self.registry.rename(&old.state.urn, urn);
        }
    }
}

//! The registry: the configured providers of one run, and their provider resources.

mod instance;
mod manager;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::sync::OnceCell;

use crate::{
    error::{Error, ErrorKind, Result},
    event::DiffKind,
    property::PropertyMap,
    provider::{
        Adapter, AdapterOptions, Capabilities, DiffRequest, DiffResponse, ProviderError, ProviderResult,
        ProviderSource, settings::ProviderSettings,
    },
    resource::{Extension, ProviderReference, ResourceState},
    runtime::Runtime,
    state::PriorState,
    telemetry::Scope,
    urn::Urn,
};

use instance::Instance;
use manager::Manager;

/// How long to wait for all providers' responses to a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(30);

/// A configured provider, as steps call it.
#[derive(Clone)]
pub(crate) struct ProviderHandle {
    /// The provider; for provider resources the registry itself.
    pub provider: Adapter,
    /// Whether calls may wait for later registrations.
    pub waits_for_registrations: bool,
}

/// The providers of one run.
///
/// The registry itself manages provider resources: Check loads an instance, Create or Update configures it, Delete
/// releases it. Resources then find it by its reference.
pub(crate) struct ProviderRegistry {
    source: Arc<dyn ProviderSource>,
    runtime: Runtime,
    preview: bool,
    /// Providers of packages are not called in previews of Create and Update.
    disable_preview: bool,
    /// The operation of the run.
    scope: Scope,
    state: Mutex<Instances>,
}

#[derive(Default)]
struct Instances {
    /// Configured instances by reference.
    configured: FxHashMap<String, Instance>,
    /// Instances that Check has loaded, by the URN of their resource.
    loaded: FxHashMap<Urn, Instance>,
    /// Instances that are loaded from a record at their first use.
    recorded: FxHashMap<String, Arc<OnceCell<Instance>>>,
    /// The current URNs of providers by their former URNs.
    renamed: FxHashMap<Urn, Urn>,
    /// The inputs of each provider resource in this run.
    news: FxHashMap<Urn, PropertyMap>,
    /// The extensions of this run's program, by their references.
    extensions: FxHashMap<SmolStr, Arc<Extension>>,
    /// Every loaded instance, for cancelling and closing.
    all: Vec<Instance>,
    /// How many of them have been asked to cancel.
    cancelled: usize,
    /// Whether one provider can manage another's resources, by their references.
    replaces: FxHashMap<(String, String), Arc<OnceCell<bool>>>,
}

impl ProviderRegistry {
    /// Creates an empty registry that loads instances from `source`.
    #[must_use]
    pub(crate) fn new(
        source: Arc<dyn ProviderSource>,
        runtime: Runtime,
        preview: bool,
        disable_preview: bool,
        scope: Scope,
    ) -> Arc<Self> {
        Arc::new(Self {
            source,
            runtime,
            preview,
            disable_preview,
            scope,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, Instances> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the provider of provider resources: this registry.
    #[must_use]
    pub(crate) fn manager(self: &Arc<Self>) -> ProviderHandle {
        self.managed(None)
    }

    /// Returns the same for calls about one provider resource, whose instance is loaded first: loading may take long or
    /// hang, and is not part of a call.
    ///
    /// # Errors
    /// Any error of loading the instance.
    pub(crate) async fn manager_of(
        self: &Arc<Self>,
        urn: &Urn,
        inputs: &PropertyMap,
    ) -> ProviderResult<ProviderHandle> {
        let loaded = self.state().loaded.get(urn).cloned();
        let instance = self.loaded(loaded, urn, inputs).await?;
        Ok(self.managed(Some(instance)))
    }

    fn managed(self: &Arc<Self>, preloaded: Option<Instance>) -> ProviderHandle {
        let registry = Arc::clone(self);
        ProviderHandle {
            provider: Adapter::new(
                Arc::new(Manager { registry, preloaded }),
                Capabilities::all(),
                AdapterOptions::default(),
            ),
            waits_for_registrations: false,
        }
    }

    /// Returns the configured provider of a reference.
    #[must_use]
    pub(crate) fn get(&self, reference: &ProviderReference) -> Option<ProviderHandle> {
        self.get_named(&reference.to_string())
    }

    /// Returns a configured provider by the text of its reference.
    #[must_use]
    pub(crate) fn get_named(&self, reference: &str) -> Option<ProviderHandle> {
        self.state().configured.get(reference).map(Instance::for_steps)
    }

    /// Gives the configured provider of a reference an extension, once in the run. `user` is what needs it: a resource or a
    /// function.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] when code of the host serves it; [`ErrorKind::Provider`] when the plugin fails, or makes another
    /// package of the extension. Both name the extension, the provider and the user.
    pub(crate) async fn extend(&self, reference: &str, extension: &Arc<Extension>, user: &str) -> Result<()> {
        let instance = {
            let mut state = self.state();
            let known = state.extensions.entry(extension.reference().clone());
            known.or_insert_with(|| Arc::clone(extension));
            state.configured.get(reference).cloned()
        };
        let instance = instance.ok_or_else(|| {
            let text = format!("unknown provider '{reference}' for '{user}'");
            Error::new(ErrorKind::State, text)
        })?;
        self.add_extension(&instance, reference, extension, user).await
    }

    /// Registers that a provider has another URN now: records with its former URN use it.
    pub(crate) fn rename(&self, before: &Urn, after: &Urn) {
        self.state().renamed.insert(before.clone(), after.clone());
    }

    /// Returns the configured instance of a recorded reference, whose provider may have another URN now.
    fn current(&self, reference: &ProviderReference) -> Option<Instance> {
        let state = self.state();
        if let Some(instance) = state.configured.get(&reference.to_string()) {
            return Some(instance.clone());
        }
        let now = state.renamed.get(&reference.urn)?;
        let reference = ProviderReference::new(now.clone(), reference.id.clone());
        state.configured.get(&reference.to_string()).cloned()
    }

    /// Returns the provider of a record, loaded from its own record if this run has none, with the extension of the record.
    ///
    /// # Errors
    /// [`ErrorKind::State`] if the record of the provider is missing; any error of loading it, and of its extension.
    pub(crate) async fn of_record(
        self: &Arc<Self>,
        base: &PriorState,
        state: &ResourceState,
    ) -> Result<Option<ProviderHandle>> {
        if !state.custom {
            return Ok(None);
        }
        if state.is_provider() {
            return Ok(Some(self.manager()));
        }
        let reference = ProviderReference::parse(&state.provider)
            .map_err(|error| Error::new(ErrorKind::State, error.message()).with_urn(state.urn.clone()))?;
        let instance = match (self.current(&reference), base.provider(&reference)) {
            (Some(instance), _) => instance,
            (None, Some(recorded)) => self.ensure_instance(recorded).await?,
            (None, None) => {
                let text = format!("unknown provider '{reference}' for resource '{}'", state.urn);
                return Err(Error::new(ErrorKind::State, text).with_urn(state.urn.clone()));
            }
        };
        if let Some(extension) = self.extension_of(base, state)? {
            let (provider, user) = (state.provider.as_str(), state.urn.as_str());
            let extended = self.add_extension(&instance, provider, &extension, user).await;
            extended.map_err(|error| error.with_urn(state.urn.clone()))?;
        }
        Ok(Some(instance.for_steps()))
    }

    /// Returns the extension of a record: of this run, or of the recorded state.
    fn extension_of(&self, base: &PriorState, state: &ResourceState) -> Result<Option<Arc<Extension>>> {
        let of_run = self.state().extensions.get(&state.extension_ref).cloned();
        match of_run {
            Some(extension) => Ok(Some(extension)),
            None => Ok(base.extensions().of_record(state)?.cloned()),
        }
    }

    /// Returns the providers of `states`; missing ones are loaded concurrently. If loading fails, only the calls of the
    /// resources that need the provider fail.
    pub(crate) async fn of_records<'a>(
        self: &Arc<Self>,
        base: &PriorState,
        states: impl IntoIterator<Item = &'a ResourceState>,
    ) -> Vec<Option<ProviderHandle>> {
        let states: Vec<_> = states.into_iter().collect();
        let named = |state: &ResourceState| state.custom && !state.is_provider();
        let mut users = FxHashMap::default();
        for state in states.iter().filter(|state| named(state)) {
            users.entry(served_by(state)).or_insert(*state);
        }
        let loading = users.into_iter().map(|(key, user)| async move {
            let provider = match self.of_record(base, user).await {
                Ok(provider) => provider,
                Err(error) => Some(ProviderHandle {
                    // No call was made: the resources are unchanged.
                    provider: Adapter::failed(ProviderError::unreached(&error)),
                    waits_for_registrations: false,
                }),
            };
            (key, provider)
        });
        let loaded: FxHashMap<_, _> = join_all(loading).await.into_iter().collect();
        let provider = |state: &ResourceState| {
            if named(state) {
                loaded.get(&served_by(state)).cloned().flatten()
            } else {
                (state.custom && state.is_provider()).then(|| self.manager())
            }
        };
        states.into_iter().map(provider).collect()
    }

    /// Returns the provider of a record, loaded and configured once for all callers.
    ///
    /// # Errors
    /// Any error of loading or configuring.
    pub(crate) async fn ensure(&self, recorded: &ResourceState) -> Result<ProviderHandle> {
        let instance = self.ensure_instance(recorded).await?;
        Ok(instance.for_steps())
    }

    async fn ensure_instance(&self, recorded: &ResourceState) -> Result<Instance> {
        let reference = ProviderReference::new(recorded.urn.clone(), recorded.id.clone());
        let cell = Arc::clone(self.state().recorded.entry(reference.to_string()).or_default());
        let instance = cell
            .get_or_try_init(|| async {
                if let Some(instance) = self.state().configured.get(&reference.to_string()) {
                    return Ok(instance.clone());
                }
                // The inputs of this run's program are used if there are any, else the recorded ones.
                let news = || recorded.inputs.clone();
                self.state().news.entry(recorded.urn.clone()).or_insert_with(news);
                let instance = self.load(&recorded.urn, &recorded.inputs).await?;
                let instance = self.configure(instance, &reference, &recorded.inputs).await;
                instance.map_err(|error| provider_failure(&error, &recorded.urn, "configure"))
            })
            .await?;
        Ok(instance.clone())
    }

    /// Asks the provider `after` whether it can manage the resources of `before`, a provider record.
    ///
    /// # Errors
    /// Any error of its DiffConfig.
    pub(crate) async fn replaces_resources(
        &self,
        before: &ResourceState,
        after: &ProviderReference,
    ) -> ProviderResult<bool> {
        let key = (
            ProviderReference::new(before.urn.clone(), before.id.clone()).to_string(),
            after.to_string(),
        );
        let cell = Arc::clone(self.state().replaces.entry(key).or_default());
        let (instance, news) = {
            let state = self.state();
            let instance = state.configured.get(&after.to_string()).cloned();
            (instance, state.news.get(&after.urn).cloned().unwrap_or_default())
        };
        let Some(instance) = instance else { return Ok(true) };
        let answer = cell.get_or_try_init(|| async {
            let request = config_diff(before, ProviderSettings::strip(&news), self.preview);
            let diff = instance.adapter.diff_config(request).await;
            Ok::<_, ProviderError>(replaces(&diff.map_err(configuration_error)?))
        });
        answer.await.copied()
    }

    /// Returns the source of instances.
    pub(crate) fn source(&self) -> &Arc<dyn ProviderSource> {
        &self.source
    }

    /// Asks every provider to cancel its running calls, each once: a second call reaches those loaded since the first.
    /// Stops waiting for responses after [`CANCEL_TIMEOUT`].
    pub(crate) async fn cancel(&self) {
        let all: Vec<_> = {
            let mut state = self.state();
            let count = state.all.len();
            let cancelled = std::mem::replace(&mut state.cancelled, count);
            state.all.get(cancelled..).unwrap_or_default().to_vec()
        };
        let responses = join_all(
            all.iter()
                .map(|instance| self.source.cancel(instance.adapter.backend())),
        );
        tokio::select! {
            biased;
            _all = responses => {}
            () = self.runtime.clock.wait(CANCEL_TIMEOUT) => {
                tracing::warn!("not every provider responded to a cancellation");
            }
        }
    }

    /// Releases every provider.
    pub(crate) async fn close(&self) {
        let all = {
            let mut state = self.state();
            state.cancelled = 0;
            std::mem::take(&mut state.all)
        };
        join_all(
            all.iter()
                .map(|instance| self.source.release(Arc::clone(instance.adapter.backend()))),
        )
        .await;
    }
}

/// Returns what all records of one key share a provider by. A record with an extension has a key of its own: an error of
/// the extension names the resource.
fn served_by(state: &ResourceState) -> (&str, Option<(&Urn, &str)>) {
    let user = (!state.extension_ref.is_empty()).then_some((&state.urn, state.extension_ref.as_str()));
    (state.provider.as_str(), user)
}

fn provider_failure(error: &ProviderError, urn: &Urn, phase: &'static str) -> Error {
    Error::new(ErrorKind::Provider, error.message.clone())
        .with_urn(urn.clone())
        .with_phase(phase)
}

/// Prefixes the status, as the reference engine does for CheckConfig and DiffConfig.
fn configuration_error(mut error: ProviderError) -> ProviderError {
    error.message = format!("rpc error: code = {} desc = {}", error.status, error.message);
    error
}

fn replaces(diff: &DiffResponse) -> bool {
    !diff.replaces.is_empty()
        || diff
            .detailed_diff
            .iter()
            .flat_map(|detailed| detailed.values())
            .any(|property| {
                matches!(
                    property.kind,
                    DiffKind::AddReplace | DiffKind::DeleteReplace | DiffKind::UpdateReplace
                )
            })
}

fn config_diff(before: &ResourceState, news: PropertyMap, preview: bool) -> DiffRequest {
    DiffRequest {
        urn: before.urn.clone(),
        resource_type: before.resource_type.clone(),
        name: before.urn.name().to_owned(),
        id: before.id.clone(),
        old_inputs: ProviderSettings::strip(&before.inputs),
        old_outputs: ProviderSettings::strip(&before.outputs),
        news,
        ignore_changes: Vec::new(),
        preview,
    }
}

#[cfg(test)]
mod tests;

//! The registry: the configured providers of one run, and the provider resources that they come from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rustc_hash::FxHashMap;
use tokio::sync::OnceCell;

use crate::{
    error::{Error, ErrorKind, Result},
    property::PropertyMap,
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
        DeleteRequest, DiffChanges, DiffRequest, DiffResponse, HandshakeRequest, LoadRequest, Provider,
        ProviderError, ProviderResult, ProviderSource, ProviderStatus, UnconfiguredProvider, UpdateRequest,
        UpdateResponse, settings::ProviderSettings,
    },
    resource::{ProviderReference, ResourceState, UNKNOWN_ID},
    runtime::Runtime,
    state::Base,
    urn::Urn,
};

/// A configured provider, as steps call it.
#[derive(Clone)]
pub struct ProviderHandle {
    /// The provider; for provider resources the registry itself.
    pub provider: Arc<dyn Provider>,
    /// Whether Create and Update know how to preview.
    pub supports_preview: bool,
}

/// The providers of one run.
///
/// A provider resource is managed by the registry itself: its Check loads an instance, its Create or Update
/// configures it, its Delete lets it go. From then on resources find it by its reference.
pub struct ProviderRegistry {
    source: Arc<dyn ProviderSource>,
    runtime: Runtime,
    preview: bool,
    /// Packages' providers are not asked to preview.
    disable_preview: bool,
    state: Mutex<Instances>,
}

#[derive(Default)]
struct Instances {
    /// Configured instances by reference.
    configured: FxHashMap<String, Instance>,
    /// Instances that Check has loaded, by the URN of their resource.
    loaded: FxHashMap<Urn, Instance>,
    /// Instances that are made from a record when somebody first needs them.
    recorded: FxHashMap<String, Arc<OnceCell<Instance>>>,
    /// The inputs that each provider resource has in this run.
    news: FxHashMap<Urn, PropertyMap>,
    /// Every instance that lives, to be cancelled and closed.
    all: Vec<Instance>,
    /// How many of them have been asked to give up.
    cancelled: usize,
    /// Answers to whether one provider can go on with another's resources.
    replaces: FxHashMap<(String, String), Arc<OnceCell<bool>>>,
}

/// How long providers may take to hear of a cancellation, all together.
const CANCEL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

#[derive(Clone)]
struct Instance {
    provider: Arc<dyn Provider>,
    capabilities: Capabilities,
    /// Previews do not reach its Create and Update.
    without_preview: bool,
}

impl Instance {
    fn for_steps(&self) -> ProviderHandle {
        ProviderHandle {
            provider: Arc::clone(&self.provider),
            supports_preview: self.capabilities.supports_preview && !self.without_preview,
        }
    }
}

impl ProviderRegistry {
    /// Creates an empty registry that loads instances from `source`.
    #[must_use]
    pub fn new(
        source: Arc<dyn ProviderSource>,
        runtime: Runtime,
        preview: bool,
        disable_preview: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            source,
            runtime,
            preview,
            disable_preview,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, Instances> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what manages provider resources: this registry.
    #[must_use]
    pub fn manager(self: &Arc<Self>) -> ProviderHandle {
        let manager: Arc<dyn Provider> = Arc::new(Manager(Arc::clone(self)));
        ProviderHandle {
            provider: manager,
            supports_preview: true,
        }
    }

    /// Returns the configured provider that a reference names.
    #[must_use]
    pub fn get(&self, reference: &ProviderReference) -> Option<ProviderHandle> {
        self.get_named(&reference.to_string())
    }

    /// Returns a configured provider by the text of its reference.
    #[must_use]
    pub fn get_named(&self, reference: &str) -> Option<ProviderHandle> {
        self.state().configured.get(reference).map(Instance::for_steps)
    }

    /// Returns the provider of a record, made from its own record where this run has none.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the record names a provider that is nowhere; whatever loading it fails with.
    pub async fn of_record(
        self: &Arc<Self>,
        base: &Base,
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
        if let Some(provider) = self.get(&reference) {
            return Ok(Some(provider));
        }
        let Some(recorded) = base.provider(&reference) else {
            let text = format!("unknown provider '{reference}' for resource '{}'", state.urn);
            return Err(Error::new(ErrorKind::State, text).with_urn(state.urn.clone()));
        };
        self.ensure(recorded).await.map(Some)
    }

    /// Returns the provider that a record describes, loaded and configured once however many ask.
    ///
    /// # Errors
    /// Whatever loading or configuring fails with.
    pub async fn ensure(&self, recorded: &ResourceState) -> Result<ProviderHandle> {
        let reference = ProviderReference::new(recorded.urn.clone(), recorded.id.clone());
        let cell = Arc::clone(self.state().recorded.entry(reference.to_string()).or_default());
        let instance = cell
            .get_or_try_init(|| async {
                if let Some(instance) = self.state().configured.get(&reference.to_string()) {
                    return Ok(instance.clone());
                }
                let instance = self.load(&recorded.urn, &recorded.inputs).await?;
                let instance = self.configure(instance, &reference, &recorded.inputs).await;
                instance.map_err(|error| provider_failure(&error, &recorded.urn, "configure"))
            })
            .await?;
        Ok(instance.for_steps())
    }

    async fn load(&self, urn: &Urn, inputs: &PropertyMap) -> Result<Instance> {
        let package = urn.resource_type().rsplit(':').next().unwrap_or_default();
        let settings = ProviderSettings::read(package, inputs)?;
        let loaded = self
            .source
            .load(LoadRequest {
                urn: urn.clone(),
                settings,
            })
            .await;
        let loaded = loaded.map_err(|error| error.with_urn(urn.clone()).with_provider(package))?;
        let instance = Instance {
            provider: loaded.provider,
            capabilities: loaded.capabilities,
            // What is part of the engine is no plugin.
            without_preview: self.disable_preview && package != crate::provider::builtin::PACKAGE,
        };
        self.state().all.push(instance.clone());
        Ok(instance)
    }

    /// Configures an instance and makes it known under its reference.
    async fn configure(
        &self,
        mut instance: Instance,
        reference: &ProviderReference,
        inputs: &PropertyMap,
    ) -> ProviderResult<Instance> {
        let inputs = ProviderSettings::strip(inputs);
        if inputs.contains_unknowns() {
            // It cannot be configured before what its configuration comes from exists.
            instance.provider = Arc::new(UnconfiguredProvider);
            instance.capabilities.supports_preview = true;
            instance.without_preview = false;
        } else {
            let request = ConfigureRequest {
                urn: reference.urn.clone(),
                name: reference.urn.name().to_owned(),
                id: reference.id.clone(),
                inputs,
            };
            if let Some(capabilities) = instance.provider.configure(request).await? {
                instance.capabilities = capabilities;
            }
        }
        self.state()
            .configured
            .insert(reference.to_string(), instance.clone());
        Ok(instance)
    }

    /// Asks the provider that `after` names whether it can go on with what `before`, a provider record, manages.
    ///
    /// # Errors
    /// Whatever its DiffConfig fails with.
    pub async fn replaces_resources(
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
            let diff = instance.provider.diff_config(request).await?;
            Ok::<_, ProviderError>(replaces(&diff))
        });
        answer.await.copied()
    }

    /// Asks every provider to give up what it is doing, each once: a second call reaches those loaded since the first.
    /// Those that have not answered after [`CANCEL_PATIENCE`] have been told, too.
    pub async fn cancel(&self) {
        let all: Vec<_> = {
            let mut state = self.state();
            let count = state.all.len();
            let told = std::mem::replace(&mut state.cancelled, count);
            state.all.get(told..).unwrap_or_default().to_vec()
        };
        let told =
            futures::future::join_all(all.iter().map(|instance| self.source.cancel(&instance.provider)));
        tokio::select! {
            _all = told => {}
            () = self.runtime.clock.wait(CANCEL_PATIENCE) => {
                tracing::warn!("not every provider answered to a cancellation");
            }
        }
    }

    /// Lets every provider go.
    pub async fn close(&self) {
        let all = {
            let mut state = self.state();
            state.cancelled = 0;
            std::mem::take(&mut state.all)
        };
        futures::future::join_all(
            all.iter()
                .map(|instance| self.source.release(Arc::clone(&instance.provider))),
        )
        .await;
    }
}

/// Manages provider resources on behalf of the registry.
struct Manager(Arc<ProviderRegistry>);

#[async_trait]
impl Provider for Manager {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let registry = &self.0;
        let loaded = registry.state().loaded.get(&request.urn).cloned();
        let instance = match loaded {
            Some(instance) => instance,
            None => registry
                .load(&request.urn, &request.news)
                .await
                .map_err(|error| load_failure(&error))?,
        };
        registry
            .state()
            .loaded
            .insert(request.urn.clone(), instance.clone());
        let news = request.news.clone();
        let stripped = CheckRequest {
            olds: request.olds.as_ref().map(ProviderSettings::strip),
            news: ProviderSettings::strip(&news),
            ..request
        };
        let urn = stripped.urn.clone();
        let mut response = instance
            .provider
            .check_config(stripped)
            .await
            .map_err(configuration_error)?;
        response.inputs = ProviderSettings::restore(response.inputs, &news).map_err(|text| {
            ProviderError::new(
                ProviderStatus::InvalidArgument,
                format!("provider \"{urn}\" {text}"),
            )
        })?;
        registry.state().news.insert(urn, response.inputs.clone());
        Ok(response)
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let registry = &self.0;
        let loaded = registry.state().loaded.get(&request.urn).cloned();
        let instance = match loaded {
            Some(instance) => instance,
            None => registry
                .load(&request.urn, &request.news)
                .await
                .map_err(|error| load_failure(&error))?,
        };
        let (outputs, news) = (request.old_outputs.clone(), request.news.clone());
        let stripped = DiffRequest {
            old_inputs: ProviderSettings::strip(&request.old_inputs),
            old_outputs: ProviderSettings::strip(&request.old_outputs),
            news: ProviderSettings::strip(&request.news),
            ..request
        };
        let mut diff = instance
            .provider
            .diff_config(stripped)
            .await
            .map_err(configuration_error)?;
        if diff.changes == DiffChanges::Unknown {
            // What the provider was configured with is what counts, not what an older program asked for.
            let same = ProviderSettings::strip(&outputs) == ProviderSettings::strip(&news)
                && outputs.get("version") == news.get("version");
            diff.changes = if same {
                DiffChanges::None
            } else {
                DiffChanges::Some
            };
        }
        Ok(diff)
    }

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        self.0
            .configure_loaded(&request.urn, request.id.as_str(), &request.inputs)
            .await?;
        Ok(None)
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let registry = &self.0;
        let id = if request.preview {
            UNKNOWN_ID.to_owned()
        } else {
            registry.runtime.random.uuid()
        };
        registry
            .configure_loaded(&request.urn, &id, &request.inputs)
            .await?;
        Ok(CreateResponse {
            id: id.into(),
            outputs: ProviderSettings::outputs(&request.inputs),
            refresh_before_update: false,
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.0
            .configure_loaded(&request.urn, request.id.as_str(), &request.news)
            .await?;
        Ok(UpdateResponse {
            outputs: ProviderSettings::outputs(&request.news),
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        let reference = ProviderReference::new(request.urn, request.id);
        drop(self.0.state().configured.remove(&reference.to_string()));
        Ok(())
    }
}

impl ProviderRegistry {
    async fn configure_loaded(&self, urn: &Urn, id: &str, inputs: &PropertyMap) -> ProviderResult<()> {
        let loaded = self.state().loaded.remove(urn);
        let instance = match loaded {
            Some(instance) => instance,
            None => self
                .load(urn, inputs)
                .await
                .map_err(|error| load_failure(&error))?,
        };
        let reference = ProviderReference::new(urn.clone(), id.into());
        self.configure(instance, &reference, inputs).await.map(drop)
    }
}

fn load_failure(error: &Error) -> ProviderError {
    ProviderError::new(ProviderStatus::Unavailable, error.message())
}

/// The two questions about a configuration show the whole status, as the reference engine has it.
fn configuration_error(mut error: ProviderError) -> ProviderError {
    error.message = format!("rpc error: code = {:?} desc = {}", error.status, error.message);
    error
}

fn provider_failure(error: &ProviderError, urn: &Urn, phase: &'static str) -> Error {
    Error::new(ErrorKind::Provider, error.message.clone())
        .with_urn(urn.clone())
        .with_phase(phase)
}

fn replaces(diff: &DiffResponse) -> bool {
    use crate::event::DiffKind::{AddReplace, DeleteReplace, UpdateReplace};
    !diff.replaces.is_empty()
        || diff
            .detailed_diff
            .iter()
            .flat_map(|detailed| detailed.values())
            .any(|property| matches!(property.kind, AddReplace | DeleteReplace | UpdateReplace))
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

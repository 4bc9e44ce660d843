//! The provider of provider resources: Check loads, Create and Update configure, Delete releases.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Instance, ProviderRegistry, configuration_error};
use crate::{
    property::PropertyMap,
    provider::{
        Call, Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
        DeleteRequest, DiffChanges, DiffRequest, DiffResponse, ProviderBackend, ProviderError,
        ProviderResult, ProviderStatus, Reply, UpdateRequest, UpdateResponse, settings::ProviderSettings,
    },
    resource::{ProviderReference, UNKNOWN_ID},
    urn::Urn,
};

/// Manages provider resources on behalf of the registry.
pub(super) struct Manager {
    pub(super) registry: Arc<ProviderRegistry>,
    /// The instance for calls before Check has loaded one.
    pub(super) preloaded: Option<Instance>,
}

impl Manager {
    async fn instance(&self, urn: &Urn, inputs: &PropertyMap) -> ProviderResult<Instance> {
        let loaded = self.registry.state().loaded.get(urn).cloned();
        let loaded = loaded.or_else(|| self.preloaded.clone());
        self.registry.loaded(loaded, urn, inputs).await
    }
}

impl Manager {
    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let registry = &self.registry;
        let instance = self.instance(&request.urn, &request.news).await?;
        registry
            .state()
            .loaded
            .insert(request.urn.clone(), instance.clone());
        let news = request.news.clone();
        let stripped = CheckRequest {
            olds: request.olds.as_ref().map(ProviderSettings::strip),
            old_outputs: request.old_outputs.as_ref().map(ProviderSettings::strip),
            news: ProviderSettings::strip(&news),
            ..request
        };
        let urn = stripped.urn.clone();
        let mut response = instance
            .adapter
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
        let instance = self.instance(&request.urn, &request.news).await?;
        let (outputs, news) = (request.old_outputs.clone(), request.news.clone());
        let stripped = DiffRequest {
            old_inputs: ProviderSettings::strip(&request.old_inputs),
            old_outputs: ProviderSettings::strip(&request.old_outputs),
            news: ProviderSettings::strip(&request.news),
            ..request
        };
        let mut diff = instance
            .adapter
            .diff_config(stripped)
            .await
            .map_err(configuration_error)?;
        if diff.changes == DiffChanges::Unknown {
            // Compared with the configuration that the provider has, not with the inputs of an older program.
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
        self.registry
            .configure_loaded(&request.urn, request.id.as_str(), &request.inputs)
            .await?;
        Ok(None)
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let registry = &self.registry;
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
        self.registry
            .configure_loaded(&request.urn, request.id.as_str(), &request.news)
            .await?;
        Ok(UpdateResponse {
            outputs: ProviderSettings::outputs(&request.news),
            refresh_before_update: false,
        })
    }

    fn delete(&self, request: DeleteRequest) {
        let reference = ProviderReference::new(request.urn, request.id);
        drop(self.registry.state().configured.remove(&reference.to_string()));
    }
}

#[async_trait]
impl ProviderBackend for Manager {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Check(request) => self.check(request).await.map(Reply::Check),
            Call::Diff(request) => self.diff(request).await.map(Reply::Diff),
            Call::Configure(request) => self.configure(request).await.map(Reply::Understands),
            Call::Create(request) => self.create(request).await.map(Reply::Create),
            Call::Update(request) => self.update(request).await.map(Reply::Update),
            Call::Delete(request) => {
                self.delete(request);
                Ok(Reply::Done)
            }
            other => other.without_method(),
        }
    }
}

impl ProviderRegistry {
    /// Returns the instance of a provider resource, loaded if necessary.
    pub(super) async fn loaded(
        &self,
        loaded: Option<Instance>,
        urn: &Urn,
        inputs: &PropertyMap,
    ) -> ProviderResult<Instance> {
        match loaded {
            Some(instance) => Ok(instance),
            None => self
                .load(urn, inputs)
                .await
                .map_err(|error| ProviderError::unreached(&error)),
        }
    }

    async fn configure_loaded(&self, urn: &Urn, id: &str, inputs: &PropertyMap) -> ProviderResult<()> {
        let loaded = self.state().loaded.remove(urn);
        let instance = self.loaded(loaded, urn, inputs).await?;
        let reference = ProviderReference::new(urn.clone(), id.into());
        self.configure(instance, &reference, inputs).await.map(drop)
    }
}
